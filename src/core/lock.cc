#include "core/lock.h"

#include "base/match.h"
#include "core/names.h"
#include "core/turn.h"

#include <algorithm>
#include <utility>

namespace reeve::lock {
namespace {

reeve::Reply answer(Reply reply) { return {std::move(reply)}; }

const Lock* find(const Turn& turn, const LockName& name) {
  return turn.state().locks.locks.find(name);
}

// After `settle`: who has it now, and has not lost it.
const Tenure* holding(const Turn& turn, const LockName& name) {
  const Lock* lock = find(turn, name);
  return lock ? live_tenure(*lock, turn.leases_from(), turn.now()) : nullptr;
}

reeve::Reply handle(Turn& turn, const Acquire& command) {
  grant::Request request{.holder = command.holder,
                         .meta = command.meta,
                         .locks = {},
                         .slots = {},
                         .origin = grant::ToClient{},
                         .session = turn.session(),
                         .wait = command.wait};
  if (command.names.size() > limits::names_a_request) return refused(Why::OverLimit, "names");
  for (const LockName& name : command.names) {
    request.locks.push_back({name, command.timeout, command.max_hold});
  }
  return grant::ask(turn, std::move(request));
}

reeve::Reply handle(Turn& turn, const Release& command) {
  settle(turn, command.name);
  const Lock* lock = find(turn, command.name);
  const Tenure* found = lock ? tenure_of(*lock) : nullptr;
  if (!found) return answer(AlreadyFree{});
  if (found->holder != command.holder) return answer(NotOwner{found->holder});
  if (command.holder.session && !command.token) return refused(Why::BadValue, "token");
  if (command.token && *command.token != found->lease.token) return answer(NotOwner{found->holder});
  // What a phase holds ends with the phase, whoever knows its name.
  if (pipeline::hold_of(turn, command.name, found->holder) != pipeline::Hold::No) {
    return refused(Why::NotAllowed, "held by a phase");
  }
  // Being ended, it is given on when that was observed, and not before.
  if (std::holds_alternative<Ending>(lock->state)) return answer(Released{});

  const Tenure tenure = *found;
  vacate(turn, command.name);
  turn.emit(command.name.project, WasReleased{command.name, tenure.holder, tenure.lease.token});
  grant::serve(turn, command.name);
  return answer(Released{});
}

reeve::Reply handle(Turn& turn, const Heartbeat& command) {
  settle(turn, command.name);
  const Tenure* tenure = holding(turn, command.name);
  if (!tenure) return answer(Lost{});
  if (tenure->holder != command.holder || tenure->lease.token != command.token) {
    return answer(Lost{tenure->holder});
  }
  return answer(Alive{limit_of(refresh(turn, command.name), turn.leases_from())});
}

reeve::Reply handle(Turn& turn, const Check& command) {
  settle(turn, command.name);
  const Tenure* tenure = holding(turn, command.name);
  if (!tenure) return answer(Superseded{});
  if (tenure->lease.token != command.token) return answer(Superseded{tenure->lease.token});
  return answer(Valid{});
}

void force(Turn& turn, const LockName& name, const ForceRelease& command) {
  const Tenure tenure = *tenure_of(*find(turn, name));
  const bool names_process = process_of(tenure.meta) != nullptr;
  const bool end_first = names_process && !command.now;
  const bool by_phase = pipeline::hold_of(turn, name, tenure.holder) != pipeline::Hold::No;
  turn.emit(name.project,
            WasForced{name,
                      tenure.holder,
                      tenure.lease.token,
                      std::string(cut(command.by)),
                      std::string(cut(command.reason)),
                      (names_process || by_phase) && command.now});
  if (by_phase && !command.now) return pipeline::end_for_lock(turn, name, tenure.holder);
  if (end_first) return end_process(turn, name, custody::Cause::Forced);
  vacate(turn, name);
  grant::serve(turn, name);
}

reeve::Reply handle(Turn& turn, const ForceRelease& command) {
  settle(turn, command.name);
  const Lock* lock = find(turn, command.name);
  if (!lock || std::holds_alternative<Free>(lock->state)) return answer(AlreadyFree{});
  const bool is_ending =
      std::holds_alternative<Ending>(lock->state) ||
      pipeline::hold_of(turn, command.name, tenure_of(*lock)->holder) == pipeline::Hold::BeingLeft;
  if (!is_ending || command.now) force(turn, command.name, command);
  return answer(Released{});
}

bool is_of(ProjectNo project, const LockName& name) {
  return project == ProjectNo{} || name.project == project;
}

// A lease that is over is stale, whether or not a tick has come to it yet. False if there may be
// more than a step should look at.
bool settle_due(Turn& turn, ProjectNo project) {
  std::vector<LockName> names;
  std::size_t looked_at = 0;
  for (const auto& [key, subject] : turn.state().timers.engine) {
    if (key.due > turn.now()) break;
    if (++looked_at > limits::touched_a_step) return false;
    const Due* timer = std::get_if<Due>(&subject);
    if (timer && is_of(project, timer->name)) names.push_back(timer->name);
  }
  for (const LockName& name : names) settle(turn, name);
  return true;
}

std::optional<LockName> first_stale(const Turn& turn, ProjectNo project) {
  const PersistentSet<LockName>& stale = turn.state().locks.stale;
  const auto first = stale.lower_bound({project, ""});
  if (first == stale.end() || !is_of(project, *first)) return std::nullopt;
  return *first;
}

// True when it is done.
bool clean_up(Turn& turn, ProjectNo project, std::vector<LockName>& names) {
  const bool all_settled = settle_due(turn, project);
  while (const std::optional<LockName> name = first_stale(turn, project)) {
    if (!turn.may_touch()) return false;
    turn.touch();
    names.push_back(*name);
    lease_gone(turn, *name);
  }
  return all_settled;
}

reeve::Reply handle(Turn& turn, const Cleanup& command) {
  std::vector<LockName> names;
  if (clean_up(turn, command.project, names)) return answer(Cleaned{std::move(names)});
  const WaiterId waiter = turn.next_id<WaiterId>();
  turn.later(CleanupRest{waiter, command.project, std::move(names)});
  return {Waiting{waiter}};
}

}  // namespace

bool go_on(Turn& turn, CleanupRest& rest) {
  if (!clean_up(turn, rest.project, rest.names)) return false;
  turn.answer(rest.waiter, answer(Cleaned{rest.names}));
  return true;
}

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Acquire& acquire) { return handle(turn, acquire); },
      [&](const Release& release) { return handle(turn, release); },
      [&](const Heartbeat& heartbeat) { return handle(turn, heartbeat); },
      [&](const Check& check) { return handle(turn, check); },
      [&](const ForceRelease& release) { return handle(turn, release); },
      [&](const Cleanup& cleanup) { return handle(turn, cleanup); });
}

// Whoever looks again finds it as stale as before: it is still to be decided. Of one whose process
// is being ended he knew that, and does not want to wait for it.
void decided(Turn& turn, const LockName& name, const decision::Answer& answer) {
  const Lock* lock = find(turn, name);
  const bool is_ending = lock && std::holds_alternative<Ending>(lock->state);
  if (!lock || !(is_ending || std::holds_alternative<Stale>(lock->state))) return;
  if (answer.choice == decision::Choice::LookAgain) return escalate(turn, name);
  if (answer.choice != decision::Choice::ReleaseAnyway) return;
  force(turn, name, {name, answer.by, answer.text, is_ending});
}

EventName name_of(const Event& event) {
  return match(
      event,
      [](const WasAcquired& was) { return EventName{"lock", was.name.name, "acquired"}; },
      [](const WasReclaimed& was) { return EventName{"lock", was.name.name, "reclaimed"}; },
      [](const WasReleased& was) { return EventName{"lock", was.name.name, "released"}; },
      [](const WentStale& went) { return EventName{"lock", went.name.name, "stale"}; },
      [](const IsEnding& is) { return EventName{"lock", is.name.name, "ending"}; },
      [](const WasForced& was) { return EventName{"lock", was.name.name, "forced"}; });
}

}  // namespace reeve::lock
