#include "base/match.h"
#include "core/invariants.h"
#include "core/queue_place.h"

#include <algorithm>
#include <set>

namespace reeve::session {
namespace {

bool is_true(const State& state, SessionId session, const LeaseRef& lease) {
  return match(
      lease,
      [&](const LockLease& held) {
        const lock::Lock* lock = state.locks.locks.find(held.name);
        const lock::Tenure* tenure = lock ? lock::tenure_of(*lock) : nullptr;
        return tenure && tenure->holder.session == session;
      },
      [&](const SlotLease& held) {
        return held.holder.session == session &&
               state.semaphores.slots.contains({held.name, held.holder});
      },
      [&](const ItemLease& held) {
        const queue::Item* item = state.queues.items.find(held.item);
        const auto& claim = item ? queue::rest_of(*item).claim : std::nullopt;
        return claim && claim->holder.session == session;
      });
}

// A place in a line, or of who waits for a decision.
bool is_true(const State& state, SessionId session, const WaiterPlace& place) {
  if (const grant::Waiter* waiter = state.grants.waiters.find(place.waiter)) {
    return waiter->request.session == session;
  }
  if (const queue::Taker* taker = state.queues.takers.find(place.waiter)) {
    return taker->session == session;
  }
  if (const board::Waiter* waiter = state.board.waiters.find(place.waiter)) {
    return waiter->session == session;
  }
  return std::ranges::any_of(state.decisions.open_of, [&](const auto& entry) {
    const auto* asker = std::get_if<decision::AskOwner>(&entry.first);
    return asker && asker->waiter == place.waiter;
  });
}

bool is_being_freed(const State& state, SessionId session) {
  return std::ranges::any_of(state.chores.waiting, [&](const auto& entry) {
    const EndSession* end = std::get_if<EndSession>(&entry.second);
    return end && end->session == session;
  });
}

}  // namespace

void check(const State& state, Violations& violations) {
  std::set<SessionId> with_things;
  const auto say = [&](SessionId session, const std::string& what) {
    violations.push_back("session " + std::to_string(session.value) + " " + what);
  };
  for (const Bound& bound : state.sessions.bound) {
    with_things.insert(bound.session);
    if (!state.sessions.sessions.contains(bound.session)) say(bound.session, "is not known");
    const bool right = match(
        bound.thing,
        [&](const LeaseRef& lease) { return is_true(state, bound.session, lease); },
        [&](const WaiterPlace& place) { return is_true(state, bound.session, place); });
    if (!right) say(bound.session, "is bound to something that does not name it");
  }
  for (const auto& [session, found] : state.sessions.sessions) {
    if (!with_things.contains(session)) say(session, "has nothing bound to it");
    const std::optional<Time> armed = deadline_of(state.timers, Due{session});
    if (armed != (found.ended ? std::nullopt : found.awaited_until)) {
      say(session, "has a timer that is not its limit");
    }
    if (found.ended && !is_being_freed(state, session)) say(session, "ended and is not freed");
  }
}

}  // namespace reeve::session
