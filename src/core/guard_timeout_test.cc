#include "base/die_testing.h"
#include "core/event_name.h"
#include "core/guard.h"
#include "core/guard_ending.h"
#include "core/guard_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace reeve::guard {
namespace {

using namespace testing;
using reeve::testing::die;

// ── The total wait ──

TEST(Guard, ATotalWaitIsOverAtItsTimeout) {
  const definition::Guard definition = limited(OnTimeout::Fail);
  const Guard guard = checking(at(0s));

  EXPECT_EQ(due_at(guard, definition), at(25s)) << "also during a check";
  EXPECT_EQ(due(guard, definition, at(25s) - 1ms), (Step{guard, Nothing{}}));
  const Step step = due(guard, definition, at(25s));
  EXPECT_EQ(step.next, (Next{Failed{Reason::TimedOut}}));
  EXPECT_EQ(step.facts, (Facts{HasTimedOut{OnTimeout::Fail}, HasFailed{Reason::TimedOut}}));
}

TEST(Guard, ThatBlocksAnnouncesItsTimeoutOnceAndGoesOn) {
  const definition::Guard definition = limited(OnTimeout::Block);
  Guard guard = waiting(definition, at(16s));
  guard.started_at = at(0s);
  EXPECT_EQ(due_at(guard, definition), at(25s));

  Step step = due(guard, definition, at(25s));
  EXPECT_EQ(step.next, (Next{Nothing{}}));
  EXPECT_EQ(step.facts, (Facts{HasTimedOut{OnTimeout::Block}}));
  EXPECT_EQ(due_at(step.guard, definition), at(26s));

  step = due(step.guard, definition, at(26s));
  EXPECT_EQ(step.next, (Next{Check{}}));
  EXPECT_EQ(step.facts, Facts{});
  EXPECT_EQ(checked(step.guard, definition, passes, at(27s)).next, (Next{Passed{}}));
}

TEST(Guard, ATimeoutAndAPollInOneMomentBothHappen) {
  const definition::Guard blocks{.timeout = 10s, .on_timeout = OnTimeout::Block};
  const Step step = due(waiting(blocks, at(0s)), blocks, at(10s));
  EXPECT_EQ(step.next, (Next{Check{}}));
  EXPECT_EQ(step.facts, (Facts{HasTimedOut{OnTimeout::Block}}));

  const definition::Guard asks{.timeout = 10s, .on_timeout = OnTimeout::Escalate};
  const Step ask = due(waiting(asks, at(0s)), asks, at(10s));
  EXPECT_EQ(ask.next, (Next{Ask{}}));
  EXPECT_EQ(due_at(ask.guard, asks), at(10s));
  EXPECT_EQ(due(ask.guard, asks, at(10s)).next, (Next{Check{}}));
}

TEST(Guard, ThatEscalatesAsksAndGoesOnLooking) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  Step step = due(waiting(definition, at(20s)), definition, at(45s));
  EXPECT_EQ(step.next, (Next{Ask{}}));
  EXPECT_EQ(step.facts, (Facts{HasTimedOut{OnTimeout::Escalate}}));
  EXPECT_TRUE(step.guard.asked);

  step = due(step.guard, definition, at(46s));
  EXPECT_EQ(step.next, (Next{Check{}}));
  step = checked(step.guard, definition, passes, at(47s));
  EXPECT_EQ(step.next, (Next{Passed{}}));
  EXPECT_FALSE(step.guard.asked);
}

TEST(Guard, WhileSomebodyIsAskedItDoesNotFailByItself) {
  definition::Guard definition = limited(OnTimeout::Escalate);
  definition.retry = definition::Poll{3, 10s};
  Guard guard = due(waiting(definition, at(0s)), definition, at(25s)).guard;
  for (int i = 0; i < 10; ++i) {
    const Time now = at(25s + 10s * i);
    guard = checked(due(guard, definition, now).guard, definition, breaks, now).guard;
    EXPECT_TRUE(guard.asked && !is_over(guard)) << i;
  }
  definition.retry.reset();
  for (int i = 10; i < 20; ++i) {
    const Time now = at(25s + 10s * i);
    guard = checked(due(guard, definition, now).guard, definition, breaks, now).guard;
    EXPECT_TRUE(guard.asked && !is_over(guard)) << i;
  }
}

TEST(Guard, NeitherDoesItsLastChanceThen) {
  definition::Guard definition = limited(OnTimeout::Escalate);
  definition.retry = definition::Poll{0, 10s};
  Guard guard = wake(checking(at(0s)), definition, at(1s)).guard;
  guard = checked(guard, definition, not_yet, at(2s)).guard;
  guard = due(guard, definition, at(25s)).guard;

  const Step step = checked(guard, definition, not_yet, at(26s));
  EXPECT_EQ(step.next, (Next{Ask{}}));
  EXPECT_EQ(due_at(step.guard, definition), at(36s));
}

// ── In the middle of a check ──

TEST(Guard, WhoseTimeIsUpInTheMiddleOfACheckEndsThatAndAsksWithWhatItSaid) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  Step step = due(checking(at(0s)), definition, at(25s));
  EXPECT_EQ(step.next, (Next{Ask{}}));
  EXPECT_EQ(step.facts, (Facts{HasTimedOut{OnTimeout::Escalate}}));
  EXPECT_TRUE(is_ending(step.guard, definition));
  EXPECT_FALSE(step.guard.asked) << "the check is to be ended first";
  EXPECT_EQ(due_at(step.guard, definition), std::nullopt);
  EXPECT_EQ(answered(step.guard, Answer::Pass, at(25s)).guard, step.guard) << "not asked yet";

  step = checked(step.guard, definition, exits(143, "hanging"), at(26s));
  EXPECT_EQ(step.next, (Next{Ask{}}));
  EXPECT_EQ(step.facts, Facts{}) << "ended by us, and not broken";
  EXPECT_TRUE(step.guard.asked && !is_ending(step.guard, definition));
  EXPECT_EQ(step.guard.last_output, "hanging");
  EXPECT_EQ(step.guard.checks, 1u);
  EXPECT_EQ(step.guard.last, std::nullopt);
  EXPECT_EQ(step.guard.broken_in_a_row, 0u);
  EXPECT_EQ(due_at(step.guard, definition), at(36s)) << "and it is polled on";
}

TEST(Guard, OfACheckThatWasEndedBeforeItSaidAnythingTheOneBeforeItIsTheLastThatSpoke) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  Guard ending = due(checking(at(0s)), definition, at(25s)).guard;
  Outcome silent = exits(143, "");
  silent.error = "ended on request";
  EXPECT_EQ(checked(ending, definition, silent, at(26s)).guard.last_output, "ended on request");
  ending.last_output = "not yet";
  EXPECT_EQ(checked(ending, definition, silent, at(26s)).guard.last_output, "not yet");
}

TEST(Guard, ACheckThatPassesWhileItIsBeingEndedHasPassed) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  const Guard ending = due(checking(at(0s)), definition, at(25s)).guard;

  EXPECT_EQ(checked(ending, definition, passes, at(26s)).next, (Next{Passed{}}));
}

TEST(Guard, NobodyMakesAnEndedCheckAgainBeforeItAsks) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  const Guard ending = due(checking(at(0s)), definition, at(25s)).guard;
  EXPECT_EQ(checked(ending, definition, unknown, at(26s)).next, (Next{Ask{}}));

  const Guard woken = wake(ending, definition, at(26s)).guard;
  const Step step = checked(woken, definition, breaks, at(27s));
  EXPECT_EQ(step.next, (Next{Ask{}}));
  EXPECT_EQ(due_at(step.guard, definition), at(27s)) << "the wake is not lost";
}

TEST(Guard, ThatBlocksLetsItsCheckGoOn) {
  const definition::Guard definition = limited(OnTimeout::Block);
  const Step step = due(checking(at(0s)), definition, at(25s));

  EXPECT_EQ(step.next, (Next{Nothing{}}));
  EXPECT_FALSE(is_ending(step.guard, definition));
}

TEST(Guard, AWakeThatFindsTheTimeUpSettlesThatFirst) {
  const Guard guard = waiting(patient, at(0s));
  EXPECT_EQ(wake(guard, limited(OnTimeout::Fail), at(25s)).next, (Next{Failed{Reason::TimedOut}}));

  const definition::Guard asks = limited(OnTimeout::Escalate);
  const Step step = wake(guard, asks, at(25s));
  EXPECT_EQ(step.next, (Next{Ask{}}));
  EXPECT_EQ(due_at(step.guard, asks), at(25s)) << "the wake is not lost";
  EXPECT_EQ(due(step.guard, asks, at(25s)).next, (Next{Check{}}));

  const Step blocked = wake(guard, limited(OnTimeout::Block), at(25s));
  EXPECT_EQ(blocked.next, (Next{Check{}}));
  EXPECT_EQ(blocked.facts, (Facts{HasTimedOut{OnTimeout::Block}}));
}

TEST(Guard, ACheckThatPassedWhenTheTimeIsUpHasPassed) {
  EXPECT_EQ(checked(checking(at(0s)), limited(OnTimeout::Fail), passes, at(1h)).next,
            (Next{Passed{}}));
}

// ── Once more ──

TEST(Guard, ThatHasPassedIsCheckedOnceMoreAndMayWaitAgain) {
  const definition::Guard definition = polled(0);
  const Guard passed = checked(checking(at(0s)), definition, passes, at(0s)).guard;
  Step step = again(passed, definition, at(1h));
  EXPECT_EQ(step.next, (Next{Check{}}));
  EXPECT_EQ(checked(step.guard, definition, passes, at(1h)).next, (Next{Passed{}}));

  step = checked(step.guard, definition, not_yet, at(1h));
  EXPECT_EQ(step.next, (Next{Nothing{}}));
  EXPECT_EQ(step.facts, (Facts{IsWaiting{}}));
  EXPECT_EQ(due_at(step.guard, definition), at(1h + 5s));
  EXPECT_EQ(step.guard.started_at, at(1h));
}

TEST(Guard, ThatHasNotPassedIsNotCheckedOnceMore) {
  const Guard guard = waiting(patient, at(0s));

  EXPECT_EQ(again(guard, patient, at(1h)), (Step{guard, Nothing{}}));
}

// ── Answers ──

TEST(Guard, AnAnswerPassesOrFailsIt) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  const Guard asked = due(waiting(definition, at(0s)), definition, at(25s)).guard;

  const Step pass = answered(asked, Answer::Pass, at(30s));
  EXPECT_EQ(pass.next, (Next{Passed{}}));
  EXPECT_EQ(pass.facts, (Facts{HasPassed{1}}));
  const Step fail = answered(asked, Answer::Fail, at(30s));
  EXPECT_EQ(fail.next, (Next{Failed{Reason::Answered}}));
  EXPECT_FALSE(fail.guard.asked);
}

TEST(Guard, CheckAgainBeginsAnew) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  const Guard asked = due(waiting(definition, at(0s)), definition, at(25s)).guard;
  const Step step = answered(asked, Answer::CheckAgain, at(30s));

  EXPECT_EQ(step.next, (Next{Check{}}));
  EXPECT_EQ(due_at(step.guard, definition), at(55s));
  EXPECT_FALSE(step.guard.asked);
  EXPECT_EQ(due(step.guard, definition, at(55s)).next, (Next{Ask{}})) << "and asks anew";
}

TEST(Guard, ACheckUnderWayIsTheFirstOfCheckAgain) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  Guard asked = due(waiting(definition, at(20s)), definition, at(45s)).guard;
  asked = due(asked, definition, at(46s)).guard;
  ASSERT_TRUE(is_checking(asked) && asked.asked);

  const Step step = answered(asked, Answer::CheckAgain, at(30s));
  EXPECT_EQ(step.next, (Next{Nothing{}}));
  EXPECT_TRUE(is_checking(step.guard));
}

TEST(Guard, ThatFailedCanBeAnsweredToo) {
  const Guard failed = checked(checking(at(0s)), polled(0), not_yet, at(0s)).guard;

  EXPECT_EQ(answered(failed, Answer::CheckAgain, at(1s)).next, (Next{Check{}}));
  EXPECT_EQ(answered(failed, Answer::Pass, at(1s)).next, (Next{Passed{}}));
}

TEST(Guard, AnAnswerThatNobodyAskedForChangesNothing) {
  const Guard guard = waiting(patient, at(0s));
  const Guard passed = checked(checking(at(0s)), patient, passes, at(0s)).guard;

  for (const Answer answer : {Answer::CheckAgain, Answer::Pass, Answer::Fail}) {
    EXPECT_EQ(answered(guard, answer, at(1s)), (Step{guard, Nothing{}}));
    EXPECT_EQ(answered(passed, answer, at(1s)), (Step{passed, Nothing{}}));
  }
}

TEST(Guard, ItsEventsAreNamedAfterIt) {
  const auto verb = [](Fact what) {
    const EventName name = name_of(Event{PipelineId{7}, "merge", "tests_pass", std::move(what)});
    EXPECT_EQ(name, (EventName{"guard", "tests_pass", name.verb, "merge"}));
    return name.verb;
  };

  EXPECT_EQ(verb(IsWaiting{}), "waiting");
  EXPECT_EQ(verb(HasPassed{}), "passed");
  EXPECT_EQ(verb(HasFailed{}), "failed");
  EXPECT_EQ(verb(HasTimedOut{}), "timeout");
  EXPECT_EQ(verb(IsBroken{}), "broken");
}

TEST(Guard, WhyItFailedCanBeRead) {
  for (const Reason reason : {Reason::UsedUp, Reason::Broken, Reason::TimedOut, Reason::Answered}) {
    EXPECT_FALSE(text_of(reason).empty());
  }
}

TEST(Guard, AWakeDuringACheckIsNotLostWhenSomebodyHasItCheckedAgain) {
  const definition::Guard definition = limited(OnTimeout::Escalate);
  Guard guard = due(waiting(definition, at(20s)), definition, at(45s)).guard;
  guard = due(guard, definition, at(46s)).guard;
  ASSERT_TRUE(is_checking(guard) && guard.asked);
  guard = wake(guard, definition, at(47s)).guard;

  const Step step = answered(guard, Answer::CheckAgain, at(48s));
  EXPECT_EQ(step.next, (Next{Nothing{}})) << "one is under way";
  EXPECT_EQ(checked(step.guard, definition, not_yet, at(49s)).next, (Next{Check{}}));
}

TEST(Guard, NorDoesItFailForThatWhenItIsNotPolled) {
  definition::Guard definition = polled(0);
  definition.timeout = 25s;
  Guard guard = wake(checking(at(0s)), definition, at(1s)).guard;
  guard = due(guard, definition, at(25s)).guard;
  guard = checked(guard, definition, exits(143), at(26s)).guard;
  ASSERT_TRUE(guard.asked);
  guard = due(guard, definition, at(26s)).guard;
  guard = wake(guard, definition, at(27s)).guard;
  guard = answered(guard, Answer::CheckAgain, at(28s)).guard;
  EXPECT_EQ(checked(guard, definition, not_yet, at(29s)).next, (Next{Check{}}));
}

// Whatever comes in whatever order: one check at a time; a timer whenever it is not over and no
// check is under way; what is over stays over unless somebody answers; the timeout is told once
// a beginning; polls never exceed what was allowed.
RC_GTEST_PROP(Guard, KeepsItsPromisesInAnyOrderOfThings, ()) {
  definition::Guard definition;
  if (*rc::gen::arbitrary<bool>()) {
    definition.retry = definition::Poll{*die<std::uint32_t>(4), 5s};
  }
  if (*rc::gen::arbitrary<bool>()) definition.timeout = 1s * *die(40);
  definition.on_timeout = *rc::gen::element(OnTimeout::Block, OnTimeout::Fail, OnTimeout::Escalate);
  Time now = at(0s);
  Step step = start(now);
  int running = 1;
  int timeouts = 0;
  const int inputs = *rc::gen::inRange(0, 60);
  for (int i = 0; i < inputs; ++i) {
    const Guard before = step.guard;
    switch (*die(6)) {
      case 0:
        step = wake(before, definition, now);
        break;
      case 1:
        now += 1s * *die(12);
        step = due(before, definition, now);
        break;
      case 2: {
        const Answer answer = *rc::gen::element(Answer::CheckAgain, Answer::Pass, Answer::Fail);
        step = answered(before, answer, now);
        if (answer == Answer::CheckAgain && step.guard != before) timeouts = 0;
        break;
      }
      case 3:
        step = again(before, definition, now);
        if (step.guard != before) timeouts = 0;
        break;
      default:
        if (!is_checking(before)) continue;
        --running;
        step =
            checked(before, definition, *rc::gen::element(passes, not_yet, breaks, unknown), now);
        break;
    }
    if (std::holds_alternative<Check>(step.next)) ++running;
    for (const Fact& fact : step.facts) timeouts += std::holds_alternative<HasTimedOut>(fact);
    if (!is_checking(step.guard)) running = 0;  // what still runs is nobody's
    RC_ASSERT(running == (is_checking(step.guard) ? 1 : 0));
    RC_ASSERT(timeouts <= 1);
    RC_ASSERT(is_over(step.guard) || is_checking(step.guard) ||
              due_at(step.guard, definition).has_value());
    RC_ASSERT(!is_over(step.guard) || !step.guard.asked);
    if (definition.retry && !step.guard.timed_out) {
      RC_ASSERT(step.guard.polls <= std::max(definition.retry->max, 1u));
    }
  }
}

}  // namespace
}  // namespace reeve::guard
