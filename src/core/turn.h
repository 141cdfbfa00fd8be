#pragma once

#include "base/time.h"
#include "core/chore.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/id.h"
#include "core/limits.h"
#include "core/reply.h"
#include "core/state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace reeve {

// An answer to a request that had been left waiting.
struct Answer {
  WaiterId waiter;
  Reply reply;

  bool operator==(const Answer&) const = default;
};

struct Start {
  EffectId id;
  Outgoing effect;

  bool operator==(const Start&) const = default;
};

// One step of the core on its way: the state being changed, and what is to be said and done
// about it. Only the root makes one. The machines read through `state()` and write through
// `change()`; an input for which nobody called `change()` changed nothing, takes no sequence
// and is not written.
class Turn {
 public:
  Turn(State& state,
       Stamp stamp,
       ProjectNo project = default_project,
       SessionId session = {},
       bool can_return = true);

  const State& state() const { return state_; }
  State& change() {
    changed_ = true;
    return state_;
  }

  Time now() const { return stamp_.now; }
  Wall wall() const { return stamp_.wall; }
  Time leases_from() const { return state_.leases_from; }

  // The moment for which what is due is being settled, however late that is noticed; else now. What
  // there was is judged by it: whether a wait or a lease is over. What begins begins now: nobody
  // hears of it before.
  Time as_of() const { return as_of_; }
  template <class Settle>
  void settle_as_of(Time moment, Settle settle) {
    const Time before = std::exchange(as_of_, std::min(as_of_, moment));
    settle();
    as_of_ = before;
  }

  // Of the request at hand. A connection that cannot return is ended at the next restart.
  ProjectNo project() const { return project_; }
  SessionId session() const { return session_; }
  bool session_can_return() const { return can_return_; }

  // The sequence this input has if it changes anything.
  std::uint64_t sequence() const { return state_.sequence + 1; }

  template <class Id>
  Id next_id() {
    return Id{++change().last_number};
  }
  Token next_token() { return Token{++change().last_token}; }

  void emit(ProjectNo project, EventBody event);
  EffectId start(Outer what, Address to);
  void answer(WaiterId waiter, Reply reply);
  void arm(const Subject& subject, std::optional<Time> due);
  void arm_wall(const Subject& subject, std::optional<Wall> due);

  // Inner effects are carried out before the step ends, in this order, by the root.
  void perform(Effect effect);
  void perform(Effects effects);

  // What one step may touch is bounded: false when the rest has to wait for the next tick.
  bool may_touch() const { return touched_ < limits::touched_a_step; }
  void touch() { ++touched_; }
  void later(Chore chore);

 private:
  friend class Root;

  State& state_;
  Stamp stamp_;
  Time as_of_;
  ProjectNo project_;
  SessionId session_;
  bool can_return_;
  bool changed_ = false;
  std::size_t touched_ = 0;
  std::uint32_t next_effect_ = 0;
  std::vector<Inner> inner_;
  std::size_t carried_out_ = 0;  // of the inner effects
  std::size_t routed_ = 0;       // events already shown to the subscribers
  std::vector<Event> events_;
  std::vector<Start> effects_;
  std::vector<Answer> answers_;
};

}  // namespace reeve
