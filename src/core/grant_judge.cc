#include "core/grant_lines.h"
#include "core/turn.h"
#include "core/wait_graph.h"

#include <algorithm>

// Whose turn it is: what a request finds in its way, and who stands before it. Nothing changes
// here.
namespace reeve::grant {
namespace {

template <class Place>
const Waiter* first_before(const State& state,
                           const PersistentSet<Place>& lines,
                           const Place& place,
                           Time now,
                           const Holder* except = nullptr) {
  for (auto at = lines.lower_bound(first_place(place.name)); at != lines.end(); ++at) {
    if (at->name != place.name || *at >= place) return nullptr;
    const Waiter& ahead = *state.grants.waiters.find(at->waiter);
    if (is_over(ahead, now) || (except && ahead.request.holder == *except)) continue;
    return &ahead;
  }
  return nullptr;
}

bool is_last(const LockPlace&) { return true; }
bool is_last(const SlotPlace& place) { return place.newcomer; }

// How many stand before it. Of somebody who would be the last that is known; else no more are
// counted than one step may touch.
template <class Place>
std::uint64_t count_ahead(const PersistentSet<Place>& lines,
                          const Place& place,
                          std::optional<WaiterId> self,
                          std::uint32_t waiting) {
  if (!self && is_last(place)) return waiting;
  std::uint64_t count = 0;
  for (auto at = lines.lower_bound(first_place(place.name)); at != lines.end(); ++at) {
    if (at->name != place.name || *at >= place || count == limits::touched_a_step) break;
    ++count;
  }
  return count;
}

// Whether everybody ahead in this line waits for the asker, so that it may pass them. The first
// is enough: those behind him wait for him. Nobody stands in his own way: two of his waits could
// each be ahead of the other in some line.
template <class Place>
bool may_pass_all(const State& state,
                  const PersistentSet<Place>& lines,
                  const Place& place,
                  const Request& request,
                  Time now) {
  const Waiter* ahead = first_before(state, lines, place, now, &request.holder);
  return !ahead || wait_graph::waits_for(state, ahead->request.holder, request, now);
}

bool is_own(const State& state, const LockName& name, const Holder& holder) {
  const lock::Lock* lock = state.locks.locks.find(name);
  const lock::Held* held = lock ? std::get_if<lock::Held>(&lock->state) : nullptr;
  return held && held->tenure.holder == holder;
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
                                      may_pass_all(state,
                                                   table.lock_lines,
                                                   place_of(state, want, request, self),
                                                   request,
                                                   now);
                             }) &&
         std::ranges::all_of(request.slots, [&](const SlotWant& want) {
           return semaphore::has_already(state, want, request.holder, now) ||
                  may_pass_all(
                      state, table.slot_lines, place_of(state, want, request, self), request, now);
         });
}

Busy held_by(const State& state, const LockPlace& place, std::optional<WaiterId> self) {
  const LockName& name = place.name;
  const lock::Lock& lock = *state.locks.locks.find(name);
  const lock::Tenure& tenure = *lock::tenure_of(lock);
  const bool keeps_it = std::holds_alternative<lock::Held>(lock.state);
  return {name,
          tenure.holder,
          tenure.lease.acquired_at,
          keeps_it ? limit_of(tenure.lease, state.leases_from) : std::nullopt,
          count_ahead(state.grants.lock_lines, place, self, lock.waiting)};
}

Full without_room(const State& state, const SlotPlace& place, std::optional<WaiterId> self) {
  const SemaphoreName& name = place.name;
  const semaphore::Semaphore* semaphore = state.semaphores.semaphores.find(name);
  if (!semaphore) return {name, 0, 0, 0};
  return {name,
          semaphore::available(*semaphore),
          semaphore->config.capacity,
          count_ahead(state.grants.slot_lines, place, self, semaphore->waiting)};
}

}  // namespace

bool is_impossible(const State& state, const Request& request, Time now) {
  return std::ranges::any_of(request.slots, [&](const SlotWant& want) {
    const semaphore::Semaphore* semaphore = state.semaphores.semaphores.find(want.name);
    return (!semaphore || want.weight > semaphore->config.capacity) &&
           !semaphore::has_already(state, want, request.holder, now);
  });
}

const Waiter* first_ahead(const State& state,
                          const PersistentSet<LockPlace>& lines,
                          const LockPlace& place,
                          Time now) {
  return first_before(state, lines, place, now);
}

const Waiter* first_ahead(const State& state,
                          const PersistentSet<SlotPlace>& lines,
                          const SlotPlace& place,
                          Time now) {
  return first_before(state, lines, place, now);
}

std::span<const Holder> within_of(const Request& request) {
  if (!request.meta) return {};
  return request.meta->within;
}

SlotPlace place_in_line(const Table& table, const SemaphoreName& name, WaiterId waiter) {
  const SlotPlace increase{name, false, waiter};
  return table.slot_lines.contains(increase) ? increase : SlotPlace{name, true, waiter};
}

LockPlace place_of(const State&,
                   const LockWant& want,
                   const Request&,
                   std::optional<WaiterId> self) {
  return {want.name, self.value_or(behind_all)};
}

SlotPlace place_of(const State& state,
                   const SlotWant& want,
                   const Request& request,
                   std::optional<WaiterId> self) {
  if (self) return place_in_line(state.grants, want.name, *self);
  return {want.name, !semaphore::has_slot(state, want.name, request.holder), behind_all};
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
      return held_by(state, place_of(state, want, request, self), self);
    }
  }
  for (const SlotWant& want : request.slots) {
    if (!semaphore::is_open_to(state, want, request.holder, now)) {
      return without_room(state, place_of(state, want, request, self), self);
    }
  }
  for (const LockWant& want : request.locks) {
    if (is_own(state, want.name, request.holder)) continue;
    const auto& lines = state.grants.lock_lines;
    const LockPlace place = place_of(state, want, request, self);
    if (const Waiter* ahead = first_ahead(state, lines, place, now)) {
      return Busy{want.name,
                  ahead->request.holder,
                  ahead->since,
                  std::nullopt,
                  count_ahead(lines, place, self, state.locks.locks.find(want.name)->waiting)};
    }
  }
  for (const SlotWant& want : request.slots) {
    const SlotPlace place = place_of(state, want, request, self);
    if (first_ahead(state, state.grants.slot_lines, place, now)) {
      return without_room(state, place, self);
    }
  }
  // Nothing but the absence of its own connection, or somebody it lets go ahead.
  if (request.locks.empty()) {
    return without_room(state, place_of(state, request.slots.front(), request, self), self);
  }
  return Busy{request.locks.front().name, request.holder, now, std::nullopt, 0};
}

}  // namespace reeve::grant
