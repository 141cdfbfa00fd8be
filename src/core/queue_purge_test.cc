#include "core/queue_testing.h"

#include <gtest/gtest.h>

// A purge of more than one step may drop is of what was there when it was asked for, and of nothing
// else, whatever others do meanwhile.
namespace reeve::queue {
namespace {

using namespace reeve::queue::testing;

struct QueuePurge : ::testing::Test {
  QueueWorld world;

  std::vector<ItemId> push_many(std::size_t count, const NewItem& item = with(0)) {
    return as<Pushed>(world.ask(Push{bugs, std::vector<NewItem>(count, item)})).ids;
  }
  WaiterId purge(ItemState state = ItemState::Pending) {
    return as<Waiting>(world.ask(Purge{bugs, state})).waiter;
  }
  void tick() {
    for (int i = 0; i < 5; ++i) world.input(Tick{});
  }
  std::size_t still_there(const std::vector<ItemId>& ids) const {
    std::size_t count = 0;
    for (const ItemId id : ids) count += world.state.queues.items.contains(id) ? 1U : 0U;
    return count;
  }
};

TEST_F(QueuePurge, WhatIsPushedMeanwhileStaysAlsoIfItIsMoreUrgent) {
  const std::vector<ItemId> old = push_many(700);
  const WaiterId waiter = purge();
  const std::vector<ItemId> urgent = push_many(300, with(5));
  const std::vector<ItemId> late = push_many(300, with(0));
  tick();
  EXPECT_EQ(as<Counted>(world.answer_to(waiter)), Counted{700});
  EXPECT_EQ(still_there(old), 0u);
  EXPECT_EQ(still_there(urgent), 300u);
  EXPECT_EQ(still_there(late), 300u);
}

TEST_F(QueuePurge, WhatIsTakenMeanwhileIsReplacedByNothing) {
  push_many(600);
  const WaiterId waiter = purge();
  world.ask(Take{{bugs}, ana, {}, 200, {}});
  const std::vector<ItemId> late = push_many(100);
  tick();
  EXPECT_EQ(as<Counted>(world.answer_to(waiter)), Counted{400});
  EXPECT_EQ(still_there(late), 100u);
  EXPECT_EQ(world.counts(bugs).processing, 200u);
}

TEST_F(QueuePurge, WhatWasDelayedGoesAlsoIfItBecomesReadyMeanwhile) {
  const std::vector<ItemId> ready = push_many(300);
  const std::vector<ItemId> delayed = push_many(300, with(9, 1s));
  purge();
  const std::vector<ItemId> late = push_many(10, with(9, 2s));
  world.pass(1s);
  tick();
  EXPECT_EQ(still_there(ready), 0u);
  EXPECT_EQ(still_there(delayed), 0u);
  EXPECT_EQ(still_there(late), 10u);
}

TEST_F(QueuePurge, WhatDiesMeanwhileStays) {
  Config config;
  config.max_attempts = 1;
  world.ask(Create{bugs, config});
  push_many(302);
  const auto taken = as<Taken>(world.ask(Take{{bugs}, ana, {}, 302, {}}));
  const auto fails = [&](std::size_t i) {
    world.ask(Fail{bugs, {taken.items[i].id, taken.items[i].claim}, "no", {}});
  };
  for (std::size_t i = 0; i < 300; ++i) fails(i);
  const WaiterId waiter = purge(ItemState::Dead);
  // Somebody saves one of those, and two more die.
  Redrive one;
  one.queue = bugs;
  one.items = {taken.items[299].id};
  world.ask(one);
  fails(300);
  fails(301);
  tick();
  EXPECT_EQ(as<Counted>(world.answer_to(waiter)), Counted{299});
  EXPECT_EQ(world.counts(bugs).dead, 2u);
  EXPECT_EQ(world.counts(bugs).pending, 1u);
}

TEST_F(QueuePurge, WhatComesFromElsewhereMeanwhileStays) {
  Config config = plain();
  config.max_attempts = 1;
  config.dead_letter = bugs;
  world.create(chores, config);
  const std::vector<ItemId> old = push_many(300);
  const ItemId elsewhere = world.push(chores);
  const std::vector<ItemId> more = push_many(10);
  const WaiterId waiter = purge();
  world.fail(chores, world.take(chores));
  ASSERT_EQ(world.queue_of(elsewhere), bugs);
  tick();
  EXPECT_EQ(as<Counted>(world.answer_to(waiter)), Counted{310});
  EXPECT_EQ(still_there(old) + still_there(more), 0u);
  EXPECT_EQ(still_there({elsewhere}), 1u);
}

// Redriven from here, redriven from the dead letters, given back, and failed: each has an old
// number.
TEST_F(QueuePurge, WhatComesBackMeanwhileStaysAndNothingOldInItsPlace) {
  for (const int way : {0, 1, 2, 3}) {
    world = QueueWorld{};
    Config config = plain();
    config.max_attempts = way == 3 ? 5 : 1;
    if (way == 1) config.dead_letter = lost;
    world.create(bugs, config);
    const ItemId back = world.push(bugs, with(1));
    const TakenItem taken = world.take(bugs);
    if (way < 2) world.fail(bugs, taken);
    const std::vector<ItemId> old = push_many(300);
    const std::vector<ItemId> urgent = push_many(300, with(2));
    const WaiterId waiter = purge();

    if (way < 2) world.ask(Redrive{way == 0 ? bugs : lost, {back}, false, {}});
    if (way == 2) world.release(bugs, taken);
    if (way == 3) world.fail(bugs, taken);

    ASSERT_EQ(world.state_of(back), ItemState::Pending);
    tick();
    EXPECT_EQ(as<Counted>(world.answer_to(waiter)), Counted{600});
    EXPECT_EQ(still_there({back}), 1u) << "way " << way;
    EXPECT_EQ(still_there(old) + still_there(urgent), 0u);
    EXPECT_EQ(world.counts(bugs).pending, 1u);
    // Of one that is asked for from now on it is there like any other.
    EXPECT_EQ(as<Counted>(world.ask(Purge{bugs, ItemState::Pending})), Counted{1});
  }
}

TEST_F(QueuePurge, WhatCameBackDuringOneGoesWithTheNextThatWasAskedForSince) {
  const ItemId back = world.push(bugs, with(1));
  const TakenItem taken = world.take(bugs);
  push_many(1000);
  const WaiterId first = purge();
  world.release(bugs, taken);
  const WaiterId second = purge();
  const std::vector<ItemId> late = push_many(10);
  tick();
  EXPECT_EQ(as<Counted>(world.answer_to(first)).items + as<Counted>(world.answer_to(second)).items,
            1001u);
  EXPECT_EQ(still_there({back}), 0u);
  EXPECT_EQ(still_there(late), 10u);
}

}  // namespace
}  // namespace reeve::queue
