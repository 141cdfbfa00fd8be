#include "tools/monitor_plan.h"

#include "codec/shell_word.h"
#include "tools/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace reeve::tools {

namespace {

std::string json_of(const MonitorPlan& plan) {
  std::string responses;
  for (const MonitorPlan::Response& each : plan.responses) {
    responses += fmt::format(R"({}{{"name":{},"times":{},"program":{},"cooldown_ms":{}}})",
                             responses.empty() ? "" : ",",
                             json(each.name),
                             each.times,
                             json(each.program),
                             each.cooldown_ms);
  }
  return fmt::format(R"({{"source":{},"condition":{},"responses":[{}]}})",
                     json(plan.source),
                     json(plan.condition),
                     responses);
}

}  // namespace

MonitorPlan plan_of(const runbook::Runbook& runbook, const runbook::Monitor& monitor) {
  MonitorPlan plan{monitor.source, monitor.condition, {}};
  if (!monitor.run.empty()) {
    // Whenever the condition holds, without end.
    plan.responses.push_back({"run", UINT32_MAX, monitor.run, 0});
  }
  for (const runbook::Reaction& reaction : monitor.response) {
    MonitorPlan::Response response{reaction.name, reaction.times.value_or(1), {}, 0};
    const auto action = runbook.actions.find(reaction.name);
    if (action != runbook.actions.end()) {
      response.program = action->second.run;
      response.cooldown_ms = action->second.cooldown.count();
      // A bare name is tried as often as its action allows; NAME:TIMES no more often than that.
      if (const std::uint32_t most = action->second.max_attempts; most > 0) {
        response.times = std::min(reaction.times.value_or(most), most);
      }
    }
    plan.responses.push_back(std::move(response));
  }
  return plan;
}

definition::Set with_monitors(const runbook::Runbook& runbook) {
  constexpr std::size_t most_bytes = 60'000;
  constexpr std::string_view command = "exec reeve monitor run ";
  definition::Set set = runbook.set;
  for (const auto& [name, cron] : runbook.set.crons) {
    const auto* run = std::get_if<cron::RunMonitors>(&cron.run);
    if (!run || !run->text.starts_with(command)) continue;
    std::string plans;
    for (const std::string& each : run->monitors) {
      const auto monitor = runbook.monitors.find(each);
      if (monitor == runbook.monitors.end()) continue;
      plans += (plans.empty() ? "{" : ",") + json(each) + ":";
      plans += json_of(plan_of(runbook, monitor->second));
    }
    const std::string word = codec::shell_word(plans + "}");
    if (plans.empty() || word.size() > most_bytes) continue;
    cron::RunMonitors pinned = *run;
    pinned.text.insert(command.size(), "--plan " + word + " ");
    cron::Definition changed = cron;
    changed.run = std::move(pinned);
    set.crons.set(name, changed);
  }
  return set;
}

}  // namespace reeve::tools
