#include "core/board_testing.h"

#include <gtest/gtest.h>

// What becomes of leases on a board while the daemon cannot listen: grace.
namespace reeve::board {
namespace {

void be_away(BoardWorld& world, Duration duration) {
  world.stamp.now += duration;
  world.stamp.wall += duration;
  world.input(Resumed{System::What::Suspended});
  world.input(Tick{});
}

// A restart gives time to those who hold something, not to those who have lost it.
TEST(BoardGrace, WhatWasOverStaysOverWhenTheDaemonComesBack) {
  BoardWorld world;
  const BoardTaskId alone = world.add("alone");
  const BoardTaskId task = world.add("fix", backend);
  world.start(alone, ana);
  world.start(task, ana);
  world.pass(120min + 1ms);
  ASSERT_TRUE(world.section(backend).lock->expired);
  world.input(Resumed{});

  EXPECT_TRUE(is<Lost>(world.heartbeat(alone, ana)));
  EXPECT_EQ(as<Started>(world.start(alone, bo)).claimed_from, ana);
  EXPECT_EQ(as<Started>(world.start(task, bo)).claimed_from, ana);
}

TEST(BoardGrace, ATaskCountsFromTheMomentTheDaemonListensAgain) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  const auto started = as<Started>(world.start(task, ana));
  world.forget();

  be_away(world, 3h);

  EXPECT_FALSE(world.task(task).lock->expired);
  world.pass(60min);
  EXPECT_EQ(as<TaskLocked>(world.start(task, bo)), (TaskLocked{task, ana, at(4h)}));
  EXPECT_EQ(world.names(), (Names{"system:suspended"}));
  world.pass(1ms);
  EXPECT_EQ(world.names().back(), "board:expired");
  EXPECT_EQ(as<Lost>(world.heartbeat(task, ana, started.token)), (Lost{}));
  EXPECT_EQ(as<Started>(world.start(task, bo)).claimed_from, ana);
}

TEST(BoardGrace, ASectionCountsFromTheMomentTheDaemonListensAgain) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.finish(one, ana);
  world.forget();

  be_away(world, 3h);

  EXPECT_FALSE(world.section(backend).lock->expired);
  world.pass(120min);
  EXPECT_EQ(as<SectionLocked>(world.start(two, bo)), (SectionLocked{backend, ana, at(5h)}));
  EXPECT_EQ(world.names(), (Names{"system:suspended"}));
  world.pass(1ms);
  EXPECT_EQ(world.names().back(), "board:section_expired");
  EXPECT_TRUE(is<Started>(world.start(two, bo)));
}

// Who is back within the grace goes on as if nothing had been, under the same token.
TEST(BoardGrace, AHeartbeatWithinItKeepsTaskAndSection) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  const auto started = as<Started>(world.start(task, ana));

  be_away(world, 3h);

  world.pass(60min);
  EXPECT_EQ(as<Extended>(world.heartbeat(task, ana, started.token)), (Extended{task, at(5h)}));
  EXPECT_EQ(world.section(backend).lock->lease.token, started.section_token);
}

}  // namespace
}  // namespace reeve::board
