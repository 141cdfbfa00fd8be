#include "base/match.h"
#include "core/invariants.h"

#include <map>

namespace reeve::lock {
namespace {

class Checker {
 public:
  Checker(const State& state, const LockName& name, const Lock& lock, Violations& violations)
      : state_(state), name_(name), lock_(lock), violations_(violations) {}

  void check() {
    if (lock_.waiting != length_of_line()) say("counts its line wrong");
    if (state_.locks.stale.contains(name_) != std::holds_alternative<Stale>(lock_.state)) {
      say("is not rightly among the stale");
    }
    if (const Tenure* tenure = tenure_of(lock_)) check_tenure(*tenure);
    match(
        lock_.state,
        [&](const Free& free) { check_free(free); },
        [&](const Held& held) { check_timer_by(over_at(held.tenure.lease, state_.leases_from)); },
        [&](const Stale& stale) {
          if (process_of(stale.tenure.meta))
            say("is stale and names a process: it should be ending");
          check_only_owed();
        },
        [&](const Ending& ending) {
          const Process* process = process_of(ending.tenure.meta);
          if (!process || !state_.custody.endings.contains(*process)) {
            say("is ending, and no process is being ended");
          }
          if (timer()) say("is ending and has a timer");
        });
  }

 private:
  void say(const std::string& what) { violations_.push_back("lock " + name_.name + " " + what); }

  std::optional<Time> timer() const { return deadline_of(state_.timers, Due{name_}); }

  std::size_t length_of_line() const {
    std::size_t length = 0;
    const auto& lines = state_.grants.lock_lines;
    for (auto at = lines.lower_bound({name_, {}}); at != lines.end() && at->name == name_; ++at) {
      ++length;
    }
    return length;
  }

  void check_tenure(const Tenure& tenure) {
    const Lease& lease = tenure.lease;
    if (!lease.token || lease.token.value > state_.last_token) say("has a token nobody gave");
    if (lease.last_sign < lease.acquired_at || lease.last_sign > state_.now) {
      say("heard of its holder at an impossible time");
    }
    const Process* process = process_of(tenure.meta);
    if (process && !state_.custody.held.contains({*process, LockLease{name_}})) {
      say("names a process that does not know it");
    }
    const session::Bound bound{tenure.holder.session, LeaseRef{LockLease{name_}}};
    if (tenure.holder.session && !std::holds_alternative<Ending>(lock_.state) &&
        !state_.sessions.bound.contains(bound)) {
      say("is bound to a session that does not know it");
    }
  }

  void check_free(const Free& free) {
    if (lock_.waiting > 0) return check_only_owed();
    if (timer() != saturating_add(free.since, limits::free_lock_kept)) {
      say("is free and not to be forgotten in a day");
    }
  }

  // Grace moves limits and not timers, so a timer may be early, never late.
  void check_timer_by(std::optional<Time> limit) {
    if (!limit ? timer().has_value() : !timer() || *timer() > *limit) {
      say("has a timer that is not that of its lease");
    }
  }

  void check_only_owed() {
    if (timer() && (*timer() > state_.now || lock_.waiting == 0)) say("has a timer for nothing");
  }

  const State& state_;
  const LockName& name_;
  const Lock& lock_;
  Violations& violations_;
};

}  // namespace

void check(const State& state, Violations& violations) {
  std::map<ProjectNo, std::uint64_t> counts;
  for (const auto& [name, lock] : state.locks.locks) {
    ++counts[name.project];
    Checker(state, name, lock, violations).check();
  }
  for (const LockName& name : state.locks.stale) {
    if (!state.locks.locks.contains(name)) violations.push_back("no such stale lock " + name.name);
  }
  for (const auto& [project, count] : state.locks.counts) {
    const auto counted = counts.find(project);
    if (counted == counts.end() || counted->second != count) {
      violations.push_back("locks are counted wrong");
    }
  }
  if (counts.size() != state.locks.counts.size()) violations.push_back("locks are not counted");
}

}  // namespace reeve::lock
