#pragma once

#include "core/apply.h"
#include "core/invariants.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

// A world for tests: a state, a clock that only the test moves, and what the last input said.
// Every input is checked against the invariants of state and step.
namespace reeve::testing {

using namespace std::chrono_literals;

inline constexpr Time start = Time{} + std::chrono::hours{1};

inline Time at(Duration since_start) { return start + since_start; }

class World {
 public:
  World();
  World(const World& other);
  World& operator=(const World& other);
  ~World();

  State state;
  Stamp stamp{start, Wall{std::chrono::hours{24 * 365 * 50}}};
  Applied last;

  // One input at the present moment.
  const Applied& input(const Input& input);

  Reply ask(Command command,
            SessionId session = {},
            std::string key = {},
            ProjectNo project = default_project);

  // Time passes: ticks come when something is due, and once at the end, as from the engine.
  void pass(Duration duration);

  void finish(EffectId effect, Outcome outcome = {});

  // A property has to shrink what broke it, so it collects violations and looks at them itself.
  bool collects = false;
  Violations violations;
  void report(const std::string& violation);

  // All that was announced, asked for and answered later since the last `forget`.
  std::vector<EventBody> heard;
  std::vector<Start> started;
  std::vector<Answer> answers;
  void forget();

  // The names of what was heard, as `noun:verb`.
  std::vector<std::string> names() const;
};

// The alternative `T` of a reply, which must be one: `as<grant::Granted>(world.ask(...))`.
template <class T>
const T* find_in(const ReplySum& sum) {
  using Noun = walled::NounFor<T, ReplySum>;
  const Noun* noun = std::get_if<Noun>(&sum);
  if constexpr (std::is_same_v<T, Noun>) {
    return noun;
  } else {
    return noun ? std::get_if<T>(noun) : nullptr;
  }
}

template <class T>
T as(const Reply& reply) {
  const T* found = find_in<T>(reply.value);
  if (!found) {
    ADD_FAILURE() << "the reply is another alternative (" << reply.value.index() << ")";
    return T{};
  }
  return *found;
}

template <class T>
bool is(const Reply& reply) {
  return find_in<T>(reply.value) != nullptr;
}

}  // namespace reeve::testing
