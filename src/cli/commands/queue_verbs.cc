#include "cli/commands/queue_verbs.h"

#include "cli/commands/queue_settings.h"
#include "cli/text.h"
#include "cli/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unistd.h>

namespace reeve::cli::queue_verbs {
namespace {

Json claim_params(const Parsed& parsed) {
  return json_of(
      {{"queue", parsed.words[0]}, {"id", parsed.words[1]}, {"claim", number_of(parsed, "claim")}});
}

// Data on one line of a table. Bytes that are text stand as they are, without quotes.
std::string brief(const Json& item) {
  if (item.has("data_bytes")) return fmt::format("({} bytes)", item["data_bytes"].text());
  const Json& data = item["data"];
  const std::string& bytes = item["bytes"].text();
  if (bytes == "base64") return fmt::format("(bytes) {}", data["base64"].text());
  return printable(bytes == "text" ? data.text() : data.write());
}

// A change whose answer is one sentence.
int say(Context& context, const Answer& answer, const std::string& sentence) {
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) context.output.sentence(sentence);
  return context.output.done();
}

std::string quoted(const Parsed& parsed, std::size_t word) { return printable(parsed.words[word]); }

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

int tell_item(Context& context, const Json& item) {
  Output& output = context.output;
  if (context.quiet()) {
    output.line(item["id"].text());
    return output.done();
  }
  for (const auto& [name, value] : item.members()) {
    if (name == "seq" || name == "data" || name == "bytes" || name == "base64" || value.is_null())
      continue;
    const bool moment = name.ends_with("_at") || name == "not_before";
    output.line(
        fmt::format("{:<12}{}", name, moment ? output.moment(value) : printable(value.text())));
  }
  output.line(fmt::format("{:<12}{}", "data", brief(item)));
  return output.done();
}

}  // namespace

int create(Context& context, const Parsed& parsed) {
  Json first;
  Json most;
  if (const auto backoff = parsed.text("backoff")) {
    const Result<Backoff> pauses = read_backoff(*backoff);
    if (!pauses) return context.misuse(pauses.error().message);
    first = Json(static_cast<std::int64_t>(pauses->first.count()));
    most = Json(static_cast<std::int64_t>(pauses->longest.count()));
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
  return say(context,
             answer,
             fmt::format("{}: {}", quoted(parsed, 0), answer ? settings_of(*answer) : ""));
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
          // Nobody is left to be told.
          static_cast<void>(client.change(
              "queue.release",
              json_of({{"queue", item["queue"]}, {"id", item["id"]}, {"claim", item["claim"]}})));
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
  // The end of a wait does not say why.
  const auto is_paused = [&](const std::string& name) {
    const Answer seen = client.ask("queue.stats", json_of({{"queue", name}}));
    return seen && (*seen)["queues"].items()[0]["paused"].truth();
  };
  if (!wait.is_null() && (*answer)["items"].items().empty() &&
      std::ranges::all_of(parsed.words, is_paused)) {
    answer->set("paused", true);
  }
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
  std::string then = " and will be tried again";
  if (answer && answer->has("dead_letter")) {
    then = " for good: it is in " + printable((*answer)["dead_letter"].text()) + " now";
  } else if (answer && (*answer)["state"].text() == "dead") {
    then = " for good: it is dead";
  }
  return say(context, answer, fmt::format("{} failed{}", quoted(parsed, 1), then));
}

int extend(Context& context, const Parsed& parsed) {
  Json params = claim_params(parsed);
  if (parsed.has("by")) params.set("by_ms", milliseconds_of(parsed, "by"));
  const Answer answer = context.client().change("queue.extend", params);
  const auto until = answer ? parse_moment((*answer)["visible_at"].text()) : std::nullopt;
  const std::string how_long =
      context.output.iso() || !until
          ? fmt::format("until {}", answer ? (*answer)["visible_at"].text() : "")
          : fmt::format("for {}", rough_duration(std::max<std::int64_t>(0, *until - wall_now())));
  return say(context, answer, fmt::format("{} is yours {}", quoted(parsed, 1), how_long));
}

int release(Context& context, const Parsed& parsed) {
  Json params = claim_params(parsed);
  if (parsed.has("delay")) params.set("delay_ms", milliseconds_of(parsed, "delay"));
  if (parsed.has("priority")) params.set("priority", number_of(parsed, "priority"));
  return say(context,
             context.client().change("queue.release", params),
             fmt::format("{} given back", quoted(parsed, 1)));
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
               {!paused                     ? ""
                : queue.has("paused_until") ? "resumes " + output.moment(queue["paused_until"])
                                            : "paused",
                Style::Warn}});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note("no queues; make one with `reeve queue push NAME DATA`");
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  if (!parsed.words.empty() && table.size() == 1) {
    output.sentence(settings_of((*answer)["queues"].items()[0]));
  }
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
  const std::string which = state == "pending" ? "pending and delayed" : state;
  if (!parsed.has("yes")) {
    // Nobody is asked about what is not there.
    const Answer found = context.client().ask("queue.stats", json_of({{"queue", parsed.words[0]}}));
    if (!found) return context.fail(found.error());
    if (::isatty(STDIN_FILENO) == 0 || context.json()) {
      return context.fail(Failure{
          "NOT_ALLOWED",
          fmt::format(
              "queue purge deletes all {} items of {}; say --yes", which, parsed.words[0])});
    }
    context.output.err(fmt::format("delete all {} items of {}? [y/N] ", which, quoted(parsed, 0)));
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

}  // namespace reeve::cli::queue_verbs
