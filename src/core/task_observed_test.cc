#include "core/pipeline_testing.h"
#include "core/task_testing.h"

#include <gtest/gtest.h>

// What was seen of an agent comes before what is due: it may have been so in time, and we away.
namespace reeve::task {
namespace {

using agent::Doing;

Begin for_an_hour() {
  Begin begin = fixer();
  begin.agent.idle_timeout = 24h;
  begin.agent.timeout = 1h;
  begin.agent.on_exit = DoDone{};
  return begin;
}

TEST(TaskObserved, OneThatEndedInTimeIsNotTimedOutBecauseTheNewsIsLate) {
  World world;
  const WorkId id = begin_running(world, for_an_hour());
  world.stamp.now += 62min;
  world.ask(SessionGone{id, exit_with(0)});
  EXPECT_EQ(task_events(world), (Verbs{"complete"}));
  EXPECT_TRUE(world.started.empty()) << "there is nothing to kill";
}

TEST(TaskObserved, OneThatIsStillThereIsTimedOutByTheNextTick) {
  World world;
  const WorkId id = begin_running(world, for_an_hour());
  world.stamp.now += 62min;
  world.ask(Observed{id, seen(Doing::Working, at(59min))});
  EXPECT_EQ(task_events(world), Verbs{});
  world.input(Tick{});
  EXPECT_EQ(std::get<Done>(the(world, id).state).result,
            (Result{Failed{"timed out", How::TimedOut}}));
}

TEST(TaskObserved, ProgressThatIsHeardOfLateIsProgress) {
  Begin begin = fixer();
  begin.agent.idle_timeout = 24h;
  begin.agent.progress_timeout = 10min;
  World world;
  const WorkId id = begin_running(world, begin);
  world.stamp.now += 11min;
  world.ask(Observed{id, seen(Doing::Working, at(9min)), true});
  world.pass(8min - 1ms);
  EXPECT_EQ(task_events(world), Verbs{});
  world.pass(1ms);
  EXPECT_EQ(task_events(world).front(), "stuck");
}

// The outcome of a run to completion is an observation, too.
TEST(TaskObserved, ARunThatHasEndedMakesNoCheckpointAnyMore) {
  Begin begin = resolver();
  begin.agent.checkpoint_every = 10min;
  begin.agent.checkpoint_run = "git commit";
  World world;
  begin_running(world, begin);
  world.stamp.now += 11min;
  world.finish(open_effect<Spawn>(world), exit_with(0));
  EXPECT_TRUE(world.started.empty());
}

TEST(TaskObserved, TheTimeoutOfItsPhaseWaitsForTheNewsAsWell) {
  definition::Phase work = pipeline::testing::phase("work", definition::RunAgent{"fixer"});
  work.timeout = 1h;
  pipeline::testing::Play play({work});
  definition::Agent agent;
  agent.idle_timeout = 24h;
  agent.on_exit = DoDone{};
  play.set.agents.set("fixer", agent);
  const PipelineId id = play.start();
  play.finish(play.under_way().front());
  const WorkId worker = play.state.tasks.tasks.begin()->first;
  play.stamp.now += 62min;
  play.ask(SessionGone{worker, exit_with(0)});
  EXPECT_EQ(play.state_of(id), pipeline::Status{pipeline::Done{}});
}

TEST(TaskObserved, AHeartbeatIsToldThatItsPipelineIsPaused) {
  pipeline::testing::Play play({pipeline::testing::phase("work", definition::RunAgent{"fixer"})});
  play.set.agents.set("fixer", definition::Agent{});
  const PipelineId id = play.start();
  play.finish(play.under_way().front());
  const WorkId worker = play.state.tasks.tasks.begin()->first;
  EXPECT_FALSE(as<Beat>(play.ask(Heartbeat{worker})).paused);
  play.ask(pipeline::Pause{id});
  EXPECT_TRUE(as<Beat>(play.ask(Heartbeat{worker})).paused);
  play.ask(pipeline::Continue{id});
  EXPECT_FALSE(as<Beat>(play.ask(Heartbeat{worker})).paused);
}

}  // namespace
}  // namespace reeve::task
