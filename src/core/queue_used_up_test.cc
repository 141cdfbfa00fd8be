#include "core/queue_testing.h"

#include <gtest/gtest.h>

// Items that a lowered maximum has used up: they end when they are looked at, which must not be to
// the advantage of anybody.
namespace reeve::queue {
namespace {

using namespace reeve::queue::testing;

struct QueueUsedUp : ::testing::Test {
  QueueWorld world;
  Config config = plain();

  void SetUp() override {
    config.dead_letter = lost;
    world.create(bugs, config);
  }
  // Tried once, and pending again.
  ItemId push_tried(std::int32_t priority, Duration rests = 0s) {
    const ItemId item = world.push(bugs, with(priority));
    const auto taken = as<Taken>(world.ask(TakeOne{bugs, item, ana, {}})).items;
    world.fail(bugs, taken.at(0), "boom", rests);
    return item;
  }
  void lower_maximum() {
    config.max_attempts = 1;
    world.create(bugs, config);
  }
  static std::vector<ItemId> ids_of(const std::vector<TakenItem>& items) {
    std::vector<ItemId> ids;
    for (const TakenItem& item : items) ids.push_back(item.id);
    return ids;
  }
};

TEST_F(QueueUsedUp, AmongTheQueuesNamedHasItsPlaceAmongTheDeadLetters) {
  world.create(lost, plain());
  world.create(chores, plain());
  const ItemId urgent = world.push(bugs, with(3));
  const ItemId spent = push_tried(2);
  const ItemId low = world.push(chores, with(1));
  lower_maximum();
  QueueWorld with_letter = world;
  const ItemId letter = with_letter.push(lost, with(0));

  EXPECT_EQ(ids_of(world.take_all({bugs, lost, chores}, 2)), (std::vector{urgent, spent}));
  EXPECT_EQ(ids_of(with_letter.take_all({lost, chores, bugs}, 4)),
            (std::vector{urgent, spent, low, letter}));
}

TEST_F(QueueUsedUp, AmongTheQueuesNamedIsNotTooFewForIt) {
  const ItemId urgent = world.push(bugs, with(3));
  const ItemId spent = push_tried(2);
  world.create(lost, plain());
  lower_maximum();
  EXPECT_EQ(ids_of(world.take_all({bugs, lost}, 2)), (std::vector{urgent, spent}));
}

TEST_F(QueueUsedUp, LeavesHerBatchToTheFirstInLine) {
  const ItemId urgent = world.push(bugs, with(3));
  const ItemId spent = push_tried(2);
  const ItemId low = world.push(bugs, with(1));
  lower_maximum();
  world.ask(Pause{bugs, {}});
  const WaiterId first = world.await({bugs}, 1h, {}, 3);
  const WaiterId second = world.await({lost, bugs}, 1h, {}, 3);

  world.ask(Resume{bugs});

  EXPECT_EQ(ids_of(world.got(first)), (std::vector{urgent, low}));
  EXPECT_EQ(ids_of(world.got(second)), (std::vector{spent}));
}

TEST_F(QueueUsedUp, EndsInTimeForWhoWaitsForDeadLettersHoweverLateTheTick) {
  push_tried(0, 10s);
  lower_maximum();
  world.await({bugs}, 1h);
  const WaiterId waiter = world.await({lost}, 20s);

  world.stamp.now = at(30s);
  world.input(Tick{});

  EXPECT_EQ(world.got(waiter).size(), 1u);
}

TEST_F(QueueUsedUp, EndsAsOfTheMomentItWasReadyHoweverLateTheTick) {
  config.dead_letter = std::nullopt;
  const ItemId spent = push_tried(0, 10s);
  lower_maximum();
  world.await({bugs}, 1h);

  world.stamp.now = at(30s);
  world.input(Tick{});

  EXPECT_EQ(world.rest_of(spent).ended_at, at(10s));
}

}  // namespace
}  // namespace reeve::queue
