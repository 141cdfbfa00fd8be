#include "core/heard_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// What a cron has started: which runbook it goes by, and a run that is tried again.
namespace reeve::cron {
namespace {

using namespace reeve::pipeline::testing;

const CronName backup{default_project, "backup"};

struct Runs : Play {
  Runs() {
    definition::Phase prune = shell("prune");
    prune.on_fail = definition::Fail{};
    set.pipelines.set("cleanup", in_phases({prune}));
    load();
  }

  Plan plan(Overlap overlap, Duration interval = 1h) const {
    return {{default_project, set.hash},
            Boxed<Definition>(Definition{Interval{interval},
                                         {},
                                         overlap,
                                         CatchUp::Latest,
                                         24h,
                                         cron::RunPipeline{"cleanup", {}}}),
            {{"HOME", "/root"}}};
  }
  const Cron& cron() const { return *state.crons.crons.find(backup); }
  std::size_t sets() const { return state.definitions.sets.size(); }
};

TEST(CronRuns, WhatIsBufferedKeepsTheRunbookItWillRunBy) {
  Runs world;
  const Plan plan = world.plan(Overlap::BufferOne);
  EXPECT_TRUE(is<Fired>(world.ask(RunNow{backup, plan})));
  EXPECT_TRUE(is<Buffered>(world.ask(RunNow{backup, plan})));
  world.set.pipelines.set("other", in_phases({shell("other")}));
  world.load();
  EXPECT_EQ(world.sets(), 2u);

  world.succeeds();
  EXPECT_EQ(world.step_shell().text, "run prune") << "the buffered run";
  EXPECT_EQ(world.count("cron:refused"), 0u);
  world.succeeds();
  EXPECT_EQ(world.sets(), 1u) << "nothing is left to run by the old one";
  EXPECT_EQ(world.cron().pinned, std::nullopt);
}

TEST(CronRuns, TheInputsItGivesKnowItsNameAndProject) {
  Runs world;
  definition::Pipeline cleanup = in_phases({shell("prune")});
  cleanup.inputs = {"by"};
  world.set.pipelines.set("cleanup", cleanup);
  world.load();
  Plan plan = world.plan(Overlap::Skip);
  std::get<cron::RunPipeline>(plan.definition.edit().run).inputs = {
      {"by", "{name} of {project}, {{name}}, {else}"}};
  EXPECT_TRUE(is<Fired>(world.ask(RunNow{backup, plan})));
  const PipelineId id = world.state.pipelines.pipelines.begin()->first;
  EXPECT_EQ(world.state.pipelines.pipelines.find(id)->origin->inputs,
            (definition::Map{{"by", "{name} of {project}, {{name}}, {else}"}}))
      << "an unknown name leaves all of it as it is";
  world.succeeds();
  std::get<cron::RunPipeline>(plan.definition.edit().run).inputs = {
      {"by", "{name} of {project}, {{name}}"}};
  EXPECT_TRUE(is<Fired>(world.ask(RunNow{backup, plan})));
  const PipelineId next{std::get<PipelineId>(*world.cron().running.first())};
  EXPECT_EQ(world.state.pipelines.pipelines.find(next)->origin->inputs,
            (definition::Map{{"by", "backup of default, {name}"}}));
}

TEST(CronRuns, OneThatIsDisabledLetsItsRunbookGoWhenTheLastRunEnded) {
  Runs world;
  world.ask(Enable{backup, world.plan(Overlap::Skip)});
  world.pass(1h);
  world.load();
  world.ask(Disable{backup});
  EXPECT_EQ(world.sets(), 2u);
  world.succeeds();
  EXPECT_EQ(world.sets(), 1u);
}

TEST(CronRuns, EnabledByAnotherRunbookItLetsTheOldOneGo) {
  Runs world;
  world.ask(Enable{backup, world.plan(Overlap::Skip)});
  world.load();
  EXPECT_EQ(world.sets(), 2u);
  world.ask(Enable{backup, world.plan(Overlap::Skip)});
  EXPECT_EQ(world.sets(), 1u);
}

TEST(CronRuns, APipelineThatIsTriedAgainIsOneOfItsRuns) {
  Runs world;
  world.ask(Enable{backup, world.plan(Overlap::Skip)});
  world.pass(1h);
  const PipelineId first = (*world.state.pipelines.pipelines.last()).first;
  world.fails();
  EXPECT_TRUE(world.cron().running.empty());

  world.ask(pipeline::Retry{first, false});
  EXPECT_TRUE(world.cron().running.contains(cron::Run{first}));
  world.forget();
  world.pass(1h);
  EXPECT_EQ(world.count("cron:skipped"), 1u);
  EXPECT_EQ(world.count("cron:fired"), 0u);
  world.succeeds();
  EXPECT_TRUE(world.cron().running.empty());
  EXPECT_EQ(world.count("cron:ended"), 1u);
}

TEST(CronRuns, OneThatIsTriedAgainWhileAnotherIsCancelledIsCancelledByTheNextInstant) {
  Runs world;
  world.ask(Enable{backup, world.plan(Overlap::CancelOther)});
  world.pass(1h);
  const PipelineId first = (*world.state.pipelines.pipelines.last()).first;
  world.fails();
  world.pass(1h);
  const PipelineId second = (*world.state.pipelines.pipelines.last()).first;
  world.pass(1h);  // the second is told to end, and a third run waits
  world.ask(pipeline::Retry{first, false});
  const auto is_ended = [&](PipelineId run) {
    for (const EffectId effect : world.all_under_way<Shell>()) {
      if (world.under_way_as<Shell>(effect).pipeline == run) world.finish(effect, exit_code(143));
    }
    for (const EffectId effect : world.all_under_way<Kill>()) world.finish(effect);
    return !world.cron().running.contains(cron::Run{run});
  };
  EXPECT_TRUE(is_ended(second));
  EXPECT_EQ(world.cron().buffered, 1u);

  world.forget();
  world.pass(1h);
  EXPECT_EQ(world.count("cron:cancelled_other"), 1u);
  EXPECT_TRUE(is_ended(first));
  EXPECT_EQ(world.count("cron:fired"), 1u);
}

TEST(CronRuns, AHookRunsInItsProject) {
  Runs world;
  world.set.hooks = {{"ci:green", "echo green"}};
  world.load();
  world.ask(EmitCustom{"ci:green", {}});
  EXPECT_EQ(world.step_shell().environment, (Variables{{"REEVE_PROJECT", "default"}}));
}

TEST(CronRuns, TheKillOfARunOfWhichNobodyKnowsIsDoneAgain) {
  Runs world;
  Plan plan = world.plan(Overlap::CancelOther);
  plan.definition.edit().run = cron::RunShell{"prune", {}};
  world.ask(Enable{backup, plan});
  world.pass(2h);
  const std::vector<EffectId> kills = world.all_under_way<Kill>();
  ASSERT_EQ(kills.size(), 1u);
  const Kill kill = world.under_way_as<Kill>(kills.front());
  world.finish(kills.front(), unknown());
  ASSERT_EQ(world.all_under_way<Kill>().size(), 1u);
  EXPECT_EQ(world.under_way_as<Kill>(world.all_under_way<Kill>().front()), kill);
}

}  // namespace
}  // namespace reeve::cron
