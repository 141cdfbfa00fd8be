#include "core/decision.h"

#include "core/decision_testing.h"
#include "core/much_due_testing.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace reeve::decision {
namespace {

using namespace testing;

// ── The table of choices ──

TEST(Decision, OffersTheChoicesOfItsCauseInTheirOrder) {
  const auto texts = [](Cause cause) {
    Names names;
    for (const Choice choice : choices_of(cause)) names.emplace_back(text_of(choice));
    return names;
  };
  EXPECT_EQ(texts(Cause::PhaseFailed), (Names{"retry", "skip", "fail", "cancel"}));
  EXPECT_EQ(texts(Cause::GuardFailed), (Names{"check again", "pass", "fail", "cancel"}));
  EXPECT_EQ(texts(Cause::AgentStuck), (Names{"nudge", "restart", "done", "fail", "cancel"}));
  EXPECT_EQ(texts(Cause::AgentGone), (Names{"restart", "done", "fail", "cancel"}));
  EXPECT_EQ(texts(Cause::AgentPermission), (Names{"allow", "deny", "cancel"}));
  EXPECT_EQ(texts(Cause::ItemExhausted), (Names{"retry", "dead", "drop"}));
  EXPECT_EQ(texts(Cause::ProcessUnobserved), (Names{"look again", "release anyway"}));
  EXPECT_EQ(texts(Cause::LockStale), (Names{"look again", "release anyway"}));
  EXPECT_EQ(texts(Cause::Asked), Names{});
  EXPECT_EQ(text_of(Choice::Option), "option");
  EXPECT_EQ(text_of(Choice::Text), "text");
}

// ── Opening and retiring ──

TEST(Decision, IsOpenedWithItsQuestion) {
  World world;
  const DecisionId id = opened(world, question_of(phase));

  const Decision& decision = get(world, id);
  EXPECT_EQ(decision.project, default_project);
  EXPECT_EQ(decision.owner, phase);
  EXPECT_EQ(decision.question, "what now?");
  EXPECT_EQ(decision.context, "the tests failed");
  EXPECT_EQ(decision.opened_at, start);
  EXPECT_TRUE(is_in<Open>(world, id));
}

TEST(Decision, ANewerOneOfTheSameOwnerSupersedesTheOlder) {
  World world;
  const DecisionId first = opened(world, question_of(phase));
  const DecisionId other = opened(world, question_of(other_phase));
  const DecisionId second = opened(world, question_of(phase));

  EXPECT_TRUE(is_in<Retired>(world, first));
  EXPECT_TRUE(is_in<Open>(world, other));
  EXPECT_TRUE(is_in<Open>(world, second));
  EXPECT_EQ(refusal_of(resolve(world, {first, Choice::Retry})),
            (Refused{Why::NotAllowed, "retired"}));
}

TEST(Decision, RetiresWhenItsCauseHasCleared) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  retired(world, other_phase);
  EXPECT_TRUE(is_in<Open>(world, id));

  retired(world, phase);
  EXPECT_TRUE(is_in<Retired>(world, id));
  retired(world, phase);
  EXPECT_EQ(world.state.decisions.closed.size(), 1u);
}

TEST(Decision, LongTextsAreCut) {
  World world;
  Question question = question_of(phase);
  question.question = std::string(limits::text_bytes + 1, 'q');
  question.context = std::string(limits::text_bytes + 1, 'c');
  const DecisionId id = opened(world, question);

  EXPECT_EQ(get(world, id).question.size(), limits::text_bytes);
  EXPECT_EQ(get(world, id).context.size(), limits::text_bytes);
}

// ── Answering ──

TEST(Decision, IsAnsweredByNameByNumberOrByText) {
  for (const auto& choice : std::vector<decltype(Resolve::choice)>{
           Choice::Skip, std::uint32_t{1}, std::string("skip")}) {
    World world;
    const DecisionId id = opened(world, question_of(phase));
    const Answer answer{Choice::Skip, 0, "not today", "ana", start};

    const auto reply = resolve(world, {id, choice, "not today", "ana"});
    EXPECT_EQ(as<Resolved>(reply), (Resolved{id, answer}));
    EXPECT_EQ(get(world, id).state, (decltype(Decision::state){Answered{answer}}));
    EXPECT_EQ(world.heard,
              (std::vector<EventBody>{Event{WasAnswered{id, Choice::Skip, "not today", "ana"}}}));
    EXPECT_EQ(world.names(), (Names{"decision:resolved"}));
  }
}

TEST(Decision, AChoiceThatIsNotOfferedIsRefused) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  const Refused bad{Why::BadValue, "choice"};

  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Nudge})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Text, "text"})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Option})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{4}})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{4'000'000'000}})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string("Retry")})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string()})), bad);
  EXPECT_TRUE(is_in<Open>(world, id));
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<Resolved>(resolve(world, {id, std::uint32_t{3}}))) << "the last one is";
}

TEST(Decision, AnsweringTwiceIsRefusedWithTheFirstAnswer) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  resolve(world, {id, Choice::Retry, "once", "ana"});
  world.stamp.now += 1s;

  const auto reply = resolve(world, {id, Choice::Fail, "twice", "bo"});
  EXPECT_EQ(as<AlreadyAnswered>(reply),
            (AlreadyAnswered{id, Answer{Choice::Retry, 0, "once", "ana", start}}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Decision, AnUnknownOneIsNotFound) {
  World world;

  EXPECT_EQ(refusal_of(resolve(world, {DecisionId{77}, Choice::Retry})),
            (Refused{Why::NotFound, to_text(DecisionId{77})}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Decision, EveryKindOfOwnerCanBeAnswered) {
  const Process process{12, 34, "boot", true};
  const std::vector<std::pair<Owner, Cause>> owners{
      {phase, Cause::PhaseFailed},
      {GuardOwner{PipelineId{500}, 1, "tests_pass"}, Cause::GuardFailed},
      {WorkOwner{WorkId{501}}, Cause::AgentStuck},
      {WorkOwner{WorkId{502}}, Cause::AgentPermission},
      {ItemOwner{ItemId{503}}, Cause::ItemExhausted},
      {LockOwner{{default_project, "main"}}, Cause::LockStale},
      {ProcessOwner{process}, Cause::ProcessUnobserved},
      {DispatchOwner{DispatchId{504}}, Cause::ProcessUnobserved}};
  World world;
  for (const auto& [owner, cause] : owners) {
    const std::vector<Choice> choices = choices_of(cause);
    for (std::uint32_t i = 0; i < choices.size(); ++i) {
      const DecisionId id = opened(world, question_of(owner, cause));
      EXPECT_EQ(as<Resolved>(resolve(world, {id, i})).answer.choice, choices[i]);
      EXPECT_FALSE(world.state.decisions.open_of.contains(owner));
    }
  }
}

// ── Deadlines ──

TEST(Decision, ADeadlineAppliesItsDefaultChoice) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  question.default_choice = 2;
  const DecisionId id = opened(world, question);

  world.pass(10s - 1ms);
  EXPECT_TRUE(is_in<Open>(world, id));
  world.pass(1ms);
  EXPECT_EQ(
      get(world, id).state,
      (decltype(Decision::state){Answered{Answer{Choice::Fail, 0, "", "deadline", at(10s)}}}));
  EXPECT_EQ(world.names(), (Names{"decision:resolved"}));
}

TEST(Decision, AnAnswerAtTheDeadlineComesTooLateTickOrNoTick) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  question.default_choice = 0;
  const DecisionId id = opened(world, question);
  much_falls_due_in(world, 9s);
  world.stamp.now += 10s;

  const auto reply = resolve(world, {id, Choice::Cancel, "", "ana"});
  EXPECT_EQ(as<AlreadyAnswered>(reply).first, (Answer{Choice::Retry, 0, "", "deadline", at(10s)}));
}

TEST(Decision, AnAnswerBeforeTheDeadlineCounts) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  question.default_choice = 0;
  const DecisionId id = opened(world, question);
  world.stamp.now += 10s - 1ms;
  resolve(world, {id, Choice::Cancel, "", "ana"});
  world.forget();

  world.pass(1h);
  EXPECT_EQ(world.names(), Names{});
}

TEST(Decision, ADeadlineWithoutAChoiceThatIsOfferedMeansNothing) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  const DecisionId none = opened(world, question);
  question.owner = other_phase;
  question.default_choice = 4;
  const DecisionId not_offered = opened(world, question);

  world.pass(48h);
  EXPECT_TRUE(is_in<Open>(world, none));
  EXPECT_TRUE(is_in<Open>(world, not_offered));
}

TEST(Decision, ADeadlineBeyondTimeIsNeverReached) {
  World world;
  Question question = question_of(phase);
  question.within = Duration::max();
  question.default_choice = 0;
  const DecisionId id = opened(world, question);

  EXPECT_EQ(get(world, id).deadline, Time::max());
}

// ── What is forgotten ──

TEST(Decision, AClosedOneIsKeptForADay) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  resolve(world, {id, Choice::Retry, "", "ana"});

  world.pass(24h - 1ms);
  EXPECT_TRUE(is<AlreadyAnswered>(resolve(world, {id, Choice::Retry})));
  world.pass(1ms);
  EXPECT_FALSE(is_kept(world, id));
}

TEST(Decision, AClosedOneThatIsToBeForgottenIsNotFoundTickOrNoTick) {
  World world;
  const DecisionId answered = opened(world, question_of(phase));
  resolve(world, {answered, Choice::Retry, "", "ana"});
  const DecisionId gone = opened(world, question_of(phase));
  retired(world, phase);
  much_falls_due_in(world, 23h);
  world.stamp.now += 24h;

  EXPECT_EQ(resolve(world, {answered, Choice::Retry}), refused(Why::NotFound, to_text(answered)));
  EXPECT_EQ(resolve(world, {gone, Choice::Retry}), refused(Why::NotFound, to_text(gone)));
}

TEST(Decision, OfManyClosedOnesOfAProjectTheLastThousandAreKept) {
  World world;
  std::vector<DecisionId> ids;
  const auto close_one = [&](ProjectNo project) {
    Question question = question_of(phase);
    question.project = project;
    Turn turn(world.state, world.stamp);
    ids.push_back(open(turn, question));
    retire(turn, phase);
    world.stamp.now += 1ms;
  };
  close_one(shared_project);
  for (std::size_t i = 0; i < limits::finished_kept; ++i) close_one(default_project);
  EXPECT_TRUE(is_kept(world, ids[1]));

  close_one(default_project);
  EXPECT_TRUE(is_kept(world, ids[0])) << "each project has its own";
  EXPECT_FALSE(is_kept(world, ids[1]));
  EXPECT_TRUE(is_kept(world, ids[2]));
  world.input(Tick{});
  world.pass(25h);
  EXPECT_EQ(world.state.decisions, Table{});
}

TEST(Decision, WhatWasJustAnsweredIsKnownInWhateverOrderManyAreAtOnce) {
  World world;
  const DecisionId id = opened(world, question_of(other_phase));
  for (std::size_t i = 0; i < limits::finished_kept; ++i) {
    Turn turn(world.state, world.stamp);
    open(turn, question_of(phase));
    retire(turn, phase);
  }

  resolve(world, {id, Choice::Retry});

  EXPECT_TRUE(is_in<Answered>(world, id));
  EXPECT_EQ(world.state.decisions.decisions.size(), limits::finished_kept);
}

}  // namespace
}  // namespace reeve::decision
