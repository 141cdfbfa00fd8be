#include "core/board_testing.h"

#include <gtest/gtest.h>

// Sections that are shared by all projects: their tasks are for the runners of each.
namespace reeve::board {
namespace {

const SectionName everybodys{shared_project, "ops"};
const SectionName earliest{shared_project, "first"};
const SectionName more_of_it{shared_project, "later"};

struct SharedWorld : BoardWorld {
  SharedWorld() {
    shop = as<project::Opened>(ask(project::Open{"/home/dan/shop", "shop"})).project;
    dan = {shop, "dan"};
    eve = {shop, "eve"};
  }
  BoardTaskId add_in(ProjectNo project, std::string title, std::optional<SectionName> section) {
    const Command add = Add{std::move(title), std::move(section), 0, ""};
    return as<Added>(ask(add, {}, {}, project)).task;
  }
  reeve::Reply next_for(const RunnerName& runner, bool in_order, std::optional<Wait> wait = {}) {
    const Command next = Next{runner, NextTask{{}, in_order, true}, wait};
    return ask(next, {}, {}, runner.project);
  }
  WaiterId waits(const RunnerName& runner, bool in_order = false, Duration at_most = 10h) {
    return as<Waiting>(next_for(runner, in_order, Wait{at_most})).waiter;
  }

  ProjectNo shop;
  RunnerName dan;
  RunnerName eve;
};

TEST(BoardShared, TheirTasksComeAfterThoseOfTheOwnSectionsAndBeforeThoseOfNone) {
  SharedWorld world;
  const BoardTaskId loose = world.add("loose");
  const BoardTaskId shared = world.add("shared", everybodys);
  const BoardTaskId own = world.add("own", backend);

  for (const BoardTaskId task : {own, shared, loose}) {
    EXPECT_EQ(as<Started>(world.next_for(ana, false)).task, task);
    world.finish(task, ana);
  }
  EXPECT_EQ(as<Nothing>(world.next_for(ana, false)), Nothing{false});
}

TEST(BoardShared, ARunnerOfAnyProjectFindsThemWhoeverAddedThem) {
  SharedWorld world;
  const BoardTaskId task = world.add("shared", everybodys);

  EXPECT_EQ(as<Started>(world.next_for(world.dan, false)).task, task);
  EXPECT_EQ(as<Nothing>(world.next_for(ana, false)), Nothing{true}) << "dan has it";
  EXPECT_EQ(as<Nothing>(world.next_for(world.eve, false)), Nothing{true})
      << "though her project has nothing open of its own";
}

TEST(BoardShared, ATaskInASharedSectionIsForWhoeverWaitedLongestInAnyProject) {
  SharedWorld world;
  const BoardTaskId held = world.add("held", everybodys);
  world.start(held, ana);
  const WaiterId first = world.waits(world.dan);
  const WaiterId second = world.waits(bo);
  const WaiterId third = world.waits(world.eve);

  const BoardTaskId one = world.add("one", more_of_it);
  EXPECT_EQ(as<Started>(world.told(first)).task, one);
  EXPECT_TRUE(is<Ok>(world.told(second))) << "it still waits";

  // By hand, and by time.
  world.say(PutBack{held, ana, {}});
  world.say(LetGo{everybodys, ana});
  EXPECT_EQ(as<Started>(world.told(second)).task, held);
  world.pass(121min);
  EXPECT_TRUE(as<Started>(world.told(third)).claimed_from);
}

TEST(BoardShared, WhoWaitsForAnyIsToldWhenTheLastOfThemHasEnded) {
  SharedWorld world;
  const BoardTaskId held = world.add("held", everybodys);
  world.start(held, ana);
  const WaiterId waiter = world.waits(world.dan);

  world.finish(held, ana);
  EXPECT_EQ(as<Nothing>(world.told(waiter)), Nothing{false});
}

TEST(BoardShared, InOrderTheyAreWaitedForLastAndANewOneIsTaken) {
  SharedWorld world;
  world.ask(AddSection{backend});
  world.ask(AddSection{earliest});
  world.start(world.add("held", everybodys), ana);
  const WaiterId own = world.waits(bo, true);
  const WaiterId other = world.waits(world.dan, true);
  EXPECT_TRUE(is<Ok>(world.told(own)));

  const BoardTaskId mine = world.add_in(world.shop, "mine", SectionName{world.shop, "shelf"});
  EXPECT_EQ(as<Started>(world.told(other)).task, mine);
  const BoardTaskId earlier = world.add("earlier", backend);
  EXPECT_EQ(as<Started>(world.told(own)).task, earlier);

  const WaiterId last = world.waits(world.eve, true);
  world.add("elsewhere", more_of_it);
  EXPECT_TRUE(is<Ok>(world.told(last))) << "that comes after what is held";
  const BoardTaskId before = world.add("before", earliest);
  EXPECT_EQ(as<Started>(world.told(last)).task, before);
}

TEST(BoardShared, WhatIsNotSharedIsNotForOthers) {
  SharedWorld world;
  const BoardTaskId own = world.add("own", backend);

  EXPECT_EQ(as<Nothing>(world.next_for(world.dan, false)), Nothing{false});
  EXPECT_EQ(as<Started>(world.next_for(ana, false)).task, own);
}

// Of a lease that is over in the very millisecond in which the wait is, nothing is had.
TEST(BoardShared, AWaitEndsAtItsLimitAlsoIfWhatItWaitsForIsFreeThen) {
  SharedWorld world;
  world.start(world.add("held", everybodys), ana);
  const WaiterId waiter = world.waits(world.dan, false, 120min + 1ms);
  world.pass(121min);

  EXPECT_EQ(as<Nothing>(world.told(waiter)), Nothing{true});
}

}  // namespace
}  // namespace reeve::board
