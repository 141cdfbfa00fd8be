#include "core/waiting.h"

#include "core/turn.h"

namespace reeve::waiting {

void leave(Turn& turn, WaiterId waiter, Left left) {
  const State& state = turn.state();
  if (state.grants.waiters.contains(waiter)) return grant::leave(turn, waiter, left);
  if (state.queues.takers.contains(waiter)) return queue::leave(turn, waiter, left);
  if (state.board.waiters.contains(waiter)) return board::leave(turn, waiter, left);
  decision::leave(turn, waiter, left);
}

void came_back(Turn& turn, WaiterId waiter) {
  queue::came_back(turn, waiter);
  board::came_back(turn, waiter);
  const grant::Waiter* waiting = turn.state().grants.waiters.find(waiter);
  if (!waiting) return;
  // A connection may have more waits than one step may look at: their own timers do the same.
  if (!turn.may_touch()) return turn.arm(grant::Due{waiter}, turn.now());
  turn.touch();
  const Holder holder = waiting->request.holder;
  grant::retry(turn, holder);
}

void move_to_session(Turn& turn, WaiterId waiter, SessionId session) {
  const State& state = turn.state();
  SessionId from;
  if (const grant::Waiter* found = state.grants.waiters.find(waiter)) {
    from = found->request.session;
    if (from == session) return;
    grant::move_to_session(turn, waiter, session);
  } else if (const queue::Taker* taker = state.queues.takers.find(waiter)) {
    from = taker->session;
    if (from == session) return;
    queue::Taker& moved = *turn.change().queues.takers.edit(waiter);
    if (from && moved.holder.session == from) moved.holder.session = session;
    moved.session = session;
  } else if (const board::Waiter* runner = state.board.waiters.find(waiter)) {
    from = runner->session;
    if (from == session) return;
    turn.change().board.waiters.edit(waiter)->session = session;
  } else {
    return decision::move_to_session(turn, waiter, session);
  }
  if (session) session::bind(turn, session, session::WaiterPlace{waiter});
  if (from) session::unbind(turn, from, session::WaiterPlace{waiter});
  came_back(turn, waiter);
}

}  // namespace reeve::waiting
