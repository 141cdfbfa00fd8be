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

// It works on what the next phase will work on.
TEST(TaskObserved, ARunIsOverWhenTheCheckpointThatIsBeingMadeHasEndedToo) {
  Begin begin = resolver();
  begin.agent.idle_timeout = 10h;
  begin.agent.checkpoint_every = 10min;
  begin.agent.checkpoint_run = "git commit";
  World world;
  const WorkId id = begin_running(world, begin);
  world.pass(10min);
  const EffectId checkpoint = open_effect<Shell>(world);
  world.finish(open_effect<Spawn>(world), exit_with(0));
  EXPECT_EQ(world.state.outbox.size(), 1u) << "half a commit is of no use to anybody";
  EXPECT_FALSE(is_over(the(world, id)));
  world.finish(checkpoint, exit_with(0));
  EXPECT_TRUE(is_over(the(world, id)));
}

TEST(TaskObserved, WhoeverEndsItEndsItsCheckpointAsWell) {
  Begin begin = resolver();
  begin.agent.idle_timeout = 10h;
  begin.agent.checkpoint_every = 10min;
  begin.agent.checkpoint_run = "git commit";
  for (const bool anew : {false, true}) {
    World world;
    const WorkId id = begin_running(world, begin);
    world.pass(10min);
    const EffectId checkpoint = open_effect<Shell>(world);
    const EffectId run = open_effect<Spawn>(world);
    if (anew) {
      world.ask(Restart{id});
    } else {
      world.ask(Kill{id});
    }
    std::vector<EffectId> kills;
    bool is_killed = false;
    for (const auto& [effect, entry] : world.state.outbox) {
      const reeve::Kill* kill = std::get_if<reeve::Kill>(&entry.effect.what);
      if (kill) kills.push_back(effect);
      if (kill && kill->target == decltype(kill->target){checkpoint}) is_killed = true;
    }
    EXPECT_EQ(kills.size(), 2u);
    EXPECT_TRUE(is_killed);
    world.finish(run, exit_with(143));
    for (const EffectId kill : kills) world.finish(kill);
    EXPECT_FALSE(is_over(the(world, id)));
    EXPECT_EQ(the(world, id).attempt, id) << "the next attempt begins when nothing is left";
    world.finish(checkpoint, exit_with(143));
    EXPECT_EQ(is_over(the(world, id)), !anew);
    EXPECT_EQ(the(world, id).attempt != id, anew);
  }
}

// A run that was cancelled in the middle of a checkpoint, and has ended but for that.
struct Checkpointed : World {
  WorkId id;
  EffectId checkpoint;

  Checkpointed() {
    Begin begin = resolver();
    begin.agent.idle_timeout = 10h;
    begin.agent.checkpoint_every = 10min;
    begin.agent.checkpoint_run = "git commit";
    id = begin_running(*this, begin);
    pass(10min);
    checkpoint = open_effect<Shell>(*this);
    ask(Kill{id});
    finish(open_effect<Spawn>(*this), exit_with(143));
    finish(kill_of(the(*this, id).run));
  }
  EffectId kill_of(EffectId target) const {
    for (const auto& [effect, entry] : state.outbox) {
      const reeve::Kill* kill = std::get_if<reeve::Kill>(&entry.effect.what);
      if (kill && kill->target == decltype(kill->target){target}) return effect;
    }
    ADD_FAILURE() << "nobody ends it";
    return {};
  }
};

TEST(TaskObserved, ACheckpointThatCannotBeSeenDeadIsAskedAbout) {
  Checkpointed world;
  world.finish(world.kill_of(world.checkpoint), unseen_dead());
  EXPECT_EQ(asked_about(world, world.id), decision::Cause::ProcessUnobserved);
  EXPECT_FALSE(is_over(the(world, world.id)));

  Checkpointed looked_at = world;
  decide(looked_at, world.id, decision::Choice::LookAgain);
  EXPECT_EQ(asked_about(looked_at, world.id), std::nullopt);
  looked_at.finish(looked_at.kill_of(world.checkpoint));
  EXPECT_FALSE(is_over(the(looked_at, world.id)));
  looked_at.finish(world.checkpoint, exit_with(143));
  EXPECT_TRUE(is_over(the(looked_at, world.id)));

  Checkpointed released = world;
  decide(released, world.id, decision::Choice::ReleaseAnyway);
  EXPECT_TRUE(is_over(the(released, world.id)));
  EXPECT_TRUE(released.state.outbox.empty());

  world.finish(world.checkpoint, exit_with(143));
  EXPECT_EQ(asked_about(world, world.id), std::nullopt) << "it has ended after all";
  EXPECT_TRUE(is_over(the(world, world.id)));
}

TEST(TaskObserved, TheKillOfACheckpointIsDoneAgainIfNobodyKnowsWhatBecameOfIt) {
  Checkpointed world;
  const EffectId kill = world.kill_of(world.checkpoint);
  world.finish(kill, ended(Ended::Unknown));
  EXPECT_NE(world.kill_of(world.checkpoint), kill);
  EXPECT_EQ(asked_about(world, world.id), std::nullopt);
}

// Who is asked about it is asked until it has ended, or somebody has answered: that its session is
// to be ended once more has nothing to do with it.
TEST(TaskObserved, ACheckpointThatCannotBeSeenDeadIsAskedAboutWhateverIsEndedBesides) {
  Begin begin = fixer();
  begin.agent.idle_timeout = 10h;
  begin.agent.checkpoint_every = 10min;
  begin.agent.checkpoint_run = "git commit";
  for (const bool released : {false, true}) {
    World world;
    const WorkId id = begin_running(world, begin);
    world.pass(10min);
    const EffectId checkpoint = open_effect<Shell>(world);
    world.ask(Kill{id});
    world.finish(the(world, id).checkpoint_kill, unseen_dead());
    world.finish(the(world, id).kill, ended(Ended::Unknown));
    EXPECT_EQ(asked_about(world, id), decision::Cause::ProcessUnobserved);
    EXPECT_EQ(world.state.outbox.size(), 2u) << "its session is ended again, and nothing else";

    if (released) decide(world, id, decision::Choice::ReleaseAnyway);
    world.finish(the(world, id).kill);
    EXPECT_EQ(is_over(the(world, id)), released);
    if (!released) world.finish(checkpoint, exit_with(143));
    EXPECT_EQ(asked_about(world, id), std::nullopt);
    EXPECT_TRUE(is_over(the(world, id)));
  }
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
