#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// Phases that are done by an agent or by a strategy.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;

// ── Agents ──

Play by_agent() {
  definition::Phase work = phase("work", definition::RunAgent{"fixer"});
  work.on_fail = definition::Fail{};
  definition::Pipeline fix = in_phases({work, shell("merge")});
  fix.inputs = {"bug"};
  Play play(fix);
  definition::Agent fixer;
  fixer.command = "fixer";
  fixer.session = false;
  fixer.prompt = "Fix {bug}.";
  fixer.env = {{"ROLE", "fixer of {bug}"}};
  play.set.agents.set("fixer", fixer);
  return play;
}

TEST(PipelineAct, AnAgentGetsItsPromptAndItsEndEndsThePhase) {
  Play play = by_agent();
  const PipelineId id = play.start("fix", {{"bug", "42"}});
  const EffectId run = play.under_way().front();
  const Spawn spawn = play.under_way_as<Spawn>(run);
  EXPECT_EQ(spawn.prompt, "Fix 42.");
  EXPECT_EQ(spawn.workspace, "/home/ana/shop");
  EXPECT_EQ(spawn.agent, "fixer");
  EXPECT_EQ(spawn.environment.front(), (std::pair<std::string, std::string>{"HOME", "/home/ana"}));
  EXPECT_EQ(spawn.environment.back(), (std::pair<std::string, std::string>{"ROLE", "fixer of 42"}));
  play.finish(run, with_values({{"commit", "a1"}}));
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));
}

TEST(PipelineAct, AnAgentThatFailsFailsThePhase) {
  Play play = by_agent();
  play.set.agents.edit("fixer")->on_error = definition::DoFail{};
  play.set.agents.edit("fixer")->on_exit = definition::DoFail{};
  const PipelineId id = play.start("fix", {{"bug", "42"}});
  play.finish(play.under_way().front(), exit_code(1));
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
}

TEST(PipelineAct, ThePhasesTimeoutEndsTheAgentObserved) {
  Play play = by_agent();
  play.set.pipelines.edit("fix")->phases[0].timeout = 2h;
  play.set.agents.edit("fixer")->idle_timeout = 24h;
  const PipelineId id = play.start("fix", {{"bug", "42"}});
  const EffectId run = play.under_way().front();
  play.pass(2h - 1ms);
  EXPECT_TRUE(play.all_under_way<Kill>().empty());
  play.pass(1ms);
  ASSERT_EQ(play.all_under_way<Kill>().size(), 1u);
  EXPECT_EQ(play.state_of(id), (Status{Running{"work", 1}}));
  play.finish(play.all_under_way<Kill>().front());
  if (!play.under_way().empty()) play.finish(run, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Failed{"work", 1, "timed out", true}}));
}

TEST(PipelineAct, CancellingEndsTheAgent) {
  Play play = by_agent();
  const PipelineId id = play.start("fix", {{"bug", "42"}});
  const EffectId run = play.under_way().front();
  play.ask(Cancel{id});
  EXPECT_EQ(play.state_of(id), (Status{Running{"work", 1}}));
  play.finish(play.all_under_way<Kill>().front());
  if (!play.under_way().empty()) play.finish(run, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineAct, WhatIsNotDefinedFailsThePhaseAndSaysSo) {
  Play play({phase("work", definition::RunAgent{"nobody"}),
             phase("merge", definition::RunStrategy{"none"})});
  play.set.pipelines.edit("fix")->on_fail = definition::Fail{};
  const PipelineId id = play.start();
  EXPECT_EQ(std::get<Failed>(play.state_of(id)).error, "there is no agent nobody");
  play.ask(ResumeFrom{id, "merge", false});
  EXPECT_EQ(std::get<Failed>(play.state_of(id)).error, "there is no strategy none");
}

// ── Strategies ──

definition::Approach approach(std::string name, std::string rollback = {}) {
  definition::Approach approach;
  approach.name = name;
  approach.action = definition::RunShell{"try " + name};
  approach.rollback = std::move(rollback);
  return approach;
}

Play by_strategy() {
  definition::Phase merge = phase("merge", definition::RunStrategy{"merge"});
  Play play({merge, shell("done")});
  definition::Strategy strategy;
  strategy.checkpoint = "git rev-parse HEAD";
  strategy.approaches = {approach("ff", "reset"), approach("rebase", "abort")};
  play.set.strategies.set("merge", strategy);
  return play;
}

TEST(PipelineAct, AStrategyNotesItsPlaceTriesRollsBackAndTriesTheNext) {
  Play play = by_strategy();
  const PipelineId id = play.start();
  EXPECT_EQ(play.step_shell().text, "git rev-parse HEAD");
  play.ends(exit_code(0, "a1b2\n"));
  EXPECT_EQ(play.step_shell().text, "try ff");
  EXPECT_EQ(play.step_shell().variables.back(),
            (std::pair<std::string, std::string>{"checkpoint", "a1b2"}));
  EXPECT_EQ(play.step_shell().environment.back(),
            (std::pair<std::string, std::string>{"LC_ALL", "C.UTF-8"}));
  play.fails("diverged");
  EXPECT_EQ(play.step_shell().text, "reset");
  EXPECT_EQ(play.step_shell().label, "merge#1 rollback of ff");
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "try rebase");
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"done", 1}}));
  EXPECT_EQ(play.count("strategy:fallback"), 1u);
  EXPECT_EQ(play.count("strategy:attempt"), 2u);
}

TEST(PipelineAct, AnExhaustedStrategyAsks) {
  Play play = by_strategy();
  const PipelineId id = play.start();
  play.succeeds();
  play.fails();
  play.succeeds();
  play.fails();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "merge", 1, start}}));
  EXPECT_EQ(play.count("strategy:exhausted"), 1u);
  play.decide(Choice::Skip);
  EXPECT_EQ(play.state_of(id), (Status{Running{"done", 1}}));
}

TEST(PipelineAct, AFailedRollbackIsFatal) {
  Play play = by_strategy();
  const PipelineId id = play.start();
  play.succeeds();
  play.fails();
  play.fails();
  EXPECT_FALSE(std::get<Failed>(play.state_of(id)).recoverable);
  EXPECT_EQ(play.ask(Retry{id, false}),
            refused(Why::NotAllowed, to_text(id) + " is not recoverable"));
  EXPECT_TRUE(is<Ok>(play.ask(Retry{id, true})));
}

// One output more than a value may be: nothing of it is kept.
Outcome with_a_bad_output(Outcome outcome) {
  outcome.values = {{"log", std::string(limits::value_bytes + 1, 'x')}};
  return outcome;
}

TEST(PipelineAct, ARollbackThatIsCutShortHasFailed) {
  Play play = by_strategy();
  definition::Phase& merge = play.set.pipelines.edit("fix")->phases[0];
  merge.timeout = 1min;
  merge.retry = {3, 0s};
  const PipelineId id = play.start();
  play.succeeds();
  play.fails("diverged");
  const EffectId rollback = play.step();
  play.pass(1min);
  ASSERT_EQ(play.all_under_way<Kill>().size(), 1u);
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}}));

  play.finish(play.all_under_way<Kill>().front());
  play.finish(rollback, exit_code(143));
  EXPECT_EQ(play.state_of(id),
            (Status{Failed{"merge",
                           1,
                           "the rollback of ff failed: timed out, after: exit code 1: diverged",
                           false}}));
}

TEST(PipelineAct, AnAttemptThatIsCutShortMayBeTriedAgain) {
  Play play = by_strategy();
  definition::Phase& merge = play.set.pipelines.edit("fix")->phases[0];
  merge.timeout = 1min;
  merge.retry = {3, 5s};
  const PipelineId id = play.start();
  play.succeeds();
  const EffectId attempt = play.step();
  play.pass(1min);
  play.finish(play.all_under_way<Kill>().front());
  play.finish(attempt, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Backoff, "merge", 1, at(1min)}}));
}

TEST(PipelineAct, AFailedRollbackIsFatalWhateverItPublished) {
  Play play = by_strategy();
  const PipelineId id = play.start();
  play.succeeds();
  play.fails();
  play.ends(with_a_bad_output(exit_code(1, "locked")));
  const Failed failed = std::get<Failed>(play.state_of(id));
  EXPECT_FALSE(failed.recoverable);
  EXPECT_NE(failed.error.find("the rollback of ff failed"), std::string::npos) << failed.error;
}

TEST(PipelineAct, AFailureThatWasExpectedFallsBackWhateverItPublished) {
  Play play = by_strategy();
  play.start();
  play.succeeds();
  play.ends(with_a_bad_output(exit_code(1, "diverged")));
  EXPECT_EQ(play.step_shell().text, "reset");
}

TEST(PipelineAct, AnAttemptThatNobodyKnowsTheEndOfIsUnknownWhateverItPublished) {
  Play play = by_strategy();
  play.start();
  play.succeeds();
  play.ends(with_a_bad_output(unknown()));
  const std::string asked = play.state.decisions.decisions.find(play.question())->question;
  EXPECT_NE(asked.find("nobody knows how ff ended"), std::string::npos) << asked;
}

TEST(PipelineAct, WhatSucceedsAndPublishesABadOutputHasFailed) {
  for (const int before : {0, 1}) {  // the checkpoint, an approach
    Play play = by_strategy();
    play.set.pipelines.edit("fix")->on_fail = definition::Fail{};
    const PipelineId id = play.start();
    for (int i = 0; i < before; ++i) play.succeeds();
    play.ends(with_a_bad_output(exit_code(0)));
    EXPECT_TRUE(std::get<Failed>(play.state_of(id)).recoverable);
    EXPECT_TRUE(play.under_way().empty());
  }
}

TEST(PipelineAct, AnAttemptThatNobodyKnowsTheEndOfAsks) {
  Play play = by_strategy();
  const PipelineId id = play.start();
  play.succeeds();
  play.ends(unknown());
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Decision, "merge", 1, start}}));
}

TEST(PipelineAct, AMergeIsDoneByReeveItself) {
  Play play = by_strategy();
  definition::Strategy& strategy = *play.set.strategies.edit("merge");
  strategy.checkpoint.clear();
  strategy.approaches[0].action =
      definition::RunMerge{definition::MergeKind::Squash, "", "{target}"};
  strategy.approaches[0].timeout = 1min;
  const PipelineId id = play.start("fix", {{"branch", "fix/42"}, {"target", "main"}});
  EXPECT_EQ(play.under_way_as<Merge>(play.under_way().front()),
            (Merge{id, "fix/42", "main", MergeStrategy::Squash, 1min}));
  play.finish(play.under_way().front());
  EXPECT_EQ(play.state_of(id), (Status{Running{"done", 1}}));
}

TEST(PipelineAct, AnApproachMayBeAnAgentAndIsEndedLikeOne) {
  Play play = by_strategy();
  definition::Strategy& strategy = *play.set.strategies.edit("merge");
  strategy.checkpoint.clear();
  strategy.approaches = {approach("resolve")};
  strategy.approaches[0].action = definition::RunAgent{"resolver"};
  definition::Agent resolver;
  resolver.session = false;
  play.set.agents.set("resolver", resolver);
  const PipelineId done = play.start();
  play.finish(play.under_way().front(), exit_code(0));
  EXPECT_EQ(play.state_of(done), (Status{Running{"done", 1}}));
  play.succeeds();

  const PipelineId id = play.start();
  const EffectId run = play.under_way().front();
  play.ask(Cancel{id});
  play.finish(play.all_under_way<Kill>().front());
  if (!play.under_way().empty()) play.finish(run, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineAct, CancellingInTheMiddleOfAnAttemptEndsThat) {
  Play play = by_strategy();
  const PipelineId id = play.start();
  play.succeeds();
  const EffectId attempt = play.step();
  play.ask(Cancel{id});
  play.finish(attempt, exit_code(143));
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
  EXPECT_TRUE(play.all_under_way<Shell>().empty()) << "no rollback, no next attempt";
}

TEST(PipelineAct, AnAgentThatIsAnAttemptSpeaksTheLanguageOfPatterns) {
  Play play = by_strategy();
  definition::Strategy& strategy = *play.set.strategies.edit("merge");
  strategy.checkpoint.clear();
  strategy.approaches = {approach("resolve")};
  strategy.approaches[0].action = definition::RunAgent{"resolver"};
  definition::Agent resolver;
  resolver.session = false;
  resolver.kind = "codex";
  resolver.prompt_file = "ask-{name}.md";
  play.set.agents.set("resolver", resolver);
  play.start();
  const Spawn spawn = play.under_way_as<Spawn>(play.under_way().front());
  EXPECT_EQ(spawn.environment.back(), (std::pair<std::string, std::string>{"LC_ALL", "C.UTF-8"}));
  EXPECT_EQ(spawn.kind, "codex");
  EXPECT_EQ(spawn.prompt_file, "ask-fix.md");
}

TEST(PipelineAct, WhoeverIsAskedAboutAStrategySeesItsLastOutput) {
  Play play = by_strategy();
  definition::Strategy& strategy = *play.set.strategies.edit("merge");
  strategy.checkpoint.clear();
  strategy.approaches = {approach("rebase")};
  strategy.on_exhaust = definition::AskSomebody{};
  play.start();
  play.fails("CONFLICT in a.cc");
  EXPECT_EQ(play.state.decisions.decisions.find(play.question())->context, "CONFLICT in a.cc");
}

TEST(PipelineAct, AnAttemptMaySayItselfHowItWent) {
  Play play = by_strategy();
  definition::Strategy& strategy = *play.set.strategies.edit("merge");
  strategy.checkpoint.clear();
  strategy.approaches = {approach("rebase"), approach("squash")};
  const PipelineId id = play.start();
  EXPECT_TRUE(is<Ok>(play.ask(Finish{id, "conflict", {}, {}})));
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Running{"merge", 1}})) << "the next approach";
  EXPECT_TRUE(is<Ok>(play.ask(Finish{id, std::nullopt, {}, {}})));
  play.ends(unknown());
  EXPECT_EQ(play.state_of(id), (Status{Running{"done", 1}}));
}

}  // namespace
}  // namespace reeve::pipeline
