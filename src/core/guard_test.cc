#include "core/guard.h"

#include "core/guard_testing.h"
#include "core/limits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace reeve::guard {
namespace {

using namespace testing;

// ── One check ──

TEST(Guard, ExitZeroPassesAndOnlyThat) {
  EXPECT_EQ(classify(exits(0)), Verdict::Passed);
  for (const int code : {1, 2, 125, 128}) EXPECT_EQ(classify(exits(code)), Verdict::NotYet) << code;
}

TEST(Guard, WhatCouldNotBeCheckedIsBroken) {
  for (const int code : {126, 127, 129, 137, 255, -1}) {
    EXPECT_EQ(classify(exits(code)), Verdict::Broken) << code;
  }
  EXPECT_EQ(classify({.ended = Ended::Failed, .signal = 9}), Verdict::Broken);
  EXPECT_EQ(classify({.ended = Ended::Failed, .error = "no bash"}), Verdict::Broken);
  EXPECT_EQ(classify({.ended = Ended::Failed, .exit_code = 1, .timed_out = true}), Verdict::Broken);
  EXPECT_EQ(classify({.ended = Ended::Done, .exit_code = 0, .timed_out = true}), Verdict::Broken);
  EXPECT_EQ(classify({.ended = Ended::Failed, .exit_code = 0}), Verdict::Broken);
}

TEST(Guard, WhoseEndNobodyKnowsIsUnknown) { EXPECT_EQ(classify(unknown), Verdict::Unknown); }

// ── Checking and waiting ──

TEST(Guard, IsCheckedAtOnce) {
  const Step step = start(at(0s));

  EXPECT_EQ(step.next, (Next{Check{}}));
  EXPECT_EQ(step.guard.state, (decltype(Guard::state){Checking{}}));
  EXPECT_EQ(step.guard.started_at, at(0s));
  EXPECT_EQ(step.facts, Facts{});
}

TEST(Guard, ThatPassesIsOver) {
  const Step step = checked(checking(at(0s)), patient, exits(0, "all well"), at(1s));

  EXPECT_EQ(step.next, (Next{Passed{}}));
  EXPECT_EQ(step.facts, (Facts{HasPassed{1}}));
  EXPECT_TRUE(is_over(step.guard));
  EXPECT_EQ(step.guard.last_output, "all well");
  EXPECT_EQ(due_at(step.guard, patient), std::nullopt);
}

TEST(Guard, ThatDoesNotPassWaitsAndSaysSoOnce) {
  const Step first = checked(checking(at(0s)), patient, not_yet, at(1s));
  EXPECT_EQ(first.next, (Next{Nothing{}}));
  EXPECT_EQ(first.facts, (Facts{IsWaiting{}}));
  EXPECT_EQ(due_at(first.guard, patient), at(11s));

  const Step poll = due(first.guard, patient, at(11s));
  EXPECT_EQ(poll.next, (Next{Check{}}));
  EXPECT_EQ(checked(poll.guard, patient, not_yet, at(12s)).facts, Facts{});
}

TEST(Guard, IsPolledWhenItsTimeHasComeAndNotBefore) {
  const Guard guard = waiting(patient, at(0s));

  EXPECT_EQ(due(guard, patient, at(10s) - 1ms), (Step{guard, Nothing{}}));
  EXPECT_EQ(due(guard, patient, at(10s)).next, (Next{Check{}}));
}

TEST(Guard, IsNotPolledWhileItIsBeingChecked) {
  const Guard guard = checking(at(0s));

  EXPECT_EQ(due(guard, patient, at(1h)), (Step{guard, Nothing{}}));
  EXPECT_EQ(due_at(guard, patient), std::nullopt);
}

TEST(Guard, IsPolledAsOftenAsItsRetrySaysAndNoMore) {
  const definition::Guard definition = polled(2);
  Guard guard = waiting(definition, at(0s));
  EXPECT_EQ(due_at(guard, definition), at(5s));

  guard = due(guard, definition, at(5s)).guard;
  Step step = checked(guard, definition, not_yet, at(5s));
  EXPECT_EQ(step.next, (Next{Nothing{}}));

  guard = due(step.guard, definition, at(10s)).guard;
  step = checked(guard, definition, not_yet, at(10s));
  EXPECT_EQ(step.next, (Next{Failed{Reason::UsedUp}}));
  EXPECT_EQ(step.facts, (Facts{HasFailed{Reason::UsedUp}}));
  EXPECT_EQ(due_at(step.guard, definition), std::nullopt);
}

TEST(Guard, ThatMayNotBePolledFailsWithItsFirstCheck) {
  EXPECT_EQ(checked(checking(at(0s)), polled(0), not_yet, at(0s)).next,
            (Next{Failed{Reason::UsedUp}}));
}

TEST(Guard, WithRetryBrokenChecksCountLikeOthers) {
  const definition::Guard definition = polled(4, 1s);
  Step step = checked(checking(at(0s)), definition, breaks, at(0s));
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(step.next, (Next{Nothing{}})) << i;
    step = checked(due(step.guard, definition, at(1s * i)).guard, definition, breaks, at(1s * i));
  }
  EXPECT_EQ(step.next, (Next{Failed{Reason::UsedUp}}));
}

TEST(Guard, WithoutRetryThreeBrokenChecksInARowFailIt) {
  Step step = checked(checking(at(0s)), patient, breaks, at(0s));
  EXPECT_EQ(step.facts, (Facts{IsBroken{"exit code 127"}, IsWaiting{}}));
  step = checked(due(step.guard, patient, at(10s)).guard, patient, breaks, at(10s));
  EXPECT_EQ(step.next, (Next{Nothing{}}));
  EXPECT_EQ(step.facts, Facts{}) << "it was broken before";
  step = checked(due(step.guard, patient, at(20s)).guard, patient, breaks, at(20s));
  EXPECT_EQ(step.next, (Next{Failed{Reason::Broken}}));
  EXPECT_EQ(step.facts, (Facts{HasFailed{Reason::Broken}}));
}

TEST(Guard, ACheckThatCouldBeMadeEndsTheRowOfBrokenOnes) {
  Step step = checked(checking(at(0s)), patient, breaks, at(0s));
  const std::vector<Outcome> rest{breaks, not_yet, breaks, breaks};
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const Time now = at(10s * (static_cast<int>(i) + 1));
    step = checked(due(step.guard, patient, now).guard, patient, rest[i], now);
    EXPECT_EQ(step.next, (Next{Nothing{}})) << i;
    EXPECT_EQ(step.facts.size(), i == 2 ? 1u : 0u) << "broken again is told again";
  }
}

TEST(Guard, ACheckOfUnknownEndIsDoneAgainAndDoesNotCount) {
  const Step step = checked(checking(at(0s)), polled(0), unknown, at(1s));

  Guard again = checking(at(0s));
  again.last = Verdict::Unknown;
  EXPECT_EQ(step, (Step{again, Check{}}));
}

// It may be the check itself that ends whatever has the custody of it.
TEST(Guard, ACheckOfUnknownEndIsBrokenTheSecondTimeInARow) {
  const definition::Guard patient;
  Step step = start(at(0s));
  for (std::uint32_t broken = 1; broken <= broken_limit; ++broken) {
    const Time now = at(10s * broken);
    step = checked(step.guard, patient, unknown, now);
    EXPECT_EQ(step.next, (Next{Check{}})) << "once it is done again at once";
    step = checked(step.guard, patient, unknown, now);
    EXPECT_EQ(step.guard.broken_in_a_row, broken);
    if (broken < broken_limit) step = due(step.guard, patient, now + default_interval);
  }

  EXPECT_EQ(step.next, (Next{Failed{Reason::Broken}}));
}

TEST(Guard, KeepsWhatItsLastCheckSaid) {
  Step step = checked(checking(at(0s)), patient, exits(1, "two tests failed"), at(0s));
  EXPECT_EQ(step.guard.last_output, "two tests failed");
  EXPECT_EQ(step.guard.last, Verdict::NotYet);
  EXPECT_EQ(step.guard.checks, 1u);
  const Outcome long_one = exits(1, "." + std::string(limits::text_bytes, 'x'));
  step = checked(due(step.guard, patient, at(10s)).guard, patient, long_one, at(10s));
  EXPECT_EQ(step.guard.last_output, std::string(limits::text_bytes, 'x'));
  const Outcome not_started{.ended = Ended::Failed, .error = "no bash"};
  step = checked(due(step.guard, patient, at(20s)).guard, patient, not_started, at(20s));
  EXPECT_EQ(step.guard.last_output, "no bash");
  const std::string end(limits::text_bytes - 1, 'x');
  step =
      checked(due(step.guard, patient, at(30s)).guard, patient, exits(1, "\u00fc" + end), at(30s));
  EXPECT_EQ(step.guard.last_output, end) << "a character is kept whole or not at all";
}

// ── Wakes ──

TEST(Guard, AWakeChecksAtOnceAndTheNextPollStaysWhereItWas) {
  const definition::Guard definition = polled(1);
  Step step = wake(waiting(definition, at(0s)), definition, at(2s));
  EXPECT_EQ(step.next, (Next{Check{}}));

  step = checked(step.guard, definition, not_yet, at(3s));
  EXPECT_EQ(step.next, (Next{Nothing{}}));
  EXPECT_EQ(due_at(step.guard, definition), at(5s));
}

TEST(Guard, ChecksByAWakeAreNotCounted) {
  const definition::Guard definition = polled(1);
  Guard guard = waiting(definition, at(0s));
  for (int i = 0; i < 10; ++i) {
    const Step step = checked(wake(guard, definition, at(1s)).guard, definition, breaks, at(1s));
    EXPECT_EQ(step.next, (Next{Nothing{}})) << i;
    guard = step.guard;
  }
  guard = due(guard, definition, at(5s)).guard;
  EXPECT_EQ(checked(guard, definition, not_yet, at(5s)).next, (Next{Failed{Reason::UsedUp}}));

  guard = waiting(patient, at(0s));
  for (int i = 0; i < 5; ++i) {
    guard = checked(wake(guard, patient, at(1s)).guard, patient, breaks, at(1s)).guard;
  }
  EXPECT_FALSE(is_over(guard)) << "nor are broken ones";
}

TEST(Guard, AWakeDuringACheckCausesOneMoreAfterIt) {
  Step step = wake(checking(at(0s)), patient, at(1s));
  EXPECT_EQ(step.next, (Next{Nothing{}}));
  step = wake(step.guard, patient, at(1s));

  step = checked(step.guard, patient, not_yet, at(2s));
  EXPECT_EQ(step.next, (Next{Check{}}));
  step = checked(step.guard, patient, not_yet, at(3s));
  EXPECT_EQ(step.next, (Next{Nothing{}})) << "one, however many wakes there were";
  EXPECT_EQ(due_at(step.guard, patient), at(12s)) << "from the poll, not from the wake";
}

TEST(Guard, AWakeDuringTheLastCheckIsHeardBeforeItFails) {
  const Guard woken = wake(checking(at(0s)), polled(0), at(1s)).guard;
  const Step step = checked(woken, polled(0), not_yet, at(2s));
  EXPECT_EQ(step.next, (Next{Check{}}));

  EXPECT_EQ(checked(step.guard, polled(0), passes, at(3s)).next, (Next{Passed{}}));
  EXPECT_EQ(checked(step.guard, polled(0), not_yet, at(3s)).next, (Next{Failed{Reason::UsedUp}}));
}

TEST(Guard, ThatWasBrokenThreeTimesFailsUnlessTheWakeShowsOtherwise) {
  Guard guard = checking(at(0s));
  for (int i = 0; i < 2; ++i) {
    const Time now = at(10s * i);
    guard = due(checked(guard, patient, breaks, now).guard, patient, now + 10s).guard;
  }
  const Step step = checked(wake(guard, patient, at(20s)).guard, patient, breaks, at(20s));
  EXPECT_EQ(step.next, (Next{Check{}}));

  EXPECT_EQ(checked(step.guard, patient, breaks, at(21s)).next, (Next{Failed{Reason::Broken}}));
  const Step mended = checked(step.guard, patient, not_yet, at(21s));
  EXPECT_EQ(mended.next, (Next{Nothing{}}));
  EXPECT_EQ(due_at(mended.guard, patient), at(31s));
}

TEST(Guard, AWakeOfWhatIsOverChangesNothing) {
  const Guard passed = checked(checking(at(0s)), patient, passes, at(0s)).guard;
  const Guard failed = checked(checking(at(0s)), polled(0), not_yet, at(0s)).guard;

  for (const Guard& over : {passed, failed}) {
    EXPECT_EQ(wake(over, patient, at(1h)), (Step{over, Nothing{}}));
    EXPECT_EQ(due(over, limited(OnTimeout::Fail), at(1h)), (Step{over, Nothing{}}));
    EXPECT_EQ(checked(over, patient, passes, at(1h)), (Step{over, Nothing{}}));
  }
}

}  // namespace
}  // namespace reeve::guard
