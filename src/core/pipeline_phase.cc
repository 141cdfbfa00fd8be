#include "base/match.h"
#include "core/pipeline_course.h"

#include <algorithm>

// The spine of a phase: from entering it to its completion. Guards, holdings, actions and
// children have files of their own.
namespace reeve::pipeline {

const Pipeline* find(const Turn& turn, PipelineId id) {
  return turn.state().pipelines.pipelines.find(id);
}

Pipeline& edit(Turn& turn, PipelineId id) { return *turn.change().pipelines.pipelines.edit(id); }

bool moved(Turn& turn, PipelineId id, const Move& move) {
  Step<Pipeline, bool> step = transition(*find(turn, id), move, turn.now());
  if (!step.outcome) return false;
  edit(turn, id) = std::move(step.next);
  // At once, and not after what was asked for before: the order of events is the order of facts.
  for (Effect& effect : step.effects) {
    if (Emit* emit = std::get_if<Emit>(&std::get<Inner>(effect.value))) {
      turn.emit(emit->project, std::move(emit->event));
    }
  }
  return true;
}

Plan plan_of(const Turn& turn, const Pipeline& pipeline) {
  Plan plan;
  plan.set = definition::find(turn.state().definitions, pipeline.origin->set);
  if (plan.set) plan.pipeline = plan.set->pipelines.find(pipeline.origin->name);
  if (plan.pipeline) plan.phase = phase_named(*plan.pipeline, phase_of(pipeline));
  return plan;
}

bool is_blocked_by(const Pipeline& pipeline, Reason reason) {
  const Blocked* blocked = std::get_if<Blocked>(&pipeline.state);
  return blocked && blocked->reason == reason;
}

void attend_soon(Turn& turn, PipelineId id) { turn.arm(Due{id, Timer::Attend}, turn.now()); }

Holder holder_of(const Pipeline& pipeline) { return {pipeline.project, to_text(pipeline.id), {}}; }

namespace {

bool is_circuit_open(const Pipeline& pipeline, const definition::Phase& phase) {
  const std::uint32_t* visits = pipeline.visits.find(phase.name);
  // A person who says `retry` has seen that it is open.
  return attempt_of(pipeline) == 1 && visits && *visits > phase.max_visits;
}

bool wants_workspace(const Pipeline& pipeline, const Plan& plan) {
  return plan.pipeline && plan.pipeline->workspace && pipeline.workspace.empty();
}

// A guard may ask whether the branch is free: the worktree that makes it comes behind the guards of
// the phase, unless one of them, or what else is needed by then, looks into it.
bool guards_come_first(const Plan& plan) {
  const definition::Phase& phase = *plan.phase;
  if (!plan.pipeline->workspace->git || phase.pre.empty() || !phase.cwd.empty()) return false;
  const auto names_it = [](std::string_view text) {
    return text.find("{workspace}") != std::string_view::npos;
  };
  const auto looks_into_it = [&](const std::string& name) {
    const definition::Guard* guard = plan.set->guards.find(name);
    return guard && (guard->condition.find("REEVE_V_workspace") != std::string::npos ||
                     guard->condition.find("REEVE_WORKSPACE") != std::string::npos ||
                     std::ranges::any_of(guard->wake_on, names_it));
  };
  return std::ranges::none_of(phase.pre, looks_into_it) &&
         std::ranges::none_of(phase.locks, names_it) &&
         std::ranges::none_of(phase.slots, names_it, &definition::SlotUse::name) &&
         std::ranges::none_of(phase.env, names_it, &definition::Map::value_type::second);
}

void prepare(Turn& turn, PipelineId id, const definition::Workspace& workspace) {
  Filler fill(turn, *find(turn, id));
  WorktreeAdd add;
  add.pipeline = id;
  if (workspace.git) {
    add.branch = fill(workspace.branch);
    add.base = fill(workspace.base);
  }
  add.path = fill(workspace.folder);
  if (fill.unknown()) return fail_phase(turn, id, unknown_name(fill));
  edit(turn, id).branch = add.branch;
  const EffectId effect = turn.start(std::move(add), Address{id, find(turn, id)->entry});
  edit(turn, id).course = Preparing{effect};
}

}  // namespace

// A phase begins here, on every way into it. It needs room in the step: pipelines that fail at
// once and go round in circles, or children of children, do so a part a tick.
void enter(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  if (pipeline.paused) {
    edit(turn, id).course = Idle{};
    moved(turn, id, move::Block{Reason::Paused});
    return;
  }
  if (!turn.may_touch()) return attend_soon(turn, id);
  turn.touch();
  const Plan plan = plan_of(turn, pipeline);
  if (!plan.phase) {
    return fail_phase(turn, id, {"there is no phase " + phase_of(pipeline)});
  }
  if (is_circuit_open(pipeline, *plan.phase)) {
    return fail_phase(turn, id, {"circuit open: entered too often", Cause::Circuit});
  }
  if (pipeline.doubts_workspace && plan.pipeline->workspace) {
    return prepare(turn, id, *plan.pipeline->workspace);
  }
  if (wants_workspace(pipeline, plan)) {
    if (!guards_come_first(plan)) return prepare(turn, id, *plan.pipeline->workspace);
    Filler fill(turn, pipeline);
    std::string branch = fill(plan.pipeline->workspace->branch);
    if (fill.unknown()) return fail_phase(turn, id, unknown_name(fill));
    edit(turn, id).branch = std::move(branch);
  }
  edit(turn, id).course = Guarding{};
  watch(turn, id);
}

// The guards have passed, and what it needs is held.
void begin_work(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  if (wants_workspace(pipeline, plan)) return prepare(turn, id, *plan.pipeline->workspace);
  act(turn, id);
}

// Of a pipeline that is to have a workspace and has none, nothing else can have been under way but
// the check of a guard, and that is not what ended.
void keep_workspace(Turn& turn, PipelineId id, const Outcome& outcome) {
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  if (!wants_workspace(pipeline, plan) || !strategy::has_succeeded(outcome)) return;
  for (const auto& [key, value] : outcome.values) {
    if (key == "path") edit(turn, id).workspace = value;
  }
}

void doubt_workspace(Turn& turn, PipelineId id) {
  if (!find(turn, id)->workspace.empty()) edit(turn, id).doubts_workspace = true;
}

void prepared(Turn& turn, PipelineId id, const Outcome& outcome) {
  const Plan plan = plan_of(turn, *find(turn, id));
  if (outcome.ended == Ended::Unknown && plan.pipeline && plan.pipeline->workspace) {
    return prepare(turn, id, *plan.pipeline->workspace);
  }
  const bool was_doubted = find(turn, id)->doubts_workspace;
  keep_workspace(turn, id, outcome);
  if (find(turn, id)->workspace.empty() || !strategy::has_succeeded(outcome)) {
    return fail_phase(turn, id, {"no workspace: " + strategy::error_of(outcome)});
  }
  if (was_doubted) {
    edit(turn, id).doubts_workspace = false;
  } else if (plan.phase && guards_come_first(plan)) {
    return act(turn, id);
  }
  edit(turn, id).course = Guarding{};
  watch(turn, id);
}

// Its action is done, and nothing of it runs any more.
void acted(Turn& turn, PipelineId id) {
  turn.arm(Due{id, Timer::Timeout}, std::nullopt);
  // What still asks has ended, and will be seen to have.
  if (is_blocked_by(*find(turn, id), Reason::Decision)) moved(turn, id, move::Unblock{});
  edit(turn, id).course = Guarding{Which::Post, 0, {}, {}};
  watch(turn, id);
}

void complete_phase(Turn& turn, PipelineId id) {
  leave_phase(turn, id);
  // One that a person let pass has not ended well.
  Pipeline& changed = edit(turn, id);
  changed.left.set(phase_of(changed), !changed.failure);
  const Pipeline& pipeline = *find(turn, id);
  if (pipeline.verdict) return conclude(turn, id, {});
  const Plan plan = plan_of(turn, pipeline);
  const definition::Phase* next = plan.phase ? phase_after(*plan.pipeline, *plan.phase) : nullptr;
  moved(turn,
        id,
        move::PhaseComplete{phase_of(pipeline), attempt_of(pipeline), next ? next->name : ""});
  if (is_over(*find(turn, id))) return settle_end(turn, id);
  enter(turn, id);
}

void leave_phase(Turn& turn, PipelineId id) {
  unwatch(turn, id);
  retire_question(turn, id);
  give_back(turn, id);
  for (const Timer timer : {Timer::Guard, Timer::Timeout, Timer::MaxHold, Timer::Backoff}) {
    turn.arm(Due{id, timer}, std::nullopt);
  }
  if (!std::holds_alternative<Idle>(find(turn, id)->course)) edit(turn, id).course = Idle{};
  // Those who wait outside of a course (a dependency, a backoff, a pause) still do.
  for (const Reason reason : {Reason::Guard, Reason::Lock, Reason::Semaphore, Reason::Decision}) {
    if (is_blocked_by(*find(turn, id), reason)) moved(turn, id, move::Unblock{});
  }
}

}  // namespace reeve::pipeline
