#include "core/session.h"

#include "base/match.h"
#include "core/turn.h"
#include "core/waiting.h"

#include <set>
#include <utility>
#include <vector>

namespace reeve::session {
namespace {

// The first thing bound at or after `from`; null if there is none of this session.
const Bound* first_bound(const Turn& turn, const Bound& from) {
  const PersistentSet<Bound>& bound = turn.state().sessions.bound;
  const auto first = bound.lower_bound(from);
  if (first == bound.end() || first->session != from.session) return nullptr;
  return &*first;
}

const Bound* first_waiter(const Turn& turn, SessionId session) {
  return first_bound(turn, {session, WaiterPlace{}});
}

void free(Turn& turn, SessionId session, const Thing& thing) {
  match(
      thing,
      [&](const LeaseRef& lease) {
        match(
            lease,
            [&](const LockLease& held) { lock::session_gone(turn, held.name, session); },
            [&](const SlotLease& held) { semaphore::session_gone(turn, {held.name, held.holder}); },
            [&](const ItemLease& held) { queue::session_gone(turn, held.item, session); });
      },
      [&](const WaiterPlace& place) {
        // Nobody heard that it is over: the same request may come again.
        key::forget_waiter(turn, place.waiter);
        waiting::leave(turn, place.waiter, Left::SessionEnded);
      });
  unbind(turn, session, thing);  // whoever freed it may have done so already
}

void free_all(Turn& turn, SessionId session) {
  if (!go_on(turn, session)) turn.later(EndSession{session});
}

}  // namespace

void bind(Turn& turn, SessionId session, Thing thing) {
  if (!session) return;
  Table& table = turn.change().sessions;
  if (!table.sessions.contains(session)) {
    const bool can_return = session != turn.session() || turn.session_can_return();
    table.sessions.set(session, {can_return, std::nullopt, false});
  }
  table.bound.insert({session, std::move(thing)});
}

void unbind(Turn& turn, SessionId session, const Thing& thing) {
  const Bound bound{session, thing};
  if (!turn.state().sessions.bound.contains(bound)) return;
  Table& table = turn.change().sessions;
  table.bound.erase(bound);
  if (first_bound(turn, {session, LeaseRef{}})) return;
  table.sessions.erase(session);
  turn.arm(Due{session}, std::nullopt);
}

bool is_here(const State& state, SessionId session) {
  const Session* found = state.sessions.sessions.find(session);
  return !found || (!found->awaited_until && !found->ended);
}

bool is_here(const Turn& turn, SessionId session) { return is_here(turn.state(), session); }

bool has_room(const State& state, SessionId session) {
  return !session || state.sessions.sessions.contains(session) ||
         state.sessions.sessions.size() < limits::sessions;
}

void end(Turn& turn, SessionId session) {
  const Session* found = turn.state().sessions.sessions.find(session);
  if (!found || found->ended) return;
  turn.change().sessions.sessions.edit(session)->ended = true;
  turn.arm(Due{session}, std::nullopt);
  free_all(turn, session);
}

// Waiters first: what it gives up must not come back to it.
bool go_on(Turn& turn, SessionId session) {
  while (true) {
    const Bound* waiter = first_waiter(turn, session);
    const Bound* first = waiter ? waiter : first_bound(turn, {session, LeaseRef{}});
    if (!first) return true;
    if (!turn.may_touch()) return false;
    turn.touch();
    const Thing thing = first->thing;
    free(turn, session, thing);
  }
}

bool come_back(Turn& turn, SessionId session) {
  const Session* found = turn.state().sessions.sessions.find(session);
  if (!found || found->ended) return false;
  if (!found->awaited_until) return true;
  if (turn.now() >= *found->awaited_until) {
    end(turn, session);
    return false;
  }
  turn.change().sessions.sessions.edit(session)->awaited_until.reset();
  turn.arm(Due{session}, std::nullopt);
  // The lines stood still for it. Of the waits of one holder the first is enough: with it all of
  // them are tried.
  std::vector<WaiterId> waiters;
  std::set<Holder> holders;
  const PersistentSet<Bound>& bound = turn.state().sessions.bound;
  for (auto at = bound.lower_bound({session, WaiterPlace{}});
       at != bound.end() && at->session == session;
       ++at) {
    const WaiterId waiter = std::get<WaiterPlace>(at->thing).waiter;
    const grant::Waiter* waiting = turn.state().grants.waiters.find(waiter);
    if (waiting && !holders.insert(waiting->request.holder).second) continue;
    waiters.push_back(waiter);
  }
  for (const WaiterId waiter : waiters) waiting::came_back(turn, waiter);
  return true;
}

// All are marked before one is freed, so that nothing goes to somebody who is not here.
void await_all(Turn& turn) {
  std::vector<SessionId> returning;
  std::vector<SessionId> ending;
  for (const auto& [session, found] : turn.state().sessions.sessions) {
    if (!found.ended) (found.can_return ? returning : ending).push_back(session);
  }
  const Time until = saturating_add(turn.now(), limits::session_return);
  for (const SessionId session : returning) {
    turn.change().sessions.sessions.edit(session)->awaited_until = until;
    turn.arm(Due{session}, until);
  }
  for (const SessionId session : ending) {
    turn.change().sessions.sessions.edit(session)->ended = true;
  }
  for (const SessionId session : ending) free_all(turn, session);
}

void due(Turn& turn, const Due& due) {
  const Session* found = turn.state().sessions.sessions.find(due.session);
  if (!found || !found->awaited_until) return;
  if (turn.now() >= *found->awaited_until) return end(turn, due.session);
  turn.arm(due, found->awaited_until);
}

}  // namespace reeve::session
