#include "core/wait_graph.h"

#include "core/grant_testing.h"

namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Granted;
using grant::WouldDeadlock;
using Cycle = std::vector<Holder>;
using Names = std::vector<std::string>;

TEST(WaitGraph, TwoWhoWouldWaitForEachOtherAreACycle) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(bo, "two");
  world.acquire(ana, "two", waiting);

  const Reply reply = world.acquire(bo, "one", waiting);

  EXPECT_EQ(as<WouldDeadlock>(reply).cycle, (Cycle{bo, ana}));
  EXPECT_FALSE(world.last.changed);
}

TEST(WaitGraph, ACycleOfThreeIsListedInItsOrder) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(bo, "two");
  world.acquire(cy, "three");
  world.acquire(ana, "two", waiting);
  world.acquire(bo, "three", waiting);

  EXPECT_EQ(as<WouldDeadlock>(world.acquire(cy, "one", waiting)).cycle, (Cycle{cy, ana, bo}));
}

TEST(WaitGraph, OnlyAWaitIsRefused) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(bo, "two");
  world.acquire(ana, "two", waiting);

  EXPECT_TRUE(is<grant::Busy>(world.acquire(bo, "one")));
}

TEST(WaitGraph, OneStuckWantOfSeveralIsEnough) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(bo, "two");
  world.acquire(cy, "three");
  world.acquire(ana, Names{"three", "two"}, waiting);

  EXPECT_TRUE(is<WouldDeadlock>(world.acquire(bo, Names{"four", "one"}, waiting)));
}

TEST(WaitGraph, AChainThatEndsWithSomebodyWhoWaitsForNothingIsFine) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(bo, "two");
  world.acquire(cy, "three");
  world.acquire(ana, "two", waiting);

  EXPECT_TRUE(is<Waiting>(world.acquire(cy, "one", waiting)));
}

TEST(WaitGraph, OfASemaphoreAllOtherHoldersMustBeStuck) {
  Grants world;
  world.create("agents", 2);
  world.acquire(bo, "one");
  world.enter(ana, "agents");
  world.enter(cy, "agents");
  world.acquire(ana, "one", waiting);

  const Reply fine = world.enter(bo, "agents", 1, {.wait = 1s});
  EXPECT_TRUE(is<Waiting>(fine)) << "cy can move";
  world.pass(1s);
  world.acquire(cy, "one", waiting);

  const Cycle cycle = as<WouldDeadlock>(world.enter(bo, "agents", 1, waiting)).cycle;
  EXPECT_EQ(cycle.size(), 2u);
  EXPECT_EQ(cycle.front(), bo);
}

TEST(WaitGraph, OfASemaphoreSoManyHoldersMustMoveAsMakeRoom) {
  Grants world;
  world.create("agents", 3);
  world.acquire(bo, "one");
  world.enter(ana, "agents", 1);
  world.enter(cy, "agents", 2);
  world.acquire(ana, "one", waiting);

  EXPECT_EQ(as<WouldDeadlock>(world.enter(bo, "agents", 3, waiting)).cycle, (Cycle{bo, ana}))
      << "cy can move, and that is not enough";
  EXPECT_TRUE(is<Waiting>(world.enter(bo, "agents", 2, waiting))) << "and here it is";
}

TEST(WaitGraph, WhoWaitsForRoomIsFreedByAsManyAsMakeIt) {
  // cy needs what both di and bo have; di can move, and bo too: nobody is stuck.
  Grants world;
  world.create("agents", 3);
  world.acquire(cy, "one");
  world.enter(ana, "agents", 1);
  world.enter(bo, "agents", 1);
  world.enter(di, "agents", 1);
  world.enter(cy, "agents", 2, waiting);

  EXPECT_TRUE(is<Waiting>(world.acquire(ana, "one", waiting)));
  EXPECT_EQ(as<WouldDeadlock>(world.acquire(bo, "one", waiting)).cycle, (Cycle{bo, cy}))
      << "then two of the three would wait for cy";
}

TEST(WaitGraph, TwoIncreasesThatWaitForEachOtherAreACycle) {
  Grants world;
  world.create("agents", 2);
  world.enter(ana, "agents");
  world.enter(bo, "agents");
  EXPECT_TRUE(is<Waiting>(world.enter(ana, "agents", 2, waiting)));

  EXPECT_EQ(as<WouldDeadlock>(world.enter(bo, "agents", 2, waiting)).cycle, (Cycle{bo, ana}));
}

TEST(WaitGraph, ASlotThatFitsStandsInNobodysWay) {
  Grants world;
  world.create("agents", 3);
  world.acquire(bo, "one");
  world.enter(ana, "agents");
  world.acquire(ana, "one", waiting);

  EXPECT_TRUE(is<Granted>(world.enter(bo, "agents", 1, waiting)));
}

TEST(WaitGraph, WaitingForWhatOnesOwnParentHoldsIsRefused) {
  Grants world;
  world.create("agents", 1);
  world.acquire(ana, "one");
  world.enter(ana, "agents");

  EXPECT_EQ(
      as<WouldDeadlock>(world.acquire(bo, "one", {.wait = for_ever, .meta = inside(ana)})).cycle,
      (Cycle{bo, ana}));
  EXPECT_EQ(as<WouldDeadlock>(world.enter(bo, "agents", 1, {.wait = for_ever, .meta = inside(ana)}))
                .cycle,
            (Cycle{bo, ana}));
}

TEST(WaitGraph, AChildsWaitsAreItsParents) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(cy, "two");
  world.acquire(bo, "two", {.wait = for_ever, .meta = inside(ana)});

  EXPECT_EQ(as<WouldDeadlock>(world.acquire(cy, "one", waiting)).cycle, (Cycle{cy, ana}));
}

TEST(WaitGraph, AHolderWhoseLeaseIsOverIsInNobodysWay) {
  Grants world;
  world.acquire(ana, "one", {.timeout = 10s});
  world.acquire(cy, "three", {.timeout = 1h});
  world.acquire(bo, "two", {.timeout = 1h});
  world.acquire(cy, "one", waiting);
  world.acquire(ana, "two", waiting);
  world.wait_unnoticed(10s + 1ms);

  EXPECT_TRUE(is<Waiting>(world.acquire(bo, "three", waiting)));
}

TEST(WaitGraph, AHolderWhoseProcessIsBeingEndedIsNotStuck) {
  Grants world;
  world.acquire(ana, "one", {.meta = with_process(1)});
  world.acquire(bo, "two", {.timeout = 1h});
  world.acquire(ana, "two", waiting);
  world.force("one");

  EXPECT_TRUE(is<Waiting>(world.acquire(bo, "one", waiting)));
}

// With the process all that it holds comes free, not only the lease for which it is being ended.
TEST(WaitGraph, AHolderWhoseProcessIsBeingEndedForAnotherLeaseIsNotStuck) {
  Grants world;
  world.create("agents", 1);
  world.acquire(ana, "one", {.meta = with_process(1)});
  world.acquire(ana, "three", {.meta = with_process(1)});
  world.enter(ana, "agents", 1, {.meta = with_process(1)});
  world.acquire(bo, "two", {.timeout = 1h});
  world.acquire(ana, "two", waiting);
  world.force("one");

  const Reply lock = world.acquire(bo, "three", waiting);
  const Reply slot = world.enter(bo, "agents", 1, waiting);
  world.input(custody::ProcessGone{process(1)});

  EXPECT_TRUE(world.got<Granted>(lock));
  EXPECT_TRUE(world.got<Granted>(slot));
}

TEST(WaitGraph, AVeryLongChainIsWalkedWithoutFear) {
  Grants world;
  State state = world.state;
  const auto holder = [](int i) { return Holder{default_project, "h" + std::to_string(i)}; };
  const auto name = [](int i) { return lock_named("l" + std::to_string(i)); };
  const auto ask = [&](const Holder& who, const LockName& what, std::optional<Duration> wait) {
    Applied applied = apply(std::move(state),
                            Request{default_project,
                                    {},
                                    true,
                                    "",
                                    lock::Command{lock::Acquire{{what}, who, {}, 1000h, {}, wait}}},
                            world.stamp);
    state = std::move(applied.state);
    return applied.reply;
  };
  constexpr int length = 3000;
  for (int i = 0; i < length; ++i) ask(holder(i), name(i), std::nullopt);
  // From the near end, where each new wait ends at somebody who does not wait yet.
  for (int i = 0; i + 1 < length; ++i) ask(holder(i), name(i + 1), for_ever);

  const Reply reply = ask(holder(length - 1), name(0), for_ever);

  EXPECT_EQ(as<WouldDeadlock>(reply).cycle.size(), static_cast<std::size_t>(length));
}

TEST(WaitGraph, TheWaitsBehindAHolderAreItsOwnAndThoseOfAllItWaitsFor) {
  Grants world;
  world.acquire(ana, "one");
  world.acquire(bo, "two");
  const Reply bo_waits = world.acquire(bo, "one", waiting);
  const Reply cy_waits = world.acquire(cy, "two", waiting);

  EXPECT_EQ(wait_graph::waits_behind(world.state, cy, world.stamp.now),
            (std::vector<WaiterId>{as<Waiting>(bo_waits).waiter, as<Waiting>(cy_waits).waiter}));
  EXPECT_EQ(wait_graph::waits_behind(world.state, ana, world.stamp.now), std::vector<WaiterId>{});
}

}  // namespace
}  // namespace reeve
