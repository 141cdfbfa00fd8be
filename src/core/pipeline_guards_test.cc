#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// Guards of phases: before, after, and what people say about them.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;

Play guarded(definition::Guard guard, bool after = false) {
  definition::Phase build = shell("build");
  (after ? build.post : build.pre) = {"green"};
  Play play({build, shell("merge")});
  play.set.guards.set("green", std::move(guard));
  return play;
}

TEST(PipelineGuards, APhaseWaitsForItsGuardsOneAfterTheOther) {
  definition::Phase build = shell("build");
  build.pre = {"green", "free"};
  Play play({build});
  play.set.guards.set("green", definition::Guard{"check green"});
  play.set.guards.set("free", definition::Guard{"check free"});
  const PipelineId id = play.start();
  EXPECT_EQ(play.step_shell().text, "check green");
  EXPECT_EQ(play.step_shell().timeout, guard::check_limit);
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "check free");
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "run build");
  EXPECT_EQ(play.count("guard:passed"), 2u);
}

TEST(PipelineGuards, OneThatDoesNotPassBlocksAndIsPolled) {
  Play play = guarded({"check"});
  const PipelineId id = play.start();
  play.fails();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Guard, "build", 1, start}}));
  play.pass(10s - 1ms);
  EXPECT_TRUE(play.under_way().empty());
  play.pass(1ms);
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Guard, "build", 1, start}}));
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.step_shell().text, "run build");
  EXPECT_EQ(play.count("pipeline:blocked"), 1u);
  EXPECT_EQ(play.count("pipeline:unblocked"), 1u);
}

TEST(PipelineGuards, AnEventWakesItAtOnceAlsoDuringTheFirstCheck) {
  definition::Guard guard{"check"};
  guard.wake_on = {"ci:{bug}:green"};
  Play play = guarded(guard);
  play.start("fix", {{"bug", "42"}});
  const EffectId first = play.step();
  play.ask(EmitCustom{"ci:42:green", {}});
  play.ask(EmitCustom{"ci:43:green", {}});
  play.finish(first, exit_code(1));
  EXPECT_NE(play.step(), first);
  play.fails();
  EXPECT_TRUE(play.under_way().empty());
  play.ask(EmitCustom{"ci:42:green", {}});
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "run build");
  EXPECT_TRUE(play.state.subscriptions.by_subscriber.empty());
  play.ask(EmitCustom{"ci:42:green", {}});
  EXPECT_EQ(play.under_way().size(), 1u);
}

TEST(PipelineGuards, UnblockChecksItNow) {
  Play play = guarded({"check"});
  const PipelineId id = play.start();
  play.fails();
  EXPECT_TRUE(is<Ok>(play.ask(Unblock{id})));
  EXPECT_EQ(play.step_shell().text, "check");
}

TEST(PipelineGuards, OfAPhaseThatIsBeingLeftNoneIsChecked) {
  Play play = guarded({"check"});
  const PipelineId id = play.start();
  play.fails();
  play.pass(10s);
  const EffectId check = play.step();
  play.ask(Transition{id, "merge"});
  ASSERT_EQ(std::get<Blocked>(play.state_of(id)).reason, Reason::Guard);
  EXPECT_EQ(play.ask(Unblock{id}),
            refused(Why::NotAllowed, to_text(id) + " is on its way out of a phase"));
  play.finish(check, exit_code(143));
  EXPECT_EQ(play.step_shell().text, "run merge");
}

TEST(PipelineGuards, UsedUpItFailsThePhaseWhichMayBeTriedAgain) {
  definition::Guard guard{"check"};
  guard.retry = definition::Poll{1, 5s};
  Play play = guarded(guard);
  play.set.pipelines.edit("fix")->phases[0].retry = {1, 1min};
  const PipelineId id = play.start();
  play.fails();
  play.pass(5s);
  play.fails();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Backoff, "build", 1, at(5s)}}));
  play.pass(1min);
  EXPECT_EQ(play.step_shell().text, "check");
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
}

TEST(PipelineGuards, AFailedOneIsAskedAboutAndMayBeCheckedAgainOrPassed) {
  definition::Guard guard{"check"};
  guard.retry = definition::Poll{0, 5s};
  Play play = guarded(guard);
  const PipelineId id = play.start();
  play.fails("red");
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, start}}));
  const decision::Decision& asked = *play.state.decisions.decisions.find(play.question());
  EXPECT_EQ(asked.cause, decision::Cause::GuardFailed);
  EXPECT_EQ(asked.context, "red");
  play.decide(Choice::CheckAgain);
  EXPECT_EQ(play.step_shell().text, "check");
  play.fails();
  play.decide(Choice::Pass);
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.step_shell().text, "run build");
}

TEST(PipelineGuards, APersonsFailIsForGood) {
  definition::Guard guard{"check"};
  guard.retry = definition::Poll{0, 5s};
  Play play = guarded(guard);
  play.set.pipelines.edit("fix")->phases[0].retry = {0, 1min};
  const PipelineId id = play.start();
  play.fails();
  play.decide(Choice::Fail);
  EXPECT_FALSE(std::get<Failed>(play.state_of(id)).recoverable);
  EXPECT_EQ(play.count("pipeline:phase_failed"), 1u);
}

TEST(PipelineGuards, AQuestionAboutOneMayCancel) {
  definition::Guard guard{"check"};
  guard.retry = definition::Poll{0, 5s};
  Play play = guarded(guard);
  const PipelineId id = play.start();
  play.fails();
  play.decide(Choice::Cancel);
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineGuards, AtItsTimeoutSomebodyIsAskedAndItGoesOnBeingPolled) {
  definition::Guard guard{"check"};
  guard.timeout = 15s;
  Play play = guarded(guard);
  const PipelineId id = play.start();
  play.fails();
  play.pass(10s);
  play.fails();
  play.pass(5s);
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, at(15s)}}));
  EXPECT_EQ(play.count("guard:timeout"), 1u);
  play.pass(5s);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_TRUE(play.state.decisions.open_of.empty());
}

TEST(PipelineGuards, PassedByWordInTheMiddleOfACheckItWaitsForThatToEnd) {
  definition::Guard guard{"check"};
  guard.timeout = 5s;
  Play play = guarded(guard);
  const PipelineId id = play.start();
  play.fails();
  play.pass(5s);
  ASSERT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, at(5s)}}));
  play.pass(5s);
  const EffectId check = play.step();
  play.decide(Choice::Pass);
  EXPECT_EQ(play.all_under_way<Kill>().size(), 1u);
  EXPECT_EQ(play.all_under_way<Shell>().size(), 1u);
  play.finish(check, exit_code(143));
  EXPECT_EQ(play.step_shell().text, "run build");
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
}

// ── Its time is up in the middle of a check ──

TEST(PipelineGuards, ACheckThatHangsIsEndedAndThenSomebodyIsAskedWithWhatItSaid) {
  definition::Guard guard{"check"};
  guard.timeout = 5s;
  Play play = guarded(guard);
  const PipelineId id = play.start();
  const EffectId check = play.step();
  play.pass(5s);
  const std::vector<EffectId> kills = play.all_under_way<Kill>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_TRUE(play.state.decisions.open_of.empty()) << "its end was not observed yet";
  play.finish(kills.front());
  play.pass(1s);
  play.finish(check, exit_code(143, "hanging"));

  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, at(6s)}}));
  const decision::Decision& asked = *play.state.decisions.decisions.find(play.question());
  EXPECT_EQ(asked.cause, decision::Cause::GuardFailed);
  EXPECT_EQ(asked.context, "hanging");
  EXPECT_TRUE(asked.question.ends_with("timed out in the middle of a check")) << asked.question;
  EXPECT_EQ(play.count("guard:broken"), 0u);
  play.pass(10s);
  play.succeeds();  // polled on, and what it waited for is there
  EXPECT_EQ(play.step_shell().text, "run build");
  EXPECT_TRUE(play.state.decisions.open_of.empty());
}

TEST(PipelineGuards, ACheckThatCannotBeSeenToEndIsAskedAboutFirst) {
  definition::Guard guard{"check"};
  guard.timeout = 5s;
  for (const Choice choice : {Choice::LookAgain, Choice::ReleaseAnyway}) {
    Play play = guarded(guard);
    const PipelineId id = play.start();
    const EffectId check = play.step();
    play.pass(5s);
    play.finish(play.all_under_way<Kill>().front(), exit_code(1));
    EXPECT_EQ(play.state.decisions.decisions.find(play.question())->cause,
              decision::Cause::ProcessUnobserved);
    play.decide(choice);
    if (choice == Choice::LookAgain) {
      play.finish(play.all_under_way<Kill>().front(), exit_code(1));
      play.finish(check, exit_code(143));  // while that is asked again
    }
    EXPECT_EQ(play.state.decisions.decisions.find(play.question())->cause,
              decision::Cause::GuardFailed);
    EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, at(5s)}}));
  }
}

TEST(PipelineGuards, OneThatFailsInTheMiddleOfACheckIsAskedAboutWithWhatThatSaid) {
  definition::Guard guard{"check"};
  guard.timeout = 5s;
  guard.on_timeout = definition::OnTimeout::Fail;
  Play play = guarded(guard);
  play.start();
  const EffectId check = play.step();
  play.pass(5s);
  play.finish(check, exit_code(143, "hanging"));
  EXPECT_EQ(play.state.decisions.decisions.find(play.question())->context, "hanging");
}

TEST(PipelineGuards, OneThatPassesWhileItIsBeingEndedHasPassedUnlessItsTimeoutFails) {
  for (const auto how : {definition::OnTimeout::Escalate, definition::OnTimeout::Fail}) {
    definition::Guard guard{"check"};
    guard.timeout = 5s;
    guard.on_timeout = how;
    Play play = guarded(guard);
    play.set.pipelines.edit("fix")->on_fail = definition::Fail{};
    const PipelineId id = play.start();
    const EffectId check = play.step();
    play.pass(5s);
    play.finish(check, exit_code(0));
    EXPECT_EQ(std::holds_alternative<Failed>(play.state_of(id)),
              how == definition::OnTimeout::Fail);
  }
}

TEST(PipelineGuards, APostGuardIsCheckedWhenTheActionIsDone) {
  Play play = guarded({"check"}, true);
  const PipelineId id = play.start();
  EXPECT_EQ(play.step_shell().text, "run build");
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "check");
  play.fails();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Guard, "build", 1, start}}));
  play.pass(10s);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
}

TEST(PipelineGuards, AFailedPostGuardMayBePassedWithoutDoingItAllAgain) {
  definition::Guard guard{"check"};
  guard.retry = definition::Poll{0, 5s};
  Play play = guarded(guard, true);
  const PipelineId id = play.start();
  play.succeeds();
  play.fails();
  play.decide(Choice::Pass);
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
}

TEST(PipelineGuards, ACheckUnderWayIsEndedWithThePhase) {
  Play play = guarded({"check"});
  const PipelineId id = play.start();
  const EffectId check = play.step();
  play.ask(Cancel{id});
  EXPECT_EQ(play.all_under_way<Kill>().size(), 1u);
  play.finish(check, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineGuards, AnUnknownNameInAPatternFailsThePhase) {
  definition::Guard guard{"check"};
  guard.wake_on = {"ci:{nobody}:green"};
  Play play = guarded(guard);
  play.set.pipelines.edit("fix")->on_fail = definition::Fail{};
  const PipelineId id = play.start();
  EXPECT_EQ(std::get<Failed>(play.state_of(id)).error, "unknown name {nobody}");
}

// What is asked is about the guard, whether or not it was just being looked at.
TEST(PipelineGuards, OneThatFailsDuringACheckIsAskedAboutLikeAnyOther) {
  definition::Guard green{"check"};
  green.timeout = 15s;
  green.on_timeout = definition::OnTimeout::Fail;
  Play play = guarded(green);
  const PipelineId id = play.start();
  const EffectId check = play.step();
  play.pass(15s);
  play.finish(check, exit_code(143));
  const decision::Decision& asked = *play.state.decisions.decisions.find(play.question());
  EXPECT_EQ(asked.cause, decision::Cause::GuardFailed);
  play.decide(Choice::Pass);
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.step_shell().text, "run build");
}

TEST(PipelineGuards, WhatSomebodyLetPassIsNotCheckedAgainAfterAWait) {
  definition::Guard green{"check"};
  green.retry = definition::Poll{0, 10s};
  Play play = guarded(green);
  play.set.pipelines.edit("fix")->phases[0].locks = {"main"};
  lock::Acquire acquire;
  acquire.names = {{default_project, "main"}};
  acquire.holder = {default_project, "ana", {}};
  acquire.timeout = 24h;
  play.ask(acquire);
  const PipelineId id = play.start();
  play.fails();
  play.decide(Choice::Pass);
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Lock, "build", 1, start}}));
  play.ask(lock::Release{{default_project, "main"}, {default_project, "ana", {}}, std::nullopt});
  EXPECT_EQ(play.step_shell().text, "run build");
}

TEST(PipelineGuards, RetryIsAWordAboutOneThatFailedToo) {
  for (const bool after : {false, true}) {
    definition::Guard guard{"check"};
    guard.retry = definition::Poll{0, 1s};
    Play play = guarded(guard, after);
    const PipelineId id = play.start();
    if (after) play.succeeds();
    play.fails();
    ASSERT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, start}}));
    EXPECT_TRUE(is<Ok>(play.ask(Retry{id})));
    EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
    EXPECT_TRUE(play.state.decisions.open_of.empty());
    EXPECT_EQ(play.step_shell().text, after ? "run build" : "check");
  }
}

TEST(PipelineGuards, OneThatIsAskedAboutAndHasNotFailedIsNotRetried) {
  definition::Guard guard{"check"};
  guard.timeout = 5s;
  guard.on_timeout = definition::OnTimeout::Escalate;
  Play play = guarded(guard);
  const PipelineId id = play.start();
  play.fails();
  play.pass(5s);
  ASSERT_EQ(std::get<Blocked>(play.state_of(id)).reason, Reason::Decision);
  EXPECT_EQ(play.ask(Retry{id}), refused(Why::NotAllowed, to_text(id) + " has not failed"));
}

}  // namespace
}  // namespace reeve::pipeline
