#include "base/die_testing.h"
#include "core/decision.h"
#include "core/decision_testing.h"
#include "core/waiting.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace reeve::decision {
namespace {

using namespace testing;
using reeve::testing::die;

// ── `reeve ask` ──

TEST(Decision, AskingOpensOneAndWaits) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}, PipelineId{9}});

  EXPECT_EQ(get(world, id).owner, (Owner{AskOwner{waiter, PipelineId{9}}}));
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{Event{WasOpened{id, Cause::Asked, "which?"}},
                                    Escalate{to_text(id), "which?"}}));
  EXPECT_EQ(world.names(), (Names{"decision:opened", "escalate"}));
  EXPECT_TRUE(world.answers.empty());
}

TEST(Decision, WhoAskedIsToldTheAnswer) {
  for (const auto& choice :
       std::vector<decltype(Resolve::choice)>{std::uint32_t{1}, std::string("blue")}) {
    World world;
    const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}});
    const Answer answer{Choice::Option, 1, "blue", "ana", start};

    EXPECT_EQ(as<Resolved>(resolve(world, {id, choice, "", "ana"})), (Resolved{id, answer}));
    EXPECT_EQ(world.answers, (std::vector<reeve::Answer>{{waiter, {Reply{Resolved{id, answer}}}}}));
    EXPECT_EQ(asked_by(world.state.decisions, waiter), nullptr);
  }
}

TEST(Decision, TheOptionIsHandedOnAndWordsThatComeWithItStandBesideIt) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}});

  const auto reply = resolve(world, {id, std::uint32_t{0}, "the darker one", "ana"});
  EXPECT_EQ(as<Resolved>(reply).answer,
            (Answer{Choice::Option, 0, "red", "ana", start, "the darker one"}));
}

TEST(Decision, OfOptionsOneMustBeChosen) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}});
  const Refused bad{Why::BadValue, "choice"};

  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{2}})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string("green")})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Text, "green"})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Option, "green"})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Retry})), bad);
}

TEST(Decision, WithoutOptionsAnyTextIsTheAnswer) {
  for (const Resolve& given : {Resolve{{}, std::string("why not"), "", "ana"},
                               Resolve{{}, Choice::Text, "why not", "ana"},
                               Resolve{{}, std::string(""), "why not", "ana"}}) {
    World world;
    const auto [waiter, id] = asks(world, {"why?"});
    Resolve command = given;
    command.decision = id;

    EXPECT_EQ(as<Resolved>(resolve(world, command)).answer,
              (Answer{Choice::Text, 0, "why not", "ana", start}));
  }
}

TEST(Decision, NoTextAtAllIsNoAnswer) {
  World world;
  const auto [waiter, id] = asks(world, {"why?"});
  const Refused bad{Why::BadValue, "choice"};

  EXPECT_EQ(refusal_of(resolve(world, {id, std::string()})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Text})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{0}})), bad);
}

TEST(Decision, AQuestionThatMakesNoSenseIsRefused) {
  World world;
  const auto refusal = [&](Ask ask) {
    const Refused refused = refusal_of(world.ask(decision::Command{std::move(ask)}));
    EXPECT_FALSE(world.last.changed);
    return refused;
  };

  EXPECT_EQ(refusal({""}), (Refused{Why::BadValue, "question"}));
  EXPECT_EQ(refusal({"q", {"a", ""}}), (Refused{Why::BadValue, "options"}));
  EXPECT_EQ(refusal({"q", Names(limits::names_a_request + 1, "a")}),
            (Refused{Why::OverLimit, "options"}));
  EXPECT_TRUE(
      is<Waiting>(World().ask(decision::Command{Ask{"q", Names(limits::names_a_request, "a")}})));
  EXPECT_EQ(refusal({"q", {}, {}, Duration{-1}}), (Refused{Why::BadValue, "within"}));
  EXPECT_EQ(refusal({"q", {"a"}, {}, Duration{1s}, 1}), (Refused{Why::BadValue, "default"}));
  EXPECT_EQ(refusal({"q", {}, {}, Duration{1s}, 0}), (Refused{Why::BadValue, "default"}));
}

TEST(Decision, AtTheEndOfTheWaitTheDefaultOptionIsTheAnswer) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}, {}, Duration{5s}, 1});

  world.pass(5s - 1ms);
  EXPECT_TRUE(world.answers.empty());
  world.pass(1ms);
  const Answer answer{Choice::Option, 1, "blue", "deadline", at(5s)};
  EXPECT_EQ(world.answers, (std::vector<reeve::Answer>{{waiter, {Reply{Resolved{id, answer}}}}}));
}

TEST(Decision, WithoutADefaultTheAskerIsToldThatNobodyAnswered) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}, {}, Duration{5s}});

  world.pass(5s - 1ms);
  EXPECT_TRUE(world.answers.empty());
  world.pass(1ms);
  EXPECT_EQ(world.answers,
            (std::vector<reeve::Answer>{{waiter, {Reply{NotAnswered{Left::TimedOut}}}}}));
  EXPECT_TRUE(is_in<Retired>(world, id));
}

TEST(Decision, AnAskerThatLeavesRetiresItsQuestion) {
  World world;
  const auto [waiter, id] = asks(world, {"which?"});
  const auto leaves = [&](Left left) {
    within_a_step(world, [&](Turn& turn) {
      waiting::leave(turn, waiter, left);
      return 0;
    });
  };

  leaves(Left::SessionEnded);
  EXPECT_TRUE(is_in<Retired>(world, id));
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string("blue")})),
            (Refused{Why::NotAllowed, "retired"}));
  leaves(Left::SessionEnded);
}

TEST(Decision, AnAskersPlaceGoesWithItToAnotherConnection) {
  World world;
  const auto [waiter, id] = asks(world, {"which?"}, SessionId{7});
  EXPECT_EQ(get(world, id).session, SessionId{7});

  within_a_step(world, [&, asker = waiter](Turn& turn) {
    waiting::move_to_session(turn, asker, SessionId{8});
    return 0;
  });
  EXPECT_EQ(get(world, id).session, SessionId{8});
}

TEST(Decision, TheSameAskOverAnotherConnectionIsTheSameQuestion) {
  World world;
  const Ask ask{"which?"};
  const auto first = world.ask(decision::Command{ask}, SessionId{7}, "key");
  const auto second = world.ask(decision::Command{ask}, SessionId{8}, "key");

  EXPECT_EQ(first, second);
  EXPECT_EQ(world.state.decisions.open_of.size(), 1u);
  EXPECT_EQ(get(world, *asked_by(world.state.decisions, as<Waiting>(first).waiter)).session,
            SessionId{8});
}

// ── Laws ──

// A few owners, opened, retired, answered and left in any order while time passes: the invariants
// hold after each step (the world looks), the first answer of a decision is its answer for ever,
// and every asker is answered exactly once, or still waits.
RC_GTEST_PROP(Decision, KeepsItsPromisesInAnyOrderOfThings, ()) {
  World world;
  std::vector<DecisionId> ids;
  std::map<DecisionId, Answer> first;
  std::map<WaiterId, std::size_t> askers;
  const auto any_id = [&] {
    return ids.empty() ? DecisionId{1}
                       : ids[static_cast<std::size_t>(*die(static_cast<int>(ids.size())))];
  };
  const int inputs = *rc::gen::inRange(0, 40);
  for (int i = 0; i < inputs; ++i) {
    switch (*die(6)) {
      case 0: {
        Question question = question_of(*rc::gen::element(phase, other_phase));
        if (*rc::gen::arbitrary<bool>()) question.within = 1s * *die(20);
        if (*rc::gen::arbitrary<bool>()) question.default_choice = *die(6u);
        ids.push_back(opened(world, question));
        break;
      }
      case 1:
        retired(world, *rc::gen::element(phase, other_phase));
        break;
      case 2: {
        Ask ask{"which?", *rc::gen::element(Names{}, Names{"red", "blue"})};
        if (*rc::gen::arbitrary<bool>()) ask.within = 1s * *die(20);
        const auto [waiter, id] = asks(world, ask);
        ids.push_back(id);
        askers[waiter] = 0;
        break;
      }
      case 3: {
        const DecisionId id = any_id();
        const auto reply = resolve(world, {id, *die(5u), "", "ana"});
        if (const Resolved* resolved = find_in<Resolved>(reply.value)) {
          RC_ASSERT(!first.contains(id));
          first[id] = resolved->answer;
        }
        if (const AlreadyAnswered* already = find_in<AlreadyAnswered>(reply.value)) {
          RC_ASSERT(!first.contains(id) || first[id] == already->first);
          first[id] = already->first;
        }
        break;
      }
      case 4:
        world.pass(1s * *die(15));
        break;
      default:
        world.pass(*rc::gen::element(Duration{1ms}, Duration{12h}));
        break;
    }
  }
  for (const reeve::Answer& answer : world.answers) ++askers[answer.waiter];
  for (const auto& [waiter, times] : askers) {
    RC_ASSERT(times == (asked_by(world.state.decisions, waiter) ? 0u : 1u));
  }
}

}  // namespace
}  // namespace reeve::decision
