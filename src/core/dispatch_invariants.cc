#include "core/dispatch.h"
#include "core/invariants.h"

#include <string>

namespace reeve::dispatch {
namespace {

void check_dispatch(const State& state,
                    DispatchId id,
                    const Dispatch& dispatch,
                    Violations& violations) {
  const Table& table = state.dispatches;
  const auto complain = [&](const char* what) {
    violations.push_back("dispatch: " + to_text(id) + " " + what);
  };
  const bool holds = dispatch.policy != ReleasePolicy::NoLock && !dispatch.release.released;
  const DispatchId* claim = table.claims.find(dispatch.to);
  if (holds != (claim && *claim == id)) complain("has a claim it let go of, or lost one");
  if ((dispatch.transport == Transport::Mailbox) != (dispatch.policy == ReleasePolicy::NoLock)) {
    complain("has a policy that does not fit its transport");
  }
  const Ended* ended = std::get_if<Ended>(&dispatch.state);
  if (ended && holds) complain("has ended and holds its claim");
  if (ended && !table.ended.by_age.contains({dispatch.to.project, ended->at, id})) {
    complain("has ended and would never be forgotten");
  }
  if (deadline_of(state.timers, Due{id, {}}) != next_look(dispatch)) {
    complain("is not looked at when it should be");
  }
  const std::string& boot = dispatch.evidence.process.boot_id;
  const bool is_child = has_child(dispatch) && !boot.empty();
  if (is_child != table.children.contains({boot, id})) complain("is not among the children");
  const Started* started = std::get_if<Started>(&dispatch.state);
  if (started && dispatch.evidence.started_at != started->at) complain("has no evidence");
  const DispatchId* same = table.by_message.find({dispatch.to, dispatch.message_id});
  if (!same || *same < id) complain("is not found by its message");
  if (!ended && dispatch.awaits_outcome && !state.outbox.contains(dispatch.effect)) {
    complain("waits for an effect that nobody carries out");
  }
  if (const Killing* killing = std::get_if<Killing>(&dispatch.state);
      killing && !state.outbox.contains(killing->kill)) {
    complain("waits for a kill that nobody carries out");
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  const Table& table = state.dispatches;
  std::size_t ended = 0;
  std::size_t children = 0;
  for (const auto& [id, dispatch] : table.dispatches) {
    check_dispatch(state, id, dispatch, violations);
    if (std::holds_alternative<Ended>(dispatch.state)) ++ended;
    if (has_child(dispatch) && !dispatch.evidence.process.boot_id.empty()) ++children;
  }
  for (const auto& [target, id] : table.claims) {
    const Dispatch* dispatch = table.dispatches.find(id);
    if (!dispatch || dispatch->to != target) {
      violations.push_back("dispatch: the claim of " + target.name + " is nobody's");
    }
  }
  for (const auto& [target, released] : table.released) {
    const Dispatch* dispatch = table.dispatches.find(released.dispatch);
    if (!dispatch || dispatch->to != target || !dispatch->release.released) {
      violations.push_back("dispatch: " + target.name + " was let go of by nobody");
    }
  }
  for (const auto& [message, id] : table.by_message) {
    const Dispatch* dispatch = table.dispatches.find(id);
    if (!dispatch || dispatch->to != message.to || dispatch->message_id != message.id) {
      violations.push_back("dispatch: the message " + message.id + " leads nowhere");
    }
  }
  if (ended != table.ended.by_age.size() || children != table.children.size()) {
    violations.push_back("dispatch: an index has more than the table");
  }
  // Those of a former boot are about to end.
  for (const ChildKey& child : table.children) {
    const bool is_former = !table.boot_id.empty() && child.boot_id != table.boot_id;
    if (is_former && !deadline_of(state.timers, Due{})) {
      violations.push_back("dispatch: " + to_text(child.dispatch) + " outlives its boot");
    }
  }
  for (const auto& [project, count] : table.ended.counts) {
    if (count > limits::finished_kept) violations.push_back("dispatch: too many are kept");
    if (deadline_of(state.timers, Due{{}, project}) != next_overdue(table.ended, project)) {
      violations.push_back("dispatch: the oldest has no timer of its own");
    }
  }
}

}  // namespace reeve::dispatch
