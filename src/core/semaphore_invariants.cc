#include "core/invariants.h"

#include <map>

namespace reeve::semaphore {
namespace {

void check_slot(const State& state, const SlotKey& key, const Slot& slot, Violations& violations) {
  const auto say = [&](const std::string& what) {
    violations.push_back("the slot of " + key.holder.name + " at " + key.name.name + " " + what);
  };
  if (!state.semaphores.semaphores.contains(key.name)) say("is of no semaphore");
  if (slot.weight == 0) say("weighs nothing");
  if (slot.told > slot.weight) say("is more to its holder than it is");
  if (!slot.lease.token || slot.lease.token.value > state.last_token)
    say("has a token nobody gave");
  const HolderMeta* meta = slot.meta.get();
  const bool names_process = meta && meta->process;
  const SlotLease lease{key.name, key.holder};
  if (names_process && !state.custody.held.contains({*meta->process, lease})) {
    say("names a process that does not know it");
  }
  if (slot.ending && (!names_process || !state.custody.endings.contains(*meta->process))) {
    say("is ending, and no process is being ended");
  }
  if (key.holder.session && !slot.ending &&
      !state.sessions.bound.contains({key.holder.session, LeaseRef{lease}})) {
    say("is bound to a session that does not know it");
  }
  // Grace moves limits and not deadlines, so one may be early, never late.
  const std::optional<Time> limit =
      slot.ending ? std::nullopt : over_at(slot.lease, state.leases_from);
  if (slot.due.has_value() != limit.has_value() || (limit && *slot.due > *limit)) {
    say("has a deadline that is not that of its lease");
  }
  if (slot.due && !state.semaphores.due.contains({key.name, *slot.due, key.holder})) {
    say("is not among the deadlines");
  }
}

void check_one(const State& state,
               const SemaphoreName& name,
               const Semaphore& semaphore,
               Violations& violations) {
  const auto say = [&](const std::string& what) {
    violations.push_back("semaphore " + name.name + " " + what);
  };
  if (semaphore.config.capacity == 0) say("has no capacity");
  std::uint64_t in_use = 0;
  const auto& slots = state.semaphores.slots;
  for (auto at = slots.lower_bound({name, {}}); at != slots.end() && at->first.name == name; ++at) {
    in_use += at->second.weight;
  }
  if (in_use != semaphore.in_use) say("adds its weights up wrong");

  std::size_t waiting = 0;
  const auto& lines = state.grants.slot_lines;
  for (auto at = lines.lower_bound({name, false, {}}); at != lines.end() && at->name == name;
       ++at) {
    ++waiting;
  }
  if (waiting != semaphore.waiting) say("counts its line wrong");

  const auto first = state.semaphores.due.lower_bound({name, Time::min(), {}});
  const bool has_due = first != state.semaphores.due.end() && first->name == name;
  const std::optional<Time> due = has_due ? std::optional(first->due) : std::nullopt;
  const std::optional<Time> armed = deadline_of(state.timers, Due{name});
  const bool owed = armed && *armed <= state.now && waiting > 0;
  if (armed != due && !owed) say("has a timer that is not that of its first slot");
}

}  // namespace

void check(const State& state, Violations& violations) {
  std::map<ProjectNo, std::uint64_t> counts;
  std::size_t with_deadline = 0;
  for (const auto& [name, semaphore] : state.semaphores.semaphores) {
    ++counts[name.project];
    check_one(state, name, semaphore, violations);
  }
  for (const auto& [key, slot] : state.semaphores.slots) {
    if (slot.due) ++with_deadline;
    check_slot(state, key, slot, violations);
  }
  if (with_deadline != state.semaphores.due.size()) {
    violations.push_back("there are deadlines of slots that are none");
  }
  if (counts.size() != state.semaphores.counts.size()) {
    violations.push_back("semaphores are not counted");
  }
  for (const auto& [project, count] : state.semaphores.counts) {
    if (counts[project] != count) violations.push_back("semaphores are counted wrong");
  }
}

}  // namespace reeve::semaphore
