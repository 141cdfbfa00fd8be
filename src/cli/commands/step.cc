#include "cli/commands/groups.h"
#include "cli/commands/runs.h"
#include "cli/commands/said_in_step.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

// What a step says from inside: it finds its owner in its environment.
namespace reeve::cli {

Parsed without_secrets(const Context& context, const Parsed& parsed) {
  const auto run = environment("REEVE_RUN");
  if (!run || !context.runbooks || !context.runbooks->without_secrets) return parsed;
  return parsed.with(
      [&](std::string_view text) { return context.runbooks->without_secrets(*run, text); });
}

namespace {

// What goes well is not worth a line in the step's log.
int tell_ok(Context& context, const Answer& answer) {
  if (!answer) return context.fail(answer.error());
  return context.json() ? context.output.succeed(*answer) : context.output.done();
}

}  // namespace

// An agent says how its work went; a step how its phase did, which counts when the step has ended.
int done_command(Context& context, const Parsed& parsed) {
  Json params = json_of({{"error", text_of(parsed, "error")}});
  if (const auto agent = environment("REEVE_AGENT")) {
    params.set("id", *agent);
    return tell_ok(context, context.client().change("agent.report", std::move(params)));
  }
  const auto pipeline = own_id(context, "REEVE_PIPELINE", "done");
  if (!pipeline) return static_cast<int>(Exit::Usage);
  params.set("id", *pipeline);
  // A step that was given up and goes on all the same does not speak for the one after it.
  if (const auto phase = environment("REEVE_PHASE")) params.set("phase", *phase);
  if (const auto attempt = environment("REEVE_ATTEMPT")) {
    std::int64_t number = 0;
    const char* const end = attempt->data() + attempt->size();
    const auto [stopped, error] = std::from_chars(attempt->data(), end, number);
    if (error == std::errc{} && stopped == end) params.set("attempt", number);
  }
  return tell_ok(context, context.client().change("pipeline.finish", std::move(params)));
}

int checkpoint_command(Context& context, const Parsed& parsed) {
  const auto pipeline = own_id(context, "REEVE_PIPELINE", "checkpoint");
  if (!pipeline) return static_cast<int>(Exit::Usage);
  return tell_ok(
      context,
      context.client().change("pipeline.checkpoint",
                              json_of({{"id", *pipeline}, {"message", parsed.words[0]}})));
}

namespace {

// A step needs no heartbeat, for its process is seen: it is told how its run is.
Answer beat_of_step(Context& context, const std::string& pipeline) {
  const Answer run = context.client().ask("pipeline.show", json_of({{"id", pipeline}}));
  if (!run) return run;
  const bool is_over = (*run)["cancelling"].truth() || run->has("ended_at");
  return json_of(
      {{"id", (*run)["id"]}, {"over", Json(is_over)}, {"paused", Json((*run)["paused"].truth())}});
}

}  // namespace

// Exit 4: the work was cancelled, or is over otherwise; whoever beats should stop.
int heartbeat_command(Context& context, const Parsed&) {
  const auto agent = environment("REEVE_AGENT");
  const auto id = agent ? agent : own_id(context, "REEVE_PIPELINE", "heartbeat");
  if (!id) return static_cast<int>(Exit::Usage);
  const Answer answer = agent
                            ? context.client().change("agent.heartbeat", json_of({{"id", *agent}}))
                            : beat_of_step(context, *id);
  if (!answer) return context.fail(answer.error());
  const bool over = (*answer)["over"].truth();
  if (context.json()) {
    context.output.succeed(*answer);
  } else if (over) {
    context.output.note(fmt::format("{} is over", *id));
  } else if ((*answer)["paused"].truth()) {
    context.output.note(fmt::format("{} is paused: nothing follows on this", *id));
  }
  return over ? static_cast<int>(Exit::Cancelled) : context.output.done();
}

int ask_command(Context& context, const Parsed& parsed) {
  Json params = json_of({{"question", parsed.words[0]}});
  Json options = Json::array();
  for (const std::string_view option : parsed.texts("option")) {
    if (option.empty() || option.find('\n') != std::string_view::npos) {
      return context.misuse("an --option is one line, and not empty");
    }
    if (std::ranges::find(options.items(), Json(option)) != options.items().end()) {
      return context.misuse(fmt::format("--option {} is there twice", printable(option)));
    }
    options.push(option);
  }
  if (const auto chosen = parsed.text("default")) {
    std::int64_t number = -1;
    for (std::size_t i = 0; i < options.items().size(); ++i) {
      if (options.items()[i].text() == *chosen) number = static_cast<std::int64_t>(i);
    }
    if (number < 0) return context.misuse("--default is one of the options");
    params.set("default", number);
  }
  if (!options.items().empty()) params.set("options", options);
  // Nobody waits for the answer of --no-wait, so its pipeline does not either.
  const auto pipeline = parsed.has("no-wait") ? std::nullopt : environment("REEVE_PIPELINE");
  if (pipeline) params.set("pipeline", *pipeline);
  const auto limit = parsed.duration("timeout");
  if (parsed.has("no-wait")) {
    if (limit) return context.misuse("--timeout is how long to wait; --no-wait does not");
    const Answer asked = context.client().change("decision.ask", std::move(params));
    if (!asked) return context.fail(asked.error());
    if (context.json()) return context.output.succeed(*asked);
    context.output.line((*asked)["id"].text());
    return context.output.done();
  }
  params.set("wait_ms", limit ? static_cast<std::int64_t>(limit->count()) : -1);

  Client& client = context.client();
  const Signals signals{SIGINT, SIGTERM};
  const auto ticket = client.begin("decision.ask", std::move(params), Client::Kind::Change);
  bool interrupted = false;
  if (!context.json() && !context.quiet()) {
    context.output.note("waiting for an answer; `reeve decision list` shows the question");
  }
  std::optional<Answer> answer;
  while (!(answer = client.take(ticket))) {
    std::array<pollfd, 1> others{signals.readable()};
    client.pump(-1, others);
    if (signals.next() && !std::exchange(interrupted, true)) client.cancel(ticket);
  }
  if (!*answer) {
    Failure failure = answer->error();
    if (interrupted) failure.code = "INTERRUPTED";
    if (failure.code == "TIMED_OUT") failure.code = "WAIT_TIMED_OUT";
    return context.fail(failure);
  }
  if (context.json()) return context.output.succeed(**answer);
  context.output.line((**answer)["text"].text());
  return context.output.done();
}

}  // namespace reeve::cli
