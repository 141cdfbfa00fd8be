#include "core/wait_graph.h"

#include "base/match.h"
#include "core/grant_lines.h"
#include "core/state.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>

namespace reeve::wait_graph {
namespace {

// Everything here points into the state, which does not change meanwhile.
struct ByValue {
  template <class T>
  bool operator()(const T* a, const T* b) const {
    return *a < *b;
  }
};

// Who stands in the way, and whether he is being made to leave.
struct Obstacle {
  const Holder* holder = nullptr;
  bool leaving = false;
};

// With the process all that it holds comes free, for whichever lease it is being ended.
bool is_being_ended(const State& state, const Process* process) {
  return process && state.custody.endings.contains(*process);
}

Obstacle obstacle(const State& state, const LockName& name, Time now) {
  const lock::Lock* lock = state.locks.locks.find(name);
  if (!lock) return {};
  return match(
      lock->state,
      [](const lock::Free&) { return Obstacle{}; },
      [&](const lock::Held& held) {
        const lock::Tenure& tenure = held.tenure;
        const Process* process = process_of(tenure.meta);
        const bool over = is_over(tenure.lease, state.leases_from, now);
        if (over && !process) return Obstacle{};
        return Obstacle{&tenure.holder, over || is_being_ended(state, process)};
      },
      [](const lock::Stale&) { return Obstacle{}; },
      [](const lock::Ending& ending) { return Obstacle{&ending.tenure.holder, true}; });
}

// The holders of a semaphore that count, one by one, and how much each of them has.
template <class See>
void each_holder(const State& state, const SemaphoreName& name, Time now, See see) {
  const auto& slots = state.semaphores.slots;
  for (auto at = slots.lower_bound({name, {}}); at != slots.end() && at->first.name == name; ++at) {
    const semaphore::Slot& slot = at->second;
    const Process* process = process_of(slot.meta);
    const bool over = is_over(slot.lease, state.leases_from, now);
    if (over && !process) continue;
    see(Obstacle{&at->first.holder, over || is_being_ended(state, process)}, slot.weight);
  }
}

template <class See>
void each_wait(const State& state, const Holder& holder, Time now, See see) {
  const auto& waits = state.grants.waits;
  for (auto at = waits.lower_bound({holder, {}}); at != waits.end() && at->holder == holder; ++at) {
    const grant::Waiter* waiter = state.grants.waiters.find(at->waiter);
    if (waiter && !grant::is_over(*waiter, now)) see(at->waiter, waiter->request);
  }
}

bool waits_at_all(const State& state, const Holder& holder) {
  const auto at = state.grants.waits.lower_bound({holder, {}});
  return at != state.grants.waits.end() && at->holder == holder;
}

// A walk along the waits, nearest holders first.
class Walk {
 public:
  Walk(const State& state, Time now) : state_(state), now_(now) {}

  // Whoever `request` waits for, in its place, is ahead of us from now on. What its holder has
  // already it does not stand in line for.
  void follow(WaiterId self, const grant::Request& request) {
    for (const grant::LockWant& want : request.locks) {
      const Obstacle found = obstacle(state_, want.name, now_);
      const bool is_own = found.holder && *found.holder == request.holder;
      if (is_own && !found.leaving) continue;
      if (found.holder && !is_own) reach(*found.holder);
      pass_on(want, self, request, state_.grants.lock_lines);
    }
    for (const grant::SlotWant& want : request.slots) {
      if (semaphore::has_already(state_, want, request.holder, now_)) continue;
      pass_on(want, self, request, state_.grants.slot_lines);
      const auto [at, first] = visited_.emplace(&want.name, &request.holder);
      if (!first) {
        // All but one were reached already: he who asked then. It is his turn if another asks.
        if (*at->second != request.holder && holds(want.name, *at->second)) reach(*at->second);
        continue;
      }
      each_holder(state_, want.name, now_, [&](const Obstacle& other, std::uint32_t) {
        if (*other.holder != request.holder) reach(*other.holder);
      });
    }
  }

  void reach(const Holder& holder) {
    if (seen_.insert(&holder).second) reached_.push_back(&holder);
  }

  // The next holder that was reached, null at the end.
  const Holder* next() { return next_ < reached_.size() ? reached_[next_++] : nullptr; }

 private:
  // Of a line only the first counts. Those between have their turn when they are first, and
  // whoever may then go ahead of somebody is looked for again (core/grant_lines).
  template <class Want, class Lines>
  void pass_on(const Want& want, WaiterId self, const grant::Request& request, const Lines& lines) {
    const auto place = grant::place_of(state_, want, request, self);
    const grant::Waiter* ahead = grant::first_ahead(state_, lines, place, now_);
    if (ahead && ahead->request.holder != request.holder) reach(ahead->request.holder);
  }

  bool holds(const SemaphoreName& name, const Holder& holder) const {
    const semaphore::Slot* slot = state_.semaphores.slots.find({name, holder});
    return slot && (!is_over(slot->lease, state_.leases_from, now_) || process_of(slot->meta));
  }

  const State& state_;
  Time now_;
  std::set<const Holder*, ByValue> seen_;
  std::map<const SemaphoreName*, const Holder*, ByValue> visited_;  // and who was left out
  std::vector<const Holder*> reached_;
  std::size_t next_ = 0;
};

std::vector<WaiterId> waits_along(const State& state, Walk walk, Time now) {
  std::vector<WaiterId> waits;
  while (const Holder* holder = walk.next()) {
    each_wait(state, *holder, now, [&](WaiterId waiter, const grant::Request& request) {
      waits.push_back(waiter);
      walk.follow(waiter, request);
    });
  }
  std::ranges::sort(waits);
  const auto twice = std::ranges::unique(waits);
  waits.erase(twice.begin(), twice.end());
  return waits;
}

struct Place {
  WaiterId waiter;
  const grant::Request* request = nullptr;
};

// Supposes that the asker waits, and finds out who behind the request can still move: whoever waits
// for nothing, and then, one after the other, all whose waits can end because of those who move.
// Whoever is left could never move again.
class Deadlock {
 public:
  Deadlock(const State& state, const grant::Request& request, Time now)
      : state_(state), request_(request), within_(grant::within_of(request)), now_(now) {}

  // The circle that the request would close; or, if it would only stand before one that there is,
  // the request and the first in its way.
  std::optional<std::vector<Holder>> find() {
    if (std::optional<std::vector<Holder>> closed = find_circle()) return closed;
    const Holder* first = nullptr;
    each_stuck(request_, [&](const Holder& holder) { first = first ? first : &holder; });
    if (!first) return std::nullopt;
    return std::vector{request_.holder, *first};
  }

  // Only one in which the request itself would be.
  std::optional<std::vector<Holder>> find_circle() {
    add(nullptr, request_);
    if (found_.empty()) return std::nullopt;
    explore();
    spread();
    return circle();
  }

  // Finds out who can move although these wait. Then `may_be_stuck` tells of whom it is worth
  // asking whether he is in a circle: nobody waits for most of those who cannot move.
  void look_at(std::span<const Place> waits) {
    for (const Place& wait : waits) reach(wait.request->holder);
    explore();
    spread();
  }
  bool may_be_stuck(const grant::Request& request) const {
    const auto is_in_the_way = [&](const Holder& holder) {
      const auto at = nodes_.find(&holder);
      return at != nodes_.end() && (!at->second.waiting.empty() || !at->second.slots.empty());
    };
    return !moves(request.holder) &&
           (is_in_the_way(request.holder) ||
            std::ranges::any_of(grant::within_of(request), is_in_the_way));
  }

 private:
  struct Node {
    std::vector<const Holder*> waiting;  // who waits for a lock of this holder
    std::vector<const SemaphoreName*> slots;
    std::size_t unmet = 0;  // what its waits want, and nobody who moves will give up
    bool moves = false;
  };

  // A semaphore without room. Enough of its holders must move to make room for a wait: with slots
  // of weight one a single one of them, with others as many as it takes.
  struct Pool {
    struct Waiting {
      const Holder* holder;  // for whom the wait counts
      const Holder* own;     // whose slot, if he has one, does not stand in the way
      std::uint32_t weight = 0;
      bool met = false;
    };

    std::uint64_t capacity = 0;
    std::uint64_t kept = 0;  // the weights of those who are not known to move
    std::map<const Holder*, std::uint32_t, ByValue> members;
    std::vector<Waiting> waiting;

    // Once all who are known to move have let go. (Whoever wants more than there can be is not
    // stuck: he is told so.)
    bool has_room(std::uint32_t weight, const Holder& own) const {
      const auto slot = members.find(&own);
      const std::uint64_t others = kept - (slot == members.end() ? 0 : slot->second);
      return weight > capacity || others + weight <= capacity;
    }

    void let_go(const Holder& holder) {
      const auto slot = members.find(&holder);
      kept -= slot->second;
      members.erase(slot);
    }
  };

  static bool blocks(const Obstacle& obstacle, const Holder& holder) {
    return obstacle.holder && !obstacle.leaving && *obstacle.holder != holder;
  }

  bool is_asker(const Holder& holder) const {
    return holder == request_.holder || std::ranges::find(within_, holder) != within_.end();
  }

  bool moves(const Holder& holder) const {
    const auto node = nodes_.find(&holder);
    return node == nodes_.end() || node->second.moves;
  }

  // Everybody who is reached is explored once.
  void explore() {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const Holder* holder = found_[i];
      if (is_asker(*holder)) continue;  // he is stuck, by what we suppose
      each_wait(state_, *holder, now_, [&](WaiterId, const grant::Request& request) {
        add(holder, request);
      });
    }
  }

  void add(const Holder* waiting, const grant::Request& request) {
    for (const grant::LockWant& want : request.locks) {
      const Obstacle found = obstacle(state_, want.name, now_);
      if (!blocks(found, request.holder)) continue;
      Node& node = reach(*found.holder);
      if (!waiting) continue;
      node.waiting.push_back(waiting);
      ++nodes_.at(waiting).unmet;
    }
    for (const grant::SlotWant& want : request.slots) {
      if (semaphore::is_open_to(state_, want, request.holder, now_)) continue;
      Pool& pool = look_into(want.name);
      if (!waiting || pool.has_room(want.weight, request.holder)) continue;
      pool.waiting.push_back({waiting, &request.holder, want.weight});
      ++nodes_.at(waiting).unmet;
    }
  }

  Node& reach(const Holder& holder) {
    const auto [node, is_new] = nodes_.try_emplace(&holder);
    if (is_new) found_.push_back(&holder);
    return node->second;
  }

  // Whoever waits for nothing, or is being made to leave, will let go.
  Pool& look_into(const SemaphoreName& name) {
    const auto [at, is_new] = pools_.try_emplace(&name);
    Pool& pool = at->second;
    if (!is_new) return pool;
    if (const semaphore::Semaphore* semaphore = state_.semaphores.semaphores.find(name)) {
      pool.capacity = semaphore->config.capacity;
    }
    each_holder(state_, name, now_, [&](const Obstacle& member, std::uint32_t weight) {
      const bool waits = is_asker(*member.holder) || waits_at_all(state_, *member.holder);
      if (member.leaving || !waits) return;
      pool.members.emplace(member.holder, weight);
      pool.kept += weight;
      reach(*member.holder).slots.push_back(at->first);
    });
    return pool;
  }

  void spread() {
    std::vector<const Holder*> moving;
    const auto met = [&](const Holder& holder) {
      Node& node = nodes_.at(&holder);
      if (--node.unmet > 0 || node.moves || is_asker(holder)) return;
      node.moves = true;
      moving.push_back(&holder);
    };
    for (const Holder* holder : found_) {
      Node& node = nodes_.at(holder);
      node.moves = node.unmet == 0 && !is_asker(*holder);
      if (node.moves) moving.push_back(holder);
    }
    for (std::size_t i = 0; i < moving.size(); ++i) {
      const Holder* holder = moving[i];
      const Node& node = nodes_.at(holder);
      for (const Holder* waiting : node.waiting) met(*waiting);
      for (const SemaphoreName* name : node.slots) {
        Pool& pool = pools_.at(name);
        pool.let_go(*holder);
        for (Pool::Waiting& waiting : pool.waiting) {
          if (waiting.met || !pool.has_room(waiting.weight, *waiting.own)) continue;
          waiting.met = true;
          met(*waiting.holder);
        }
      }
    }
  }

  // Those in the way of a request who can never leave it.
  template <class See>
  void each_stuck(const grant::Request& request, See see) const {
    for (const grant::LockWant& want : request.locks) {
      const Obstacle found = obstacle(state_, want.name, now_);
      if (blocks(found, request.holder) && !moves(*found.holder)) see(*found.holder);
    }
    for (const grant::SlotWant& want : request.slots) {
      if (semaphore::is_open_to(state_, want, request.holder, now_)) continue;
      const auto pool = pools_.find(&want.name);
      if (pool == pools_.end() || pool->second.has_room(want.weight, request.holder)) continue;
      for (const auto& [member, weight] : pool->second.members) {
        if (*member != request.holder) see(*member);
      }
    }
  }

  // The shortest way from the stuck in the way of the asker back to him, if there is one.
  std::optional<std::vector<Holder>> circle() const {
    std::map<const Holder*, const Holder*, ByValue> from;
    std::vector<const Holder*> seen;
    const Holder* last = nullptr;
    const auto see = [&](const Holder& next, const Holder* before) {
      if (!from.try_emplace(&next, before).second) return;
      seen.push_back(&next);
      if (!last && is_asker(next)) last = &next;
    };
    each_stuck(request_, [&](const Holder& first) { see(first, nullptr); });
    for (std::size_t i = 0; i < seen.size() && !last; ++i) {
      const Holder* at = seen[i];
      each_wait(state_, *at, now_, [&](WaiterId, const grant::Request& request) {
        each_stuck(request, [&](const Holder& next) { see(next, at); });
      });
    }
    if (!last) return std::nullopt;
    std::vector<Holder> holders;
    for (const Holder* at = last; at; at = from.at(at)) {
      if (*at != request_.holder) holders.push_back(*at);
    }
    holders.push_back(request_.holder);
    std::ranges::reverse(holders);
    return holders;
  }

  const State& state_;
  const grant::Request& request_;
  std::span<const Holder> within_;
  Time now_;
  std::map<const Holder*, Node, ByValue> nodes_;
  std::map<const SemaphoreName*, Pool, ByValue> pools_;
  std::vector<const Holder*> found_;
};

}  // namespace

std::optional<std::vector<Holder>> would_deadlock(const State& state,
                                                  const grant::Request& request,
                                                  Time now) {
  return Deadlock(state, request, now).find();
}

std::optional<Stuck> stuck_at(const State& state, const SemaphoreName& name, Time now) {
  std::vector<Place> line;
  const auto& lines = state.grants.slot_lines;
  for (auto at = lines.lower_bound(grant::first_place(name)); at != lines.end(); ++at) {
    if (at->name != name) break;
    const grant::Waiter& waiter = *state.grants.waiters.find(at->waiter);
    if (!grant::is_over(waiter, now)) line.push_back({at->waiter, &waiter.request});
  }
  const grant::Request nobody;
  Deadlock all(state, nobody, now);
  all.look_at(line);
  std::ranges::sort(line, std::greater<>(), &Place::waiter);
  for (const Place& place : line) {
    if (!all.may_be_stuck(*place.request)) continue;
    auto cycle = Deadlock(state, *place.request, now).find_circle();
    if (cycle) return Stuck{place.waiter, *std::move(cycle)};
  }
  return std::nullopt;
}

bool waits_for(const State& state, const Holder& waiting, const grant::Request& other, Time now) {
  const std::span<const Holder> within = grant::within_of(other);
  Walk walk(state, now);
  const auto follow = [&](WaiterId waiter, const grant::Request& next) {
    walk.follow(waiter, next);
  };
  each_wait(state, waiting, now, follow);
  while (const Holder* holder = walk.next()) {
    if (*holder == other.holder || std::ranges::find(within, *holder) != within.end()) return true;
    each_wait(state, *holder, now, follow);
  }
  return false;
}

std::vector<WaiterId> waits_behind(const State& state, const Holder& holder, Time now) {
  Walk walk(state, now);
  walk.reach(holder);
  return waits_along(state, std::move(walk), now);
}

}  // namespace reeve::wait_graph
