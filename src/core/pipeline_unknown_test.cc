#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// What nobody knows is done again if that is harmless; what nobody waits for is let go of.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;

EffectId the_kill(const Play& play) {
  const std::vector<EffectId> kills = play.all_under_way<Kill>();
  EXPECT_EQ(kills.size(), 1u);
  return kills.empty() ? EffectId{} : kills.front();
}

TEST(PipelineUnknown, AWorktreeIsMadeAgain) {
  definition::Pipeline fix = in_phases({shell("build")});
  fix.workspace = definition::Workspace{true, "b", "main", ""};
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId first = play.under_way().front();
  const WorktreeAdd add = play.under_way_as<WorktreeAdd>(first);
  play.finish(first, unknown());
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  ASSERT_EQ(play.under_way().size(), 1u);
  const EffectId second = play.under_way().front();
  EXPECT_NE(second, first) << "what has the same name was started already";
  EXPECT_EQ(play.under_way_as<WorktreeAdd>(second), add);
  play.finish(second, with_values({{"path", "/w"}}));
  EXPECT_EQ(play.step_shell().directory, "/w");
}

TEST(PipelineUnknown, AKillIsDoneAgainAndNobodyIsAsked) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  const EffectId first = the_kill(play);
  play.finish(first, unknown());
  EXPECT_TRUE(play.state.decisions.open_of.empty());
  EXPECT_NE(the_kill(play), first);
  EXPECT_EQ(play.under_way_as<Kill>(the_kill(play)).target, (decltype(Kill::target){step}));
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineUnknown, SoIsTheKillOfAnAgent) {
  Play play({phase("work", definition::RunAgent{"fixer"})});
  play.set.agents.set("fixer", definition::Agent{});
  const PipelineId id = play.start();
  play.finish(play.under_way().front());
  play.ask(Cancel{id});
  const EffectId first = the_kill(play);
  const Kill kill = play.under_way_as<Kill>(first);
  play.finish(first, unknown());
  EXPECT_TRUE(play.state.decisions.open_of.empty());
  EXPECT_EQ(play.under_way_as<Kill>(the_kill(play)), kill);
  play.finish(the_kill(play));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineUnknown, AndTheKillOfACheckThatSomebodyLetPass) {
  definition::Phase build = shell("build");
  build.pre = {"green"};
  Play play({build});
  definition::Guard green{"check"};
  green.timeout = 15s;
  play.set.guards.set("green", green);
  play.start();
  play.fails();
  play.pass(15s);
  play.finish(the_kill(play));
  play.finish(play.step(), exit_code(143));
  play.pass(10s);
  const EffectId check = play.step();
  play.decide(Choice::Pass);
  play.finish(the_kill(play), unknown());
  EXPECT_EQ(play.under_way_as<Kill>(the_kill(play)).target, (decltype(Kill::target){check}));
  play.finish(check, exit_code(143));
  EXPECT_EQ(play.step_shell().text, "run build");
}

// ── A check that somebody let pass, and that cannot be seen dead ──

struct PassedInACheck : Play {
  PipelineId id;
  EffectId check;

  PassedInACheck() {
    definition::Phase build = shell("build");
    build.pre = {"green"};
    set.pipelines.set("fix", in_phases({build}));
    definition::Guard green{"check"};
    green.timeout = 15s;
    set.guards.set("green", green);
    id = start();
    fails();
    pass(15s);
    finish(the_kill(*this));
    finish(step(), exit_code(143));
    pass(10s);
    check = step();
    decide(Choice::Pass);
    finish(the_kill(*this), exit_code(1));
  }
};

TEST(PipelineUnknown, SomebodyIsAskedAboutACheckThatCannotBeKilled) {
  PassedInACheck play;
  EXPECT_EQ(std::get<Blocked>(play.state_of(play.id)).reason, Reason::Decision);
  EXPECT_EQ(play.state.decisions.decisions.find(play.question())->cause,
            decision::Cause::ProcessUnobserved);
  EXPECT_TRUE(play.all_under_way<Kill>().empty());

  play.decide(Choice::LookAgain);
  EXPECT_EQ(play.under_way_as<Kill>(the_kill(play)).target, (decltype(Kill::target){play.check}));
  play.finish(the_kill(play), exit_code(1));
  play.decide(Choice::ReleaseAnyway);
  EXPECT_EQ(play.step_shell().text, "run build");
  play.finish(play.check, exit_code(143));
  EXPECT_FALSE(play.last.changed) << "nobody waits for it any more";
}

TEST(PipelineUnknown, WhenItEndsAllTheSameTheQuestionRetires) {
  PassedInACheck play;
  play.finish(play.check, exit_code(143));
  EXPECT_TRUE(play.state.decisions.open_of.empty());
  EXPECT_EQ(play.step_shell().text, "run build");
}

TEST(PipelineUnknown, AndWhenItIsCancelledMeanwhile) {
  PassedInACheck play;
  play.ask(Cancel{play.id});
  EXPECT_TRUE(play.state.decisions.open_of.empty());
  play.finish(play.check, exit_code(143));
  EXPECT_EQ(play.state_of(play.id), Status{Cancelled{}});
}

// ── Released anyway ──

// Effects of one pipeline run one after the other: whoever goes on without the end of one must not
// leave it where the next would wait for it.
TEST(PipelineUnknown, WhatWasReleasedAnywayIsNoLongerUnderWay) {
  definition::Pipeline fix = in_phases({shell("build"), shell("cleanup")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.ask(Cancel{id});
  play.finish(the_kill(play), exit_code(1));
  play.decide(Choice::ReleaseAnyway);

  EXPECT_EQ(play.step_shell().text, "run cleanup");
  play.finish(step, exit_code(143));
  EXPECT_FALSE(play.last.changed) << "nobody waits for it any more";
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineUnknown, NorIsAnAgentsRun) {
  definition::Pipeline fix =
      in_phases({phase("work", definition::RunAgent{"fixer"}), shell("cleanup")});
  fix.on_cancel = "cleanup";
  Play play(fix);
  definition::Agent fixer;
  fixer.session = false;
  play.set.agents.set("fixer", fixer);
  const PipelineId id = play.start();
  play.ask(Cancel{id});
  play.finish(the_kill(play), exit_code(1));
  play.decide(Choice::ReleaseAnyway);
  EXPECT_EQ(play.under_way().size(), 1u);
  EXPECT_EQ(play.step_shell().text, "run cleanup");
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

// ── What is kept ──

TEST(PipelineUnknown, ManyThatEndBetweenTwoTicksAreForgottenAllTheSame) {
  Play play({shell("build")});
  play.start();
  play.succeeds();
  // By hand: the invariants look at all there is, after every step.
  const auto quietly = [&](const Input& input) {
    Applied applied = reeve::apply(std::move(play.state), input, play.stamp);
    play.state = std::move(applied.state);
    return applied.effects.empty() ? EffectId{} : applied.effects.front().id;
  };
  const Request again{default_project, {}, true, "", pipeline::Start{"fix", {}, {}}};
  std::vector<EffectId> steps;
  for (std::size_t i = 0; i < limits::finished_kept + 10; ++i) steps.push_back(quietly(again));
  for (const EffectId step : steps) quietly(EffectEnded{step, exit_code(0)});
  EXPECT_EQ(check_state(play.state), Violations{});
  quietly(Tick{});
  EXPECT_EQ(play.state.pipelines.pipelines.size(), limits::finished_kept);
  EXPECT_EQ(check_state(play.state), Violations{});
}

}  // namespace
}  // namespace reeve::pipeline
