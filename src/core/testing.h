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
  State state = initial_state(start);
  Stamp stamp{start, Wall{std::chrono::hours{24 * 365 * 50}}};
  Applied last = {};

  // One input at the present moment.
  const Applied& input(const Input& input) {
    const State before = state;
    last = apply(state, input, stamp);
    state = last.state;
    for (const std::string& violation : check_state(state)) report(violation);
    for (const std::string& violation : check_step(before, last)) report(violation);
    for (const Event& event : last.events) heard.push_back(event.body);
    for (const Start& effect : last.effects) started.push_back(effect);
    for (const Answer& answer : last.answers) answers.push_back(answer);
    return last;
  }

  Reply ask(Command command,
            SessionId session = {},
            std::string key = {},
            ProjectNo project = default_project) {
    return input(Request{project, session, true, std::move(key), std::move(command)}).reply;
  }

  // Time passes: ticks come when something is due, and once at the end, as from the engine.
  void pass(Duration duration) {
    const Stamp goal{stamp.now + duration, stamp.wall + duration};
    for (int ticks = 0; ticks < 100'000; ++ticks) {
      const Deadlines next = next_deadline(state);
      const Duration engine = next.engine ? *next.engine - stamp.now : Duration::max();
      const Duration wall = next.wall ? *next.wall - stamp.wall : Duration::max();
      const Duration ahead = std::max(Duration{0}, std::min(engine, wall));
      if (ahead > goal.now - stamp.now) break;
      stamp = {stamp.now + ahead, stamp.wall + ahead};
      input(Tick{});
    }
    stamp = goal;
    input(Tick{});
  }

  void finish(EffectId effect, Outcome outcome = {}) {
    input(EffectEnded{effect, std::move(outcome)});
  }

  // A property has to shrink what broke it, so it collects violations and looks at them itself.
  bool collects = false;
  Violations violations;
  void report(const std::string& violation) {
    if (collects) {
      violations.push_back(violation);
    } else {
      ADD_FAILURE() << violation;
    }
  }

  // All that was announced, asked for and answered later since the last `forget`.
  std::vector<EventBody> heard;
  std::vector<Start> started;
  std::vector<Answer> answers;
  void forget() {
    heard.clear();
    started.clear();
    answers.clear();
  }

  // The names of what was heard, as `noun:verb`.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const EventBody& body : heard) {
      const EventName name = name_of(body);
      result.push_back(name.verb.empty() ? name.noun : name.noun + ":" + name.verb);
    }
    return result;
  }
};

// The alternative `T` of a reply, which must be one: `as<grant::Granted>(world.ask(...))`.
template <class T, class Variant>
const T* find_in(const Variant& variant) {
  const T* found = nullptr;
  std::visit(
      [&](const auto& alternative) {
        using Alternative = std::decay_t<decltype(alternative)>;
        if constexpr (std::is_same_v<Alternative, T>) {
          found = &alternative;
        } else if constexpr (requires { std::variant_size<Alternative>::value; }) {
          found = find_in<T>(alternative);
        }
      },
      variant);
  return found;
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
