#include "core/event_bus.h"
#include "core/invariants.h"

namespace reeve::definition {
namespace {

std::string label(const SetKey& key) {
  return "definitions " + key.hash + " of project " + std::to_string(key.project.value);
}

void check_in_force(const State& state, ProjectNo project, const Set& set, Violations& violations) {
  for (const auto& [name, config] : set.locks) {
    const lock::Config* defined = state.locks.defined.find({project, name});
    if (!defined || *defined != config) {
      violations.push_back("lock " + name + " is not as its project's definitions have it");
    }
  }
  for (const event_bus::Subscription& each : subscriptions_of(project, set)) {
    if (!state.subscriptions.by_subscriber.contains(each)) {
      violations.push_back(label({project, set.hash}) + ": a hook or notification is missing");
    }
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  const Table& table = state.definitions;
  for (const auto& [key, kept] : table.sets) {
    const std::string* in_force = table.current.find(key.project);
    const bool is_current = in_force && *in_force == key.hash;
    if (!kept.set || kept.set->hash != key.hash) {
      violations.push_back(label(key) + ": kept under another hash");
    }
    if (!is_current && kept.pins == 0) {
      violations.push_back(label(key) + ": neither in force nor pinned, and still there");
    }
  }
  for (const auto& [project, hash] : table.current) {
    if (!state.projects.projects.contains(project)) {
      violations.push_back(label({project, hash}) + ": there is no such project");
    }
    const Set* set = current(table, project);
    if (set) {
      check_in_force(state, project, *set, violations);
    } else {
      violations.push_back(label({project, hash}) + ": in force, and not there");
    }
  }
}

}  // namespace reeve::definition
