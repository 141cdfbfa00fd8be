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

// ── Of a step ──

bool has_ended(const pipeline::Pipeline& it) {
  return std::holds_alternative<pipeline::Done>(it.state) ||
         std::holds_alternative<pipeline::Cancelled>(it.state);
}
bool has_ended(const task::Task& it) { return std::holds_alternative<task::Done>(it.state); }
bool has_ended(const dispatch::Dispatch& it) {
  return std::holds_alternative<dispatch::Ended>(it.state);
}
bool has_ended(const decision::Decision& it) {
  return !std::holds_alternative<decision::Open>(it.state);
}

// Whoever has ended is as he was, or forgotten. (A failed pipeline may be tried again.)
template <class Table>
void check_ends(const Table& before, const Table& after, Violations& violations) {
  for (const auto& [id, was] : before) {
    if (!has_ended(was)) continue;
    const auto* now = after.find(id);
    if (now && now->state != was.state) violations.push_back(to_text(id) + " moved after its end");
  }
}

// A task of the board may be reopened, and an item of the dead sent home: neither ends twice.
void check_ends(const State& before, const State& after, Violations& violations) {
  check_ends(before.pipelines.pipelines, after.pipelines.pipelines, violations);
  check_ends(before.tasks.tasks, after.tasks.tasks, violations);
  check_ends(before.dispatches.dispatches, after.dispatches.dispatches, violations);
  check_ends(before.decisions.decisions, after.decisions.decisions, violations);
  for (const auto& [id, was] : before.board.tasks) {
    const board::BoardTask* now = after.board.tasks.find(id);
    const bool is_final = !board::is_open(was.status) && was.status != board::Status::Review;
    if (is_final && now && now->status != was.status && !board::is_open(now->status)) {
      violations.push_back(to_text(id) + " of the board ended in two ways");
    }
  }
  for (const auto& [id, was] : before.queues.items) {
    if (was.state != queue::ItemState::Completed) continue;
    const queue::Item* now = after.queues.items.find(id);
    if (now && now->state != was.state) violations.push_back(to_text(id) + " was completed once");
  }
}

// Who lowers a capacity evicts nobody; but nobody is let in before there is room. (What was due is
// settled first, under the capacity that there was.)
void check_capacities(const State& before, const State& after, Violations& violations) {
  for (const auto& [name, semaphore] : after.semaphores.semaphores) {
    if (semaphore.in_use <= semaphore.config.capacity) continue;
    const semaphore::Semaphore* was = before.semaphores.semaphores.find(name);
    if (!was || semaphore.in_use > std::max<std::uint64_t>(was->in_use, was->config.capacity)) {
      violations.push_back("semaphore " + name.name + " let in more than it holds");
    }
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
  check_ends(before, state, violations);
  check_capacities(before, state, violations);
  return violations;
}

}  // namespace reeve
