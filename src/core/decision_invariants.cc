#include "base/match.h"
#include "core/invariants.h"

#include <optional>

namespace reeve::decision {
namespace {

void check_open(const State& state,
                DecisionId id,
                const Decision& decision,
                Violations& violations) {
  const std::string name = to_text(id);
  const DecisionId* of_owner = state.decisions.open_of.find(decision.owner);
  if (!of_owner || *of_owner != id) violations.push_back(name + ": open, but not its owner's");
  if (deadline_of(state.timers, Due{id, {}}) != acts_at(decision)) {
    violations.push_back(name + ": its timer is not its deadline");
  }
  const AskOwner* asker = std::get_if<AskOwner>(&decision.owner);
  if (!asker && decision.session) violations.push_back(name + ": bound, and nobody waits for it");
  if (!asker || !state.sessions.sessions.contains(decision.session)) return;
  if (!state.sessions.bound.contains({decision.session, session::WaiterPlace{asker->waiter}})) {
    violations.push_back(name + ": who asked is not bound to his session");
  }
}

void check_closed(
    const State& state, DecisionId id, const Decision& decision, Time at, Violations& violations) {
  const std::string name = to_text(id);
  if (!state.decisions.closed.contains({decision.project, at, id})) {
    violations.push_back(name + ": closed, but not in the order of closing");
  }
  if (deadline_of(state.timers, Due{id, {}})) violations.push_back(name + ": closed, with a timer");
}

// Nothing in an index that is not in the table.
void check_indexes(const Table& table, Violations& violations) {
  for (const auto& [owner, id] : table.open_of) {
    const Decision* decision = table.decisions.find(id);
    if (!decision || decision->owner != owner || !std::holds_alternative<Open>(decision->state)) {
      violations.push_back(to_text(id) + ": an owner's, but not open");
    }
  }
  if (table.open_of.size() + table.closed.size() != table.decisions.size()) {
    violations.push_back("decisions: open and closed ones are not all there are");
  }
  PersistentMap<ProjectNo, std::uint32_t> counts;
  for (const ClosedKey& key : table.closed) ++counts.edit_or_insert(key.project);
  if (counts != table.closed_count) violations.push_back("decisions: closed ones are miscounted");
  for (const auto& [project, count] : counts) {
    if (count > limits::finished_kept) violations.push_back("decisions: too many are kept");
  }
}

// A project's timer is the day of its oldest closed one, and no other has a timer.
void check_deadlines(const State& state, Violations& violations) {
  const Table& table = state.decisions;
  for (const auto& [project, count] : table.closed_count) {
    const auto oldest = table.closed.lower_bound({project, Time::min(), {}});
    if (oldest == table.closed.end() || oldest->project != project) continue;
    const Time due = saturating_add(oldest->at, limits::finished_kept_for);
    if (deadline_of(state.timers, Due{{}, project}) != due) {
      violations.push_back("decisions: the oldest is not forgotten in time");
    }
  }
  for (const auto& [subject, key] : state.timers.armed) {
    const Due* due = std::get_if<Due>(&subject);
    if (!due) continue;
    const bool known = due->decision ? table.decisions.contains(due->decision)
                                     : table.closed_count.contains(due->project);
    if (!known) violations.push_back("decisions: a timer of nothing");
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  for (const auto& [id, decision] : state.decisions.decisions) {
    match(
        decision.state,
        [&](const Open&) { check_open(state, id, decision, violations); },
        [&](const Answered& answered) {
          check_closed(state, id, decision, answered.answer.at, violations);
        },
        [&](const Retired& retired) { check_closed(state, id, decision, retired.at, violations); });
  }
  check_indexes(state.decisions, violations);
  check_deadlines(state, violations);
}

}  // namespace reeve::decision
