#include "core/board_testing.h"

#include <gtest/gtest.h>

// Waiting for whichever task is free first.
namespace reeve::board {
namespace {

struct AnyWorld : BoardWorld {
  reeve::Reply wait_for_any(const RunnerName& runner, std::optional<Duration> at_most = {}) {
    return say(Next{runner, NextTask{{}, false, true}, Wait{at_most}});
  }
  WaiterId waiter_for_any(const RunnerName& runner, std::optional<Duration> at_most = {}) {
    return as<Waiting>(wait_for_any(runner, at_most)).waiter;
  }
};

TEST(BoardAny, WhereNothingIsOpenNobodyWaits) {
  AnyWorld world;
  EXPECT_EQ(as<Nothing>(world.wait_for_any(bo)), Nothing{false});
}

TEST(BoardAny, ANewTaskIsForTheFirstWhoWaits) {
  AnyWorld world;
  world.start(world.add("one", backend), ana);
  const WaiterId first = world.waiter_for_any(bo);
  const WaiterId second = world.waiter_for_any(cy);
  const BoardTaskId two = world.add("two", frontend);
  EXPECT_EQ(as<Started>(world.told(first)).task, two);
  EXPECT_TRUE(is<Ok>(world.told(second))) << "it still waits";
}

TEST(BoardAny, ATaskInASectionThatIsHeldIsForItsRunnerWhereverThatStands) {
  AnyWorld world;
  world.start(world.add("one", backend), ana);
  world.start(world.add("two", frontend), bo);
  const WaiterId first = world.waiter_for_any(cy);
  const WaiterId second = world.waiter_for_any(bo);
  const BoardTaskId more = world.add("more", frontend);
  EXPECT_TRUE(is<Ok>(world.told(first)));
  EXPECT_EQ(as<Started>(world.told(second)).task, more);
}

TEST(BoardAny, WhatItsRunnerLetsGoIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.finish(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo);
  world.say(LetGo{backend, ana});
  EXPECT_EQ(as<Started>(world.told(waiter)).task, two);
}

TEST(BoardAny, WhatIsOverIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one");
  world.start(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo, 2h);
  world.pass(60min);
  EXPECT_TRUE(is<Ok>(world.told(waiter)));
  world.pass(1ms);
  EXPECT_EQ(as<Started>(world.told(waiter)).claimed_from, ana);
}

TEST(BoardAny, ASectionThatIsOverIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.finish(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo, 3h);
  world.pass(120min + 1ms);
  EXPECT_EQ(as<Started>(world.told(waiter)).task, two);
}

TEST(BoardAny, WhatIsTakenByForceIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  world.start(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo);
  world.say(ForceRelease{backend, "root", "gone"});
  EXPECT_EQ(as<Started>(world.told(waiter)).task, one);
}

// Two are over at one moment, and the timer of the first serves one who takes the second.
TEST(BoardAny, WhatIsClaimedWasSaidToBeOverBefore) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", frontend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.start(two, cy);
  const WaiterId waiter = world.waiter_for_any(bo, 3h);
  world.pass(120min);
  world.forget();

  world.pass(1ms);

  EXPECT_EQ(as<Started>(world.told(waiter)).task, one);
  std::vector<std::string> of_frontend;
  for (const EventBody& body : world.heard) {
    const EventName name = name_of(body);
    if (name.subject == frontend.name) of_frontend.push_back(name.verb);
  }
  EXPECT_EQ(of_frontend, (std::vector<std::string>{"section_expired", "section_locked"}));
}

TEST(BoardAny, WhenTheLastTaskHasEndedAllWhoWaitAreTold) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  world.start(one, ana);
  const WaiterId first = world.waiter_for_any(bo);
  const WaiterId second = world.waiter_for_any(cy);
  world.finish(one, ana);
  EXPECT_EQ(as<Nothing>(world.told(first)), Nothing{false});
  EXPECT_EQ(as<Nothing>(world.told(second)), Nothing{false});
}

TEST(BoardAny, WhatIsPutBackIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one");
  world.start(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo, 2h);
  world.say(ForceRelease{TaskRef{one}, "root", ""});
  EXPECT_EQ(as<Started>(world.told(waiter)).task, one);
  const WaiterId other = world.waiter_for_any(cy, 2h);
  world.say(PutBack{one, bo, {}});
  EXPECT_EQ(as<Started>(world.told(other)).task, one);
}

TEST(BoardAny, AWaitEndsWithNothing) {
  AnyWorld world;
  world.start(world.add("one", backend), ana);
  const WaiterId waiter = world.waiter_for_any(bo, 10min);
  world.pass(10min);
  EXPECT_EQ(as<Nothing>(world.told(waiter)), Nothing{true});
}

}  // namespace
}  // namespace reeve::board
