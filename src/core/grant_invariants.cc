#include "core/grant_lines.h"
#include "core/invariants.h"

#include <set>

namespace reeve::grant {
namespace {

std::string text_of(WaiterId waiter) { return "waiter " + std::to_string(waiter.value); }

void check_waiter(const State& state, WaiterId id, const Waiter& waiter, Violations& violations) {
  const auto say = [&](const std::string& what) { violations.push_back(text_of(id) + " " + what); };
  const Table& table = state.grants;
  const Request& request = waiter.request;
  for (const LockWant& want : request.locks) {
    if (!table.lock_lines.contains({want.name, id})) say("has no place for " + want.name.name);
    if (!state.locks.locks.contains(want.name)) say("wants no lock there is");
  }
  for (const SlotWant& want : request.slots) {
    const bool has_place = table.slot_lines.contains({want.name, false, id}) !=
                           table.slot_lines.contains({want.name, true, id});
    if (!has_place) say("has no place for " + want.name.name);
    const bool increases = semaphore::has_slot(state, want.name, request.holder);
    if (place_in_line(table, want.name, id).newcomer == increases) {
      say("stands in the wrong part of the line for " + want.name.name);
    }
    if (!state.semaphores.semaphores.contains(want.name)) say("wants no semaphore there is");
  }
  if (request.locks.empty() && request.slots.empty()) say("waits for nothing");
  if (!table.waits.contains({request.holder, id})) say("does not count for its holder");
  for (const Holder& outer : within_of(request)) {
    if (!table.waits.contains({outer, id})) say("does not count for its parent");
  }
  if (request.session &&
      !state.sessions.bound.contains({request.session, session::WaiterPlace{id}})) {
    say("is bound to a session that does not know it");
  }
  const std::optional<Time> armed = deadline_of(state.timers, Due{id});
  const bool owed = armed && *armed <= state.now;
  if (armed != waiter.until && !owed) say("has a timer that is not its limit");
}

bool something_is_due(const State& state) {
  const auto first = state.timers.engine.first();
  return (first && first->first.due <= state.now) || !state.chores.waiting.empty();
}

}  // namespace

// A line that could move has moved. (While something due is still to be settled, it may be that
// for which it stands.)
void check(const State& state, Violations& violations) {
  const Table& table = state.grants;
  const bool all_settled = !something_is_due(state);
  std::size_t lock_places = 0;
  std::size_t slot_places = 0;
  std::size_t waits = 0;
  for (const auto& [id, waiter] : table.waiters) {
    const Request& request = waiter.request;
    std::set<Holder> counts_for{request.holder};
    counts_for.insert(within_of(request).begin(), within_of(request).end());
    lock_places += request.locks.size();
    slot_places += request.slots.size();
    waits += counts_for.size();
    check_waiter(state, id, waiter, violations);
    if (all_settled && judge(state, request, id, state.now) != Verdict::Wait) {
      violations.push_back(text_of(id) + " waits for what it could have");
    }
  }
  if (lock_places != table.lock_lines.size()) violations.push_back("a line of nobody at a lock");
  if (slot_places != table.slot_lines.size()) {
    violations.push_back("a line of nobody at a semaphore");
  }
  if (waits != table.waits.size()) violations.push_back("a wait of nobody");
}

}  // namespace reeve::grant
