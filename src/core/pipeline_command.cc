#include "base/match.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/pipeline_course.h"
#include "core/task.h"

// What people and steps say to a pipeline.
namespace reeve::pipeline {
namespace {

reeve::Reply unknown(PipelineId id) { return refused(Why::NotFound, to_text(id)); }

reeve::Reply start(Turn& turn, const Start& command) {
  const std::string* hash = turn.state().definitions.current.find(turn.project());
  if (!hash) return refused(Why::NotFound, command.name);
  const auto started = begin(
      turn,
      {{turn.project(), *hash}, command.name, command.inputs, command.environment, ByClient{}});
  if (const Refused* why = std::get_if<Refused>(&started)) return {*why};
  return {Reply{Started{std::get<PipelineId>(started)}}};
}

// Why a failed pipeline may not go on, or nothing.
std::optional<Refused> in_the_way(const Turn& turn, const Pipeline& pipeline, bool force) {
  const Failed* failed = std::get_if<Failed>(&pipeline.state);
  if (!failed) {
    return Refused{Why::NotAllowed,
                   to_text(pipeline.id) + (is_over(pipeline) ? " has ended" : " has not failed")};
  }
  if (!failed->recoverable && !force) {
    return Refused{Why::NotAllowed, to_text(pipeline.id) + " is not recoverable"};
  }
  if (std::holds_alternative<Clearing>(pipeline.course)) {
    return Refused{Why::NotAllowed,
                   "the workspace of " + to_text(pipeline.id) + " is being removed"};
  }
  if (turn.state().pipelines.open >= limits::open_pipelines) {
    return Refused{Why::OverLimit, "open pipelines"};
  }
  return match(
      pipeline.origin->starter,
      [](const ByClient&) -> std::optional<Refused> { return std::nullopt; },
      [&](const ByWorker& by) -> std::optional<Refused> {
        // Two pipelines with one item would do the work twice.
        const queue::Item* item = turn.state().queues.items.find(by.item);
        const bool is_free = item && (item->state == queue::ItemState::Pending ||
                                      item->state == queue::ItemState::Dead);
        if (is_free) return std::nullopt;
        return Refused{Why::NotAllowed, to_text(by.item) + " is no longer its item"};
      },
      [](const ByCron&) -> std::optional<Refused> { return std::nullopt; },
      [](const ByParent& by) -> std::optional<Refused> {
        // It was told how this one ended, and counted it.
        return Refused{Why::NotAllowed, "a child of " + to_text(by.pipeline)};
      });
}

reeve::Reply retry(Turn& turn, const Retry& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  if (is_over(*pipeline)) {
    if (const auto why = in_the_way(turn, *pipeline, command.force)) return {*why};
    if (!reopen(turn, id)) return refused(Why::NotAllowed, to_text(id) + " has lost its item");
  } else {
    // With a failure it has left its phase, but for the question about a guard.
    const bool waits = pipeline->failure && (is_blocked_by(*pipeline, Reason::Decision) ||
                                             is_blocked_by(*pipeline, Reason::Backoff));
    if (!waits) return refused(Why::NotAllowed, to_text(id) + " has not failed");
    retire_question(turn, id);
    turn.arm(Due{id, Timer::Backoff}, std::nullopt);
  }
  moved(turn, id, move::Retry{command.force});
  doubt_workspace(turn, id);
  enter(turn, id);
  return {Ok{}};
}

reeve::Reply transition_to(Turn& turn, const Transition& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  if (is_over(*pipeline)) return refused(Why::NotAllowed, to_text(id) + " has ended");
  const Plan plan = plan_of(turn, *pipeline);
  if (!plan.pipeline || !phase_named(*plan.pipeline, command.phase)) {
    return refused(Why::NotFound, command.phase);
  }
  if (std::holds_alternative<Leaving>(pipeline->course)) {
    return refused(Why::NotAllowed, to_text(id) + " is on its way out of a phase");
  }
  // Whoever cancelled it waits for its end, and was promised that.
  if (pipeline->verdict && pipeline->verdict->ending == Ending::Cancelled) {
    return refused(Why::NotAllowed, to_text(id) + " is cleaning up");
  }
  wind_down(turn, id, JumpTo{command.phase});
  return {Ok{}};
}

// A paused one goes on, and from there. What is being withdrawn for the pause is waited for.
reeve::Reply go_on_from(Turn& turn, PipelineId id, const std::string& phase) {
  const Pipeline& pipeline = *find(turn, id);
  if (const Leaving* leaving = std::get_if<Leaving>(&pipeline.course)) {
    if (!std::holds_alternative<BePaused>(leaving->exit)) {
      return refused(Why::NotAllowed, to_text(id) + " is on its way out of a phase");
    }
    Pipeline& changed = edit(turn, id);
    changed.paused = false;
    take_visit_back(changed);
    std::get<Leaving>(changed.course).exit = JumpTo{phase};
    return {Ok{}};
  }
  edit(turn, id).paused = false;
  wind_down(turn, id, JumpTo{phase});
  return {Ok{}};
}

reeve::Reply resume_from(Turn& turn, const ResumeFrom& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  const Plan plan = plan_of(turn, *pipeline);
  if (!plan.pipeline || !phase_named(*plan.pipeline, command.phase)) {
    return refused(Why::NotFound, command.phase);
  }
  if (pipeline->paused) return go_on_from(turn, id, command.phase);
  if (const auto why = in_the_way(turn, *pipeline, command.force)) return {*why};
  if (!reopen(turn, id)) return refused(Why::NotAllowed, to_text(id) + " has lost its item");
  close_circuit(turn, id, command.phase);
  moved(turn, id, move::Jump{command.phase});
  doubt_workspace(turn, id);
  enter(turn, id);
  return {Ok{}};
}

reeve::Reply unblock(Turn& turn, const Unblock& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  const Blocked* blocked = std::get_if<Blocked>(&pipeline->state);
  if (!blocked) return refused(Why::NotAllowed, to_text(id) + " is not blocked");
  switch (blocked->reason) {
    case Reason::Dependency:
      stop_waiting(turn, id);
      break;
    case Reason::Paused:
      edit(turn, id).paused = false;
      break;
    case Reason::Backoff:
      turn.arm(Due{id, Timer::Backoff}, std::nullopt);
      break;
    case Reason::Guard:
      if (std::holds_alternative<Leaving>(pipeline->course)) {
        return refused(Why::NotAllowed, to_text(id) + " is on its way out of a phase");
      }
      poke_guard(turn, id);
      return {Ok{}};
    case Reason::Lock:
    case Reason::Semaphore:
      return refused(Why::NotAllowed, to_text(id) + " waits for its locks");
    case Reason::Decision:
      return refused(Why::NotAllowed, to_text(id) + " waits for an answer");
  }
  moved(turn, id, move::Unblock{});
  enter(turn, id);
  return {Ok{}};
}

// Whether the action of its phase has begun.
bool has_begun(const Pipeline& pipeline) {
  return match(
      pipeline.course,
      [](const Idle&) { return false; },
      [](const Entering&) { return false; },
      [](const Preparing&) { return false; },
      [](const Guarding& at) { return at.which == Which::Post; },
      [](const Acquiring&) { return false; },
      [](const Acting&) { return true; },
      [](const Leaving&) { return true; },
      [](const Clearing&) { return false; });
}

reeve::Reply pause(Turn& turn, const Pause& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  if (is_over(*pipeline)) return refused(Why::NotAllowed, to_text(id) + " has ended");
  if (pipeline->verdict) return refused(Why::NotAllowed, to_text(id) + " is cleaning up");
  const Leaving* leaving = std::get_if<Leaving>(&pipeline->course);
  if (leaving && std::holds_alternative<BeCancelled>(leaving->exit)) {
    return refused(Why::NotAllowed, to_text(id) + " is being cancelled");
  }
  if (pipeline->paused) return {Ok{}};
  const bool withdraw = !has_begun(*pipeline) && !std::holds_alternative<Idle>(pipeline->course);
  edit(turn, id).paused = true;
  if (withdraw) wind_down(turn, id, BePaused{});
  return {Ok{}};
}

reeve::Reply go_on(Turn& turn, const Continue& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  if (!pipeline->paused) return {Ok{}};
  edit(turn, id).paused = false;
  if (is_blocked_by(*find(turn, id), Reason::Paused)) {
    moved(turn, id, move::Unblock{});
    enter(turn, id);
  }
  return {Ok{}};
}

// What runs of its action, or null: of a phase by itself, or of its strategy.
const EffectId* step_of(const Pipeline& pipeline) {
  const Acting* acting = std::get_if<Acting>(&pipeline.course);
  if (!acting) return nullptr;
  if (const ShellRun* run = std::get_if<ShellRun>(&acting->what)) return &run->effect;
  const StrategyRun* run = std::get_if<StrategyRun>(&acting->what);
  return run ? std::get_if<EffectId>(&run->running) : nullptr;
}

reeve::Reply finish(Turn& turn, const Finish& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  const bool is_of_other = (!command.phase.empty() && command.phase != phase_of(*pipeline)) ||
                           (command.attempt && *command.attempt != attempt_of(*pipeline));
  if (is_of_other && !is_over(*pipeline)) {
    return refused(Why::NotAllowed,
                   to_text(id) + " is in phase " + phase_of(*pipeline) + ", attempt " +
                       std::to_string(attempt_of(*pipeline)) +
                       ", by now, and this one no longer counts");
  }
  const EffectId* step = step_of(*pipeline);
  const reeve::Started* started = step ? turn.state().outbox.find(*step) : nullptr;
  if (!started || !std::holds_alternative<Shell>(started->effect.what)) {
    return refused(Why::NotAllowed, to_text(id) + " runs no step");
  }
  Word word;
  if (command.error) word.error = command.error->empty() ? "failed" : cut(*command.error);
  auto& what = std::get<Acting>(edit(turn, id).course).what;
  if (ShellRun* run = std::get_if<ShellRun>(&what)) run->word = word;
  if (StrategyRun* run = std::get_if<StrategyRun>(&what)) run->word = word;
  return {Ok{}};
}

reeve::Reply remove_workspace(Turn& turn, const RemoveWorkspace& command) {
  const PipelineId id = command.pipeline;
  const Pipeline* pipeline = known(turn, id);
  if (!pipeline) return unknown(id);
  if (!is_over(*pipeline)) return refused(Why::NotAllowed, to_text(id) + " has not ended");
  if (pipeline->workspace.empty()) return refused(Why::NotFound, "workspace of " + to_text(id));
  const bool has_begun = std::holds_alternative<Clearing>(pipeline->course);
  if (!has_begun) clear_workspace(turn, id, command.force);
  return {Ok{}};
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Start& c) { return start(turn, c); },
      [&](const Cancel& c) -> reeve::Reply {
        if (!known(turn, c.pipeline)) return unknown(c.pipeline);
        cancel(turn, c.pipeline);
        return {Ok{}};
      },
      [&](const Retry& c) { return retry(turn, c); },
      [&](const ResumeFrom& c) { return resume_from(turn, c); },
      [&](const Transition& c) { return transition_to(turn, c); },
      [&](const Unblock& c) { return unblock(turn, c); },
      [&](const AddCheckpoint& c) -> reeve::Reply {
        const Pipeline* pipeline = known(turn, c.pipeline);
        if (!pipeline) return unknown(c.pipeline);
        if (is_over(*pipeline)) return refused(Why::NotAllowed, to_text(c.pipeline) + " has ended");
        checkpoint(turn, c.pipeline, c.message);
        return {Ok{}};
      },
      [&](const Pause& c) { return pause(turn, c); },
      [&](const Continue& c) { return go_on(turn, c); },
      [&](const Finish& c) { return finish(turn, c); },
      [&](const RemoveWorkspace& c) { return remove_workspace(turn, c); });
}

void checkpoint(Turn& turn, PipelineId id, const std::string& message) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || is_over(*pipeline)) return;
  const std::uint64_t number = ++edit(turn, id).checkpoints;
  const Checkpoint made{phase_of(*find(turn, id)), std::string(cut(message)), turn.now()};
  Table& table = turn.change().pipelines;
  table.checkpoints.set({id, number}, made);
  if (number > limits::checkpoints_kept) {
    table.checkpoints.erase({id, number - limits::checkpoints_kept});
  }
  turn.emit(find(turn, id)->project, MadeCheckpoint{id, made.phase, made.message});
  if (const std::optional<WorkId> work = agent_of(*find(turn, id))) task::progressed(turn, *work);
}

}  // namespace reeve::pipeline
