#include "cli/commands/groups.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/commands/runs.h"
#include "cli/history.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>

// `wait`, `cancel`, `resume`, `pause`: about runs by their ids.
namespace reeve::cli {

namespace {

// The whole ids of these. The first that there is none of is the failure.
std::expected<std::vector<std::string>, Failure> whole_ids(Context& context,
                                                           const std::vector<std::string>& words) {
  std::vector<std::string> ids;
  for (const std::string& word : words) {
    const Answer answer = show_run(context.client(), word);
    if (!answer) return std::unexpected(answer.error());
    const std::string& id = (*answer)["id"].text();
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

int tell_changed(Context& context, const Answer& answer) {
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(context.quiet() ? (*answer)["id"].text() : run_line(context.output, *answer));
  return context.output.done();
}

// A run as the daemon knows it; else, long after its end, as history does.
Answer show_past_or_present(Context& context, const std::string& word) {
  Answer answer = show_run(context.client(), word);
  if (answer || answer.error().code != "NOT_FOUND") return answer;
  const auto past = show_from_history(context, word);
  if (!past || (*past)["kind"].text() != "pipeline") return answer;
  if (is_reached(*past, Until::Over)) return *past;
  return std::unexpected(
      Failure{"NOT_FOUND",
              fmt::format("the daemon has forgotten {}, and history does not know how it ended",
                          (*past)["id"].text())});
}

bool is_past(const Json& run) { return run["from"].text() == "history"; }

}  // namespace

int wait_command(Context& context, const Parsed& parsed) {
  WatchPlan plan;
  const std::string_view until = parsed.text("for").value_or("success");
  plan.until = until == "running" ? Until::Running : until == "done" ? Until::Over : Until::Success;
  plan.any = parsed.has("any");
  if (const auto limit = parsed.duration("timeout")) plan.limit = limit->count();
  Json::Array runs;
  for (const std::string& word : parsed.words) {
    const Answer run = show_past_or_present(context, word);
    if (!run) return context.fail(run.error());
    const std::string& id = (*run)["id"].text();
    const bool is_new =
        std::ranges::none_of(runs, [&](const Json& other) { return other["id"].text() == id; });
    if (!is_new) continue;
    runs.push_back(*run);
    if (!is_past(*run)) plan.ids.push_back(id);
  }
  // What is past need not be waited for: of --any it is the one.
  const bool has_past = plan.ids.size() < runs.size();
  Watched watched;
  if (!plan.ids.empty() && !(plan.any && has_past)) watched = watch(context, plan);
  for (auto seen = watched.runs.begin(); Json & run : runs) {
    if (!is_past(run) && seen != watched.runs.end()) run = *seen++;
  }
  watched.runs = std::move(runs);
  return tell_watched(context, plan, watched, until == "done");
}

// Told to all of them first, and then waited for: the end of one may be what another waits for.
int cancel_command(Context& context, const Parsed& parsed) {
  auto ids = whole_ids(context, parsed.words);
  if (!ids) {
    Failure failure = ids.error();
    if (parsed.words.size() > 1) failure.message += "; nothing was cancelled";
    return context.fail(std::move(failure));
  }
  for (const std::string& id : *ids) {
    const std::string_view method = is_agent(id) ? "agent.kill" : "pipeline.cancel";
    const Answer answer = context.client().change(method, json_of({{"id", id}}));
    if (!answer) return context.fail(answer.error());
    if (!parsed.has("no-wait") || context.json()) continue;
    if (context.quiet()) {
      context.output.line(id);
      continue;
    }
    const Answer now = show_run(context.client(), id);
    if (!now) return context.fail(now.error());
    context.output.line(run_line(context.output, *now));
  }
  WatchPlan plan{.ids = *std::move(ids)};
  if (parsed.has("no-wait")) {
    plan.limit = 0;
    if (!context.json()) return context.output.done();
    Json list = Json::array();
    for (const std::string& id : plan.ids) list.push(id);
    return context.output.succeed(json_of({{"ids", list}}));
  }
  return tell_watched(context, plan, watch(context, plan), true);
}

int resume_command(Context& context, const Parsed& parsed) {
  Json params = json_of({{"id", parsed.words[0]}, {"phase", text_of(parsed, "from")}});
  if (parsed.has("force")) params.set("force", true);
  const Answer answer = context.client().change("pipeline.resume", std::move(params));
  // Nothing follows before the end of what runs was seen.
  const std::string from(parsed.text("from").value_or(""));
  const bool is_leaving = answer && !from.empty() && (*answer)["state"].text() == "running" &&
                          (*answer)["phase"].text() != from;
  if (!is_leaving || context.json() || context.quiet()) return tell_changed(context, answer);
  context.output.line(
      fmt::format("{}; {} comes when that has ended", run_line(context.output, *answer), from));
  return context.output.done();
}

int pause_command(Context& context, const Parsed& parsed) {
  return tell_changed(
      context, context.client().change("pipeline.pause", json_of({{"id", parsed.words[0]}})));
}

}  // namespace reeve::cli
