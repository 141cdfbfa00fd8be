#include "cli/commands/task_verbs.h"

#include "cli/commands/board.h"
#include "cli/text.h"

#include <fmt/format.h>

namespace reeve::cli::task_verbs {

namespace {

Style style_of(std::string_view status) {
  if (status == "in_progress") return Style::Good;
  if (status == "failed") return Style::Bad;
  if (status == "review") return Style::Warn;
  return status == "pending" ? Style::Plain : Style::Dim;
}

std::string title_of(const Json& task) { return printable(task["title"].text()); }

// A name that was said, for those who may but need not say one.
Json runner_json(const Parsed& parsed) {
  const auto runner = board::runner_of(parsed);
  return runner ? Json(*runner) : Json();
}

// What goes with a start or a putting back is a note of its own; an end carries it.
std::expected<void, Failure> add_note(Context& context, const Parsed& parsed, const Json& task) {
  const auto text = parsed.text("note");
  if (!text) return {};
  const Answer noted = context.client().change(
      "task.note", json_of({{"id", task["id"]}, {"text", *text}, {"by", runner_json(parsed)}}));
  if (!noted) return std::unexpected(noted.error());
  return {};
}

int told_update(Context& context, const Answer& answer, std::string_view status) {
  if (!answer) return board::fail(context, answer.error());
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(
      context.quiet()
          ? (*answer)["id"].text()
          : fmt::format("Task \"{}\" status updated to {}.", title_of(*answer), status));
  return context.output.done();
}

int begin(Context& context, const Parsed& parsed) {
  if (const auto sent = board::send_locking(context); !sent) return context.fail(sent.error());
  const board::Who who = board::runner_or_fresh(parsed);
  const Json params =
      json_of({{"id", parsed.words[0]}, {"status", "in_progress"}, {"runner", who.runner}});
  Answer answer = board::start(context, "task.update", params, board::wait_of(parsed, Json(-1)));
  if (answer) {
    if (const auto noted = add_note(context, parsed, *answer); !noted) {
      return context.fail(noted.error());
    }
    board::tell_fresh(context, who);
  }
  return told_update(context, answer, "in_progress");
}

}  // namespace

int add(Context& context, const Parsed& parsed) {
  const Answer answer =
      context.client().change("task.add",
                              json_of({{"title", parsed.words[0]},
                                       {"section", text_of(parsed, "section")},
                                       {"priority", number_of(parsed, "priority")},
                                       {"note", text_of(parsed, "note")}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const std::string id = (*answer)["id"].text();
  context.output.line(context.quiet()
                          ? id
                          : fmt::format("{}  {}{}",
                                        id,
                                        title_of(*answer),
                                        answer->has("section")
                                            ? "  in " + printable((*answer)["section"].text())
                                            : ""));
  return context.output.done();
}

int list(Context& context, const Parsed& parsed) {
  const bool open = !parsed.has("all") && !parsed.has("status");
  const Answer answer = list_all(context.client(),
                                 "task.list",
                                 "tasks",
                                 json_of({{"section", text_of(parsed, "section")},
                                          {"status", text_of(parsed, "status")},
                                          {"open", open ? Json(true) : Json()},
                                          {"limit", 1000}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  Table table({{"ID"},
               {"STATUS"},
               {"SECTION", Table::Align::Left, true},
               {"PRIORITY", Table::Align::Right},
               {"RUNNER", Table::Align::Left, true},
               {"EXPIRES"},
               {"TITLE", Table::Align::Left, true}});
  for (const Json& task : (*answer)["tasks"].items()) {
    if (context.quiet()) {
      output.line(task["id"].text());
      continue;
    }
    const std::string status = task["status"].text();
    const bool over = task["expired"].truth();
    table.add(
        {task["id"].text(),
         {status, style_of(status)},
         task.has("section") ? printable(task["section"].text()) : "-",
         task["priority"].text(),
         task.has("runner") ? board::runner_in_words(task) : "-",
         {over ? "expired" : output.moment(task["expires_at"]), over ? Style::Bad : Style::Plain},
         title_of(task)});
  }
  if (context.quiet()) return output.done();
  if (table.empty()) {
    output.note(open ? "no open tasks; add one with `reeve task add TITLE`" : "no such tasks");
    return output.done();
  }
  output.out(table.write(Output::out_width(), output));
  return output.done();
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("task.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  const Json& task = *answer;
  Output& output = context.output;
  if (context.quiet()) {
    output.line(task["id"].text());
    return output.done();
  }
  const std::string status = task["status"].text();
  output.line(fmt::format("task      {}", task["id"].text()));
  output.line(fmt::format("title     {}", title_of(task)));
  output.line(fmt::format("status    {}", output.styled(style_of(status), status)));
  if (task.has("section")) {
    output.line(fmt::format("section   {}", printable(task["section"].text())));
  }
  if (task.has("project")) {
    output.line(fmt::format("project   {}", printable(task["project"].text())));
  }
  output.line(fmt::format("priority  {}", task["priority"].text()));
  output.line(fmt::format("added     {}", output.moment(task["created_at"])));
  if (task.has("ended_at"))
    output.line(fmt::format("ended     {}", output.moment(task["ended_at"])));
  if (task.has("runner")) {
    output.line(fmt::format("runner    {}", board::runner_in_words(task)));
    output.line(fmt::format("token     {}", task["token"].text()));
    output.line(fmt::format("since     {}", output.moment(task["acquired_at"])));
    output.line(fmt::format("heartbeat {}", output.moment(task["heartbeat_at"])));
    output.line(fmt::format("expires   {}{}",
                            output.moment(task["expires_at"]),
                            task["expired"].truth() ? "  (over: whoever asks gets it)" : ""));
  }
  if (task["waiting"].number() > 0) {
    output.line(fmt::format("waiting   {}", task["waiting"].text()));
  }
  for (const Json& waiter : task["waiters"].items()) {
    output.line(fmt::format(
        "  {}  since {}", board::runner_in_words(waiter), output.moment(waiter["since"])));
  }
  for (const Json& note : task["notes"].items()) {
    output.sentence(fmt::format("note      {}{}: {}",
                                output.moment(note["at"]),
                                note.has("by") ? " by " + printable(note["by"].text()) : "",
                                printable(note["text"].text())),
                    10);
  }
  return output.done();
}

int update(Context& context, const Parsed& parsed) {
  const std::string status(parsed.text("status").value_or(""));
  if (parsed.has("wait") && parsed.has("no-wait")) {
    return context.misuse("--wait and --no-wait are opposites; say one");
  }
  if (status == "in_progress") {
    if (parsed.has("token")) {
      return context.misuse("--token is for who has the task; a start gives one");
    }
    return begin(context, parsed);
  }
  if (parsed.has("wait")) {
    return context.misuse(fmt::format("only in_progress waits, not {}", status));
  }
  const bool is_end = status != "pending";
  const Answer answer =
      context.client().change("task.update",
                              json_of({{"id", parsed.words[0]},
                                       {"status", status},
                                       {"runner", runner_json(parsed)},
                                       {"token", number_of(parsed, "token")},
                                       {"note", is_end ? text_of(parsed, "note") : Json()}}));
  if (answer && !is_end) {
    if (const auto noted = add_note(context, parsed, *answer); !noted) {
      return context.fail(noted.error());
    }
  }
  return told_update(context, answer, status);
}

int next(Context& context, const Parsed& parsed) {
  if (parsed.has("wait") && parsed.has("no-wait")) {
    return context.misuse("--wait and --no-wait are opposites; say one");
  }
  const bool starts = parsed.has("start");
  const bool in_order = parsed.has("in-order");
  const board::Who who = board::runner_or_fresh(parsed);
  if (const auto sent = board::send_locking(context); !sent) return context.fail(sent.error());
  const Json params = json_of({{"runner", who.runner},
                               {"section", text_of(parsed, "section")},
                               {"start", starts ? Json(true) : Json()},
                               {"in_order", in_order ? Json(true) : Json()}});
  const Answer answer = board::start(
      context, "task.next", params, board::wait_of(parsed, in_order ? Json(-1) : Json()));
  if (!answer) return board::fail(context, answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Output& output = context.output;
  const Json& task = *answer;
  if (!task.has("id")) {
    if (!context.quiet()) {
      output.note(task["open"].truth() ? "nothing to start: others have what is open"
                                       : "nothing to start: no task is open");
    }
    return output.done();
  }
  if (starts) board::tell_fresh(context, who);
  if (context.quiet()) {
    output.line(task["id"].text());
    return output.done();
  }
  std::string line = fmt::format("{}  {}", task["id"].text(), title_of(task));
  if (task.has("section")) line += fmt::format("  in {}", printable(task["section"].text()));
  if (starts) {
    line += fmt::format(
        "  token {}  expires {}", task["token"].text(), output.moment(task["expires_at"]));
  }
  output.line(line);
  return output.done();
}

int note(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().change(
      "task.note",
      json_of({{"id", parsed.words[0]}, {"text", parsed.words[1]}, {"by", runner_json(parsed)}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) context.output.line(fmt::format("{} noted", (*answer)["id"].text()));
  return context.output.done();
}

int remove(Context& context, const Parsed& parsed) {
  Json removed = Json::array();
  for (const std::string& task : parsed.words) {
    const Answer answer = context.client().change("task.remove", json_of({{"id", task}}));
    if (!answer) return board::fail(context, answer.error());
    removed.push((*answer)["id"]);
    if (context.json()) continue;
    const std::string id = (*answer)["id"].text();
    context.output.line(context.quiet() ? id : fmt::format("{} removed", id));
  }
  if (context.json()) return context.output.succeed(json_of({{"ids", removed}}));
  return context.output.done();
}

int heartbeat(Context& context, const Parsed& parsed) {
  const auto runner = board::runner_of(parsed);
  if (!runner) {
    return context.misuse("whose heartbeat? say --runner R, or set REEVE_RUNNER");
  }
  board::try_send_locking(context);
  const Answer answer = context.client().change(
      "task.heartbeat",
      json_of(
          {{"id", parsed.words[0]}, {"runner", *runner}, {"token", number_of(parsed, "token")}}));
  if (!answer) return board::fail(context, answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (!context.quiet()) {
    context.output.line(fmt::format(
        "{} expires {}", (*answer)["id"].text(), context.output.moment((*answer)["expires_at"])));
  }
  return context.output.done();
}

}  // namespace reeve::cli::task_verbs
