#include "core/invariants.h"

namespace reeve {
namespace {

template <class Clock>
void check_index(const PersistentMap<DeadlineKey<Clock>, Subject>& index,
                 const PersistentMap<Subject, DeadlineKey<Clock>>& armed,
                 std::uint64_t last_order,
                 Violations& violations) {
  if (index.size() != armed.size()) violations.emplace_back("timers: the two sides differ in size");
  for (const auto& [key, subject] : index) {
    const DeadlineKey<Clock>* back = armed.find(subject);
    if (!back || *back != key) violations.emplace_back("timers: a deadline nobody set");
    if (key.order > last_order) violations.emplace_back("timers: an order from the future");
  }
}

}  // namespace

void check_timers(const State& state, Violations& violations) {
  const Timers& timers = state.timers;
  check_index(timers.engine, timers.armed, timers.last_order, violations);
  check_index(timers.wall, timers.wall_armed, timers.last_order, violations);
}

}  // namespace reeve
