#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/held_run.h"
#include "cli/text.h"
#include "cli/waiting.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace reeve::cli {

namespace {

constexpr std::array<Argument, 1> one_sem{{{.name = "NAME", .completes = Completes::Semaphore}}};
constexpr std::array<Argument, 2> name_and_number{
    {{.name = "NAME", .completes = Completes::Semaphore}, {.name = "N"}}};
constexpr std::array<Argument, 1> prefix{
    {{.name = "PREFIX", .count = Count::Maybe, .completes = Completes::Semaphore}}};

constexpr Option holder_option{.name = "holder",
                               .takes = Takes::Text,
                               .value = "H",
                               .help = "who holds it; acquire makes a fresh name if there is none"};
constexpr Option weight_option{.name = "weight",
                               .letter = 'w',
                               .takes = Takes::Number,
                               .value = "N",
                               .help = "how many of its places to take; default: 1"};
constexpr Option timeout_option{.name = "timeout",
                                .takes = Takes::Duration,
                                .value = "D",
                                .help = "how long it stays without a heartbeat; default: 60s"};
constexpr Option acquire_timeout_option{
    .name = "timeout",
    .takes = Takes::Duration,
    .value = "D",
    .help = "how long it stays without a heartbeat; default: 60s, with --pid no limit"};
constexpr Option wait_option{.name = "wait",
                             .takes = Takes::MaybeDuration,
                             .value = "D",
                             .help = "stand in line until there is room, D at most"};
constexpr Option token_option{
    .name = "token", .takes = Takes::Number, .value = "N", .help = "the token that acquire gave"};
constexpr Option label_option{.name = "label",
                              .takes = Takes::Text,
                              .value = "TEXT",
                              .help = "what it is for; others see it"};

void tell_semaphore(Context& context, const Json& sem) {
  Output& output = context.output;
  output.line(fmt::format("semaphore {}", printable(sem["name"].text())));
  output.line(fmt::format("in use    {} of {}", sem["in_use"].number(), sem["capacity"].number()));
  for (const Json& holder : sem["holders"].items()) {
    output.sentence(fmt::format("  {}  weight {}  token {}  since {}  expires {}{}",
                                printable(holder["holder"].text()),
                                holder["weight"].text(),
                                holder["token"].text(),
                                output.moment(holder["acquired_at"]),
                                output.moment(holder["expires_at"]),
                                holder["state"].text() == "held" || !holder.has("state")
                                    ? ""
                                    : fmt::format("  {}", holder["state"].text())),
                    6);
  }
  const auto& waiters = sem["waiters"].items();
  if (!waiters.empty()) output.line(fmt::format("waiting   {}", sem["waiting"].text()));
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    output.line(fmt::format("  {:>3}. {}  weight {}  since {}",
                            i + 1,
                            printable(waiters[i]["holder"].text()),
                            waiters[i]["weight"].text(),
                            output.moment(waiters[i]["since"])));
  }
}

Failure not_obtained(Failure failure, const std::string& name) {
  if (failure.code == "TIMED_OUT") {
    failure.code = "FULL";
    failure.details.set("name", name).set("waited", true);
  }
  if (failure.code == "FULL" && failure.message.find("`reeve") == std::string::npos) {
    failure.message += fmt::format("; `reeve why {}` tells more", codec::shell_word(name));
  }
  if (failure.code == "NOT_FOUND" && failure.message.find("`reeve") == std::string::npos) {
    failure.message +=
        fmt::format("; make it with `reeve sem create {} --capacity N`", codec::shell_word(name));
  }
  return failure;
}

Json acquire_params(const Parsed& parsed, const std::string& holder) {
  return json_of({{"name", parsed.words[0]},
                  {"holder", holder},
                  {"weight", number_of(parsed, "weight")},
                  {"timeout_ms", lease_timeout_of(parsed)},
                  {"wait_ms", wait_of(parsed)}});
}

std::expected<Json, Failure> obtain(Context& context, const Parsed& parsed, const Json& params) {
  Client& client = context.client();
  const std::string& name = parsed.words[0];
  const auto ticket = client.begin("sem.acquire", params, Client::Kind::Change);
  if (!parsed.has("wait")) {
    Answer answer = client.wait(ticket);
    if (!answer) return std::unexpected(not_obtained(answer.error(), name));
    return answer;
  }
  const WaitFor what{"sem", {name}, params["holder"].text(), params["wait_ms"].number()};
  Waited waited = wait_in_sight(context, client, ticket, what);
  if (waited.interrupted) {
    if (waited.answer) {
      // Nobody is left to be told.
      static_cast<void>(client.change("sem.release",
                                      json_of({{"name", name},
                                               {"holder", (*waited.answer)["holder"]},
                                               {"token", (*waited.answer)["token"]}})));
    }
    return std::unexpected(Failure{"INTERRUPTED", "interrupted; left the line"});
  }
  if (!waited.answer) return std::unexpected(not_obtained(waited.answer.error(), name));
  return waited.answer;
}

int create(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().change(
      "sem.create",
      json_of({{"name", parsed.words[0]}, {"capacity", number_of(parsed, "capacity")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format("{} {} with capacity {}",
                                    printable(parsed.words[0]),
                                    (*answer)["outcome"].text() == "exists" ? "exists" : "created",
                                    (*answer)["capacity"].text()));
  }
  return context.output.done();
}

int acquire(Context& context, const Parsed& parsed) {
  Json params = acquire_params(parsed, holder_or_fresh(parsed));
  Json meta = json_of({{"label", text_of(parsed, "label")}, {"pid", number_of(parsed, "pid")}});
  if (!meta.members().empty()) params.set("meta", meta);
  const auto answer = obtain(context, parsed, params);
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (context.quiet()) {
    context.output.line((*answer)["holder"].text());
  } else {
    const bool had = (*answer)["outcome"].text() == "already_held";
    context.output.line(fmt::format("{} {}  weight {}  token {}  holder {}  {} left",
                                    printable(parsed.words[0]),
                                    had ? "held already" : "acquired",
                                    (*answer)["weight"].text(),
                                    (*answer)["token"].text(),
                                    printable((*answer)["holder"].text()),
                                    (*answer)["available"].text()));
  }
  return context.output.done();
}

int release(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().change("sem.release",
                                                json_of({{"name", parsed.words[0]},
                                                         {"holder", text_of(parsed, "holder")},
                                                         {"token", number_of(parsed, "token")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format(
        "{} released, {} available", printable(parsed.words[0]), (*answer)["available"].text()));
  }
  return context.output.done();
}

int heartbeat(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().change("sem.heartbeat",
                                                json_of({{"name", parsed.words[0]},
                                                         {"holder", text_of(parsed, "holder")},
                                                         {"token", number_of(parsed, "token")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format("{} expires {}",
                                    printable(parsed.words[0]),
                                    context.output.moment((*answer)["expires_at"])));
  }
  return context.output.done();
}

int list(Context& context, const Parsed& parsed) {
  const Answer answer =
      list_all(context.client(),
               "sem.list",
               "semaphores",
               json_of({{"prefix", parsed.words.empty() ? Json() : Json(parsed.words[0])}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  Table table({{"NAME", Table::Align::Left, true},
               {"IN USE", Table::Align::Right},
               {"CAPACITY", Table::Align::Right},
               {"HOLDERS", Table::Align::Right},
               {"WAITING", Table::Align::Right}});
  for (const Json& sem : (*answer)["semaphores"].items()) {
    if (context.quiet()) {
      output.line(sem["name"].text());
      continue;
    }
    const bool full = sem["available"].number() <= 0;
    table.add({printable(sem["name"].text()),
               {sem["in_use"].text(), full ? Style::Warn : Style::Plain},
               sem["capacity"].text(),
               std::to_string(sem["holders"].items().size()),
               sem["waiting"].text()});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note(
        parsed.words.empty()
            ? "no semaphores; make one with `reeve sem create NAME --capacity N`"
            : fmt::format("no semaphore's name begins with {}", printable(parsed.words[0])));
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("sem.show", json_of({{"name", parsed.words[0]}}));
  if (!answer) return context.fail(not_obtained(answer.error(), parsed.words[0]));
  if (context.json()) return context.output.succeed(*answer);
  if (context.quiet()) {
    for (const Json& holder : (*answer)["holders"].items()) {
      context.output.line(holder["holder"].text());
    }
  } else {
    tell_semaphore(context, *answer);
  }
  return context.output.done();
}

int resize(Context& context, const Parsed& parsed) {
  const std::string& text = parsed.words[1];
  std::int64_t capacity = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), capacity);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return context.misuse(fmt::format("sem resize wants a whole number, not \"{}\"", text));
  }
  const Answer answer = context.client().change(
      "sem.resize", json_of({{"name", parsed.words[0]}, {"capacity", capacity}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format("{} has capacity {}, {} in use",
                                    printable(parsed.words[0]),
                                    (*answer)["capacity"].text(),
                                    (*answer)["in_use"].text()));
  }
  return context.output.done();
}

int remove(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().change("sem.remove", json_of({{"name", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) context.output.line(fmt::format("{} removed", printable(parsed.words[0])));
  return context.output.done();
}

int run(Context& context, const Parsed& parsed) {
  Result<Child> child =
      Child::prepare({.words = parsed.tail, .home = context.client().where().home.path});
  if (!child) return context.fail(Failure{"LEASE_LOST", child.error().message});
  Held held{.kind = "sem", .things = {}, .holder = fresh_holder("run")};
  if (const auto timeout = parsed.duration("timeout")) held.timeout = timeout->count();
  Json params = acquire_params(parsed, held.holder);
  params.set("meta", meta_of_run(*child, parsed.tail, parsed.text("label")));
  const auto answer = obtain(context, parsed, params);
  if (!answer) return context.fail(not_held(answer.error(), "sem"));
  held.things.push_back({parsed.words[0], (*answer)["token"].natural()});
  return run_while_held(context, context.client(), std::move(*child), held);
}

constexpr Option required(Option option) {
  option.required = true;
  return option;
}

constexpr std::array<Option, 1> create_options{{{.name = "capacity",
                                                 .takes = Takes::Number,
                                                 .value = "N",
                                                 .help = "how many places it has",
                                                 .required = true}}};
constexpr std::array<Option, 6> acquire_options{
    {weight_option,
     holder_option,
     acquire_timeout_option,
     wait_option,
     {.name = "pid",
      .takes = Takes::Number,
      .value = "P",
      .help = "a process that keeps it for as long as it lives, without heartbeats; with "
              "--timeout it must send them, or it is ended; in a script: --pid $$"},
     label_option}};
constexpr std::array<Option, 2> release_options{{required(holder_option), token_option}};
constexpr std::array<Option, 2> heartbeat_options{
    {required(holder_option), required(token_option)}};
constexpr std::array<Option, 4> run_options{
    {weight_option, wait_option, timeout_option, label_option}};

constexpr std::array<Example, 1> create_examples{
    {{"reeve sem create builds --capacity 4", "four at a time"}}};
constexpr std::array<Example, 2> acquire_examples{
    {{"reeve sem acquire builds --wait", "one place, waiting as long as it takes"},
     {"reeve sem acquire memory -w 8 --pid $$", "eight places, while this script lives"}}};
constexpr std::array<Example, 1> release_examples{
    {{"reeve sem release builds --holder \"$holder\"", "the next in line has it"}}};
constexpr std::array<Example, 1> heartbeat_examples{
    {{"reeve sem heartbeat builds --holder ana --token 7", "another 60s (or its --timeout)"}}};
constexpr std::array<Example, 1> list_examples{{{"reeve sem list", "what is in use of what"}}};
constexpr std::array<Example, 1> show_examples{{{"reeve sem show builds", "holders and the line"}}};
constexpr std::array<Example, 1> resize_examples{
    {{"reeve sem resize builds 2", "nobody is thrown out; it drains"}}};
constexpr std::array<Example, 1> remove_examples{
    {{"reeve sem remove builds", "nobody may hold it"}}};
constexpr std::array<Example, 1> run_examples{
    {{"reeve sem run builds --wait -- make -j8", "at most as many at once as it has places"}}};

constexpr std::array<Command, 9> commands{{
    {.name = "sem create",
     .summary = "make a semaphore",
     .arguments = one_sem,
     .options = create_options,
     .details = "Making it again with the same capacity is fine.",
     .examples = create_examples,
     .run = create},
    {.name = "sem acquire",
     .summary = "take places of a semaphore",
     .arguments = one_sem,
     .options = acquire_options,
     .details =
         "Exit 6 if there is no room, 3 if there is no such semaphore. First come, first served: "
         "a heavy request at the head of the line is not overtaken.",
     .examples = acquire_examples,
     .run = acquire},
    {.name = "sem release",
     .summary = "give them back",
     .arguments = one_sem,
     .options = release_options,
     .examples = release_examples,
     .run = release},
    {.name = "sem heartbeat",
     .summary = "say that the holder still lives",
     .arguments = one_sem,
     .options = heartbeat_options,
     .examples = heartbeat_examples,
     .run = heartbeat},
    {.name = "sem list",
     .summary = "list the semaphores",
     .arguments = prefix,
     .examples = list_examples,
     .run = list},
    {.name = "sem show",
     .summary = "show a semaphore, its holders and its line",
     .arguments = one_sem,
     .examples = show_examples,
     .run = show},
    {.name = "sem resize",
     .summary = "change its capacity",
     .arguments = name_and_number,
     .examples = resize_examples,
     .run = resize},
    {.name = "sem remove",
     .summary = "remove a semaphore that nobody uses",
     .arguments = one_sem,
     .examples = remove_examples,
     .run = remove},
    {.name = "sem run",
     .summary = "run a command while holding places",
     .arguments = one_sem,
     .options = run_options,
     .details =
         "As `lock run`: heartbeats, passes on signals and the exit code, $REEVE_FENCE has the "
         "token. 6: not obtained; 125: lost.",
     .examples = run_examples,
     .run = run,
     .takes_command = true},
}};

}  // namespace

const Group sem_group{.word = "sem",
                      .summary = "so many at a time, by weight, with a fair line",
                      .commands = commands};

}  // namespace reeve::cli
