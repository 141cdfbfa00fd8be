#include "core/event_bus.h"
#include "core/invariants.h"

namespace reeve::definition {
namespace {

std::string label(const SetKey& key) {
  return "definitions " + key.hash + " of project " + std::to_string(key.project.value);
}

void check_in_force(const State& state, ProjectNo project, const Set& set, Violations& violations) {
  for (const auto& [name, config] : set.locks) {
    if (name.starts_with("//")) continue;  // another project may have had the last word
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

// Who is pinned to what: pipelines that are open, or may be tried again; workers that are started;
// crons that may run something.
void check_pins(const State& state, Violations& violations) {
  PersistentMap<SetKey, std::uint64_t> pins;
  for (const auto& [id, pipeline] : state.pipelines.pipelines) {
    const bool may_go_on =
        !pipeline::is_over(pipeline) || std::holds_alternative<pipeline::Failed>(pipeline.state);
    if (may_go_on) ++pins.edit_or_insert(pipeline.origin->set);
  }
  for (const auto& [name, worker] : state.workers.workers) {
    if (worker.started) ++pins.edit_or_insert(worker.set);
  }
  for (const auto& [name, cron] : state.crons.crons) {
    if (cron.pinned) ++pins.edit_or_insert(*cron.pinned);
  }
  for (const auto& [key, count] : pins) {
    if (!state.definitions.sets.contains(key)) {
      violations.push_back(label(key) + ": used, and not kept");
    }
  }
  for (const auto& [key, kept] : state.definitions.sets) {
    const std::uint64_t* count = pins.find(key);
    if (kept.pins != (count ? *count : 0)) violations.push_back(label(key) + ": pins miscounted");
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  const Table& table = state.definitions;
  check_pins(state, violations);
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
