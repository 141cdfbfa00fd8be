#pragma once

#include "core/decision.h"
#include "core/testing.h"
#include "core/turn.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

// What the tests of decisions share: questions of machines and of people, and their answers.
namespace reeve::decision::testing {

using namespace reeve::testing;
using Names = std::vector<std::string>;

// What a machine does within its own step. (Its events are those of the root, not seen here.)
template <class Verb>
auto within_a_step(World& world, Verb verb) {
  Turn turn(world.state, world.stamp);
  auto result = verb(turn);
  for (const std::string& violation : check_state(world.state)) ADD_FAILURE() << violation;
  return result;
}

inline const Owner phase = PhaseOwner{PipelineId{500}, 1};
inline const Owner other_phase = PhaseOwner{PipelineId{500}, 2};

inline Question question_of(Owner owner, Cause cause = Cause::PhaseFailed) {
  return {default_project, std::move(owner), cause, "what now?", "the tests failed"};
}

inline DecisionId opened(World& world, Question question) {
  return within_a_step(world, [&](Turn& turn) { return open(turn, question); });
}

inline void retired(World& world, const Owner& owner) {
  within_a_step(world, [&](Turn& turn) {
    retire(turn, owner);
    return 0;
  });
}

inline const Decision& get(const World& world, DecisionId id) {
  const Decision* found = world.state.decisions.decisions.find(id);
  EXPECT_TRUE(found) << to_text(id);
  static const Decision none{};
  return found ? *found : none;
}

inline bool is_kept(const World& world, DecisionId id) {
  return world.state.decisions.decisions.contains(id);
}

template <class State>
bool is_in(const World& world, DecisionId id) {
  return std::holds_alternative<State>(get(world, id).state);
}

// `reeve ask`, and the decision that it waits for.
inline std::pair<WaiterId, DecisionId> asks(World& world, Ask ask, SessionId session = {}) {
  const WaiterId waiter = as<Waiting>(world.ask(decision::Command{std::move(ask)}, session)).waiter;
  const DecisionId* id = asked_by(world.state.decisions, waiter);
  EXPECT_TRUE(id);
  return {waiter, id ? *id : DecisionId{}};
}

inline reeve::Reply resolve(World& world, Resolve command) {
  return world.ask(decision::Command{command});
}

inline Refused refusal_of(const reeve::Reply& reply) { return as<Refused>(reply); }

}  // namespace reeve::decision::testing
