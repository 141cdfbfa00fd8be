#include "base/match.h"
#include "base/planted.h"
#include "core/lock.h"
#include "core/turn.h"

#include <algorithm>
#include <utility>

// What becomes of one lock: who gets it, how a tenure ends, and what time does to it. The verbs
// of clients are in lock.cc.
namespace reeve::lock {
namespace {

const Config& defined(const Turn& turn, const LockName& name) {
  static const Config none;
  const Config* config = turn.state().locks.defined.find(name);
  return config ? *config : none;
}

// When a timer has to look. A lock somebody waits for has none while it is free: whoever frees
// it serves the line.
std::optional<Time> deadline(const Turn& turn, const Lock& lock) {
  return match(
      lock.state,
      [&](const Free& free) -> std::optional<Time> {
        if (lock.waiting > 0) return std::nullopt;
        return saturating_add(free.since, limits::free_lock_kept);
      },
      [&](const Held& held) { return over_at(held.tenure.lease, turn.leases_from()); },
      [](const Stale&) -> std::optional<Time> { return std::nullopt; },
      [](const Ending&) -> std::optional<Time> { return std::nullopt; });
}

// The one place where a lock becomes something else: index and timer follow.
template <class Next>
void become(Turn& turn, const LockName& name, Next next) {
  Table& table = turn.change().locks;
  Lock* lock = table.locks.edit(name);
  if (!lock) {
    table.locks.set(name, {});
    ++table.counts.edit_or_insert(name.project);
    lock = table.locks.edit(name);
  }
  std::optional<Holder> before;
  if (const Held* held = std::get_if<Held>(&lock->state)) before = held->tenure.holder;
  lock->state = std::move(next);
  if (std::holds_alternative<Stale>(lock->state)) {
    table.stale.insert(name);
  } else {
    table.stale.erase(name);
  }
  const bool is_held = std::holds_alternative<Held>(lock->state);
  const bool is_waited_for = lock->waiting > 0;
  turn.arm(Due{name}, deadline(turn, *lock));
  // What he waited for besides it, he now waits for in its line.
  if (before && !is_held && is_waited_for) grant::lock_lost(turn, name, *before);
}

// Whatever knew of this tenure no longer does.
void forget_tenure(Turn& turn, const LockName& name, const Tenure& tenure) {
  if (const Process* process = process_of(tenure.meta)) {
    custody::let_go(turn, *process, LockLease{name});
  }
  session::unbind(turn, tenure.holder.session, LeaseRef{LockLease{name}});
  const decision::Owner owner = decision::LockOwner{name};
  if (turn.state().decisions.open_of.contains(owner)) decision::retire(turn, owner);
}

void begin_ending(Turn& turn, const LockName& name, const Tenure& tenure, custody::Cause cause) {
  const Process process = *process_of(tenure.meta);
  become(turn, name, Ending{tenure, turn.now(), cause});
  turn.emit(name.project, IsEnding{name, tenure.holder, tenure.lease.token, cause});
  custody::end(turn, process, cause);
}

void go_stale(Turn& turn, const LockName& name, const Tenure& tenure) {
  const bool held_too_long = ends_by_max_hold(tenure.lease, turn.leases_from());
  turn.emit(name.project, WentStale{name, tenure.holder, tenure.lease.token});
  if (process_of(tenure.meta)) {
    begin_ending(
        turn, name, tenure, held_too_long ? custody::Cause::MaxHold : custody::Cause::Silent);
  } else {
    become(turn, name, Stale{tenure, turn.as_of()});
  }
  if (defined(turn, name).escalate_stale) escalate(turn, name);
}

void forget(Turn& turn, const LockName& name) {
  Table& table = turn.change().locks;
  table.locks.erase(name);
  if (--table.counts.edit_or_insert(name.project) == 0) table.counts.erase(name.project);
  turn.arm(Due{name}, std::nullopt);
}

// A phase holds through the daemon, which does not fall silent: time takes nothing from it. It
// is told when `max_hold` ends, and ends itself.
Lease new_lease(Turn& turn,
                const grant::LockWant& want,
                const grant::Request& request,
                std::optional<Time>& expires_at) {
  const Config& config = defined(turn, want.name);
  const std::optional<Duration> max_hold = want.max_hold ? want.max_hold : config.max_hold;
  Lease lease{turn.next_token(), turn.now(), turn.now(), std::nullopt, std::nullopt};
  if (std::holds_alternative<grant::ToPhase>(request.origin)) {
    if (max_hold) expires_at = saturating_add(turn.now(), *max_hold);
    return lease;
  }
  lease.timeout =
      want.timeout ? *want.timeout : config.heartbeat_timeout.value_or(limits::heartbeat_timeout);
  lease.max_hold = max_hold;
  expires_at = limit_of(lease, turn.leases_from());
  return lease;
}

}  // namespace

namespace {

std::string in_words(const Process* process) {
  if (!process) return {};
  return "; its process " + std::to_string(process->pid) + " is being ended";
}

}  // namespace

void escalate(Turn& turn, const LockName& name) {
  const Tenure tenure = *tenure_of(*turn.state().locks.locks.find(name));
  decision::open(turn,
                 {.project = name.project,
                  .owner = decision::LockOwner{name},
                  .cause = decision::Cause::LockStale,
                  .question = "lock " + name.name + " is stale: release it?",
                  .context = "held by " + tenure.holder.name + in_words(process_of(tenure.meta))});
}

const Tenure* tenure_of(const Lock& lock) {
  return match(
      lock.state,
      [](const Free&) -> const Tenure* { return nullptr; },
      [](const Held& held) { return &held.tenure; },
      [](const Stale& stale) { return &stale.tenure; },
      [](const Ending& ending) { return &ending.tenure; });
}

const Tenure* live_tenure(const Lock& lock, Time leases_from, Time now) {
  const Held* held = std::get_if<Held>(&lock.state);
  if (!held || is_over(held->tenure.lease, leases_from, now)) return nullptr;
  return &held->tenure;
}

bool is_open_to(const State& state, const LockName& name, const Holder& holder, Time now) {
  const Lock* lock = state.locks.locks.find(name);
  if (!lock) return true;
  return match(
      lock->state,
      [](const Free&) { return true; },
      [&](const Held& held) {
        return held.tenure.holder == holder && !is_over(held.tenure.lease, state.leases_from, now);
      },
      [](const Stale&) { return true; },
      [](const Ending&) { return false; });
}

grant::Given take(Turn& turn, const grant::LockWant& want, const grant::Request& request) {
  const LockName& name = want.name;
  std::optional<Holder> previous;
  std::optional<Token> old_token;
  if (const Lock* lock = turn.state().locks.locks.find(name)) {
    // What a step took under its pipeline's name ends with the step or by time; what the pipeline
    // itself now holds does not.
    const bool for_phase = std::holds_alternative<grant::ToPhase>(request.origin);
    if (!for_phase && live_tenure(*lock, turn.leases_from(), turn.as_of())) {
      const Boxed<HolderMeta> before = tenure_of(*lock)->meta;
      const Lease lease = refresh(turn, name);
      // What a phase holds does not end with its step.
      const Boxed<HolderMeta> said = lease.timeout ? request.meta : before;
      const Boxed<HolderMeta> meta = custody::follow(turn, before, said, LockLease{name});
      if (meta != before) {
        std::get<Held>(turn.change().locks.locks.edit(name)->state).tenure.meta = meta;
      }
      return {name.name,
              lease.token,
              limit_of(lease, turn.leases_from()),
              0,
              std::nullopt,
              name.project,
              0};
    }
    if (const Tenure* found = tenure_of(*lock)) {
      const Tenure stale = *found;
      if (stale.holder != request.holder) previous = stale.holder;
      old_token = stale.lease.token;
      forget_tenure(turn, name, stale);
    }
  }
  std::optional<Time> expires_at;
  Lease lease = new_lease(turn, want, request, expires_at);
  if (planted(Bug::TokenKept) && old_token) lease.token = *old_token;
  become(turn, name, Held{{request.holder, request.meta, lease}});
  session::bind(turn, request.holder.session, LeaseRef{LockLease{name}});
  if (request.meta && request.meta->process) {
    custody::keep(turn, *request.meta->process, LockLease{name});
  }
  if (previous) {
    turn.emit(name.project, WasReclaimed{name, *previous, request.holder, lease.token});
  } else {
    turn.emit(name.project, WasAcquired{name, request.holder, lease.token});
  }
  return {name.name, lease.token, expires_at, 0, previous, name.project, std::nullopt};
}

Lease refresh(Turn& turn, const LockName& name) {
  const Lease& lease = std::get<Held>(turn.state().locks.locks.find(name)->state).tenure.lease;
  const Time sign = std::max(lease.last_sign, turn.as_of());
  if (lease.confirmed && lease.last_sign == sign) return lease;
  Lock* lock = turn.change().locks.locks.edit(name);
  Lease& changed = std::get<Held>(lock->state).tenure.lease;
  changed.last_sign = sign;
  changed.confirmed = true;
  turn.arm(Due{name}, over_at(changed, turn.leases_from()));
  return changed;
}

bool move_to_session(Turn& turn, const LockName& name, Token token, SessionId session) {
  const Lock* lock = turn.state().locks.locks.find(name);
  const Tenure* found = lock ? tenure_of(*lock) : nullptr;
  if (!found || found->lease.token != token) return false;
  const SessionId from = found->holder.session;
  const LeaseRef lease = LockLease{name};
  if (from == session || !turn.state().sessions.bound.contains({from, lease})) return false;
  Tenure tenure = *found;
  tenure.holder.session = session;
  match(
      turn.change().locks.locks.edit(name)->state,
      [](Free&) {},
      [&](Held& held) { held.tenure = tenure; },
      [&](Stale& stale) { stale.tenure = tenure; },
      [&](Ending& ending) { ending.tenure = tenure; });
  session::bind(turn, session, lease);
  session::unbind(turn, from, lease);
  return true;
}

void vacate(Turn& turn, const LockName& name) {
  const Lock* lock = turn.state().locks.locks.find(name);
  const Tenure* found = lock ? tenure_of(*lock) : nullptr;
  if (!found) return;
  const Tenure tenure = *found;
  forget_tenure(turn, name, tenure);
  become(turn, name, Free{turn.now()});
}

void end_process(Turn& turn, const LockName& name, custody::Cause cause) {
  const Tenure tenure = *tenure_of(*turn.state().locks.locks.find(name));
  begin_ending(turn, name, tenure, cause);
}

void join_line(Turn& turn, const LockName& name) {
  if (!turn.state().locks.locks.contains(name)) become(turn, name, Free{turn.now()});
  Lock* lock = turn.change().locks.locks.edit(name);
  if (++lock->waiting == 1) turn.arm(Due{name}, deadline(turn, *lock));
}

void leave_line(Turn& turn, const LockName& name) {
  Lock* lock = turn.change().locks.locks.edit(name);
  if (--lock->waiting == 0) turn.arm(Due{name}, deadline(turn, *lock));
}

bool expire(Turn& turn, const LockName& name) {
  const Lock* lock = turn.state().locks.locks.find(name);
  const Held* held = lock ? std::get_if<Held>(&lock->state) : nullptr;
  if (!held || !is_over(held->tenure.lease, turn.leases_from(), turn.as_of())) return false;
  const Tenure tenure = held->tenure;
  go_stale(turn, name, tenure);
  return true;
}

// A line before an open door may be there only because what its head also wants is over, and
// nobody has noticed that.
void settle(Turn& turn, const LockName& name) {
  const Lock* found = turn.state().locks.locks.find(name);
  const Held* held = found ? std::get_if<Held>(&found->state) : nullptr;
  // A line for which a step had no room left is owed a look, as of the moment of that step.
  const std::optional<Time> moment = held ? over_at(held->tenure.lease, turn.leases_from())
                                          : deadline_of(turn.state().timers, Due{name});
  turn.settle_as_of(moment.value_or(turn.as_of()), [&] {
    expire(turn, name);
    const Lock* lock = turn.state().locks.locks.find(name);
    if (lock && lock->waiting > 0) grant::serve(turn, name);
  });
}

void due(Turn& turn, const Due& due) {
  const LockName& name = due.name;
  settle(turn, name);  // and its line is served
  const Lock* lock = turn.state().locks.locks.find(name);
  if (!lock) return;
  const std::uint32_t waiting = lock->waiting;
  // A copy: what follows may change the lock.
  const auto state = lock->state;
  match(
      state,
      [&](const Free& free) {
        if (waiting > 0) return;
        const Time forgotten = saturating_add(free.since, limits::free_lock_kept);
        if (turn.now() >= forgotten) return forget(turn, name);
        turn.arm(due, forgotten);
      },
      [&](const Held& held) {
        // Grace moved its limit. Whoever waits for it waits for this holder again.
        turn.arm(due, over_at(held.tenure.lease, turn.leases_from()));
        grant::retry(turn, held.tenure.holder);
      },
      [](const Stale&) {},
      [](const Ending&) {});
}

void lease_gone(Turn& turn, const LockName& name) {
  const Lock* lock = turn.state().locks.locks.find(name);
  const Tenure* found = lock ? tenure_of(*lock) : nullptr;
  if (!found) return;
  const Tenure tenure = *found;
  vacate(turn, name);
  turn.emit(name.project, WasReleased{name, tenure.holder, tenure.lease.token, true});
  grant::serve(turn, name);
}

void session_gone(Turn& turn, const LockName& name, SessionId session) {
  grant::settle_due(turn);
  settle(turn, name);
  const Lock* lock = turn.state().locks.locks.find(name);
  const Tenure* found = lock ? tenure_of(*lock) : nullptr;
  if (!found || found->holder.session != session) return;
  const Tenure tenure = *found;
  session::unbind(turn, tenure.holder.session, LeaseRef{LockLease{name}});
  if (std::holds_alternative<Ending>(lock->state)) return;
  if (process_of(tenure.meta)) return begin_ending(turn, name, tenure, custody::Cause::Cancelled);
  lease_gone(turn, name);
}

}  // namespace reeve::lock
