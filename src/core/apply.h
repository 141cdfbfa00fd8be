#pragma once

#include "base/time.h"
#include "core/event.h"
#include "core/input.h"
#include "core/reply.h"
#include "core/state.h"
#include "core/turn.h"

#include <vector>

// The root transition:
//
//     apply(state, input, now) -> (state', reply, events, effects)
//
// Pure and total. No clock, no randomness, no I/O; no input makes it throw. An input that
// makes no sense is answered with a refusal and changes nothing. Give it the state to keep
// (`std::move`) and it is changed in place; give it a copy and the original stays as it was.
namespace reeve {

// What a step says and wants done.
struct [[nodiscard]] Said {
  Said();
  Said(const Said& other);
  Said(Said&& other) noexcept;
  Said& operator=(const Said& other);
  Said& operator=(Said&& other) noexcept;
  ~Said();

  bool operator==(const Said& other) const;

  Reply reply;
  std::vector<Answer> answers;  // to requests that had been waiting
  std::vector<Event> events;
  std::vector<Start> effects;
  bool changed = false;  // false: nothing to write, the state is what it was
};

struct [[nodiscard]] Applied : Said {
  Applied();
  Applied(State state, Said said);
  Applied(const Applied& other);
  Applied(Applied&& other) noexcept;
  Applied& operator=(const Applied& other);
  Applied& operator=(Applied&& other) noexcept;
  ~Applied();

  bool operator==(const Applied& other) const;

  State state;
};

Applied apply(State state, const Input& input, Stamp stamp);

// The same for whoever owns the one state that counts and keeps it where it is: carrying a state
// in and out costs as much as a small step does.
Said apply_to(State& state, const Input& input, Stamp stamp);

// A state in which nothing has happened yet.
State initial_state(Time now);

}  // namespace reeve
