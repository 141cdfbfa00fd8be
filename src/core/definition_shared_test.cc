#include "core/definition.h"
#include "core/testing.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

// What a set says of names that all projects share, and what it may not say at all.
namespace reeve::definition {
namespace {

using namespace reeve::testing;

constexpr ProjectNo second_project{2};

World with_second_project() {
  World world;
  world.ask(project::Open{"/home/ana/other", "other"});
  return world;
}

reeve::Reply load(World& world, Set set, const char* hash, ProjectNo project = default_project) {
  set.hash = hash;
  set.root = "/home/ana/shop";
  return world.ask(Load{project, Boxed<Set>(std::move(set))});
}

TEST(DefinitionShared, ANameWithTwoSlashesIsOfAllProjects) {
  World world;
  Set set;
  set.locks.set("//main", {5s, {}, false});
  set.semaphores.set("//agents", {3, {}});
  queue::Config config;
  config.max_attempts = 7;
  set.queues.set("//bugs", config);
  EXPECT_TRUE(is<Ok>(load(world, set, "one")));

  EXPECT_EQ(world.state.locks.defined.find({shared_project, "main"})->heartbeat_timeout, 5s);
  EXPECT_EQ(world.state.semaphores.semaphores.find({shared_project, "agents"})->config.capacity,
            3u);
  const queue::QueueNo* bugs = world.state.queues.names.find({shared_project, "bugs"});
  ASSERT_TRUE(bugs);
  EXPECT_EQ(world.state.queues.queues.find(*bugs)->config.max_attempts, 7u);
  EXPECT_FALSE(world.state.queues.names.contains({default_project, "//bugs"}));
}

TEST(DefinitionShared, WhatIsSaidOfALockGoesWhenNobodySaysItAnyMore) {
  World world = with_second_project();
  Set set;
  set.locks.set("//main", {5s, {}, false});
  set.locks.set("own", {5s, {}, false});
  load(world, set, "one");
  load(world, set, "one", second_project);

  load(world, {}, "two");
  EXPECT_FALSE(world.state.locks.defined.contains({default_project, "own"}));
  EXPECT_TRUE(world.state.locks.defined.contains({second_project, "own"}));
  EXPECT_TRUE(world.state.locks.defined.contains({shared_project, "main"})) << "the other's";
  load(world, {}, "two", second_project);
  EXPECT_TRUE(world.state.locks.defined.empty());
}

TEST(DefinitionShared, DeadLettersOfSharedQueuesDoNotGoRoundEither) {
  World world;
  Set set;
  queue::Config to_lost;
  to_lost.dead_letter = QueueName{shared_project, "lost"};
  queue::Config to_bugs;
  to_bugs.dead_letter = QueueName{shared_project, "bugs"};
  set.queues.set("//bugs", to_lost);
  EXPECT_TRUE(is<Ok>(load(world, set, "one")));
  set.queues.set("//lost", to_bugs);
  EXPECT_EQ(as<Refused>(load(world, set, "two")), (Refused{Why::Loop, "//bugs"}));
}

TEST(DefinitionShared, AWorkerMayWorkForAllProjects) {
  World world;
  Phase phase;
  phase.name = "work";
  phase.action = RunShell{"make"};
  Pipeline fix;
  fix.phases = {phase};
  Set set;
  set.pipelines.set("fix", fix);
  set.workers.set("fixer", {"//bugs", "fix", 1, {}});
  set.workers.set("bad", {"//", "fix", 1, {}});
  load(world, set, "one");
  const SetKey key{default_project, "one"};
  EXPECT_EQ(as<Refused>(world.ask(worker::Start{{default_project, "bad"}, key, {}})),
            (Refused{Why::BadName, "//"}));
  world.ask(worker::Start{{default_project, "fixer"}, key, {}});

  queue::NewItem item;
  item.data = Bytes("1");
  world.ask(queue::Push{{shared_project, "bugs"}, {item}});

  EXPECT_EQ(world.state.pipelines.pipelines.size(), 1u);
}

TEST(DefinitionShared, AMistakeInASetLeavesTheLastGoodOneInForce) {
  World world;
  load(world, {}, "good");
  const auto refused_for = [&](Set set) {
    const reeve::Reply reply = load(world, std::move(set), "bad");
    EXPECT_FALSE(world.last.changed);
    EXPECT_EQ(*world.state.definitions.current.find(default_project), "good");
    return as<Refused>(reply);
  };
  Set slots;
  slots.semaphores.set("agents", {4, Duration{-1}});
  EXPECT_EQ(refused_for(slots), (Refused{Why::BadValue, "agents"}));
  Set none;
  none.semaphores.set("agents", {0, {}});
  EXPECT_EQ(refused_for(none), (Refused{Why::BadValue, "agents"}));
  for (const auto break_it : {+[](queue::Config& it) { it.visibility_timeout = -1ms; },
                              +[](queue::Config& it) { it.backoff_first = -1ms; },
                              +[](queue::Config& it) { it.backoff_max = -1ms; },
                              +[](queue::Config& it) { it.keep_completed_for = -1ms; },
                              +[](queue::Config& it) { it.keep_dead_for = -1ms; }}) {
    Set set;
    queue::Config config;
    break_it(config);
    set.queues.set("bugs", config);
    EXPECT_EQ(refused_for(set), (Refused{Why::BadValue, "bugs"}));
  }
  Set elsewhere;
  queue::Config config;
  config.dead_letter = QueueName{ProjectNo{99}, "lost"};
  elsewhere.queues.set("bugs", config);
  EXPECT_EQ(refused_for(elsewhere), (Refused{Why::NotFound, "project"}));
  Set unnamed;
  unnamed.queues.set("////x", {});
  EXPECT_EQ(refused_for(unnamed), (Refused{Why::BadName, "//x"}));
}

TEST(DefinitionShared, ASetThatFindsNoRoomIsRefusedAsAWhole) {
  World world;
  world.state.semaphores.counts.set(default_project, limits::names_a_project);
  world.state.queues.queues_of.set(default_project, limits::names_a_project);
  world.collects = true;  // the counts are made up
  Set slots;
  slots.semaphores.set("agents", {1, {}});
  EXPECT_EQ(as<Refused>(load(world, slots, "one")), (Refused{Why::OverLimit, "semaphores"}));
  Set queues;
  queues.queues.set("bugs", {});
  EXPECT_EQ(as<Refused>(load(world, queues, "one")), (Refused{Why::OverLimit, "queues"}));
  Set dead;
  queue::Config config;
  config.dead_letter = QueueName{default_project, "lost"};
  dead.queues.set("//bugs", config);
  EXPECT_EQ(as<Refused>(load(world, dead, "one")), (Refused{Why::OverLimit, "queues"}));
  world.state.queues.queues_of = {};
  world.state.queues.last_queue = std::numeric_limits<queue::QueueNo>::max();
  EXPECT_EQ(as<Refused>(load(world, queues, "one")), (Refused{Why::OverLimit, "queues"}));
  EXPECT_TRUE(world.state.definitions.current.empty());
}

}  // namespace
}  // namespace reeve::definition
