#include "core/invariants.h"

#include <map>

namespace reeve::key {

void check(const State& state, Violations& violations) {
  const Table& keys = state.keys;
  std::map<ProjectNo, std::uint64_t> counts;
  for (const auto& [name, entry] : keys.entries) {
    ++counts[name.project];
    const Name* by_age = keys.by_age.find(Age{name.project, entry.order});
    if (!by_age || *by_age != name) violations.push_back("key " + name.key + " has no age");
    if (entry.waiter.has_value() == static_cast<bool>(entry.reply)) {
      violations.push_back("key " + name.key + " has both a reply and a waiter, or neither");
    }
    if (entry.waiter) {
      const Name* waiting = keys.waiting.find(*entry.waiter);
      if (!waiting || *waiting != name) violations.push_back("key " + name.key + " is not waiting");
    }
  }
  for (const auto& [waiter, name] : keys.waiting) {
    const Entry* entry = keys.entries.find(name);
    if (!entry || entry->waiter != waiter) violations.push_back("nobody waits by key " + name.key);
  }
  if (keys.by_age.size() != keys.entries.size())
    violations.emplace_back("keys without entry by age");
  if (counts.size() != keys.counts.size()) violations.emplace_back("counts of keys of no project");
  for (const auto& [project, count] : counts) {
    const std::uint64_t* kept = keys.counts.find(project);
    if (!kept || *kept != count) violations.emplace_back("a project's keys are miscounted");
    if (!deadline_of(state.timers, Due{project})) violations.emplace_back("keys that never end");
  }
}

}  // namespace reeve::key
