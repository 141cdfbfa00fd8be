#include "core/heard_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// What a step has no room for comes later, and by then it may be about something else.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;

lock::Acquire taken_by_ana(const std::string& name) {
  lock::Acquire acquire;
  acquire.names = {{default_project, name}};
  acquire.holder = {default_project, "ana", {}};
  acquire.timeout = 24h;
  return acquire;
}

TEST(PipelineRoom, AWaitThatBeganLaterIsNotEndedByAnOlderStopWaiting) {
  definition::Phase build = shell("build");
  for (int i = 0; i < 8; ++i) build.locks.push_back("{n}-" + std::to_string(i));
  build.post = {"never"};
  build.ends = true;
  definition::Phase tidy = shell("tidy");
  tidy.locks = {"main"};
  definition::Pipeline work = in_phases({build, tidy});
  work.inputs = {"n"};
  work.on_cancel = "tidy";
  std::string values;
  for (int i = 0; i < 140; ++i) values += (i ? "," : "[") + ("\"c" + std::to_string(i)) + "\"";
  Play play({phase("all", definition::RunForEach{values + "]", "work", 200})});
  play.set.pipelines.set("work", work);
  play.set.guards.set("never", definition::Guard{"check"});
  play.load();
  play.ask(taken_by_ana("main"));
  play.ask(taken_by_ana("c128-0"));
  const PipelineId all = play.start();
  const PipelineId waits = *play.state.pipelines.children.find({all, 128});
  const PipelineId first = *play.state.pipelines.children.find({all, 0});
  ASSERT_TRUE(std::holds_alternative<Acquiring>(play.of(waits).course));
  const EffectId running = std::get<ShellRun>(std::get<Acting>(play.of(first).course).what).effect;
  for (const EffectId step : play.under_way()) {
    if (step != running) play.finish(step, exit_code(0));
  }
  for (const EffectId check : play.under_way()) {
    if (check != running) play.finish(check, exit_code(1));
  }
  ASSERT_EQ(play.under_way().size(), 1u);

  play.ask(Cancel{all});
  play.finish(running, exit_code(143));
  play.pass(0s);  // all ticks that are due
  EXPECT_EQ(play.state.chores.waiting.size(), 0u);
  play.ask(lock::Release{{default_project, "main"}, {default_project, "ana", {}}, std::nullopt});
  for (int i = 0; i < 400 && !play.under_way().empty(); ++i) {
    play.finish(play.under_way().front(), exit_code(0));
    play.pass(0s);
  }
  EXPECT_EQ(play.state_of(waits), Status{Cancelled{}});
  EXPECT_EQ(play.state_of(all), Status{Cancelled{}});
}

}  // namespace
}  // namespace reeve::pipeline
