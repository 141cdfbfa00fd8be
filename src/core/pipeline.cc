#include "core/pipeline.h"

#include "base/match.h"
#include "core/pipeline_course.h"
#include "core/task_step.h"

// Where time and outcomes come in.
namespace reeve::pipeline {
namespace {

// Something was noted for it, or it had no room in the step before.
void attend(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  if (is_over(pipeline)) return tell_dependants(turn, id);
  if (is_blocked_by(pipeline, Reason::Dependency) && pipeline.after.empty()) {
    moved(turn, id, move::Unblock{});
    return enter(turn, id);
  }
  if (std::holds_alternative<Entering>(pipeline.course)) return enter(turn, id);
  if (const Acting* acting = std::get_if<Acting>(&pipeline.course)) {
    if (std::holds_alternative<Children>(acting->what)) attend_children(turn, id);
    return;
  }
  if (const Leaving* leaving = std::get_if<Leaving>(&pipeline.course)) {
    if (std::holds_alternative<Children>(leaving->still)) cancel_children(turn, id);
  }
}

// What its agent does was decided in time, and only the end of its body is still to be observed. Of
// a strategy that is not said of a failure: another approach would begin.
bool is_decided(const Turn& turn, const Pipeline& pipeline) {
  const std::optional<WorkId> work = agent_of(pipeline);
  const task::Task* task = work ? turn.state().tasks.tasks.find(*work) : nullptr;
  const task::Done* done = task ? std::get_if<task::Done>(&task->state) : nullptr;
  if (!done) return false;
  return std::holds_alternative<AgentRun>(std::get<Acting>(pipeline.course).what) ||
         std::holds_alternative<task::Success>(done->result) || task::was_told_to_fail(*task);
}

}  // namespace

void due(Turn& turn, const Due& due) {
  const PipelineId id = due.pipeline;
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline) return;
  switch (due.timer) {
    case Timer::Attend:
      return attend(turn, id);
    case Timer::Backoff:
      if (!is_blocked_by(*pipeline, Reason::Backoff)) return;
      moved(turn, id, move::Unblock{});
      return enter(turn, id);
    case Timer::Guard:
      return guard_due(turn, id);
    case Timer::Timeout:
      if (!std::holds_alternative<Acting>(pipeline->course) || is_decided(turn, *pipeline)) return;
      if (has_news(turn, id)) return turn.arm(due, turn.now());
      return wind_down(turn, id, FailWith{{"timed out"}});
    case Timer::MaxHold:
      if (!pipeline->holding.granted) return;
      if (has_news(turn, id)) return turn.arm(due, turn.now());
      return wind_down(turn, id, FailWith{{"max_hold exceeded"}});
    case Timer::Forget:
      return forget(turn, id);
  }
}

void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome) {
  const PipelineId id = to.pipeline;
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || pipeline->entry != to.entry) return;
  if (to.kill) return kill_ended(turn, id, outcome);
  match(
      pipeline->course,
      [](const Idle&) {},
      [](const Entering&) {},
      [&](const Preparing& at) {
        if (at.effect == effect) prepared(turn, id, outcome);
      },
      [&](const Guarding& at) {
        if (at.check == effect) guard_checked(turn, id, outcome);
      },
      [](const Acquiring&) {},
      [&](const Acting& at) {
        if (const ShellRun* run = std::get_if<ShellRun>(&at.what)) {
          if (run->effect == effect) shell_ended(turn, id, outcome);
        } else if (const StrategyRun* way = std::get_if<StrategyRun>(&at.what)) {
          if (way->running == decltype(way->running){effect}) strategy_ended(turn, id, outcome);
        }
      },
      [&](const Leaving& at) {
        if (at.still != decltype(at.still){effect}) return;
        const bool was_check = at.guards.has_value();
        if (!was_check) keep_workspace(turn, id, outcome);
        take_exit(turn, id, outcome);
      },
      [&](const Clearing& at) {
        if (at.effect == effect) workspace_cleared(turn, id, outcome);
      });
}

EventName name_of(const Event& event) {
  const auto named = [](PipelineId id, const char* verb, const std::string& detail = {}) {
    return EventName{"pipeline", to_text(id), verb, detail};
  };
  return match(
      event,
      [&](const WasStarted& e) { return named(e.pipeline, "started"); },
      [&](const EnteredPhase& e) { return named(e.pipeline, "phase", e.phase); },
      [&](const FailedPhase& e) { return named(e.pipeline, "phase_failed", e.phase); },
      [&](const WasBlocked& e) { return named(e.pipeline, "blocked", e.phase); },
      [&](const WasUnblocked& e) { return named(e.pipeline, "unblocked", e.phase); },
      [&](const WasRetried& e) { return named(e.pipeline, "retry", e.phase); },
      [&](const WasCompleted& e) { return named(e.pipeline, "complete"); },
      [&](const HasFailed& e) { return named(e.pipeline, "failed", e.phase); },
      [&](const WasCancelled& e) { return named(e.pipeline, "cancelled"); },
      [&](const MadeCheckpoint& e) { return named(e.pipeline, "checkpoint", e.phase); },
      [](const guard::Event& e) { return guard::name_of(e); },
      [](const strategy::Event& e) { return strategy::name_of(e); },
      [&](const WorkspaceRemoved& e) { return named(e.pipeline, "workspace_removed"); },
      [&](const WorkspaceKept& e) { return named(e.pipeline, "workspace_kept"); });
}

}  // namespace reeve::pipeline
