#include "core/invariants.h"

#include <string>

namespace reeve {
namespace {

void check_root(const State& state, Violations& violations) {
  if (state.leases_from > state.now) violations.emplace_back("leases count from the future");
  for (const auto& [id, started] : state.outbox) {
    if (id.sequence > state.sequence) violations.emplace_back("an effect of a later input");
  }
  for (const auto& [project, what] : state.projects.projects) {
    if (project == shared_project) continue;
    const ProjectNo* by_name = state.projects.by_name.find(what.name);
    if (!by_name || *by_name != project) {
      violations.push_back("project " + what.name + " is not found by its name");
    }
  }
  for (const event_bus::NounKey& key : state.subscriptions.by_noun) {
    if (!state.subscriptions.by_subscriber.contains(key.subscription)) {
      violations.push_back("a subscription to " + key.noun + " of nobody");
    }
  }
  if (state.subscriptions.by_noun.size() != state.subscriptions.by_subscriber.size()) {
    violations.emplace_back("subscriptions that no event finds");
  }
}

}  // namespace

Violations check_state(const State& state) {
  Violations violations;
  check_root(state, violations);
  check_timers(state, violations);
  lock::check(state, violations);
  semaphore::check(state, violations);
  grant::check(state, violations);
  custody::check(state, violations);
  session::check(state, violations);
  queue::check(state, violations);
  task::check(state, violations);
  pipeline::check(state, violations);
  dispatch::check(state, violations);
  worker::check(state, violations);
  cron::check(state, violations);
  board::check(state, violations);
  decision::check(state, violations);
  mailbox::check(state, violations);
  definition::check(state, violations);
  key::check(state, violations);
  return violations;
}

Violations check_step(const State& before, const Applied& after) {
  Violations violations;
  const auto must = [&](bool truth, const char* words) {
    if (!truth) violations.emplace_back(words);
  };
  const State& state = after.state;
  must(state.now >= before.now, "time ran backwards");
  must(state.leases_from >= before.leases_from, "the grace of leases ran backwards");
  must(state.last_number >= before.last_number, "ids ran backwards");
  must(state.last_token >= before.last_token, "tokens ran backwards");
  must(state.sequence == before.sequence + (after.changed ? 1 : 0),
       "a step is one sequence, or none if it changed nothing");
  if (!after.changed) {
    must(state == before, "a step that changed nothing changed something");
    must(after.events.empty(), "a step that changed nothing announced something");
    must(after.effects.empty(), "a step that changed nothing asked for something");
    must(after.answers.empty(), "a step that changed nothing answered somebody");
  }
  for (std::size_t i = 0; i < after.events.size(); ++i) {
    must(after.events[i].sequence == state.sequence && after.events[i].index == i,
         "an event out of order");
  }
  for (const Start& start : after.effects) {
    must(start.id.sequence == state.sequence, "an effect of another input");
    must(!before.outbox.contains(start.id), "an effect that was asked for before");
  }
  for (const auto& [id, started] : before.outbox) {
    const Started* still = state.outbox.find(id);
    must(!still || *still == started, "an effect in the outbox changed");
  }
  return violations;
}

}  // namespace reeve
