#include "core/grant_lines.h"

#include "base/match.h"
#include "core/turn.h"
#include "core/wait_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

// What moves: who gets something, who joins and leaves a line, and what that makes possible.
namespace reeve::grant {
namespace {

void touch_each(Turn& turn, const Request& request) {
  each_name(request, [&](const auto&) { turn.touch(); });
}

// What is left to a later step is judged as of this one; what is owed already is not put off.
void owe_look(Turn& turn, const Subject& subject) {
  const std::optional<Time> owed = deadline_of(turn.state().timers, subject);
  turn.arm(subject, std::min(owed.value_or(turn.as_of()), turn.as_of()));
}

}  // namespace

Granted give(Turn& turn, const Request& request) {
  const std::uint64_t tokens = turn.state().last_token;
  bool more = false;
  Granted granted{How::Extended, request.holder, {}};
  for (const LockWant& want : request.locks) {
    granted.given.push_back(lock::take(turn, want, request));
  }
  for (const SlotWant& want : request.slots) {
    more = more || !semaphore::has_already(turn.state(), want, request.holder, turn.as_of());
    granted.given.push_back(semaphore::take(turn, want, request));
  }
  if (more || turn.state().last_token != tokens) granted.how = How::Acquired;
  if (std::ranges::any_of(granted.given,
                          [](const Given& given) { return given.previous.has_value(); })) {
    granted.how = How::Reclaimed;
  }
  return granted;
}

WaiterId join(Turn& turn, Request request) {
  const WaiterId waiter = turn.next_id<WaiterId>();
  std::optional<Time> until;
  if (request.wait != Duration::max()) until = saturating_add(turn.now(), *request.wait);
  BeganWaiting began{waiter, request.holder, {}};
  Table& table = turn.change().grants;
  for (const LockWant& want : request.locks) {
    lock::join_line(turn, want.name);
    table.lock_lines.insert({want.name, waiter});
    began.names.push_back(want.name.name);
  }
  for (const SlotWant& want : request.slots) {
    semaphore::join_line(turn, want.name);
    const SlotPlace behind = place_of(turn.state(), want, request, std::nullopt);
    table.slot_lines.insert({want.name, behind.newcomer, waiter});
    began.names.push_back(want.name.name);
  }
  table.waits.insert({request.holder, waiter});
  for (const Holder& outer : within_of(request)) table.waits.insert({outer, waiter});
  session::bind(turn, request.session, session::WaiterPlace{waiter});
  turn.arm(Due{waiter}, until);
  turn.emit(request.holder.project, std::move(began));
  table.waiters.set(waiter, {std::move(request), turn.now(), until});
  return waiter;
}

Waiter take_out(Turn& turn, WaiterId id) {
  Table& table = turn.change().grants;
  Waiter waiter = *table.waiters.find(id);
  const Request& request = waiter.request;
  table.waiters.erase(id);
  for (const LockWant& want : request.locks) {
    table.lock_lines.erase({want.name, id});
    lock::leave_line(turn, want.name);
  }
  for (const SlotWant& want : request.slots) {
    table.slot_lines.erase(place_in_line(table, want.name, id));
    semaphore::leave_line(turn, want.name);
  }
  table.waits.erase({request.holder, id});
  for (const Holder& outer : within_of(request)) table.waits.erase({outer, id});
  session::unbind(turn, request.session, session::WaiterPlace{id});
  turn.arm(Due{id}, std::nullopt);
  return waiter;
}

void tell(Turn& turn, WaiterId waiter, const Origin& origin, reeve::Reply reply) {
  match(
      origin,
      [&](const ToClient&) { turn.answer(waiter, std::move(reply)); },
      [&](const ToPhase& phase) { pipeline::asked(turn, phase.pipeline, phase.entry, reply); });
}

void Rounds::after_grant(const Request& request) {
  for (const SlotWant& want : request.slots) look_at(want.name);
  look_at(request.holder);
  look_at_heads(request);
  give_up_hopeless(request.holder);
}

// Somebody whom the holder waits for elsewhere may stand in line for what it has just got: then
// neither could ever move, and its other wait is refused after all.
void Rounds::give_up_hopeless(const Holder& holder) {
  for (const WaiterId id : waits_of(turn_.state().grants, holder)) {
    const Waiter* waiting = turn_.state().grants.waiters.find(id);
    if (!waiting) continue;
    auto cycle = wait_graph::would_deadlock(turn_.state(), waiting->request, turn_.as_of());
    if (cycle) send_away(id, Left::Unfit, {Reply{WouldDeadlock{*std::move(cycle)}}});
  }
}

// Whoever is now the first in a line is waited for by all behind him. One whose wait is over leaves
// it at once by his own timer, which looks again: thousands of them are passed over once, not each
// time one of them goes.
void Rounds::look_at_heads(const Request& request) {
  const Table& table = turn_.state().grants;
  const auto look_at_first = [&](const auto& lines, const auto& name) {
    const auto first = lines.lower_bound(first_place(name));
    if (first == lines.end() || first->name != name) return;
    look_at(table.waiters.find(first->waiter)->request.holder);
  };
  for (const LockWant& want : request.locks) look_at_first(table.lock_lines, want.name);
  for (const SlotWant& want : request.slots) look_at_first(table.slot_lines, want.name);
}

void Rounds::run() {
  while (!rest_.empty()) {
    const auto next = std::move(rest_.front());
    rest_.pop_front();
    std::visit([&](const auto& what) { serve(what); }, next);
  }
}

void Rounds::leave(WaiterId id, Left left) {
  const Waiter* waiting = turn_.state().grants.waiters.find(id);
  if (!waiting) return;
  NotGranted reply{left, in_the_way(turn_.state(), waiting->request, id, turn_.as_of())};
  send_away(id, left, {Reply{std::move(reply)}});
}

void Rounds::send_away(WaiterId id, Left left, reeve::Reply reply) {
  const Request request = take_out(turn_, id).request;
  turn_.emit(request.holder.project, StoppedWaiting{id, request.holder, left});
  each_name(request, [&](const auto& name) { look_at(name); });
  look_at(request.holder);  // who waits for less need no longer let others go ahead
  look_at_heads(request);
  // A phase that gave up by itself knows.
  const bool knows = std::holds_alternative<ToPhase>(request.origin) && left == Left::Cancelled;
  if (!knows) tell(turn_, id, request.origin, std::move(reply));
}

// What a waiter wants may be over without anybody having noticed.
void Rounds::expire_wants(WaiterId id) {
  const Request request = turn_.state().grants.waiters.find(id)->request;
  for (const LockWant& want : request.locks) {
    if (lock::expire(turn_, want.name)) look_at(want.name);
  }
  for (const SlotWant& want : request.slots) {
    if (semaphore::expire(turn_, want.name)) look_at(want.name);
  }
}

bool Rounds::has_left(WaiterId id) {
  if (!turn_.state().grants.waiters.contains(id)) return false;
  expire_wants(id);
  const Waiter& waiting = *turn_.state().grants.waiters.find(id);
  const Verdict verdict = judge(turn_.state(), waiting.request, id, turn_.as_of());
  const bool too_late = is_over(waiting, turn_.as_of());
  if (verdict == Verdict::Wait && !too_late) return false;

  const Request request = waiting.request;
  touch_each(turn_, request);
  if (verdict == Verdict::Never) {
    for (const SlotWant& want : request.slots) {
      look_at(place_in_line(turn_.state().grants, want.name, id));
    }
    send_away(id, Left::Unfit, refused(Why::BadValue, "weight"));
    return true;
  }
  if (too_late) {
    leave(id, Left::TimedOut);
    return true;
  }
  // The leases are bound to the session before the place no longer is: it stays known.
  Granted granted = give(turn_, request);
  take_out(turn_, id);
  after_grant(request);
  tell(turn_, id, request.origin, {Reply{std::move(granted)}});
  return true;
}

template <class Lines, class Name>
bool Rounds::advance(const Lines& lines, const Name& name, bool may_pass) {
  const auto first = lines.lower_bound(first_place(name));
  if (first == lines.end() || first->name != name) return false;
  const WaiterId head = first->waiter;
  const auto second = std::next(first);
  const bool alone = second == lines.end() || second->name != name;
  const State& state = turn_.state();
  const Holder first_holder = state.grants.waiters.find(head)->request.holder;
  // Who waits for others elsewhere, too, lets them go ahead, lest he come to hold what they need.
  const bool yields = !alone && may_pass && waits_of(state.grants, first_holder).size() > 1;
  if (yields && let_pass(first_holder, head, name, Own::Excluded)) return true;
  if (has_left(head)) return true;
  return !alone && may_pass && let_pass(first_holder, head, name, Own::Included);
}

// The first of those who may pass the head of a line, for whom it waits.
template <class Name>
bool Rounds::let_pass(const Holder& holder, WaiterId head, const Name& name, Own own) {
  const State& state = turn_.state();
  for (const WaiterId waiter : wait_graph::waits_behind(state, holder, turn_.as_of())) {
    if (waiter == head || !stands_in(state.grants, name, waiter)) continue;
    const bool is_own = state.grants.waiters.find(waiter)->request.holder == holder;
    if ((!is_own || own == Own::Included) && has_left(waiter)) return true;
  }
  return false;
}

void Rounds::serve(const LockName& name) {
  while (true) {
    const lock::Lock* lock = turn_.state().locks.locks.find(name);
    if (!lock || lock->waiting == 0) return;
    if (std::holds_alternative<lock::Held>(lock->state) ||
        std::holds_alternative<lock::Ending>(lock->state)) {
      return;
    }
    if (!turn_.may_touch()) return leave_to_timer(name);
    if (!advance(turn_.state().grants.lock_lines, name, true)) return;
  }
}

void Rounds::serve(const SemaphoreName& name) {
  while (true) {
    const semaphore::Semaphore* semaphore = turn_.state().semaphores.semaphores.find(name);
    if (!semaphore || semaphore->waiting == 0) return;
    if (!turn_.may_touch()) return leave_to_timer(name);
    // With no room at all there is nothing for which to pass the head.
    const bool has_room = semaphore::available(*semaphore) > 0;
    if (!advance(turn_.state().grants.slot_lines, name, has_room)) return;
  }
}

void Rounds::serve(const Holder& holder) {
  const State& state = turn_.state();
  for (const WaiterId waiter : wait_graph::waits_behind(state, holder, turn_.as_of())) {
    if (!turn_.may_touch()) return leave_to_timer(holder);
    has_left(waiter);
  }
}

// The first of them; when he has left, those after him are looked for.
void Rounds::serve(const SlotPlace& from) {
  const State& state = turn_.state();
  const auto& lines = state.grants.slot_lines;
  for (auto at = lines.lower_bound(from); at != lines.end() && at->name == from.name; ++at) {
    const Request& request = state.grants.waiters.find(at->waiter)->request;
    if (!is_impossible(state, request, turn_.as_of())) continue;
    const WaiterId waiter = at->waiter;
    if (turn_.may_touch()) {
      has_left(waiter);
    } else {
      turn_.arm(Due{waiter}, turn_.as_of());
    }
    return;
  }
}

void Rounds::leave_to_timer(const LockName& name) { owe_look(turn_, lock::Due{name}); }

void Rounds::leave_to_timer(const SemaphoreName& name) { owe_look(turn_, semaphore::Due{name}); }

void Rounds::leave_to_timer(const Holder& holder) {
  for (const WaiterId waiter : waits_of(turn_.state().grants, holder)) {
    owe_look(turn_, Due{waiter});
    return;  // one of them is enough: it looks at all that lies behind the holder
  }
}

}  // namespace reeve::grant
