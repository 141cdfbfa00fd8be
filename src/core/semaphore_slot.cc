#include "base/match.h"
#include "base/planted.h"
#include "core/semaphore.h"
#include "core/turn.h"

#include <algorithm>
#include <utility>
#include <vector>

// What becomes of one slot: who gets it, how it ends, and what time does to it. The verbs of
// clients are in semaphore.cc.
namespace reeve::semaphore {
namespace {

const DueKey* first_due(const State& state, const SemaphoreName& name) {
  const auto first = state.semaphores.due.lower_bound({name, Time::min(), {}});
  if (first == state.semaphores.due.end() || first->name != name) return nullptr;
  return &*first;
}

// A line for which a step had no room left is owed a look, as of the moment of that step.
std::optional<Time> owed_look(const Turn& turn, const SemaphoreName& name) {
  const std::optional<Time> armed = deadline_of(turn.state().timers, Due{name});
  const bool is_owed =
      armed && *armed <= turn.now() && turn.state().semaphores.semaphores.find(name)->waiting > 0;
  return is_owed ? armed : std::nullopt;
}

// The timer of a semaphore is that of its first slot, unless its line is owed a look before.
void arm_first(Turn& turn, const SemaphoreName& name) {
  const DueKey* first = first_due(turn.state(), name);
  std::optional<Time> due = first ? std::optional(first->due) : std::nullopt;
  const std::optional<Time> owed = owed_look(turn, name);
  if (owed) due = due ? std::min(*due, *owed) : *owed;
  turn.arm(Due{name}, due);
}

// Moves the slot to its right place among the deadlines.
void place(Turn& turn, const SlotKey& key, std::optional<Time> due) {
  Table& table = turn.change().semaphores;
  Slot* slot = table.slots.edit(key);
  if (slot->due) table.due.erase({key.name, *slot->due, key.holder});
  slot->due = due;
  if (due) table.due.insert({key.name, *due, key.holder});
  arm_first(turn, key.name);
}

void begin_ending(Turn& turn, const SlotKey& key, const Process& process, custody::Cause cause) {
  turn.change().semaphores.slots.edit(key)->ending = cause;
  place(turn, key, std::nullopt);
  grant::slot_changed(turn, key.name, key.holder);
  custody::end(turn, process, cause);
}

void go_stale(Turn& turn, const SlotKey& key) {
  const Slot slot = *turn.state().semaphores.slots.find(key);
  const Lease& lease = slot.lease;
  const bool held_too_long = ends_by_max_hold(lease, turn.leases_from());
  turn.emit(key.name.project, WentStale{key.name, key.holder, slot.weight});
  if (const Process* process = process_of(slot.meta)) {
    return begin_ending(
        turn, key, *process, held_too_long ? custody::Cause::MaxHold : custody::Cause::Silent);
  }
  vacate(turn, key);
}

// Whether a slot went. A tick, which wants to know whose limits grace has moved, does no more than
// a step may; whoever is about to judge needs all.
bool expire_some(Turn& turn, const SemaphoreName& name, std::vector<Holder>* still_good) {
  bool gone = false;
  while (const DueKey* first = first_due(turn.state(), name)) {
    if (first->due > turn.as_of()) break;
    if (still_good && !turn.may_touch()) break;
    turn.touch();
    const SlotKey key{name, first->holder};
    const Lease& lease = turn.state().semaphores.slots.find(key)->lease;
    if (!is_over(lease, turn.leases_from(), turn.as_of())) {
      const std::optional<Time> later = over_at(lease, turn.leases_from());
      if (later == first->due) break;  // the end of time: nothing comes after it
      place(turn, key, later);
      if (still_good) still_good->push_back(key.holder);
      continue;
    }
    go_stale(turn, key);
    gone = true;
  }
  return gone;
}

// As with locks: a phase holds through the daemon, and ends itself at its `max_hold`.
Lease new_lease(Turn& turn,
                const grant::SlotWant& want,
                const grant::Request& request,
                std::optional<Time>& expires_at) {
  const Config& config = turn.state().semaphores.semaphores.find(want.name)->config;
  const Duration timeout =
      want.timeout ? *want.timeout : config.heartbeat_timeout.value_or(limits::heartbeat_timeout);
  Lease lease{turn.next_token(), turn.now(), turn.now(), std::nullopt, std::nullopt};
  if (std::holds_alternative<grant::ToPhase>(request.origin)) {
    if (want.max_hold) expires_at = saturating_add(turn.now(), *want.max_hold);
    return lease;
  }
  lease.timeout = timeout;
  lease.max_hold = want.max_hold;
  expires_at = limit_of(lease, turn.leases_from());
  return lease;
}

grant::Given keep_and_increase(Turn& turn,
                               const grant::SlotWant& want,
                               const SlotKey& key,
                               const Boxed<HolderMeta>& said) {
  const Lease lease = refresh(turn, key);
  const Boxed<HolderMeta> known = turn.state().semaphores.slots.find(key)->meta;
  const Boxed<HolderMeta> meta =
      custody::follow(turn, known, lease.timeout ? said : known, SlotLease{key.name, key.holder});
  if (meta != known) turn.change().semaphores.slots.edit(key)->meta = meta;
  const std::uint32_t before = turn.state().semaphores.slots.find(key)->weight;
  if (want.weight > before) {
    Table& table = turn.change().semaphores;
    table.slots.edit(key)->weight = want.weight;
    table.semaphores.edit(key.name)->in_use += want.weight - before;
    turn.emit(key.name.project, WasAcquired{key.name, key.holder, want.weight, lease.token});
  } else if (turn.state().semaphores.slots.find(key)->told < before) {
    turn.change().semaphores.slots.edit(key)->told = before;
  }
  return {key.name.name,
          lease.token,
          limit_of(lease, turn.leases_from()),
          std::max(want.weight, before),
          std::nullopt,
          key.name.project,
          before};
}

}  // namespace

std::uint32_t available(const Semaphore& semaphore) {
  const std::uint64_t capacity = semaphore.config.capacity;
  return capacity > semaphore.in_use ? static_cast<std::uint32_t>(capacity - semaphore.in_use) : 0;
}

bool has_slot(const State& state, const SemaphoreName& name, const Holder& holder) {
  const Slot* own = state.semaphores.slots.find({name, holder});
  return own && !own->ending;
}

bool has_already(const State& state, const grant::SlotWant& want, const Holder& holder, Time now) {
  const Slot* own = state.semaphores.slots.find({want.name, holder});
  return own && !own->ending && !is_over(own->lease, state.leases_from, now) &&
         own->weight >= want.weight;
}

bool is_open_to(const State& state, const grant::SlotWant& want, const Holder& holder, Time now) {
  const Semaphore* semaphore = state.semaphores.semaphores.find(want.name);
  if (!semaphore) return false;
  const Slot* own = state.semaphores.slots.find({want.name, holder});
  if (!own) return want.weight <= available(*semaphore);
  if (own->ending || is_over(own->lease, state.leases_from, now)) return false;
  return want.weight <= own->weight || want.weight - own->weight <= available(*semaphore);
}

grant::Given take(Turn& turn, const grant::SlotWant& want, const grant::Request& request) {
  const SlotKey key{want.name, request.holder};
  if (const Slot* own = turn.state().semaphores.slots.find(key)) {
    if (!std::holds_alternative<grant::ToPhase>(request.origin)) {
      return keep_and_increase(turn, want, key, request.meta);
    }
    // As with locks: what a step took under its pipeline's name is the pipeline's now.
    grant::SlotWant all = want;
    all.weight = std::max(want.weight, own->weight);
    vacate(turn, key);
    return take(turn, all, request);
  }

  std::optional<Time> expires_at;
  const Lease lease = new_lease(turn, want, request, expires_at);
  Table& table = turn.change().semaphores;
  table.slots.set(key, {want.weight, request.meta, lease, std::nullopt, std::nullopt, 0});
  table.semaphores.edit(want.name)->in_use += want.weight;
  place(turn, key, over_at(lease, turn.leases_from()));
  grant::slot_changed(turn, key.name, key.holder);
  session::bind(turn, request.holder.session, LeaseRef{SlotLease{key.name, key.holder}});
  if (request.meta && request.meta->process) {
    custody::keep(turn, *request.meta->process, SlotLease{key.name, key.holder});
  }
  turn.emit(key.name.project, WasAcquired{key.name, key.holder, want.weight, lease.token});
  return {key.name.name,
          lease.token,
          expires_at,
          want.weight,
          std::nullopt,
          key.name.project,
          std::nullopt};
}

void shrink(Turn& turn, const SlotKey& key, const grant::Given& given) {
  const Slot* slot = turn.state().semaphores.slots.find(key);
  const bool is_the_same = slot && slot->lease.token == given.token && slot->weight == given.weight;
  if (!is_the_same || !given.had || *given.had >= given.weight) return;
  if (slot->told > *given.had) return;
  Table& table = turn.change().semaphores;
  table.slots.edit(key)->weight = *given.had;
  table.semaphores.edit(key.name)->in_use -= given.weight - *given.had;
  turn.emit(key.name.project, WasReleased{key.name, key.holder, given.weight - *given.had});
  grant::serve(turn, key.name);
  // What he had enough of for another wait of his he may now have to wait for there.
  grant::retry(turn, key.holder);
}

Lease refresh(Turn& turn, const SlotKey& key) {
  const Lease& lease = turn.state().semaphores.slots.find(key)->lease;
  const Time sign = std::max(lease.last_sign, turn.as_of());
  if (lease.confirmed && lease.last_sign == sign) return lease;
  Lease& changed = turn.change().semaphores.slots.edit(key)->lease;
  changed.last_sign = sign;
  changed.confirmed = true;
  const Lease refreshed = changed;
  place(turn, key, over_at(refreshed, turn.leases_from()));
  return refreshed;
}

bool move_to_session(Turn& turn, const SlotKey& key, Token token, SessionId session) {
  const Slot* found = turn.state().semaphores.slots.find(key);
  const SlotLease lease{key.name, key.holder};
  if (!found || found->lease.token != token) return false;
  if (!turn.state().sessions.bound.contains({key.holder.session, LeaseRef{lease}})) return false;
  SlotKey to = key;
  to.holder.session = session;
  if (turn.state().semaphores.slots.contains(to)) return false;
  const SlotLease moved{to.name, to.holder};
  Slot slot = *found;
  const std::optional<Time> due = std::exchange(slot.due, std::nullopt);
  const Process* process = process_of(slot.meta);
  if (process) custody::keep(turn, *process, moved);
  session::bind(turn, session, LeaseRef{moved});
  place(turn, key, std::nullopt);
  turn.change().semaphores.slots.set(to, slot);
  place(turn, to, due);
  turn.change().semaphores.slots.erase(key);
  grant::slot_changed(turn, key.name, key.holder);
  grant::slot_changed(turn, to.name, to.holder);
  if (process) custody::let_go(turn, *process, lease);
  session::unbind(turn, key.holder.session, LeaseRef{lease});
  return true;
}

void vacate(Turn& turn, const SlotKey& key) {
  const Slot* found = turn.state().semaphores.slots.find(key);
  if (!found) return;
  const Slot slot = *found;
  place(turn, key, std::nullopt);
  Table& table = turn.change().semaphores;
  table.slots.erase(key);
  table.semaphores.edit(key.name)->in_use -= planted(Bug::WeightMiscounted) ? 1 : slot.weight;
  grant::slot_changed(turn, key.name, key.holder);
  const SlotLease lease{key.name, key.holder};
  if (const Process* process = process_of(slot.meta)) custody::let_go(turn, *process, lease);
  session::unbind(turn, key.holder.session, LeaseRef{lease});
}

void join_line(Turn& turn, const SemaphoreName& name) {
  ++turn.change().semaphores.semaphores.edit(name)->waiting;
}

void leave_line(Turn& turn, const SemaphoreName& name) {
  if (--turn.change().semaphores.semaphores.edit(name)->waiting == 0) arm_first(turn, name);
}

bool expire(Turn& turn, const SemaphoreName& name) { return expire_some(turn, name, nullptr); }

void settle(Turn& turn, const SemaphoreName& name) {
  if (!turn.state().semaphores.semaphores.contains(name)) return;
  const DueKey* due = first_due(turn.state(), name);
  const std::optional<Time> owed = owed_look(turn, name);
  if (owed && (!due || *owed < due->due)) {
    turn.settle_as_of(*owed, [&] { grant::serve(turn, name); });
  }
  std::optional<Time> last;
  for (const DueKey* first = first_due(turn.state(), name);
       first && first->due <= turn.as_of() && first->due != last;
       first = first_due(turn.state(), name)) {
    last = first->due;
    turn.settle_as_of(*last, [&] {
      if (expire(turn, name)) grant::serve(turn, name);
    });
  }
}

void due(Turn& turn, const Due& due) {
  if (!turn.state().semaphores.semaphores.contains(due.name)) return;
  std::vector<Holder> still_good;
  expire_some(turn, due.name, &still_good);
  arm_first(turn, due.name);
  grant::serve(turn, due.name);
  // Whoever waits for them waits for them again.
  for (const Holder& holder : still_good) grant::retry(turn, holder);
}

void lease_gone(Turn& turn, const SlotKey& key) {
  const Slot* slot = turn.state().semaphores.slots.find(key);
  if (!slot) return;
  const std::uint32_t weight = slot->weight;
  vacate(turn, key);
  turn.emit(key.name.project, WasReleased{key.name, key.holder, weight, true});
  grant::serve(turn, key.name);
}

void session_gone(Turn& turn, const SlotKey& key) {
  grant::settle_due(turn);
  settle(turn, key.name);
  const Slot* slot = turn.state().semaphores.slots.find(key);
  if (!slot) return;
  session::unbind(turn, key.holder.session, LeaseRef{SlotLease{key.name, key.holder}});
  if (slot->ending) return;
  if (const Process* found = process_of(slot->meta)) {
    const Process process = *found;
    begin_ending(turn, key, process, custody::Cause::Cancelled);
    return grant::serve(turn, key.name);
  }
  lease_gone(turn, key);
}

}  // namespace reeve::semaphore
