#include "core/invariants.h"

#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

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

// Whoever has ended is as he was, or forgotten.
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

bool is_begun_anew(PipelineId id, const std::vector<Event>& events) {
  return std::any_of(events.begin(), events.end(), [&](const Event& event) {
    const auto* noun = std::get_if<pipeline::Event>(&event.body);
    const auto* retried = noun ? std::get_if<pipeline::WasRetried>(noun) : nullptr;
    const auto* entered = noun ? std::get_if<pipeline::EnteredPhase>(noun) : nullptr;
    return (retried && retried->pipeline == id) || (entered && entered->pipeline == id);
  });
}

// A failed pipeline is moved by a retry or a jump, which are announced, and by nothing that is
// late.
void check_failures(const State& before, const Applied& after, Violations& violations) {
  for (const auto& [id, was] : before.pipelines.pipelines) {
    if (!std::holds_alternative<pipeline::Failed>(was.state)) continue;
    const pipeline::Pipeline* now = after.state.pipelines.pipelines.find(id);
    if (now && now->state != was.state && !is_begun_anew(id, after.events)) {
      violations.push_back(to_text(id) + " moved after it had failed");
    }
  }
}

// Of which items this step has said that they are new, or that they need not be there any more.
struct SaidOfItems {
  std::set<ItemId> pushed;
  std::set<ItemId> ended;
};

SaidOfItems said_of_items(const std::vector<Event>& events) {
  SaidOfItems said;
  for (const Event& event : events) {
    const auto* noun = std::get_if<queue::Event>(&event.body);
    if (!noun) continue;
    if (const auto* it = std::get_if<queue::WasPushed>(noun)) said.pushed.insert(it->item);
    if (const auto* it = std::get_if<queue::WasCompleted>(noun)) said.ended.insert(it->item);
    if (const auto* it = std::get_if<queue::WasDropped>(noun)) said.ended.insert(it->item);
    if (const auto* it = std::get_if<queue::HasDied>(noun)) {
      if (it->moved_to) {
        said.ended.erase(it->item);  // there it is pending
      } else {
        said.ended.insert(it->item);
      }
    }
  }
  return said;
}

// The counts of a queue may balance although an item is lost; so each is asked after by itself. One
// that is open is there until its end was said, and one that is there was pushed.
void check_items(const State& before, const Applied& after, Violations& violations) {
  const SaidOfItems said = said_of_items(after.events);
  const auto& items = after.state.queues.items;
  for (const auto& [id, was] : before.queues.items) {
    const bool is_open =
        was.state == queue::ItemState::Pending || was.state == queue::ItemState::Processing;
    if (is_open && !items.contains(id) && !said.ended.contains(id)) {
      violations.push_back(to_text(id) + " is lost");
    }
  }
  for (const auto& [id, now] : items) {
    if (!before.queues.items.contains(id) && !said.pushed.contains(id)) {
      violations.push_back(to_text(id) + " was never pushed");
    }
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
  check_failures(before, after, violations);
  check_items(before, after, violations);
  check_capacities(before, state, violations);
  return violations;
}

}  // namespace reeve
