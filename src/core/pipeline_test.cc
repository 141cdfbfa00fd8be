#include "core/pipeline.h"

#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// The way of a pipeline through its phases.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;
using Names = std::vector<std::string>;

TEST(Pipeline, RunsItsPhasesInOrderAndIsDone) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.step_shell().text, "run build");

  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
  play.succeeds();

  EXPECT_EQ(play.state_of(id), Status{Done{}});
  EXPECT_EQ(play.names(),
            (Names{"pipeline:started", "pipeline:phase", "pipeline:phase", "pipeline:complete"}));
  EXPECT_TRUE(play.under_way().empty());
}

TEST(Pipeline, EveryEventIsNamedAfterIt) {
  const PipelineId id{7};
  const auto name = [&](Event event) { return pipeline::name_of(event); };
  const std::string subject = to_text(id);
  EXPECT_EQ(name(WasStarted{id, "fix"}), (EventName{"pipeline", subject, "started"}));
  EXPECT_EQ(name(EnteredPhase{id, "fix", "merge"}),
            (EventName{"pipeline", subject, "phase", "merge"}));
  EXPECT_EQ(name(FailedPhase{id, "merge", 1, ""}),
            (EventName{"pipeline", subject, "phase_failed", "merge"}));
  EXPECT_EQ(name(WasBlocked{id, "merge", Reason::Lock}),
            (EventName{"pipeline", subject, "blocked", "merge"}));
  EXPECT_EQ(name(WasUnblocked{id, "merge"}),
            (EventName{"pipeline", subject, "unblocked", "merge"}));
  EXPECT_EQ(name(WasRetried{id, "merge", 2}), (EventName{"pipeline", subject, "retry", "merge"}));
  EXPECT_EQ(name(WasCompleted{id, "fix"}), (EventName{"pipeline", subject, "complete"}));
  EXPECT_EQ(name(HasFailed{id, "fix", "merge", ""}),
            (EventName{"pipeline", subject, "failed", "merge"}));
  EXPECT_EQ(name(WasCancelled{id, "fix"}), (EventName{"pipeline", subject, "cancelled"}));
  EXPECT_EQ(name(MadeCheckpoint{id, "merge", ""}),
            (EventName{"pipeline", subject, "checkpoint", "merge"}));
  EXPECT_EQ(name(WorkspaceRemoved{id, "/ws"}),
            (EventName{"pipeline", subject, "workspace_removed"}));
  EXPECT_EQ(name(WorkspaceKept{id, "/ws", ""}), (EventName{"pipeline", subject, "workspace_kept"}));
  EXPECT_EQ(name(guard::Event{id, "merge", "green", guard::IsWaiting{}}).noun, "guard");
  EXPECT_EQ(name(strategy::Event{id, "merge", "s", strategy::WasTried{}}).noun, "strategy");
}

// ── Values ──

TEST(Pipeline, AStepGetsValuesBesideItsTextAndTheEnvironmentOfItsCaller) {
  definition::Phase build = shell("build");
  build.env = {{"CI", "{bug}"}};
  build.cwd = "{bug}/src";
  build.timeout = 5min;
  build.strict = true;
  definition::Pipeline fix = in_phases({build});
  fix.inputs = {"bug", "branch"};
  fix.defaults = {{"branch", "fix/{bug}"}};
  Play play(fix);

  const PipelineId id = play.start("fix", {{"bug", "42"}});

  const Shell step = play.step_shell();
  EXPECT_EQ(step.text, "run build");
  EXPECT_EQ(step.variables,
            (Variables{{"bug", "42"},
                       {"branch", "fix/42"},
                       {"id", to_text(id)},
                       {"name", "fix"},
                       {"phase", "build"},
                       {"attempt", "1"},
                       {"project", "default"}}));
  EXPECT_EQ(step.environment,
            (Variables{{"HOME", "/home/ana"},
                       {"CI", "42"},
                       {"REEVE_PROJECT", "default"},
                       {"REEVE_PIPELINE", to_text(id)},
                       {"REEVE_HOLDER", to_text(id)},
                       {"REEVE_PHASE", "build"},
                       {"REEVE_ATTEMPT", "1"}}));
  EXPECT_EQ(step.directory, "/home/ana/shop/42/src");
  EXPECT_EQ(step.timeout, 5min);
  EXPECT_EQ(step.label, "build#1");
  EXPECT_TRUE(step.strict);
  EXPECT_EQ(step.pipeline, id);
}

TEST(Pipeline, WhatAPhasePublishesLaterOnesRead) {
  definition::Phase merge = shell("merge");
  merge.cwd = "/tmp/{build.commit}";
  Play play({shell("build"), merge});
  play.start();

  play.ends(with_values({{"commit", "a1b2"}}));

  EXPECT_EQ(play.step_shell().directory, "/tmp/a1b2");
  EXPECT_EQ(play.step_shell().variables.back(),
            (std::pair<std::string, std::string>{"build.commit", "a1b2"}));
}

TEST(Pipeline, AnUnknownNameFailsThePhaseAndSaysWhich) {
  definition::Phase build = shell("build");
  build.cwd = "{nobody}";
  build.on_fail = definition::Fail{};
  Play play({build});

  const PipelineId id = play.start();

  EXPECT_EQ(play.state_of(id), (Status{Failed{"build", 1, "unknown name {nobody}", true}}));
  EXPECT_TRUE(play.under_way().empty());
}

TEST(Pipeline, AnOutputThatIsNoValueFailsThePhase) {
  definition::Phase build = shell("build");
  build.on_fail = definition::Fail{};
  Play play({build});
  const PipelineId id = play.start();

  play.ends(with_values({{"log", std::string(limits::value_bytes + 1, 'x')}}));

  EXPECT_EQ(std::get<Failed>(play.state_of(id)).error, "output log is too large, or has a NUL");
  EXPECT_TRUE(play.state.pipelines.outputs.empty());
}

// ── Refusals ──

TEST(Pipeline, IsNotBegunWithoutWhatItNeeds) {
  definition::Pipeline fix = in_phases({shell("build")});
  fix.inputs = {"bug", "after"};
  fix.defaults = {{"after", ""}};
  fix.after = {"{after}"};
  Play play(fix);
  play.set.pipelines.set("empty", {});
  definition::Pipeline lost = in_phases({shell("build")});
  lost.inputs = {"bug"};
  lost.defaults = {{"bug", "of {nobody}"}};
  play.set.pipelines.set("lost", lost);
  definition::Pipeline waits = in_phases({shell("build")});
  waits.after = {"{somebody}"};
  play.set.pipelines.set("waits", waits);
  play.load();
  const State before = play.state;

  const auto refusal = [&](const std::string& name, definition::Map inputs) {
    return as<Refused>(play.try_start(name, std::move(inputs)));
  };
  EXPECT_EQ(refusal("nothing", {}), (Refused{Why::NotFound, "nothing"}));
  EXPECT_EQ(refusal("empty", {}), (Refused{Why::NotFound, "empty"}));
  EXPECT_EQ(refusal("fix", {}), (Refused{Why::BadValue, "bug"}));
  EXPECT_EQ(refusal("fix", {{"bug", std::string(limits::value_bytes + 1, 'x')}}),
            (Refused{Why::BadValue, "bug"}));
  EXPECT_EQ(refusal("fix", {{"bug", std::string("a\0b", 3)}}), (Refused{Why::BadValue, "bug"}));
  EXPECT_EQ(refusal("fix", {{"bug", "1"}, {"after", "pipe-zzzzzz"}}),
            (Refused{Why::NotFound, "pipe-zzzzzz"}));
  EXPECT_EQ(refusal("fix", {{"bug", "1"}, {"after", "nonsense"}}),
            (Refused{Why::NotFound, "nonsense"}));
  EXPECT_EQ(refusal("lost", {}), (Refused{Why::BadValue, "nobody"}));
  EXPECT_EQ(refusal("waits", {}), (Refused{Why::BadValue, "somebody"}));
  Turn turn(play.state, play.stamp);
  const auto begun = begin(turn, {{default_project, "gone"}, "fix", {}, {}, ByClient{}});
  EXPECT_EQ(std::get<Refused>(begun), (Refused{Why::NotFound, "runbook"}));
  EXPECT_EQ(play.state, before);
}

TEST(Pipeline, AnInputHidesABuiltInNameAlsoInTheDefaultsThatFollow) {
  definition::Pipeline fix = in_phases({shell("build")});
  fix.inputs = {"name", "bug", "branch"};
  fix.defaults = {{"name", "ana"}, {"bug", R"({"id": 42})"}, {"branch", "{name}/{bug.id}"}};
  Play play(fix);
  EXPECT_EQ(play.of(play.start()).origin->inputs,
            (definition::Map{{"name", "ana"}, {"bug", R"({"id": 42})"}, {"branch", "ana/42"}}));
  EXPECT_EQ(play.of(play.start("fix", {{"name", "bob"}})).origin->inputs,
            (definition::Map{{"name", "bob"}, {"bug", R"({"id": 42})"}, {"branch", "bob/42"}}));
}

TEST(Pipeline, WithoutARunbookThereIsNone) {
  World world;
  EXPECT_EQ(world.ask(pipeline::Start{"fix", {}, {}}), refused(Why::NotFound, "fix"));
}

TEST(Pipeline, OneThatHasEndedGoesToNoOtherPhase) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.succeeds();
  EXPECT_EQ(play.ask(Transition{id, "build"}),
            refused(Why::NotAllowed, to_text(id) + " has ended"));
}

TEST(Pipeline, NothingIsDoneAboutOneThatDoesNotExist) {
  Play play({shell("build")});
  play.load();
  const PipelineId none{99};
  for (const pipeline::Command& command : {pipeline::Command{Cancel{none}},
                                           pipeline::Command{Retry{none, true}},
                                           pipeline::Command{ResumeFrom{none, "build", true}},
                                           pipeline::Command{Transition{none, "build"}},
                                           pipeline::Command{Unblock{none}},
                                           pipeline::Command{AddCheckpoint{none, "x"}},
                                           pipeline::Command{Pause{none}},
                                           pipeline::Command{Continue{none}},
                                           pipeline::Command{Finish{none, {}, {}, {}}}}) {
    EXPECT_EQ(as<Refused>(play.ask(command)), (Refused{Why::NotFound, to_text(none)}));
    EXPECT_FALSE(play.last.changed);
  }
}

// ── Failing ──

TEST(Pipeline, AFailedPhaseAsksAndTheAnswerGoesOn) {
  Play play({shell("build"), shell("merge")});
  const PipelineId id = play.start();

  play.fails("no disk\n");

  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, start}}));
  EXPECT_EQ(play.state.decisions.decisions.find(play.question())->context, "no disk\n");
  play.decide(Choice::Retry);
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
  play.fails();
  play.decide(Choice::Skip, "go on without");
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
  EXPECT_EQ(*play.state.pipelines.outputs.find({id, "build", "answer"}), "go on without");
  play.fails();
  play.decide(Choice::Fail);
  EXPECT_EQ(play.state_of(id), (Status{Failed{"merge", 1, "exit code 1", false}}));
}

TEST(Pipeline, ADecisionMayCancel) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.fails();
  play.decide(Choice::Cancel);
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(Pipeline, RetriesAfterTheDelayAndThenAsks) {
  definition::Phase build = shell("build");
  build.retry = {1, 30s};
  Play play({build});
  const PipelineId id = play.start();

  play.fails();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Backoff, "build", 1, start}}));
  play.pass(30s - 1ms);
  EXPECT_TRUE(play.under_way().empty());
  play.pass(1ms);
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
  EXPECT_EQ(play.step_shell().label, "build#2");
  play.fails();

  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 2, at(30s)}}));
  EXPECT_EQ(play.count("pipeline:retry"), 1u);
  EXPECT_EQ(play.count("pipeline:phase"), 1u);
}

TEST(Pipeline, ACleanupRunsAndThePipelineStillEndsFailed) {
  definition::Phase build = shell("build");
  build.on_fail = definition::GoTo{"cleanup"};
  Play play({build, shell("cleanup"), shell("after")});
  const PipelineId id = play.start();

  play.fails();
  EXPECT_EQ(play.state_of(id), (Status{Running{"cleanup", 1}}));
  play.succeeds();

  EXPECT_EQ(play.state_of(id), (Status{Failed{"build", 1, "exit code 1", true}}));
  const Pipeline& pipeline = *play.state.pipelines.pipelines.find(id);
  EXPECT_EQ(*pipeline.left.find("build"), false);
  EXPECT_EQ(*pipeline.left.find("cleanup"), true);
  EXPECT_FALSE(pipeline.left.contains("after"));
  play.ask(Retry{id, false});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
}

TEST(Pipeline, ACleanupThatFailsChangesNothing) {
  definition::Phase build = shell("build");
  build.on_fail = definition::GoTo{"cleanup"};
  Play play({build, shell("cleanup")});
  const PipelineId id = play.start();
  play.ends(exit_code(3));
  play.ends(exit_code(4));
  EXPECT_EQ(play.state_of(id), (Status{Failed{"build", 1, "exit code 3", true}}));
}

TEST(Pipeline, ARecoveryGoesOn) {
  definition::Phase build = shell("build");
  build.on_fail = definition::GoTo{"mend"};
  definition::Phase done = shell("done");
  done.ends = true;
  definition::Phase mend = shell("mend");
  mend.next = "build";
  Play play({build, done, mend});
  const PipelineId id = play.start();
  const auto left = [&] { return play.state.pipelines.pipelines.find(id)->left; };
  play.fails();
  EXPECT_EQ(*left().find("build"), false);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_FALSE(left().contains("build")) << "it is in it again";
  EXPECT_EQ(*left().find("mend"), true);
  play.succeeds();
  EXPECT_EQ(*left().find("build"), true);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Done{}});
}

TEST(Pipeline, APhaseEnteredTooOftenOpensTheCircuit) {
  definition::Phase build = shell("build");
  build.next = "build";
  build.max_visits = 2;
  build.on_fail = definition::Fail{};
  Play play({build});
  const PipelineId id = play.start();
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.succeeds();
  EXPECT_EQ(play.state_of(id),
            (Status{Failed{"build", 1, "circuit open: entered too often", true}}));
  EXPECT_TRUE(play.under_way().empty());
}

TEST(Pipeline, RetriesDoNotOpenTheCircuit) {
  definition::Phase build = shell("build");
  build.retry = {9, 0s};
  build.max_visits = 1;
  Play play({build});
  play.start();
  for (int i = 0; i < 9; ++i) {
    play.fails();
    play.pass(0s);
  }
  EXPECT_EQ(play.step_shell().label, "build#10");
}

TEST(Pipeline, AnUnknownOutcomeAsksByDefault) {
  definition::Phase build = shell("build");
  build.retry = {9, 0s};
  build.on_fail = definition::Fail{};
  Play play({build});
  const PipelineId id = play.start();
  play.ends(unknown());
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "build", 1, start}}));
}

TEST(Pipeline, PhasesThatFailAtOnceGoRoundInCirclesAPartATick) {
  definition::Phase a = shell("a");
  a.cwd = "{nobody}";
  a.max_visits = 1'000'000;
  a.on_fail = definition::GoTo{"b"};
  a.next = "b";
  definition::Phase b = a;
  b.name = "b";
  b.on_fail = definition::GoTo{"a"};
  b.next = "a";
  Play play({a, b});
  const PipelineId id = play.start();
  EXPECT_LE(play.heard.size(), 3 * limits::touched_a_step);
  EXPECT_EQ(next_deadline(play.state).engine, play.stamp.now);
  play.ask(Cancel{id});
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

// ── Their own word ──

TEST(Pipeline, AStepsOwnWordCountsOverItsExitCode) {
  definition::Phase build = shell("build");
  build.on_fail = definition::Fail{};
  Play play({build, shell("merge")});
  const PipelineId id = play.start();
  play.ask(Finish{id, std::nullopt, {}, {}});
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  play.ends(unknown());
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));

  const PipelineId other = play.start();
  const EffectId step = play.all_under_way<Shell>().back();
  play.ask(Finish{other, "not today", {}, {}});
  play.finish(step, exit_code(0));
  EXPECT_EQ(play.state_of(other), (Status{Failed{"build", 1, "not today", true}}));
  EXPECT_EQ(play.ask(Finish{other, std::nullopt, {}, {}}),
            refused(Why::NotAllowed, to_text(other) + " runs no step"));
}

TEST(Pipeline, CheckpointsAreKeptWithTheirPhaseAndTimeTheLastThousand) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  play.pass(5s);
  play.ask(AddCheckpoint{id, "half"});
  EXPECT_EQ(*play.state.pipelines.checkpoints.find({id, 1}), (Checkpoint{"build", "half", at(5s)}));
  EXPECT_EQ(play.names().back(), "pipeline:checkpoint");
  for (std::size_t i = 0; i < limits::checkpoints_kept; ++i) play.ask(AddCheckpoint{id, "more"});
  EXPECT_EQ(play.state.pipelines.checkpoints.size(), limits::checkpoints_kept);
  EXPECT_EQ(play.state.pipelines.checkpoints.find({id, 1}), nullptr);
  play.succeeds();
  EXPECT_EQ(play.ask(AddCheckpoint{id, "late"}),
            refused(Why::NotAllowed, to_text(id) + " has ended"));
}

// ── Late words ──

TEST(Pipeline, TheOutcomeOfAnEarlierAttemptIsDropped) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  const EffectId first = play.step();
  play.fails();
  play.decide(Choice::Retry);
  const State before = play.state;

  play.finish(first, exit_code(0));
  EXPECT_EQ(play.state, before);
  play.input(EffectEnded{{99, 9}, exit_code(0)});
  EXPECT_EQ(play.state, before);
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 2}}));
}

// ── Workspaces ──

TEST(Pipeline, AWorkspaceIsMadeBeforeTheFirstPhase) {
  definition::Pipeline fix = in_phases({shell("build"), shell("merge")});
  fix.inputs = {"bug"};
  fix.workspace = definition::Workspace{true, "fix/{bug}", "main", ""};
  Play play(fix);
  const PipelineId id = play.start("fix", {{"bug", "42"}});
  const EffectId add = play.under_way().front();
  EXPECT_EQ(play.under_way_as<WorktreeAdd>(add), (WorktreeAdd{id, "fix/42", "main", ""}));

  play.finish(add, with_values({{"path", "/w/42"}}));

  EXPECT_EQ(play.step_shell().directory, "/w/42");
  const Variables variables = play.step_shell().variables;
  EXPECT_NE(std::ranges::find(variables, Variables::value_type{"workspace", "/w/42"}),
            variables.end());
  EXPECT_NE(std::ranges::find(variables, Variables::value_type{"branch", "fix/42"}),
            variables.end());
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "run merge");
}

TEST(Pipeline, WithoutItsWorkspaceThePhaseFails) {
  definition::Pipeline fix = in_phases({shell("build")});
  fix.workspace = definition::Workspace{true, "b", "main", ""};
  fix.on_fail = definition::Fail{};
  Play play(fix);
  const PipelineId id = play.start();
  play.finish(play.under_way().front(), exit_code(128));
  EXPECT_EQ(std::get<Failed>(play.state_of(id)).error, "no workspace: exit code 128");
  play.ask(Retry{id, false});
  EXPECT_EQ(play.all_under_way<WorktreeAdd>().size(), 1u);
}

}  // namespace
}  // namespace reeve::pipeline
