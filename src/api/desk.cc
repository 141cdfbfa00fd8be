#include "api/desk.h"

#include "base/check.h"

#include <algorithm>

namespace reeve::api {

// ── The loop's side ──

void Desk::add(Connection& connection) {
  CHECK(connections_.emplace(connection.session().value, &connection).second);
  connection.tell_output_to(&with_output_);
  connection.count_output_in(&output_bytes_);
}

// A connection that resumed an older session has both numbers.
void Desk::remove(Connection& connection, Stamp now) {
  connection.closing();
  for (const Connection::Owed& owed : connection.owed()) {
    give_back({owed.project, owed.key, owed.reply}, now);
  }
  for (const SessionId session : {connection.first_session(), connection.session()}) {
    if (connections_.erase(session.value) == 0) continue;
    if (engine_->state().sessions.sessions.contains(session)) engine_->session_ended(session, now);
  }
  followers_.erase(&connection);
  std::erase(with_output_, &connection);
  connection.count_output_in(nullptr);
}

std::vector<Connection*> Desk::take_with_output() {
  std::vector<Connection*> with_output = std::exchange(with_output_, {});
  for (Connection* connection : with_output) connection->listed(false);
  return with_output;
}

bool Desk::catch_up(Stamp now) {
  const std::vector<GivenBack> undelivered = std::exchange(undelivered_, {});
  for (const GivenBack& given : undelivered) give_back(given, now);
  std::vector<Asked> to_look = std::exchange(to_look_, {});
  for (Asked& asked : to_look) engine_->query(ticket(std::move(asked)), now);
  const std::vector<std::pair<SessionId, WaiterId>> to_cancel = std::exchange(to_cancel_, {});
  for (const auto& [session, waiter] : to_cancel) {
    if (Connection* connection = find(session)) cancel(*connection, waiter, now);
  }
  return !undelivered.empty() || !to_look.empty() || !to_cancel.empty();
}

// The answer to a request that had waited reached nobody: what it gave goes to the next, and its
// key may be used again.
void Desk::give_back(const GivenBack& undelivered, Stamp now) {
  engine_->undelivered(undelivered.project, undelivered.key, undelivered.reply, now);
}

// ── The connections' side ──

engine::Ticket Desk::ticket(Asked asked) {
  const engine::Ticket next{++last_ticket_};
  tickets_.emplace(next.value, std::move(asked));
  return next;
}

Connection* Desk::find(SessionId session) const {
  const auto found = connections_.find(session.value);
  return found == connections_.end() ? nullptr : found->second;
}

void Desk::submit(Connection& from, Call call, Request request, Stamp now) {
  const engine::Ticket next = ticket({from.session(), call, request.project, request.key});
  engine_->submit(next, std::move(request), now);
}

// The state is copied right behind the decision, so it has that and nothing later.
void Desk::submit_and_look(Connection& from, Call call, Request request, Stamp now) {
  Asked asked{from.session(), call, request.project, request.key};
  submit_looking(std::move(asked), std::move(request), now);
}

void Desk::submit_and_leave(Connection& from, Call call, Request request, Stamp now) {
  Asked asked{from.session(), call, request.project, request.key};
  asked.leaves = true;
  request.session = {};  // what is bound to a connection ends with it
  submit_looking(std::move(asked), std::move(request), now);
}

void Desk::submit_looking(Asked asked, Request request, Stamp now) {
  asked.look = true;
  asked.first = true;
  const engine::Ticket reply = ticket(asked);
  asked.first = false;
  const engine::Ticket state = ticket(asked);
  CHECK(state.value == reply.value + 1);
  engine_->submit(reply, std::move(request), now);
  engine_->query(state, now);
}

void Desk::query(Connection& from, Call call, Stamp now) {
  engine_->query(ticket({from.session(), call, {}, {}}), now);
}

// One that has its connection is not to be taken from it; and a connection that has something
// bound already cannot be another session as well.
void Desk::resume(Connection& from, Call call, SessionId session, Stamp now) {
  Asked asked{from.session(), call, {}, {}};
  const auto refuse = [&](Why why) {
    from.replied(call, engine_->durable(), refused(why, "session"), now);
  };
  if (find(session)) return refuse(Why::NotFound);
  if (engine_->state().sessions.sessions.contains(from.session())) return refuse(Why::NotAllowed);
  asked.returns = true;
  asked.old = session;
  engine_->session_returned(ticket(std::move(asked)), session, now);
}

// A wait belongs to the session it was asked under: a connection that was resumed has had two.
void Desk::cancel(Connection& from, WaiterId waiter, Stamp now) {
  const auto asked = waiters_.find(waiter.value);
  Request request{.session = asked == waiters_.end() ? from.session() : asked->second.session};
  request.command = CancelRequest{waiter};
  engine_->submit(ticket({{}, {}, {}, {}}), std::move(request), now);
}

void Desk::cancel_later(Connection& from, WaiterId waiter) {
  to_cancel_.emplace_back(from.session(), waiter);
}

void Desk::follow(Connection& from, bool follows) {
  if (follows) {
    followers_.insert(&from);
  } else {
    followers_.erase(&from);
  }
}

// ── The engine's side ──

void Desk::answer(const Asked& asked, Sequence sequence, const Reply& reply) {
  Connection* connection = find(asked.session);
  if (connection) return connection->replied(asked.call, sequence, reply, now_);
  if (asked.waited) undelivered_.push_back({asked.project, asked.key, reply});
}

void Desk::replied(engine::Ticket ticket, Sequence sequence, const Reply& reply) {
  const auto found = tickets_.find(ticket.value);
  CHECK(found != tickets_.end());
  Asked asked = std::move(found->second);
  tickets_.erase(found);
  if (!asked.call) return;  // a cancel: whoever was cancelled is answered
  Connection* connection = find(asked.session);

  const Waiting* waiting = std::get_if<Waiting>(&reply.value);
  if (waiting && !asked.leaves) {
    asked.waited = true;
    // Whoever waits is told by what ends the wait, and not by the state that was asked for beside
    // it.
    if (std::exchange(asked.first, false)) tickets_.at(ticket.value + 1).call = {};
    const auto [place, is_new] = waiters_.try_emplace(waiting->waiter.value, asked);
    if (!is_new) {
      if (Connection* before = find(place->second.session)) before->taken_over(place->second.call);
      place->second = asked;
    }
    if (connection) connection->waits(asked.call, waiting->waiter);
  } else if (asked.look) {
    const auto look = tickets_.find(ticket.value + 1);
    CHECK(look != tickets_.end());
    look->second.reply.emplace(sequence, reply);
  } else {
    if (asked.returns && connection && std::holds_alternative<Ok>(reply.value)) {
      connections_.emplace(asked.old.value, connection);
      connection->adopt(asked.old);
    }
    answer(asked, sequence, reply);
  }
}

// A waiter nobody knows is one of before a restart: its client has come back and will ask again
// with the key it had asked with, which keeps the answer.
void Desk::answered(WaiterId waiter, Sequence sequence, const Reply& reply) {
  const auto found = waiters_.find(waiter.value);
  if (found == waiters_.end()) return;
  Asked asked = std::move(found->second);
  waiters_.erase(found);
  if (!asked.look) return answer(asked, sequence, reply);
  asked.reply.emplace(sequence, reply);
  to_look_.push_back(std::move(asked));
}

void Desk::queried(engine::Ticket ticket, const State& state, Stamp /*stamp*/) {
  const auto found = tickets_.find(ticket.value);
  CHECK(found != tickets_.end());
  const Asked asked = std::move(found->second);
  tickets_.erase(found);
  Connection* connection = find(asked.session);
  if (!asked.look) {
    if (connection) connection->queried(asked.call, state, now_);
  } else if (asked.reply) {
    const auto& [sequence, reply] = *asked.reply;
    if (connection) {
      connection->replied_with(asked.call, sequence, reply, state, now_);
    } else if (asked.waited) {
      undelivered_.push_back({asked.project, asked.key, reply});
    }
  }
}

void Desk::unavailable(engine::Ticket ticket, const Error& error) {
  const auto found = tickets_.find(ticket.value);
  CHECK(found != tickets_.end());
  const Asked asked = std::move(found->second);
  tickets_.erase(found);
  // Of the two tickets of submit_and_look() one answer is enough.
  if (asked.first || !asked.call) return;
  if (Connection* connection = find(asked.session)) connection->unavailable(asked.call, error);
}

void Desk::give_up(const Error& error) {
  for (const auto& [waiter, asked] : std::exchange(waiters_, {})) {
    if (Connection* connection = find(asked.session)) connection->unavailable(asked.call, error);
  }
}

void Desk::news() {
  // Whoever writes may end, and then no longer follow.
  const std::vector<Connection*> followers(followers_.begin(), followers_.end());
  for (Connection* follower : followers) follower->news(now_);
}

}  // namespace reeve::api
