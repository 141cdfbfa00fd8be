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
    const Answer answer = context.client().ask("pipeline.show", json_of({{"id", word}}));
    if (!answer) return std::unexpected(answer.error());
    const std::string& id = (*answer)["id"].text();
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

int tell_changed(Context& context, const Answer& answer) {
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(context.quiet() ? (*answer)["id"].text()
                                      : pipeline_line(context.output, *answer));
  return context.output.done();
}

// One that ended so long ago that only history knows how.
int tell_past(Context& context, const Json& past, bool however) {
  const std::string& state = past["state"].text();
  const Exit exit = however || state == "done" ? Exit::Ok
                    : state == "cancelled"     ? Exit::Cancelled
                                               : Exit::Failed;
  if (context.json()) {
    const int told = context.output.succeed(past);
    return exit == Exit::Ok ? told : static_cast<int>(exit);
  }
  context.output.line(
      context.quiet()
          ? past["id"].text()
          : fmt::format("{}  {}  {}", past["id"].text(), printable(past["name"].text()), state));
  return context.output.done(exit);
}

}  // namespace

int wait_command(Context& context, const Parsed& parsed) {
  auto ids = whole_ids(context, parsed.words);
  if (!ids && ids.error().code == "NOT_FOUND" && parsed.words.size() == 1) {
    if (const auto past = show_from_history(context, parsed.words[0])) {
      return tell_past(context, *past, parsed.text("for").value_or("success") == "done");
    }
  }
  if (!ids) return context.fail(ids.error());
  WatchPlan plan{.ids = *std::move(ids)};
  const std::string_view until = parsed.text("for").value_or("success");
  plan.until = until == "running" ? Until::Running : until == "done" ? Until::Over : Until::Success;
  plan.any = parsed.has("any");
  if (const auto limit = parsed.duration("timeout")) plan.limit = limit->count();
  return tell_watched(context, plan, watch(context, plan), until == "done");
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
    const Answer answer = context.client().change("pipeline.cancel", json_of({{"id", id}}));
    if (!answer) return context.fail(answer.error());
    if (!parsed.has("no-wait")) continue;
    if (context.json()) continue;
    context.output.line(context.quiet() ? id : pipeline_line(context.output, *answer));
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
  return tell_changed(context, context.client().change("pipeline.resume", std::move(params)));
}

int pause_command(Context& context, const Parsed& parsed) {
  return tell_changed(
      context, context.client().change("pipeline.pause", json_of({{"id", parsed.words[0]}})));
}

}  // namespace reeve::cli
