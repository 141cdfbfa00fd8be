#include "base/match.h"
#include "core/names.h"
#include "core/pipeline_course.h"

#include <algorithm>

// The locks and slots of a phase. The pipeline itself holds them: without heartbeat, from the
// grant to the end of the phase, its process observed to have ended. Also at max_hold it is the
// phase that ends, and with it the lease: in that order.
namespace reeve::pipeline {
namespace {

constexpr Duration as_long_as_it_takes = Duration::max();

// A wait of a child is its parent's: core/wait_graph.
Boxed<HolderMeta> meta_of(const Turn& turn, const Pipeline& pipeline) {
  HolderMeta meta;
  meta.label = pipeline.origin->name + " " + phase_of(pipeline);
  meta.within = outer_of(turn, holder_of(pipeline));
  return Boxed<HolderMeta>(std::move(meta));
}

// The pipeline that holds under this name, or null.
const Pipeline* pipeline_of(const State& state, const Holder& holder) {
  const std::optional<PipelineId> id = parse_id<PipelineId>(holder.name);
  const Pipeline* pipeline = id ? state.pipelines.pipelines.find(*id) : nullptr;
  return pipeline && holder_of(*pipeline) == holder ? pipeline : nullptr;
}

// What is in the way: a lock if one is held by another, else a slot.
Reason reason_of(const Turn& turn, const Pipeline& pipeline) {
  if (pipeline.holding.slots.empty()) return Reason::Lock;
  for (const LockName& name : pipeline.holding.locks) {
    const lock::Lock* lock = turn.state().locks.locks.find(name);
    if (lock && !std::holds_alternative<lock::Free>(lock->state)) return Reason::Lock;
  }
  return Reason::Semaphore;
}

std::string names(const std::vector<Holder>& holders) {
  std::string text;
  for (const Holder& holder : holders) text += (text.empty() ? "" : " -> ") + holder.name;
  return text;
}

// As the runbook writes it.
std::string text_of(const SemaphoreName& name) {
  return (name.project == shared_project ? "//" : "") + name.name;
}

std::string error_of(const Turn& turn, const Holding& wanted, const reeve::Reply& reply) {
  if (const Refused* refused = std::get_if<Refused>(&reply.value)) {
    for (const SemaphoreName& slot : wanted.slots) {
      if (turn.state().semaphores.semaphores.contains(slot)) continue;
      return "semaphore " + text_of(slot) + " does not exist";
    }
    return "its locks cannot be had: " + refused->subject;
  }
  if (const grant::Reply* answer = std::get_if<grant::Reply>(&reply.value)) {
    if (const auto* deadlock = std::get_if<grant::WouldDeadlock>(answer)) {
      return "waiting for its locks would never end: " + names(deadlock->cycle);
    }
  }
  return "its locks cannot be had";
}

// The first max_hold of what it was given.
std::optional<Time> held_until(const grant::Granted& grant) {
  std::optional<Time> until;
  for (const grant::Given& given : grant.given) {
    if (!given.expires_at) continue;
    until = until ? std::min(*until, *given.expires_at) : *given.expires_at;
  }
  return until;
}

void granted(Turn& turn, PipelineId id, const grant::Granted& grant) {
  const Acquiring at = std::get<Acquiring>(find(turn, id)->course);
  const std::optional<Time> until = held_until(grant);
  Pipeline& pipeline = edit(turn, id);
  pipeline.holding.granted = true;
  pipeline.holding.until = until;
  if (!grant.given.empty() && !pipeline.holding.locks.empty()) {
    pipeline.holding.fence = grant.given.front().token;
  }
  if (until) turn.arm(Due{id, Timer::MaxHold}, saturating_add(*until, Duration{1}));
  moved(turn, id, move::Unblock{});
  if (!at.waited) return begin_work(turn, id);
  edit(turn, id).course = Guarding{Which::Again, 0, at.passed, {}};
  watch(turn, id);
}

// A grant that nobody waits for any more: what of it the phase at hand does not hold goes back.
void refuse_late(Turn& turn, const Pipeline* pipeline, const grant::Granted& grant) {
  const Holding none;
  const Holding& held = pipeline ? pipeline->holding : none;
  for (const grant::Given& given : grant.given) {
    const LockName lock{given.project, given.name};
    const SemaphoreName slot{given.project, given.name};
    if (given.weight == 0 && std::ranges::find(held.locks, lock) == held.locks.end()) {
      turn.perform({Inner{ReleaseLock{lock, grant.holder}}});
    }
    if (given.weight > 0 && std::ranges::find(held.slots, slot) == held.slots.end()) {
      turn.perform({Inner{ReleaseSemaphore{slot, grant.holder}}});
    }
  }
}

// All of it that the pipeline has. One that is still asking may have some of it, by a grant that
// came too late for the phase before.
void release(Turn& turn, const Holding& held, const Holder& holder) {
  const State& state = turn.state();
  for (const LockName& name : held.locks) {
    const lock::Lock* found = state.locks.locks.find(name);
    const lock::Tenure* tenure = found ? lock::tenure_of(*found) : nullptr;
    if (tenure && tenure->holder == holder) turn.perform({Inner{ReleaseLock{name, holder}}});
  }
  for (const SemaphoreName& name : held.slots) {
    if (!state.semaphores.slots.contains({name, holder})) continue;
    turn.perform({Inner{ReleaseSemaphore{name, holder}}});
  }
}

Hold hold_of(const Pipeline& pipeline) {
  const Leaving* leaving = std::get_if<Leaving>(&pipeline.course);
  return leaving && !std::holds_alternative<GoOn>(leaving->exit) ? Hold::BeingLeft : Hold::Yes;
}

}  // namespace

void acquire(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  const Plan plan = plan_of(turn, pipeline);
  grant::Request request;
  request.holder = holder_of(pipeline);
  request.meta = meta_of(turn, pipeline);
  request.origin = grant::ToPhase{id, pipeline.entry};
  request.wait = as_long_as_it_takes;

  Filler fill(turn, pipeline);
  Holding holding;
  for (const std::string& text : plan.phase->locks) {
    holding.locks.push_back(scoped_name<LockName>(pipeline.project, fill(text)));
  }
  for (const definition::SlotUse& use : plan.phase->slots) {
    holding.slots.push_back(scoped_name<SemaphoreName>(pipeline.project, fill(use.name)));
    request.slots.push_back({holding.slots.back(), use.weight, {}, {}});
  }
  if (fill.unknown()) return fail_phase(turn, id, unknown_name(fill));
  for (const LockName& name : holding.locks) {
    if (!is_good_name(name.name)) return fail_phase(turn, id, {"bad name of a lock: " + name.name});
    request.locks.push_back({name, {}, {}});
  }
  if (holding.locks.empty() && holding.slots.empty()) return begin_work(turn, id);

  std::vector<guard::Guard> passed = std::get<Guarding>(pipeline.course).guards;
  Pipeline& changed = edit(turn, id);
  changed.holding = std::move(holding);
  changed.course = Acquiring{std::move(passed), false};
  if (request.locks.empty()) {
    turn.perform({Inner{AcquireSemaphore{std::move(request)}}});
  } else {
    turn.perform({Inner{AcquireLock{std::move(request)}}});
  }
}

void asked(Turn& turn, PipelineId id, std::uint64_t entry, const reeve::Reply& reply) {
  const Pipeline* pipeline = find(turn, id);
  const grant::Reply* answer = std::get_if<grant::Reply>(&reply.value);
  const grant::Granted* grant = answer ? std::get_if<grant::Granted>(answer) : nullptr;
  if (!pipeline || pipeline->entry != entry ||
      !std::holds_alternative<Acquiring>(pipeline->course)) {
    if (grant) refuse_late(turn, pipeline, *grant);
    return;
  }
  if (grant) return granted(turn, id, *grant);
  if (std::holds_alternative<Waiting>(reply.value)) {
    std::get<Acquiring>(edit(turn, id).course).waited = true;
    moved(turn, id, move::Block{reason_of(turn, *find(turn, id))});
    return;
  }
  const std::string error = error_of(turn, pipeline->holding, reply);
  const Holding held = std::exchange(edit(turn, id).holding, {});
  release(turn, held, holder_of(*find(turn, id)));
  fail_phase(turn, id, {error});
}

Hold hold_of(const State& state, const LockName& lock, const Holder& holder) {
  const Pipeline* pipeline = pipeline_of(state, holder);
  if (!pipeline || !pipeline->holding.granted) return Hold::No;
  const std::vector<LockName>& locks = pipeline->holding.locks;
  return std::ranges::find(locks, lock) == locks.end() ? Hold::No : hold_of(*pipeline);
}

Hold hold_of(const Turn& turn, const LockName& lock, const Holder& holder) {
  return hold_of(turn.state(), lock, holder);
}

Hold hold_of(const Turn& turn, const SemaphoreName& slot, const Holder& holder) {
  const Pipeline* pipeline = pipeline_of(turn.state(), holder);
  if (!pipeline || !pipeline->holding.granted) return Hold::No;
  const std::vector<SemaphoreName>& slots = pipeline->holding.slots;
  return std::ranges::find(slots, slot) == slots.end() ? Hold::No : hold_of(*pipeline);
}

std::vector<Holder> outer_of(const Turn& turn, const Holder& holder) {
  std::vector<Holder> outer;
  const Pipeline* child = pipeline_of(turn.state(), holder);
  while (child) {
    const ByParent* by = std::get_if<ByParent>(&child->origin->starter);
    child = by ? find(turn, by->pipeline) : nullptr;
    if (child) outer.push_back(holder_of(*child));
  }
  return outer;
}

void end_for_lock(Turn& turn, const LockName& lock, const Holder& holder) {
  if (hold_of(turn, lock, holder) == Hold::No) return;
  wind_down(turn,
            *parse_id<PipelineId>(holder.name),
            FailWith{{"lock " + lock.name + " was taken back by force"}});
}

void give_back(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  if (pipeline.holding == Holding{}) return;
  const Holder holder = holder_of(pipeline);
  const Holding held = pipeline.holding;
  edit(turn, id).holding = {};
  turn.arm(Due{id, Timer::MaxHold}, std::nullopt);
  if (!held.granted) turn.perform({Inner{StopWaiting{holder}}});
  release(turn, held, holder);
}

}  // namespace reeve::pipeline
