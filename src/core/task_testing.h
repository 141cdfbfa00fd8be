#pragma once

#include "core/effect.h"
#include "core/task_step.h"
#include "core/testing.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

// Words that the tests of tasks share.
namespace reeve::task {

using namespace reeve::testing;
using definition::DoDone;
using definition::DoEscalate;
using definition::DoFail;
using definition::DoNudge;
using definition::DoRestart;

// An agent in a session: idle after 3 min, nudged twice, restarted once, then somebody is asked.
inline Begin fixer() {
  Begin begin;
  begin.project = default_project;
  begin.name = "fixer";
  begin.agent.command = "claude";
  begin.agent.idle_timeout = 3min;
  begin.agent.on_idle = {DoNudge{2}, DoRestart{1}, DoEscalate{}};
  begin.agent.on_exit = DoEscalate{};
  begin.agent.on_error = DoEscalate{};
  begin.agent.on_permission = DoEscalate{};
  begin.prompt = "Fix it.";
  begin.workspace = "/ws";
  return begin;
}

// Run to completion.
inline Begin resolver() {
  Begin begin = fixer();
  begin.name = "resolver";
  begin.agent.session = false;
  return begin;
}

inline Outcome ended(reeve::Ended how, std::string error = {}) {
  Outcome outcome;
  outcome.ended = how;
  outcome.error = std::move(error);
  return outcome;
}

inline Outcome exit_with(int code, std::string output = {}) {
  Outcome outcome;
  outcome.ended = code == 0 ? reeve::Ended::Done : reeve::Ended::Failed;
  outcome.exit_code = code;
  outcome.output = std::move(output);
  return outcome;
}

inline agent::AgentState seen(agent::Doing doing, Time when, std::string detail = {}) {
  return {doing, agent::Source::Log, when, {}, std::move(detail)};
}

inline const WorkId work{1};

inline Task starting(Begin begin = fixer()) {
  return spawn(make(work, std::move(begin)), work, start).next;
}

inline Task running(Begin begin = fixer()) {
  const bool session = begin.agent.session;
  Task task = starting(std::move(begin));
  return session ? spawned(task, {}, start).next : task;
}

// What a step did, in few words: "Stuck(idle) stuck nudged Nudge", or "-" if nothing.
inline std::string state_of(const Task& task) {
  if (std::holds_alternative<Pending>(task.state)) return "Pending";
  if (std::holds_alternative<Running>(task.state)) return "Running";
  if (const Stuck* stuck = std::get_if<Stuck>(&task.state)) {
    const char* reasons[] = {"idle", "no progress", "dead", "errored"};
    return std::string("Stuck(") + reasons[static_cast<int>(stuck->reason)] + ")";
  }
  const Result& result = std::get<Done>(task.state).result;
  const char* results[] = {"Success", "Failed", "Cancelled"};
  return results[result.index()];
}

inline std::string body_of(const Task& task) {
  const char* bodies[] = {"None", "Starting", "Live", "Ending", "Unseen"};
  return bodies[static_cast<int>(task.body)];
}

inline std::string effects_of(const Effects& effects) {
  std::string result;
  for (const Effect& effect : effects) {
    if (const Inner* inner = std::get_if<Inner>(&effect.value)) {
      result += " " + name_of(std::get<Emit>(*inner).event).verb;
    } else {
      const char* names[] = {"Shell", "Spawn", "Send", "Kill", "Nudge"};
      result += std::string(" ") + names[std::get<Outgoing>(effect.value).what.index()];
    }
  }
  return result;
}

inline std::string told(const Task& before, const Next& step) {
  std::string result = effects_of(step.effects);
  if (step.outcome.ask) result += " ask";
  if (state_of(before) != state_of(step.next)) result = " " + state_of(step.next) + result;
  if (before.body != step.next.body) result += " (" + body_of(step.next) + ")";
  return result.empty() ? "-" : result.substr(1);
}

}  // namespace reeve::task
