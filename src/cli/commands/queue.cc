#include "cli/commands/groups.h"
#include "cli/commands/queue_push.h"
#include "cli/commands/queue_work.h"
#include "cli/context.h"
#include "cli/text.h"
#include "cli/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unistd.h>

namespace reeve::cli {

namespace {

Json claim_params(const Parsed& parsed) {
  return json_of(
      {{"queue", parsed.words[0]}, {"id", parsed.words[1]}, {"claim", number_of(parsed, "claim")}});
}

// Data on one line of a table.
std::string brief(const Json& item) {
  if (item.has("data_bytes")) return fmt::format("({} bytes)", item["data_bytes"].text());
  if (item.has("base64")) return fmt::format("(bytes) {}", item["base64"].text());
  return printable(item["data"].write());
}

// A change whose answer is one sentence.
int say(Context& context, const Answer& answer, const std::string& sentence) {
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) context.output.line(sentence);
  return context.output.done();
}

std::string quoted(const Parsed& parsed, std::size_t word) { return printable(parsed.words[word]); }

int create(Context& context, const Parsed& parsed) {
  Json first;
  Json most;
  if (const auto backoff = parsed.text("backoff")) {
    const std::size_t dots = backoff->find("..");
    const auto from = parse_duration(backoff->substr(0, dots));
    const auto to =
        dots == std::string_view::npos ? from : parse_duration(backoff->substr(dots + 2));
    if (!from || !to) {
      return context.misuse(
          fmt::format("--backoff wants two durations such as 1s..5m, not \"{}\"", *backoff));
    }
    first = Json(static_cast<std::int64_t>(from->count()));
    most = Json(static_cast<std::int64_t>(to->count()));
  }
  const Answer answer = context.client().change(
      "queue.create",
      json_of({{"queue", parsed.words[0]},
               {"visibility_ms", milliseconds_of(parsed, "visibility")},
               {"max_attempts", number_of(parsed, "max-attempts")},
               {"dead_letter", text_of(parsed, "dead-letter")},
               {"backoff_first_ms", first},
               {"backoff_max_ms", most},
               {"keep_completed", number_of(parsed, "keep-completed")},
               {"keep_completed_ms", milliseconds_of(parsed, "keep-completed-for")},
               {"keep_dead_ms", milliseconds_of(parsed, "keep-dead-for")},
               {"on_exhaust", text_of(parsed, "on-exhaust")}}));
  return say(context, answer, fmt::format("{} is there", quoted(parsed, 0)));
}

int take(Context& context, const Parsed& parsed) {
  Client& client = context.client();
  Json names = Json::array();
  for (const std::string& name : parsed.words) names.push(name);
  const std::string holder = holder_or_fresh(parsed);
  const Json wait = wait_of(parsed);
  const auto ticket = client.begin("queue.take",
                                   json_of({{"queues", names},
                                            {"holder", holder},
                                            {"max", number_of(parsed, "max")},
                                            {"wait_ms", wait}}),
                                   Client::Kind::Change);
  Answer answer = Json();
  if (wait.is_null()) {
    answer = client.wait(ticket);
  } else {
    Waited waited =
        wait_in_sight(context, client, ticket, {"queue", parsed.words, holder, wait.number()});
    if (waited.interrupted) {
      if (waited.answer) {
        for (const Json& item : (*waited.answer)["items"].items()) {
          client.change(
              "queue.release",
              json_of({{"queue", item["queue"]}, {"id", item["id"]}, {"claim", item["claim"]}}));
        }
      }
      return context.fail(Failure{"INTERRUPTED", "interrupted; left the line"});
    }
    answer = std::move(waited.answer);
  }
  // Nothing there is an answer like any other.
  if (!answer && answer.error().code == "TIMED_OUT") {
    answer = json_of({{"items", Json::array()}, {"holder", holder}});
  }
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const auto& items = (*answer)["items"].items();
  for (const Json& item : items) {
    context.output.line(context.quiet()
                            ? fmt::format("{} {}", item["id"].text(), item["claim"].text())
                            : fmt::format("{}  claim {}  attempt {}  {}",
                                          item["id"].text(),
                                          item["claim"].text(),
                                          item["attempts"].text(),
                                          brief(item)));
  }
  if (items.empty() && !context.quiet()) {
    const std::string where = fmt::format("{}", fmt::join(parsed.words, ", "));
    context.output.note((*answer)["paused"].truth() ? where + " is paused"
                                                    : "nothing to take from " + where);
  }
  return context.output.done();
}

int complete(Context& context, const Parsed& parsed) {
  return say(context,
             context.client().change("queue.complete", claim_params(parsed)),
             fmt::format("{} completed", quoted(parsed, 1)));
}

int fail_item(Context& context, const Parsed& parsed) {
  Json params = claim_params(parsed);
  params.set("error", text_of(parsed, "error"));
  if (parsed.has("retry-after"))
    params.set("retry_after_ms", milliseconds_of(parsed, "retry-after"));
  const Answer answer = context.client().change("queue.fail", params);
  const bool dead = answer && (*answer)["state"].text() == "dead";
  return say(context,
             answer,
             fmt::format("{} failed{}",
                         quoted(parsed, 1),
                         dead ? " for good: it is dead" : " and will be tried again"));
}

int extend(Context& context, const Parsed& parsed) {
  Json params = claim_params(parsed);
  if (parsed.has("by")) params.set("by_ms", milliseconds_of(parsed, "by"));
  const Answer answer = context.client().change("queue.extend", params);
  return say(context,
             answer,
             fmt::format("{} is yours, until {}",
                         quoted(parsed, 1),
                         answer ? context.output.moment((*answer)["visible_at"]) : ""));
}

int release(Context& context, const Parsed& parsed) {
  Json params = claim_params(parsed);
  if (parsed.has("delay")) params.set("delay_ms", milliseconds_of(parsed, "delay"));
  if (parsed.has("priority")) params.set("priority", number_of(parsed, "priority"));
  return say(context,
             context.client().change("queue.release", params),
             fmt::format("{} given back", quoted(parsed, 1)));
}

std::string note_of(const Output& output, const Json& item) {
  std::string note;
  if (item.has("holder")) note = fmt::format("by {}", printable(item["holder"].text()));
  if (item.has("not_before")) note = output.moment(item["not_before"]);
  if (item.has("last_error")) {
    note += fmt::format("{}{}", note.empty() ? "" : "; ", printable(item["last_error"].text()));
  } else if (item.has("reason")) {
    note += printable(item["reason"].text());
  }
  return note;
}

int list(Context& context, const Parsed& parsed) {
  Json params = json_of({{"queue", parsed.words[0]}, {"state", text_of(parsed, "state")}});
  const std::int64_t most = parsed.number("limit").value_or(100);
  if (most < 1) return context.misuse("-n wants a number from 1 on");
  Json items = Json::array();
  Json next;
  Answer answer = Json();
  do {
    params.set(
        "limit",
        std::min<std::int64_t>(1000, most - static_cast<std::int64_t>(items.items().size())));
    if (!next.is_null()) params.set("after", next);
    answer = context.client().ask("queue.list", params);
    if (!answer) return context.fail(answer.error());
    for (const Json& item : (*answer)["items"].items()) items.push(item);
    next = (*answer)["next"];
  } while (!next.is_null() && static_cast<std::int64_t>(items.items().size()) < most);
  if (context.json()) {
    Json data = *answer;
    data.set("items", items);
    return context.output.succeed(data);
  }
  Output& output = context.output;
  Table table({{"ID"},
               {"STATE"},
               {"PRIO", Table::Align::Right},
               {"TRIES", Table::Align::Right},
               {"CREATED"},
               {"DATA", Table::Align::Left, true},
               {"NOTE", Table::Align::Left, true}});
  for (const Json& item : items.items()) {
    if (context.quiet()) {
      output.line(item["id"].text());
      continue;
    }
    const std::string state = item["state"].text();
    const Style style = state == "dead"         ? Style::Bad
                        : state == "processing" ? Style::Good
                        : state == "completed"  ? Style::Dim
                                                : Style::Plain;
    table.add({item["id"].text(),
               {state, style},
               item["priority"].text(),
               item["attempts"].text(),
               output.moment(item["created_at"]),
               brief(item),
               note_of(output, item)});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note(fmt::format("no such items in {}", quoted(parsed, 0)));
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  if (!next.is_null()) output.note("there are more; -n N shows so many");
  return output.done();
}

int tell_item(Context& context, const Json& item) {
  Output& output = context.output;
  if (context.quiet()) {
    output.line(item["id"].text());
    return output.done();
  }
  for (const auto& [name, value] : item.members()) {
    if (name == "seq" || name == "data" || name == "base64" || value.is_null()) continue;
    const bool moment = name.ends_with("_at") || name == "not_before";
    output.line(
        fmt::format("{:<12}{}", name, moment ? output.moment(value) : printable(value.text())));
  }
  output.line(fmt::format("{:<12}{}", "data", brief(item)));
  return output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask(
      "queue.show", json_of({{"queue", parsed.words[0]}, {"id", parsed.words[1]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  return tell_item(context, *answer);
}

int peek(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("queue.peek", json_of({{"queue", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if ((*answer)["item"].is_null()) {
    context.output.note(fmt::format("nothing to take from {}", quoted(parsed, 0)));
    return context.output.done();
  }
  return tell_item(context, (*answer)["item"]);
}

int stats(Context& context, const Parsed& parsed) {
  const Answer answer =
      list_all(context.client(),
               "queue.stats",
               "queues",
               json_of({{"queue", parsed.words.empty() ? Json() : Json(parsed.words[0])}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  using enum Table::Align;
  Table table({{"QUEUE", Left, true},
               {"PENDING", Right},
               {"DELAYED", Right},
               {"PROCESSING", Right},
               {"COMPLETED", Right},
               {"DEAD", Right},
               {"OLDEST", Right},
               {"STATE"}});
  for (const Json& queue : (*answer)["queues"].items()) {
    if (context.quiet()) {
      output.line(queue["name"].text());
      continue;
    }
    const bool dead = queue["dead"].number() > 0;
    const bool paused = queue["paused"].truth();
    table.add({printable(queue["name"].text()),
               with_commas(queue["pending"].number()),
               with_commas(queue["delayed"].number()),
               with_commas(queue["processing"].number()),
               with_commas(queue["completed"].number()),
               {with_commas(queue["dead"].number()), dead ? Style::Bad : Style::Plain},
               queue.has("oldest_pending_age_ms")
                   ? rough_duration(queue["oldest_pending_age_ms"].number())
                   : "-",
               {paused ? "paused" : "", Style::Warn}});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note("no queues; make one with `reeve queue push NAME DATA`");
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int pause(Context& context, const Parsed& parsed) {
  return say(context,
             context.client().change(
                 "queue.pause",
                 json_of({{"queue", parsed.words[0]}, {"for_ms", milliseconds_of(parsed, "for")}})),
             fmt::format("{} paused", quoted(parsed, 0)));
}

int resume(Context& context, const Parsed& parsed) {
  return say(context,
             context.client().change("queue.resume", json_of({{"queue", parsed.words[0]}})),
             fmt::format("{} resumed", quoted(parsed, 0)));
}

int remove(Context& context, const Parsed& parsed) {
  return say(context,
             context.client().change("queue.remove", json_of({{"queue", parsed.words[0]}})),
             fmt::format("{} removed", quoted(parsed, 0)));
}

int drop(Context& context, const Parsed& parsed) {
  return say(context,
             context.client().change(
                 "queue.drop", json_of({{"queue", parsed.words[0]}, {"id", parsed.words[1]}})),
             fmt::format("{} dropped", quoted(parsed, 1)));
}

int redrive(Context& context, const Parsed& parsed) {
  Json params = json_of({{"queue", parsed.words[0]}});
  const bool all = parsed.has("all");
  if (all == (parsed.words.size() > 1)) {
    return context.misuse("queue redrive wants either ids or --all");
  }
  if (all) {
    params.set("all", true);
  } else {
    Json ids = Json::array();
    for (std::size_t i = 1; i < parsed.words.size(); ++i) ids.push(parsed.words[i]);
    params.set("ids", ids);
  }
  const Answer answer = context.client().change("queue.redrive", params);
  return say(context,
             answer,
             fmt::format("{} of {} sent back to work",
                         counted(answer ? (*answer)["count"].number() : 0, "item"),
                         quoted(parsed, 0)));
}

int purge(Context& context, const Parsed& parsed) {
  const std::string state(*parsed.text("state"));
  if (!parsed.has("yes")) {
    if (::isatty(STDIN_FILENO) == 0 || context.json()) {
      return context.fail(Failure{
          "NOT_ALLOWED",
          fmt::format(
              "queue purge deletes all {} items of {}; say --yes", state, parsed.words[0])});
    }
    context.output.err(fmt::format("delete all {} items of {}? [y/N] ", state, quoted(parsed, 0)));
    std::array<char, 64> typed{};
    const ssize_t got = ::read(STDIN_FILENO, typed.data(), typed.size());
    if (got <= 0 || (typed[0] != 'y' && typed[0] != 'Y')) {
      return context.fail(Failure{"CANCELLED", "nothing was deleted"});
    }
  }
  const Answer answer = context.client().change(
      "queue.purge", json_of({{"queue", parsed.words[0]}, {"state", state}}));
  return say(context,
             answer,
             fmt::format("{} of {} deleted",
                         counted(answer ? (*answer)["count"].number() : 0, "item"),
                         quoted(parsed, 0)));
}

constexpr std::array<Argument, 1> one_queue{{{.name = "NAME", .completes = Completes::Queue}}};
constexpr std::array<Argument, 1> some_queues{
    {{.name = "NAME", .count = Count::Some, .completes = Completes::Queue}}};
constexpr std::array<Argument, 1> maybe_queue{
    {{.name = "NAME", .count = Count::Maybe, .completes = Completes::Queue}}};
constexpr std::array<Argument, 2> queue_and_id{
    {{.name = "NAME", .completes = Completes::Queue}, {.name = "ID"}}};
constexpr std::array<Argument, 2> queue_and_ids{
    {{.name = "NAME", .completes = Completes::Queue}, {.name = "ID", .count = Count::Any}}};
constexpr std::array<Argument, 2> queue_and_data{
    {{.name = "NAME", .completes = Completes::Queue}, {.name = "DATA|-", .count = Count::Maybe}}};

constexpr Option claim_option{.name = "claim",
                              .takes = Takes::Number,
                              .value = "C",
                              .help = "the claim that take gave",
                              .required = true};
constexpr std::array<Option, 1> claim_only{{claim_option}};
constexpr std::array<Option, 8> create_options{
    {{.name = "visibility",
      .takes = Takes::Duration,
      .value = "D",
      .help = "how long a taken item may go unanswered; default: 5m"},
     {.name = "max-attempts",
      .takes = Takes::Number,
      .value = "N",
      .help = "takes before an item is dead; default: 3"},
     {.name = "dead-letter",
      .takes = Takes::Text,
      .value = "Q",
      .help = "the queue that dead items move to",
      .completes = Completes::Queue},
     {.name = "backoff",
      .takes = Takes::Text,
      .value = "D..D",
      .help = "pauses between attempts, first and longest; default: 1s..5m"},
     {.name = "keep-completed",
      .takes = Takes::Number,
      .value = "N",
      .help = "how many completed items stay; default: 1000"},
     {.name = "keep-completed-for", .takes = Takes::Duration, .value = "D", .help = "default: 24h"},
     {.name = "keep-dead-for",
      .takes = Takes::Duration,
      .value = "D",
      .help = "default: until redriven or dropped"},
     {.name = "on-exhaust",
      .takes = Takes::Text,
      .value = "HOW",
      .help = "what becomes of an item without attempts left",
      .choices = "dead|escalate|pause"}}};
constexpr std::array<Option, 5> push_options{
    {{.name = "lines", .help = "one item a line of stdin, in batches"},
     {.name = "priority", .takes = Takes::Number, .value = "N", .help = "higher first; default: 0"},
     {.name = "delay", .takes = Takes::Duration, .value = "D", .help = "not before so long"},
     {.name = "dedupe",
      .takes = Takes::Text,
      .value = "KEY",
      .help = "adds nothing if an open item has this key"},
     {.name = "visibility",
      .takes = Takes::Duration,
      .value = "D",
      .help = "for this item, instead of the queue's"}}};
constexpr std::array<Option, 3> take_options{
    {{.name = "holder",
      .takes = Takes::Text,
      .value = "H",
      .help = "who takes it; default: $REEVE_HOLDER, else a fresh name"},
     {.name = "max", .takes = Takes::Number, .value = "N", .help = "so many at most; default: 1"},
     {.name = "wait",
      .takes = Takes::MaybeDuration,
      .value = "D",
      .help = "until there is something, D at most"}}};
constexpr std::array<Option, 3> fail_options{
    {claim_option,
     {.name = "error", .takes = Takes::Text, .value = "TEXT", .help = "why", .required = true},
     {.name = "retry-after",
      .takes = Takes::Duration,
      .value = "D",
      .help = "instead of the queue's backoff"}}};
constexpr std::array<Option, 2> extend_options{
    {claim_option,
     {.name = "by",
      .takes = Takes::Duration,
      .value = "D",
      .help = "from now; default: the queue's visibility"}}};
constexpr std::array<Option, 3> release_options{
    {claim_option,
     {.name = "delay", .takes = Takes::Duration, .value = "D", .help = "not before so long"},
     {.name = "priority", .takes = Takes::Number, .value = "N", .help = "a new one"}}};
constexpr std::array<Option, 2> list_options{
    {{.name = "state",
      .takes = Takes::Text,
      .value = "S",
      .help = "only those",
      .choices = "pending|delayed|processing|completed|dead"},
     {.name = "limit",
      .letter = 'n',
      .takes = Takes::Number,
      .value = "N",
      .help = "so many at most; default: 100"}}};
constexpr std::array<Option, 1> pause_options{
    {{.name = "for", .takes = Takes::Duration, .value = "D", .help = "resumes by itself"}}};
constexpr std::array<Option, 1> redrive_options{{{.name = "all", .help = "every dead item"}}};
constexpr std::array<Option, 2> purge_options{
    {{.name = "state",
      .takes = Takes::Text,
      .value = "S",
      .help = "which ones",
      .choices = "pending|completed|dead",
      .required = true},
     {.name = "yes", .letter = 'y', .help = "do not ask"}}};
constexpr std::array<Option, 4> work_options{
    {{.name = "exec",
      .takes = Takes::Text,
      .value = "CMD",
      .help = "run by sh -c for every item, its data on stdin",
      .required = true},
     {.name = "concurrency",
      .takes = Takes::Number,
      .value = "N",
      .help = "so many at once; default: 1"},
     {.name = "once", .help = "one item and no more; exit 1 if it failed"},
     {.name = "drain", .help = "until the queue is empty; exit 1 if one failed"}}};

constexpr std::array<Example, 1> create_examples{
    {{"reeve queue create mail --max-attempts 5 --dead-letter mail-dead",
      "instead of the defaults"}}};
constexpr std::array<Example, 3> push_examples{
    {{"reeve queue push mail '{\"to\":\"ana\"}'", "prints the id"},
     {"reeve queue push mail --dedupe ana --delay 10m hello", "text is pushed as a JSON string"},
     {"find . -name '*.png' | reeve queue push images - --lines", "one item a line"}}};
constexpr std::array<Example, 2> take_examples{
    {{"reeve queue take mail --wait 1m --json", "the item and its claim, for a script"},
     {"read -r id claim < <(reeve queue take mail -q)", "the same with a shell"}}};
constexpr std::array<Example, 1> complete_examples{
    {{"reeve queue complete mail item-4f7kq2 --claim 12", "done"}}};
constexpr std::array<Example, 1> fail_examples{
    {{"reeve queue fail mail item-4f7kq2 --claim 12 --error 'no route'",
      "again after the backoff"}}};
constexpr std::array<Example, 1> extend_examples{
    {{"reeve queue extend mail item-4f7kq2 --claim 12", "it takes longer"}}};
constexpr std::array<Example, 1> release_examples{
    {{"reeve queue release mail item-4f7kq2 --claim 12", "as if it had not been taken"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve queue list mail --state dead", "what went wrong, and why"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve queue show mail item-4f", "by any unique prefix"}}};
constexpr std::array<Example, 1> stats_examples{
    {{"reeve queue stats", "every queue of the project"}}};
constexpr std::array<Example, 1> peek_examples{
    {{"reeve queue peek mail", "what would be taken next"}}};
constexpr std::array<Example, 1> pause_examples{
    {{"reeve queue pause mail --for 1h", "pushing goes on"}}};
constexpr std::array<Example, 1> resume_examples{{{"reeve queue resume mail", "taking goes on"}}};
constexpr std::array<Example, 1> remove_examples{{{"reeve queue remove mail", "it must be empty"}}};
constexpr std::array<Example, 1> drop_examples{
    {{"reeve queue drop mail item-4f7kq2", "gone for good"}}};
constexpr std::array<Example, 1> redrive_examples{
    {{"reeve queue redrive mail --all", "the dead ones are tried again"}}};
constexpr std::array<Example, 1> purge_examples{
    {{"reeve queue purge mail --state completed --yes", "without being asked"}}};
constexpr std::array<Example, 2> work_examples{
    {{"reeve queue work images --exec 'convert \"$(cat)\" out.png' --concurrency 4",
      "four at once"},
     {"reeve queue work mail --exec ./send --drain", "until nothing is left"}}};

constexpr std::array<Command, 18> commands{{
    {.name = "queue create",
     .summary = "make a queue with settings of its own",
     .arguments = one_queue,
     .options = create_options,
     .details = "A queue that is pushed to and does not exist is made with the defaults.",
     .examples = create_examples,
     .run = create},
    {.name = "queue push",
     .summary = "add an item, or one a line of stdin",
     .arguments = queue_and_data,
     .options = push_options,
     .details =
         "DATA is JSON; what does not parse is pushed as a JSON string. - reads it from stdin. "
         "When the command returns, the item is on disk.",
     .examples = push_examples,
     .run = queue_push},
    {.name = "queue take",
     .summary = "take the next item",
     .arguments = some_queues,
     .options = take_options,
     .details =
         "Highest priority first, then the oldest. Nothing there is exit 0 and no line. What is "
         "neither completed, failed, extended nor released in time goes back. -q prints the id "
         "and the claim.",
     .examples = take_examples,
     .run = take},
    {.name = "queue complete",
     .summary = "say that an item is done",
     .arguments = queue_and_id,
     .options = claim_only,
     .details = "Exit 6 if the claim is no longer the item's.",
     .examples = complete_examples,
     .run = complete},
    {.name = "queue fail",
     .summary = "say that an attempt failed",
     .arguments = queue_and_id,
     .options = fail_options,
     .examples = fail_examples,
     .run = fail_item},
    {.name = "queue extend",
     .summary = "keep a taken item for longer",
     .arguments = queue_and_id,
     .options = extend_options,
     .examples = extend_examples,
     .run = extend},
    {.name = "queue release",
     .summary = "give a taken item back untried",
     .arguments = queue_and_id,
     .options = release_options,
     .examples = release_examples,
     .run = release},
    {.name = "queue list",
     .summary = "list the items of a queue",
     .arguments = one_queue,
     .options = list_options,
     .examples = list_examples,
     .run = list},
    {.name = "queue show",
     .summary = "show one item",
     .arguments = queue_and_id,
     .examples = show_examples,
     .run = show},
    {.name = "queue stats",
     .summary = "count the items of every queue",
     .arguments = maybe_queue,
     .examples = stats_examples,
     .run = stats},
    {.name = "queue peek",
     .summary = "look at the next item without taking it",
     .arguments = one_queue,
     .examples = peek_examples,
     .run = peek},
    {.name = "queue pause",
     .summary = "hand out nothing for a while",
     .arguments = one_queue,
     .options = pause_options,
     .examples = pause_examples,
     .run = pause},
    {.name = "queue resume",
     .summary = "hand out items again",
     .arguments = one_queue,
     .examples = resume_examples,
     .run = resume},
    {.name = "queue drop",
     .summary = "delete one item",
     .arguments = queue_and_id,
     .examples = drop_examples,
     .run = drop},
    {.name = "queue redrive",
     .summary = "give dead items another chance",
     .arguments = queue_and_ids,
     .options = redrive_options,
     .examples = redrive_examples,
     .run = redrive},
    {.name = "queue purge",
     .summary = "delete all items of a state",
     .arguments = one_queue,
     .options = purge_options,
     .details = "Asks first; without a terminal it wants --yes.",
     .examples = purge_examples,
     .run = purge},
    {.name = "queue remove",
     .summary = "remove a queue",
     .arguments = one_queue,
     .examples = remove_examples,
     .run = remove},
    {.name = "queue work",
     .summary = "take items and run a command for each",
     .arguments = some_queues,
     .options = work_options,
     .details =
         "The data is on stdin: a JSON string as its text, all else as JSON. $REEVE_QUEUE, "
         "$REEVE_ITEM, $REEVE_ATTEMPT and $REEVE_CLAIM tell which. Exit 0 completes the item, "
         "anything else fails it with the end of stderr; while it runs the item is extended. "
         "Ctrl-C or TERM: takes no more and finishes what runs; once more: ends it and gives "
         "it back.",
     .examples = work_examples,
     .run = queue_work},
}};

}  // namespace

const Group queue_group{.word = "queue",
                        .summary = "work to be done, each item by one taker, with retries",
                        .commands = commands};

}  // namespace reeve::cli
