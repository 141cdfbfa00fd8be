#pragma once

#include "core/testing.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

// People and things for the tests of locks, semaphores and lines.
namespace reeve::testing {

inline const Holder ana{default_project, "ana"};
inline const Holder bo{default_project, "bo"};
inline const Holder cy{default_project, "cy"};
inline const Holder di{default_project, "di"};

inline constexpr Duration for_ever = Duration::max();

inline LockName lock_named(std::string name) { return {default_project, std::move(name)}; }
inline SemaphoreName slots_named(std::string name) { return {default_project, std::move(name)}; }

inline Holder bound(const Holder& holder, std::uint64_t session) {
  return {holder.project, holder.name, SessionId{session}};
}

inline Process process(std::int64_t pid) { return {pid, 7, "boot", false}; }
inline Boxed<HolderMeta> with_process(std::int64_t pid) {
  return Boxed(HolderMeta{"", "", "", process(pid), {}});
}
inline Boxed<HolderMeta> inside(const Holder& holder) {
  return Boxed(HolderMeta{"", "", "", std::nullopt, {holder}});
}

// What a request may say besides names and holder.
struct Terms {
  std::optional<Duration> wait = {};
  Boxed<HolderMeta> meta = {};
  std::optional<Duration> timeout = {};
  std::optional<Duration> max_hold = {};
};

inline const Terms waiting{.wait = for_ever};

class Grants : public World {
 public:
  Reply acquire(const Holder& holder,
                const std::vector<std::string>& names,
                const Terms& terms = {}) {
    lock::Acquire command{{}, holder, terms.meta, terms.timeout, terms.max_hold, terms.wait};
    for (const std::string& name : names) command.names.push_back(lock_named(name));
    return ask(lock::Command{command}, holder.session);
  }
  Reply acquire(const Holder& holder, const std::string& name, const Terms& terms = {}) {
    return acquire(holder, std::vector{name}, terms);
  }
  Token token_of(const Holder& holder, const std::string& name, const Terms& terms = {}) {
    return as<grant::Granted>(acquire(holder, name, terms)).given.at(0).token;
  }
  Reply release(const Holder& holder, const std::string& name, std::optional<Token> token = {}) {
    return ask(lock::Command{lock::Release{lock_named(name), holder, token}}, holder.session);
  }
  Reply beat(const Holder& holder, const std::string& name, Token token) {
    return ask(lock::Command{lock::Heartbeat{lock_named(name), holder, token}}, holder.session);
  }
  Reply check(const std::string& name, Token token) {
    return ask(lock::Command{lock::Check{lock_named(name), token}});
  }
  Reply force(const std::string& name, bool now = false) {
    return ask(lock::Command{lock::ForceRelease{lock_named(name), "root", "hurry", now}});
  }
  Reply cleanup(ProjectNo project = default_project) {
    return ask(lock::Command{lock::Cleanup{project}});
  }

  Reply create(const std::string& name,
               std::uint32_t capacity,
               std::optional<Duration> timeout = {}) {
    return ask(semaphore::Command{semaphore::Create{slots_named(name), {capacity, timeout}}});
  }
  Reply resize(const std::string& name, std::uint32_t capacity) {
    return ask(semaphore::Command{semaphore::Resize{slots_named(name), capacity}});
  }
  Reply remove(const std::string& name) {
    return ask(semaphore::Command{semaphore::Remove{slots_named(name)}});
  }
  Reply enter(const Holder& holder,
              const std::string& name,
              std::uint32_t weight = 1,
              const Terms& terms = {}) {
    return ask(semaphore::Command{semaphore::Acquire{slots_named(name),
                                                     weight,
                                                     holder,
                                                     terms.meta,
                                                     terms.timeout,
                                                     terms.max_hold,
                                                     terms.wait}},
               holder.session);
  }
  Reply exit(const Holder& holder, const std::string& name, std::optional<Token> token = {}) {
    return ask(semaphore::Command{semaphore::Release{slots_named(name), holder, token}},
               holder.session);
  }
  Reply beat_slot(const Holder& holder, const std::string& name, Token token) {
    return ask(semaphore::Command{semaphore::Heartbeat{slots_named(name), holder, token}},
               holder.session);
  }

  // Time passes and nobody notices: no tick comes.
  void wait_unnoticed(Duration duration) {
    stamp.now += duration;
    stamp.wall += duration;
  }
  void tick() { input(Tick{}); }

  // Who has it now; empty if nobody has.
  std::string holder_of(const std::string& name) const {
    const lock::Lock* lock = state.locks.locks.find(lock_named(name));
    const lock::Tenure* tenure =
        lock ? lock::live_tenure(*lock, state.leases_from, stamp.now) : nullptr;
    return tenure ? tenure->holder.name : "";
  }
  template <class Situation>
  bool lock_is(const std::string& name) const {
    const lock::Lock* lock = state.locks.locks.find(lock_named(name));
    return lock && std::holds_alternative<Situation>(lock->state);
  }
  std::uint32_t weight_of(const Holder& holder, const std::string& name) const {
    const semaphore::Slot* slot = state.semaphores.slots.find({slots_named(name), holder});
    return slot ? slot->weight : 0;
  }
  std::uint64_t in_use(const std::string& name) const {
    return state.semaphores.semaphores.find(slots_named(name))->in_use;
  }

  // The answer somebody got who waited; null while there is none.
  const Reply* answer_to(const Reply& place) const {
    const WaiterId waiter = as<Waiting>(place).waiter;
    for (const Answer& answer : answers) {
      if (answer.waiter == waiter) return &answer.reply;
    }
    return nullptr;
  }
  template <class T>
  bool got(const Reply& place) const {
    const Reply* answer = answer_to(place);
    return answer && is<T>(*answer);
  }
};

// Somebody's word, for what is asked of the machines by name.
inline decision::Answer chosen(decision::Choice choice) { return {choice, 0, "", "ana", {}}; }

}  // namespace reeve::testing
