#include "core/grant_lines.h"

#include "base/match.h"
#include "core/turn.h"
#include "core/wait_graph.h"

#include <algorithm>
#include <utility>

namespace reeve::grant {
namespace {

// Those before `self` in the line of a name, one by one, while `see` wants more. A wait that is
// over counts as over, whether or not a tick has taken it out.
template <class Lines, class Name, class See>
void each_ahead(const State& state,
                const Lines& lines,
                const Name& name,
                std::optional<WaiterId> self,
                Time now,
                See see) {
  for (auto at = lines.lower_bound({name, {}}); at != lines.end() && at->name == name; ++at) {
    if (self && at->waiter >= *self) return;
    const Waiter& ahead = *state.grants.waiters.find(at->waiter);
    if (!is_over(ahead, now) && !see(ahead)) return;
  }
}

template <class Lines, class Name>
const Waiter* first_ahead(const State& state,
                          const Lines& lines,
                          const Name& name,
                          std::optional<WaiterId> self,
                          Time now) {
  const Waiter* first = nullptr;
  each_ahead(state, lines, name, self, now, [&](const Waiter& ahead) {
    first = &ahead;
    return false;
  });
  return first;
}

// How many stand before it. Of a newcomer that is known; else no more are counted than one step
// may touch.
template <class Lines, class Name>
std::uint64_t count_ahead(const Lines& lines,
                          const Name& name,
                          std::optional<WaiterId> self,
                          std::uint32_t waiting) {
  if (!self) return waiting;
  std::uint64_t count = 0;
  for (auto at = lines.lower_bound({name, {}}); at != lines.end() && at->name == name; ++at) {
    if (at->waiter >= *self || count == limits::touched_a_step) break;
    ++count;
  }
  return count;
}

// Whether everybody ahead in this line waits for the asker, so that it may pass them.
template <class Lines, class Name>
bool may_pass_all(const State& state,
                  const Lines& lines,
                  const Name& name,
                  const Request& request,
                  std::optional<WaiterId> self,
                  Time now) {
  bool passes = true;
  each_ahead(state, lines, name, self, now, [&](const Waiter& ahead) {
    passes = wait_graph::waits_for(state, ahead.request, request, now);
    return passes;
  });
  return passes;
}

bool is_own(const State& state, const LockName& name, const Holder& holder) {
  const lock::Lock* lock = state.locks.locks.find(name);
  const lock::Held* held = lock ? std::get_if<lock::Held>(&lock->state) : nullptr;
  return held && held->tenure.holder == holder;
}

bool is_impossible(const State& state, const Request& request, Time now) {
  return std::ranges::any_of(request.slots, [&](const SlotWant& want) {
    const semaphore::Semaphore* semaphore = state.semaphores.semaphores.find(want.name);
    return (!semaphore || want.weight > semaphore->config.capacity) &&
           !semaphore::has_already(state, want, request.holder, now);
  });
}

bool is_open(const State& state, const Request& request, Time now) {
  return std::ranges::all_of(request.locks,
                             [&](const LockWant& want) {
                               return lock::is_open_to(state, want.name, request.holder, now);
                             }) &&
         std::ranges::all_of(request.slots, [&](const SlotWant& want) {
           return semaphore::is_open_to(state, want, request.holder, now);
         });
}

bool is_its_turn(const State& state,
                 const Request& request,
                 std::optional<WaiterId> self,
                 Time now) {
  const Table& table = state.grants;
  return std::ranges::all_of(request.locks,
                             [&](const LockWant& want) {
                               return is_own(state, want.name, request.holder) ||
                                      may_pass_all(
                                          state, table.lock_lines, want.name, request, self, now);
                             }) &&
         std::ranges::all_of(request.slots, [&](const SlotWant& want) {
           return semaphore::has_already(state, want, request.holder, now) ||
                  may_pass_all(state, table.slot_lines, want.name, request, self, now);
         });
}

Busy held_by(const State& state, const LockName& name, std::optional<WaiterId> self) {
  const lock::Lock& lock = *state.locks.locks.find(name);
  const lock::Tenure& tenure = *lock::tenure_of(lock);
  const bool keeps_it = std::holds_alternative<lock::Held>(lock.state);
  return {name,
          tenure.holder,
          tenure.lease.acquired_at,
          keeps_it ? limit_of(tenure.lease, state.leases_from) : std::nullopt,
          count_ahead(state.grants.lock_lines, name, self, lock.waiting)};
}

Full without_room(const State& state, const SemaphoreName& name, std::optional<WaiterId> self) {
  const semaphore::Semaphore* semaphore = state.semaphores.semaphores.find(name);
  if (!semaphore) return {name, 0, 0, 0};
  return {name,
          semaphore::available(*semaphore),
          semaphore->config.capacity,
          count_ahead(state.grants.slot_lines, name, self, semaphore->waiting)};
}

void touch_each(Turn& turn, const Request& request) {
  each_name(request, [&](const auto&) { turn.touch(); });
}

}  // namespace

const Holder* within_of(const Request& request) {
  return request.meta && request.meta->within ? &*request.meta->within : nullptr;
}

std::vector<WaiterId> waits_of(const Table& table, const Holder& holder) {
  std::vector<WaiterId> waits;
  for (auto at = table.waits.lower_bound({holder, {}});
       at != table.waits.end() && at->holder == holder;
       ++at) {
    waits.push_back(at->waiter);
  }
  return waits;
}

Verdict judge(const State& state, const Request& request, std::optional<WaiterId> self, Time now) {
  if (is_impossible(state, request, now)) return Verdict::Never;
  if (self && !session::is_here(state, request.session)) return Verdict::Wait;
  if (!is_open(state, request, now)) return Verdict::Wait;
  return is_its_turn(state, request, self, now) ? Verdict::Grant : Verdict::Wait;
}

std::variant<Busy, Full> in_the_way(const State& state,
                                    const Request& request,
                                    std::optional<WaiterId> self,
                                    Time now) {
  for (const LockWant& want : request.locks) {
    if (!lock::is_open_to(state, want.name, request.holder, now)) {
      return held_by(state, want.name, self);
    }
  }
  for (const SlotWant& want : request.slots) {
    if (!semaphore::is_open_to(state, want, request.holder, now)) {
      return without_room(state, want.name, self);
    }
  }
  for (const LockWant& want : request.locks) {
    if (is_own(state, want.name, request.holder)) continue;
    const auto& lines = state.grants.lock_lines;
    if (const Waiter* ahead = first_ahead(state, lines, want.name, self, now)) {
      return Busy{want.name,
                  ahead->request.holder,
                  ahead->since,
                  std::nullopt,
                  count_ahead(lines, want.name, self, state.locks.locks.find(want.name)->waiting)};
    }
  }
  for (const SlotWant& want : request.slots) {
    if (first_ahead(state, state.grants.slot_lines, want.name, self, now)) {
      return without_room(state, want.name, self);
    }
  }
  // Nothing but the absence of its own connection.
  if (request.locks.empty()) return without_room(state, request.slots.front().name, self);
  return Busy{request.locks.front().name, request.holder, now, std::nullopt, 0};
}

Granted give(Turn& turn, const Request& request) {
  const std::uint64_t tokens = turn.state().last_token;
  bool more = false;
  Granted granted{How::Extended, request.holder, {}};
  for (const LockWant& want : request.locks) {
    granted.given.push_back(lock::take(turn, want, request));
  }
  for (const SlotWant& want : request.slots) {
    more = more || !semaphore::has_already(turn.state(), want, request.holder, turn.now());
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
    table.slot_lines.insert({want.name, waiter});
    began.names.push_back(want.name.name);
  }
  table.waits.insert({request.holder, waiter});
  if (const Holder* within = within_of(request)) table.waits.insert({*within, waiter});
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
    table.slot_lines.erase({want.name, id});
    semaphore::leave_line(turn, want.name);
  }
  table.waits.erase({request.holder, id});
  if (const Holder* within = within_of(request)) table.waits.erase({*within, id});
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
  NotGranted reply{left, in_the_way(turn_.state(), waiting->request, id, turn_.now())};
  send_away(id, left, {Reply{std::move(reply)}});
}

void Rounds::send_away(WaiterId id, Left left, reeve::Reply reply) {
  const Request request = take_out(turn_, id).request;
  turn_.emit(request.holder.project, StoppedWaiting{id, request.holder, left});
  each_name(request, [&](const auto& name) { look_at(name); });
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
  const Verdict verdict = judge(turn_.state(), waiting.request, id, turn_.now());
  const bool too_late = is_over(waiting, turn_.now());
  if (verdict == Verdict::Wait && !too_late) return false;

  const Request request = waiting.request;
  touch_each(turn_, request);
  if (verdict == Verdict::Never) {
    for (const SlotWant& want : request.slots) look_at(SlotPlace{want.name, id});
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
  const auto first = lines.lower_bound({name, {}});
  if (first == lines.end() || first->name != name) return false;
  const WaiterId head = first->waiter;
  auto second = first;
  const bool alone = ++second == lines.end() || second->name != name;
  if (has_left(head)) return true;
  if (alone || !may_pass) return false;
  const State& state = turn_.state();
  const Request& blocked = state.grants.waiters.find(head)->request;
  for (const WaiterId waiter : wait_graph::waits_behind(state, blocked, turn_.now())) {
    if (lines.contains({name, waiter}) && has_left(waiter)) return true;
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
  for (const WaiterId waiter : wait_graph::waits_behind(state, holder, turn_.now())) {
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
    if (!is_impossible(state, request, turn_.now())) continue;
    const WaiterId waiter = at->waiter;
    if (turn_.may_touch()) {
      has_left(waiter);
    } else {
      turn_.arm(Due{waiter}, turn_.now());
    }
    return;
  }
}

void Rounds::leave_to_timer(const LockName& name) { turn_.arm(lock::Due{name}, turn_.now()); }

void Rounds::leave_to_timer(const SemaphoreName& name) {
  turn_.arm(semaphore::Due{name}, turn_.now());
}

void Rounds::leave_to_timer(const Holder& holder) {
  for (const WaiterId waiter : waits_of(turn_.state().grants, holder)) {
    turn_.arm(Due{waiter}, turn_.now());
    return;  // one of them is enough: it looks at all that lies behind the holder
  }
}

}  // namespace reeve::grant
