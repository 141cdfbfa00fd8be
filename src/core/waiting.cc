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

void move_to_session(Turn& turn, WaiterId waiter, SessionId session) {
  const State& state = turn.state();
  SessionId from;
  if (const grant::Waiter* found = state.grants.waiters.find(waiter)) {
    from = found->request.session;
    if (from == session) return;
    turn.change().grants.waiters.edit(waiter)->request.session = session;
  } else if (const queue::Taker* taker = state.queues.takers.find(waiter)) {
    from = taker->session;
    if (from == session) return;
    turn.change().queues.takers.edit(waiter)->session = session;
  } else if (const board::Waiter* runner = state.board.waiters.find(waiter)) {
    from = runner->session;
    if (from == session) return;
    turn.change().board.waiters.edit(waiter)->session = session;
  } else {
    return decision::move_to_session(turn, waiter, session);
  }
  if (from) session::unbind(turn, from, session::WaiterPlace{waiter});
  if (session) session::bind(turn, session, session::WaiterPlace{waiter});
  queue::came_back(turn, waiter);
}

}  // namespace reeve::waiting
