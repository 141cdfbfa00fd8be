#include "core/invariants.h"

#include <string>
#include <variant>

namespace reeve {
namespace {

// Whether the subject is still there to look at itself.
class IsThere {
 public:
  explicit IsThere(const State& state) : state_(state) {}

  bool operator()(const lock::Due& due) const { return state_.locks.locks.contains(due.name); }
  bool operator()(const semaphore::Due& due) const {
    return state_.semaphores.semaphores.contains(due.name);
  }
  bool operator()(const grant::Due& due) const {
    return state_.grants.waiters.contains(due.waiter);
  }
  bool operator()(const custody::Due& due) const {
    return state_.custody.endings.contains(due.process);
  }
  bool operator()(const session::Due& due) const {
    return state_.sessions.sessions.contains(due.session);
  }
  bool operator()(const key::Due& due) const { return state_.keys.counts.contains(due.project); }
  bool operator()(const task::Due& due) const {
    return due.work ? state_.tasks.tasks.contains(due.work)
                    : state_.tasks.ended.counts.contains(due.project);
  }
  bool operator()(const dispatch::Due& due) const {
    if (due.dispatch) return state_.dispatches.dispatches.contains(due.dispatch);
    if (due.project) return state_.dispatches.ended.counts.contains(*due.project);
    return !state_.dispatches.children.empty();
  }
  bool operator()(const mailbox::Due& due) const {
    return state_.mail.acked.counts.contains(due.project);
  }
  // These check their own.
  bool operator()(const queue::Due&) const { return true; }
  bool operator()(const queue::TakerDue&) const { return true; }
  bool operator()(const queue::PauseDue&) const { return true; }
  bool operator()(const pipeline::Due&) const { return true; }
  bool operator()(const worker::Due&) const { return true; }
  bool operator()(const cron::Due&) const { return true; }
  bool operator()(const board::Due&) const { return true; }
  bool operator()(const decision::Due&) const { return true; }

 private:
  const State& state_;
};

template <class Clock>
void check_index(const State& state,
                 const PersistentMap<DeadlineKey<Clock>, Subject>& index,
                 const PersistentMap<Subject, DeadlineKey<Clock>>& armed,
                 Violations& violations) {
  if (index.size() != armed.size()) violations.emplace_back("timers: the two sides differ in size");
  for (const auto& [key, subject] : index) {
    const DeadlineKey<Clock>* back = armed.find(subject);
    if (!back || *back != key) violations.emplace_back("timers: a deadline nobody set");
    if (key.order > state.timers.last_order) {
      violations.emplace_back("timers: an order from the future");
    }
    if (!std::visit(IsThere(state), subject)) {
      violations.push_back("timers: a deadline of what is not there, of kind " +
                           std::to_string(subject.index()));
    }
  }
}

}  // namespace

void check_timers(const State& state, Violations& violations) {
  const Timers& timers = state.timers;
  check_index(state, timers.engine, timers.armed, violations);
  check_index(state, timers.wall, timers.wall_armed, violations);
}

}  // namespace reeve
