#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// The ways out of a phase that were not planned, and what people say to a pipeline.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;

// By hand, for thousands of steps: the invariants look at all there is, after each.
EffectId apply_quietly(Play& play, const Input& input) {
  Applied applied = reeve::apply(std::move(play.state), input, play.stamp);
  play.state = std::move(applied.state);
  return applied.effects.empty() ? EffectId{} : applied.effects.front().id;
}

EffectId the_kill(const Play& play) {
  const std::vector<EffectId> kills = play.all_under_way<Kill>();
  EXPECT_EQ(kills.size(), 1u);
  return kills.empty() ? EffectId{} : kills.front();
}

// ── Cancel ──

TEST(PipelineExit, CancellingEndsTheProcessAndWaitsUntilThatWasObserved) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  const EffectId step = play.step();

  play.ask(Cancel{id});
  EXPECT_EQ(play.under_way_as<Kill>(the_kill(play)).target, (decltype(Kill::target){step}));
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.finish(the_kill(play));
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.finish(step, exit_code(143));

  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
  EXPECT_EQ(play.names().back(), "pipeline:cancelled");
  EXPECT_EQ(play.count("pipeline:phase_failed"), 0u);
}

TEST(PipelineExit, OneKillIsEnough) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.ask(Cancel{id});
  play.ask(Cancel{id});
  EXPECT_FALSE(play.last.changed);
  EXPECT_EQ(play.all_under_way<Kill>().size(), 1u);
}

TEST(PipelineExit, OnCancelRunsAfterTheEndWasObserved) {
  definition::Pipeline fix = in_phases({shell("build"), shell("cleanup"), shell("more")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"cleanup", 1}}));
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

// Whoever cancelled it waits for its end.
TEST(PipelineExit, WhatIsBeingCancelledIsNeitherPausedNorSentElsewhere) {
  definition::Pipeline fix = in_phases({shell("build"), shell("cleanup"), shell("more")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  EXPECT_EQ(as<Refused>(play.ask(Pause{id})),
            (Refused{Why::NotAllowed, to_text(id) + " is being cancelled"}));
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"cleanup", 1}}));
  const Refused cleaning{Why::NotAllowed, to_text(id) + " is cleaning up"};
  EXPECT_EQ(as<Refused>(play.ask(Pause{id})), cleaning);
  EXPECT_EQ(as<Refused>(play.ask(Transition{id, "more"})), cleaning);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineExit, OnCancelThatFailsIsCancelledAllTheSame) {
  definition::Pipeline fix = in_phases({shell("build"), shell("cleanup")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  play.finish(step, exit_code(143));
  play.fails();
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineExit, ASecondCancelLeavesOnCancelToo) {
  definition::Pipeline fix = in_phases({shell("build"), shell("cleanup")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  play.finish(step, exit_code(143));
  const EffectId cleanup = play.step();
  play.ask(Cancel{id});
  play.finish(cleanup, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineExit, CancellingATerminalPipelineIsNothing) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.succeeds();
  play.ask(Cancel{id});
  EXPECT_FALSE(play.last.changed);
  EXPECT_EQ(play.state_of(id), Status{Done{}});
}

TEST(PipelineExit, CancellingOneThatWaitsIsDoneAtOnce) {
  definition::Phase build = shell("build");
  build.retry = {1, 30s};
  Play play({build});
  const PipelineId waits = play.start();
  play.fails();
  play.ask(Cancel{waits});
  EXPECT_EQ(play.state_of(waits), Status{Cancelled{}});

  build.retry = {};
  play.set.pipelines.set("fix", in_phases({build}));
  play.load();
  const PipelineId asks = play.start();
  play.fails();
  play.ask(Cancel{asks});
  EXPECT_EQ(play.state_of(asks), Status{Cancelled{}});
  EXPECT_TRUE(play.state.decisions.open_of.empty());
  EXPECT_EQ(play.count("decision:retired"), 1u);
}

TEST(PipelineExit, AWorktreeThatIsBeingMadeIsWaitedForNotKilled) {
  definition::Pipeline fix = in_phases({shell("build")});
  fix.workspace = definition::Workspace{true, "b", "main", ""};
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId add = play.under_way().front();
  play.ask(Cancel{id});
  EXPECT_TRUE(play.all_under_way<Kill>().empty());
  play.finish(add, with_values({{"path", "/w"}}));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
  EXPECT_EQ(play.of(id).workspace, "/w");
}

// ── What cannot be seen dead ──

TEST(PipelineExit, WhatCannotBeSeenDeadIsAskedAbout) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.ask(Cancel{id});
  play.finish(the_kill(play), exit_code(1));
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, start}}));

  play.decide(Choice::LookAgain);
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.finish(the_kill(play), exit_code(1));
  play.decide(Choice::ReleaseAnyway);
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineExit, SeenDeadAfterAllTheQuestionRetires) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  play.finish(the_kill(play), exit_code(1));
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
  EXPECT_TRUE(play.state.decisions.open_of.empty());
}

// ── Transition ──

TEST(PipelineExit, ATransitionLeavesTheStepObservedAndGoesThere) {
  Play play({shell("build"), shell("test"), shell("merge")});
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Transition{id, "merge"});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.ask(Transition{id, "test"}),
            refused(Why::NotAllowed, to_text(id) + " is on its way out of a phase"));
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
  EXPECT_EQ(as<Refused>(play.ask(Transition{id, "nowhere"})), (Refused{Why::NotFound, "nowhere"}));
}

TEST(PipelineExit, CancellingCountsOverEveryOtherReasonToLeave) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Transition{id, "merge"});
  play.ask(Cancel{id});
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

// ── Retry, resume ──

TEST(PipelineExit, RetryReturnsToThePhaseThatFailed) {
  definition::Phase merge = shell("merge");
  merge.on_fail = definition::Fail{};
  Play play({shell("build"), merge});
  const PipelineId id = play.start();
  EXPECT_EQ(play.ask(Retry{id, true}), refused(Why::NotAllowed, to_text(id) + " has not failed"));
  play.succeeds();
  play.fails();
  EXPECT_EQ(play.state.pipelines.open, 0u);
  EXPECT_TRUE(is<Ok>(play.ask(Retry{id, false})));
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 2}}));
  EXPECT_EQ(play.state.pipelines.open, 1u);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Done{}});
  EXPECT_EQ(play.ask(Retry{id, true}), refused(Why::NotAllowed, to_text(id) + " has ended"));
}

TEST(PipelineExit, WhatAPersonFailedIsRetriedOnlyByForce) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.fails();
  play.decide(Choice::Fail);
  EXPECT_EQ(play.ask(Retry{id, false}),
            refused(Why::NotAllowed, to_text(id) + " is not recoverable"));
  EXPECT_EQ(play.ask(ResumeFrom{id, "build", false}),
            refused(Why::NotAllowed, to_text(id) + " is not recoverable"));
  EXPECT_TRUE(is<Ok>(play.ask(Retry{id, true})));
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
}

TEST(PipelineExit, AFailedOneMayGoOnFromAnotherPhase) {
  definition::Phase merge = shell("merge");
  merge.on_fail = definition::Fail{};
  Play play({shell("build"), merge});
  const PipelineId id = play.start();
  play.succeeds();
  play.fails();
  EXPECT_EQ(as<Refused>(play.ask(ResumeFrom{id, "nowhere", false})),
            (Refused{Why::NotFound, "nowhere"}));
  play.ask(ResumeFrom{id, "build", false});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
}

TEST(PipelineExit, OneThatHasNotFailedIsNotSaidToHaveEnded) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  const reeve::Reply not_failed = refused(Why::NotAllowed, to_text(id) + " has not failed");
  EXPECT_EQ(play.ask(ResumeFrom{id, "merge", true}), not_failed);
  EXPECT_EQ(play.ask(Retry{id, true}), not_failed);
  play.succeeds();
  play.succeeds();
  EXPECT_EQ(play.ask(ResumeFrom{id, "merge", true}),
            refused(Why::NotAllowed, to_text(id) + " has ended"));
}

// Who sends it there has seen how often it was.
TEST(PipelineExit, APersonMaySendItToAPhaseWhoseCircuitIsOpen) {
  definition::Phase build = shell("build");
  build.next = "build";
  build.max_visits = 2;
  build.on_fail = definition::Fail{};
  Play play({build});
  const PipelineId id = play.start();
  play.succeeds();
  play.succeeds();
  ASSERT_EQ(play.state_of(id),
            (Status{Failed{"build", 1, "circuit open: entered too often", true}}));

  play.ask(ResumeFrom{id, "build", false});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}})) << "it is counted anew";

  const EffectId step = play.step();
  play.ask(Transition{id, "build"});
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_EQ(*play.of(id).visits.find("build"), 1u);
}

TEST(PipelineExit, ARetryDoesNotWaitForTheBackoffNorForTheAnswer) {
  definition::Phase build = shell("build");
  build.retry = {1, 1h};
  Play play({build});
  const PipelineId id = play.start();
  play.fails();
  play.ask(Retry{id, false});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
  play.fails();
  play.pass(1h);
  play.fails();
  EXPECT_EQ(play.state.decisions.open_of.size(), 1u);
  play.ask(Retry{id, false});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 4}}));
  EXPECT_TRUE(play.state.decisions.open_of.empty());
}

TEST(PipelineExit, UnblockDoesNotWaitButForAnswersAndLocks) {
  definition::Phase build = shell("build");
  build.retry = {1, 1h};
  Play play({build});
  const PipelineId id = play.start();
  EXPECT_EQ(play.ask(Unblock{id}), refused(Why::NotAllowed, to_text(id) + " is not blocked"));
  play.fails();
  EXPECT_TRUE(is<Ok>(play.ask(Unblock{id})));
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
  play.fails();
  EXPECT_EQ(play.ask(Unblock{id}), refused(Why::NotAllowed, to_text(id) + " waits for an answer"));
}

// ── Pause ──

TEST(PipelineExit, APausedPipelineFinishesItsStepAndEntersNoOther) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  play.ask(Pause{id});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.ask(Pause{id});
  EXPECT_FALSE(play.last.changed);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Paused, "merge", 1, start}}));
  EXPECT_TRUE(play.under_way().empty());
  play.ask(Continue{id});
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
  play.succeeds();
  EXPECT_EQ(play.ask(Pause{id}), refused(Why::NotAllowed, to_text(id) + " has ended"));
}

TEST(PipelineExit, APauseBeforeTheActionWithdrawsThePhase) {
  definition::Phase build = shell("build");
  build.pre = {"green"};
  Play play({build});
  play.set.guards.set("green", definition::Guard{"true"});
  const PipelineId id = play.start();
  const EffectId check = play.step();
  play.ask(Pause{id});
  play.finish(check, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Paused, "build", 1, start}}));
  play.ask(Unblock{id});
  EXPECT_EQ(play.step_shell().label, "guard green");
}

TEST(PipelineExit, APauseThatIsTakenBackBeforeItCameIsNone) {
  definition::Phase build = shell("build");
  build.pre = {"green"};
  Play play({build});
  play.set.guards.set("green", definition::Guard{"true"});
  const PipelineId id = play.start();
  const EffectId check = play.step();
  play.ask(Pause{id});
  play.ask(Continue{id});
  play.finish(check, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.step_shell().label, "guard green");
}

TEST(PipelineExit, WhatACancelledStepPublishesIsNoWorkspace) {
  definition::Pipeline fix = in_phases({shell("build"), shell("cleanup")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  play.finish(step, with_values({{"path", "/elsewhere"}}));
  EXPECT_EQ(play.of(id).workspace, "");
  EXPECT_EQ(play.step_shell().directory, "/home/ana/shop");
}

TEST(PipelineExit, APausedPipelineCanBeCancelledAndCleansUp) {
  definition::Pipeline fix = in_phases({shell("build"), shell("cleanup")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  const PipelineId id = play.start();
  play.ask(Pause{id});
  play.succeeds();
  play.ask(Cancel{id});
  EXPECT_EQ(play.step_shell().text, "run cleanup");
  EXPECT_EQ(play.ask(Pause{id}), refused(Why::NotAllowed, to_text(id) + " is cleaning up"));
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

// ── The end ──

TEST(PipelineExit, TheRunbookIsKeptWhileOneMayStillNeedIt) {
  definition::Phase build = shell("build");
  build.on_fail = definition::Fail{};
  Play play({build});
  const PipelineId failed = play.start();
  play.set.pipelines.set("fix", in_phases({shell("new")}));
  play.load();
  play.fails();
  EXPECT_EQ(play.state.definitions.sets.size(), 2u);
  play.ask(Retry{failed, false});
  EXPECT_EQ(play.step_shell().text, "run build");
  play.succeeds();
  EXPECT_EQ(play.state.definitions.sets.size(), 1u);
}

TEST(PipelineExit, WhatEndedIsForgottenAfterADayWithAllItLeft) {
  definition::Phase build = shell("build");
  build.on_fail = definition::Fail{};
  Play play({build});
  const PipelineId id = play.start();
  play.ask(AddCheckpoint{id, "half"});
  play.ends(with_values({{"commit", "a1"}}));
  play.start();
  play.fails();
  play.pass(limits::finished_kept_for - 1ms);
  EXPECT_EQ(play.state.pipelines.pipelines.size(), 2u);
  play.pass(1ms);
  EXPECT_EQ(play.state.pipelines, pipeline::Table{});
}

TEST(PipelineExit, OnlyTheLastThousandThatEndedAreKept) {
  Play play({shell("build")});
  const PipelineId first = play.start();
  play.succeeds();
  const auto quietly = [&](const Input& input) { return apply_quietly(play, input); };
  const Request again{default_project, {}, true, "", pipeline::Start{"fix", {}, {}}};
  for (std::size_t i = 0; i < limits::finished_kept; ++i) {
    EXPECT_NE(play.state.pipelines.pipelines.find(first), nullptr);
    quietly(EffectEnded{quietly(again), exit_code(0)});
    quietly(Tick{});
  }
  EXPECT_EQ(play.state.pipelines.pipelines.find(first), nullptr);
  EXPECT_EQ(play.state.pipelines.pipelines.size(), limits::finished_kept);
  EXPECT_EQ(check_state(play.state), Violations{});
}

TEST(PipelineExit, OfThoseThatEndInOneMomentTheLastIsNotTheOldest) {
  Play play({shell("build")});
  const PipelineId first = play.start();
  const EffectId last = play.step();
  const auto quietly = [&](const Input& input) { return apply_quietly(play, input); };
  const Request again{default_project, {}, true, "", pipeline::Start{"fix", {}, {}}};
  for (std::size_t i = 0; i < limits::finished_kept; ++i) {
    quietly(EffectEnded{quietly(again), exit_code(0)});
  }
  const PipelineId second = play.state.pipelines.ended.by_age.first()->id;
  quietly(EffectEnded{last, exit_code(0)});
  EXPECT_EQ(play.state.pipelines.ended.by_age.first()->id, first) << "by its number";
  EXPECT_EQ(check_state(play.state), Violations{});
  quietly(Tick{});
  EXPECT_TRUE(play.state.pipelines.pipelines.contains(first));
  EXPECT_FALSE(play.state.pipelines.pipelines.contains(second));
  EXPECT_EQ(play.state.pipelines.pipelines.size(), limits::finished_kept);
  EXPECT_EQ(check_state(play.state), Violations{});
}

// A pipeline that failed and left more outputs than one step forgets.
struct LongStory : Play {
  LongStory() : Play({shell("build"), shell("merge")}) {
    set.pipelines.edit("fix")->on_fail = definition::Fail{};
    set.pipelines.edit("fix")->inputs = {"after"};
    set.pipelines.edit("fix")->defaults = {{"after", ""}};
    set.pipelines.edit("fix")->after = {"{after}"};
    id = start();
    definition::Map values;
    for (int i = 0; i < 900; ++i) values.emplace_back("k" + std::to_string(i), "v");
    ends(with_values(values));
    fails();
  }
  // No tick comes by.
  void wait(Duration duration) {
    stamp.now += duration;
    stamp.wall += duration;
  }

  PipelineId id;
};

TEST(PipelineExit, OneThatIsBeingForgottenIsNotKnownAnyMore) {
  const std::vector<Command> commands = {
      Retry{{}, true},
      ResumeFrom{{}, "merge", false},
      Cancel{},
      Transition{{}, "merge"},
      Unblock{},
      AddCheckpoint{{}, "more"},
      Pause{},
      Continue{},
      Finish{},
      RemoveWorkspace{},
  };
  for (const Command& command : commands) {
    LongStory play;
    Command about = command;
    std::visit(
        [&](auto& each) {
          if constexpr (requires { each.pipeline; }) each.pipeline = play.id;
        },
        about);
    play.wait(limits::finished_kept_for);
    EXPECT_EQ(play.ask(about), refused(Why::NotFound, to_text(play.id)));
    ASSERT_NE(play.state.pipelines.pipelines.find(play.id), nullptr) << "a part of it is left";
    play.pass(0s);
    EXPECT_EQ(play.state.pipelines, pipeline::Table{});
  }
}

TEST(PipelineExit, InTheLastMomentOfItsDayItIsStillKnown) {
  LongStory play;
  play.wait(limits::finished_kept_for - 1ms);
  EXPECT_TRUE(is<Started>(play.try_start("fix", {{"after", to_text(play.id)}})));
}

TEST(PipelineExit, NobodyCanWaitForOneThatIsBeingForgotten) {
  LongStory play;
  play.wait(limits::finished_kept_for);
  EXPECT_EQ(play.try_start("fix", {{"after", to_text(play.id)}}),
            refused(Why::NotFound, to_text(play.id)));
}

TEST(PipelineExit, OneThatOthersWaitForIsKnownHoweverLongItTakes) {
  LongStory play;
  play.start("fix", {{"after", to_text(play.id)}});
  play.wait(limits::finished_kept_for);
  EXPECT_TRUE(is<Ok>(play.ask(Retry{play.id})));
  EXPECT_EQ(play.state.pipelines.outputs.size(), 900u);
}

TEST(PipelineExit, ThoseThatOthersWaitForTakeNoRoomFromTheLastThousand) {
  LongStory play;
  const auto quietly = [&](const Input& input) { return apply_quietly(play, input); };
  const auto run = [&](definition::Map inputs) {
    return Request{default_project, {}, true, "", pipeline::Start{"fix", std::move(inputs), {}}};
  };
  std::vector<PipelineId> dependants;
  for (std::size_t i = 0; i < limits::touched_a_step; ++i) {
    const EffectId step = quietly(run({}));
    const PipelineId failed = play.state.pipelines.pipelines.last()->first;
    quietly(run({{"after", to_text(failed)}}));
    dependants.push_back(play.state.pipelines.pipelines.last()->first);
    quietly(EffectEnded{step, exit_code(1)});
  }
  const std::size_t waiting = 2 * limits::touched_a_step;  // and whom they wait for
  for (std::size_t i = 0; i < limits::finished_kept + 10; ++i) {
    quietly(EffectEnded{quietly(run({})), exit_code(1)});
    for (int tick = 0; tick < 5; ++tick) quietly(Tick{});
  }
  EXPECT_EQ(play.state.pipelines.pipelines.size(), limits::finished_kept + waiting);
  EXPECT_EQ(check_state(play.state), Violations{});

  for (const PipelineId each : dependants) {
    quietly(Request{default_project, {}, true, "", Cancel{each}});
  }
  for (std::size_t i = 0; i < 2 * waiting; ++i) quietly(Tick{});
  EXPECT_EQ(play.state.pipelines.pipelines.size(), limits::finished_kept);
  EXPECT_EQ(check_state(play.state), Violations{});
}

}  // namespace
}  // namespace reeve::pipeline
