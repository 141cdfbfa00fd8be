#include "core/queue_testing.h"

#include <gtest/gtest.h>

namespace reeve::queue {
namespace {

using namespace reeve::queue::testing;

TEST(QueueTakers, AWaitingTakerIsServedByAPush) {
  QueueWorld world;
  const WaiterId waiter = world.await({bugs});

  const ItemId item = world.push(bugs);

  ASSERT_EQ(world.got(waiter).size(), 1u);
  EXPECT_EQ(world.got(waiter)[0].id, item);
  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  EXPECT_TRUE(world.state.queues.takers.empty());
}

TEST(QueueTakers, AreServedFirstComeFirstServed) {
  QueueWorld world;
  const WaiterId first = world.await({bugs});
  const WaiterId second = world.await({bugs});

  const ItemId a = world.push(bugs);
  EXPECT_TRUE(world.was_answered(first));
  EXPECT_FALSE(world.was_answered(second));
  const ItemId b = world.push(bugs);

  EXPECT_EQ(world.got(first).at(0).id, a);
  EXPECT_EQ(world.got(second).at(0).id, b);
}

// The rest of them leave with the next tick, and until then nothing is given to nobody.
TEST(QueueTakers, TheTakersOfALargeSessionThatEndedAreGivenNothing) {
  QueueWorld world;
  constexpr SessionId gone{7};
  const Command waits = Take{{bugs}, ana, {}, 1, 1min};
  for (int i = 0; i < 300; ++i) {
    world.state =
        apply(std::move(world.state), Request{default_project, gone, true, "", waits}, world.stamp)
            .state;
  }
  world.input(session::Ended{gone});
  const ItemId item = world.push(bugs);
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  world.input(Tick{});
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_TRUE(world.state.queues.takers.empty());
}

TEST(QueueTakers, ABatchServesAsManyAsItCan) {
  QueueWorld world;
  const WaiterId two = world.await({bugs}, 1h, {}, 2);
  const WaiterId many = world.await({bugs}, 1h, {}, 10);

  world.ask(Push{bugs, {with(0), with(1), with(2)}});

  EXPECT_EQ(world.got(two).size(), 2u);
  EXPECT_EQ(world.got(two)[0].priority, 2);
  EXPECT_EQ(world.got(many).size(), 1u);
}

TEST(QueueTakers, WhoWaitsForSeveralQueuesIsServedByAnyAndLeavesAllLines) {
  QueueWorld world;
  const WaiterId waiter = world.await({bugs, chores, bugs});
  EXPECT_EQ(world.of(bugs).takers, 1u);

  world.push(chores);

  EXPECT_EQ(world.got(waiter).at(0).queue, chores);
  EXPECT_EQ(world.of(bugs).takers, 0u);
  world.push(bugs);
  EXPECT_EQ(world.counts(bugs).pending, 1u);
}

// What was ready within his wait is his, although another item is what is noticed first.
TEST(QueueTakers, WhatIsGivenBackIsForThoseWhoWaitWhenWhatWasDueIsSettled) {
  for (const bool tick_first : {false, true}) {
    QueueWorld world;
    world.create(bugs, plain());
    const ItemId later = world.push(bugs, with(0, 50ms));
    const WaiterId first = world.await({bugs}, 1min, {}, 1, ana);
    const WaiterId second = world.await({bugs}, 100ms);
    world.push(bugs);
    ASSERT_EQ(world.got(first).size(), 1u);
    const reeve::Reply lost_answer = world.answer_to(first);

    world.stamp.now += 200ms;
    if (tick_first) world.input(Tick{});
    world.input(Undelivered{default_project, "", lost_answer});

    ASSERT_EQ(world.got(second).size(), 1u);
    EXPECT_EQ(world.got(second)[0].id, later);
  }
}

TEST(QueueTakers, AreServedByEverythingThatMakesAnItemReady) {
  QueueWorld world;
  world.create(bugs, plain());
  const auto served = [&](auto make_ready) {
    const WaiterId waiter = world.await({bugs});
    EXPECT_FALSE(world.was_answered(waiter));
    make_ready();
    EXPECT_EQ(world.got(waiter).size(), 1u);
    return world.got(waiter).empty() ? TakenItem{} : world.got(waiter).front();
  };
  world.push(bugs);
  TakenItem taken = world.take(bugs);

  taken = served([&] { world.release(bugs, taken); });
  taken = served([&] { world.release(bugs, taken, 5s), world.pass(5s); });
  taken = served([&] { world.release(bugs, taken, 5s), world.ask(Hurry{bugs, 1, {}}); });
  taken = served([&] { world.fail(bugs, taken); });
  taken = served([&] { world.pass(31s); });
  taken = served([&] {
    world.ask(Bury{bugs, {taken.id, taken.claim}, "", {}});
    world.ask(Redrive{bugs, {taken.id}, false, {}});
  });
  taken = served([&] {
    world.ask(Pause{bugs, {}});
    world.release(bugs, taken);
    world.ask(Resume{bugs});
  });
  taken = served([&] {
    world.ask(Pause{bugs, 5s});
    world.release(bugs, taken);
    world.pass(5s);
  });
}

TEST(QueueTakers, OfADeadLetterQueueAreServedByADeath) {
  QueueWorld world;
  Config config = plain();
  config.dead_letter = lost;
  config.max_attempts = 1;
  world.create(bugs, config);
  const WaiterId waiter = world.await({lost});
  const ItemId item = world.push(bugs);

  world.fail(bugs, world.take(bugs));

  EXPECT_EQ(world.got(waiter).at(0).id, item);
}

TEST(QueueTakers, LeaveAtTheEndOfTheirWaitWithNothing) {
  QueueWorld world;
  const WaiterId waiter = world.await({bugs}, 10s);

  world.pass(10s - 1ms);
  EXPECT_FALSE(world.was_answered(waiter));
  world.pass(1ms);

  EXPECT_EQ(as<Taken>(world.answer_to(waiter)), Taken{});
  EXPECT_TRUE(world.state.queues.takers.empty());
}

TEST(QueueTakers, WhoseWaitIsOverGetNothingThoughNoTickCame) {
  QueueWorld world;
  const WaiterId over = world.await({bugs}, 10s);
  const WaiterId waits = world.await({bugs}, 20s);
  world.stamp.now = at(10s);

  world.push(bugs);

  EXPECT_TRUE(world.got(over).empty());
  EXPECT_TRUE(world.was_answered(over));
  EXPECT_EQ(world.got(waits).size(), 1u);
}

TEST(QueueTakers, GetWhatComesInTheLastMomentOfTheirWait) {
  QueueWorld world;
  const WaiterId waiter = world.await({bugs}, 10s);
  world.stamp.now = at(10s) - 1ms;

  const ItemId item = world.push(bugs);

  ASSERT_EQ(world.got(waiter).size(), 1u);
  EXPECT_EQ(world.got(waiter)[0].id, item);
}

TEST(QueueTakers, GetNothingThatIsReadyInTheMillisecondInWhichTheirWaitIsOver) {
  for (const bool longer : {false, true}) {
    QueueWorld world;
    world.push(bugs, with(0, 10s));
    const WaiterId waiter = world.await({bugs}, longer ? 10s + 1ms : 10s);

    world.pass(10s + 1ms);

    EXPECT_EQ(world.got(waiter).size(), longer ? 1u : 0u);
    EXPECT_TRUE(world.was_answered(waiter));
  }
}

TEST(QueueTakers, GetWhatWasReadyBeforeTheirWaitWasOverHoweverLateTheTick) {
  QueueWorld world;
  const ItemId item = world.push(bugs, with(0, 5s));
  const WaiterId waiter = world.await({bugs}, 10s);

  world.stamp.now = at(1min);
  world.input(Tick{});

  ASSERT_EQ(world.got(waiter).size(), 1u);
  EXPECT_EQ(world.got(waiter)[0].id, item);
}

TEST(QueueTakers, AWaitOfNoTimeIsNoWait) {
  QueueWorld world;

  EXPECT_EQ(as<Taken>(world.ask(Take{{bugs}, ana, {}, 1, 0ms})), Taken{});
}

TEST(QueueTakers, ALineHasItsLimit) {
  QueueWorld world;
  world.await({bugs});
  State state = world.state;
  state.queues.queues.edit(1)->takers = limits::waiters_a_line;  // as if there were as many
  const auto ask = [&](std::vector<QueueName> queues) {
    const queue::Command take = Take{std::move(queues), ana, {}, 1, 1s};
    return apply(state, Request{default_project, {}, true, {}, take}, world.stamp).reply;
  };

  EXPECT_TRUE(refuses(ask({bugs}), Why::OverLimit, "waiters"));
  EXPECT_TRUE(refuses(ask({chores, bugs}), Why::OverLimit, "waiters"));
  EXPECT_TRUE(is<Waiting>(ask({chores})));
}

// What is ready there has used up a maximum that was lowered: it is given to nobody.
TEST(QueueTakers, ALineHasItsLimitAlsoIfWhatIsReadyIsUsedUp) {
  QueueWorld world;
  world.await({chores});
  Config config = plain();
  world.create(bugs, config);
  world.push(bugs);
  world.fail(bugs, world.take(bugs));
  config.max_attempts = 1;
  world.create(bugs, config);
  ASSERT_EQ(world.counts(bugs).pending, 1u);
  const auto ask = [&](State state, SessionId by) {
    const queue::Command take = Take{{bugs, chores}, ana, {}, 1, 1s};
    return apply(state, Request{default_project, by, true, {}, take}, world.stamp).reply;
  };

  State full = world.state;
  full.queues.queues.edit(1)->takers = limits::waiters_a_line;  // as if there were as many
  EXPECT_TRUE(refuses(ask(full, {}), Why::OverLimit, "waiters"));

  State crowded = world.state;
  for (std::uint64_t i = 1; i <= limits::sessions; ++i) {
    crowded.sessions.sessions.set(SessionId{100 + i}, {});
  }
  EXPECT_TRUE(refuses(ask(crowded, SessionId{7}), Why::OverLimit, "sessions"));
  EXPECT_TRUE(is<Waiting>(ask(world.state, SessionId{7})));
}

TEST(QueueTakers, ALongLineGoesOnWithTheNextTick) {
  QueueWorld world;
  world.push(bugs);
  const TakenItem taken = world.take(bugs);
  std::vector<WaiterId> waiters;
  for (int i = 0; i < 300; ++i) waiters.push_back(world.await({bugs}));
  world.ask(Pause{bugs, {}});
  world.ask(Push{bugs, std::vector<NewItem>(400, with(0))});

  world.ask(Resume{bugs});
  EXPECT_TRUE(world.was_answered(waiters[200]));
  EXPECT_FALSE(world.was_answered(waiters[299]));
  EXPECT_EQ(next_deadline(world.state).engine, world.stamp.now);
  world.input(Tick{});

  EXPECT_TRUE(world.was_answered(waiters[299]));
  EXPECT_EQ(world.counts(bugs).processing, 301u);
  EXPECT_TRUE(world.completes(bugs, taken));
}

// A maximum that was lowered ends the first of them, and its dead letters are his too.
TEST(QueueTakers, WhoWaitsForAQueueAndItsDeadLettersIsAnsweredOnce) {
  const auto served = [](std::uint32_t max) {
    QueueWorld world;
    Config config = plain();
    config.dead_letter = lost;
    world.create(bugs, config);
    const ItemId spent = world.push(bugs);
    world.fail(bugs, world.take(bugs));
    const ItemId fresh = world.push(bugs);
    config.max_attempts = 1;
    world.create(bugs, config);
    world.ask(Pause{bugs, {}});
    const WaiterId waiter = world.await({bugs, lost}, 1h, {}, max);

    world.ask(Resume{bugs});

    std::vector<std::pair<ItemId, QueueName>> got;
    for (const TakenItem& item : world.got(waiter)) got.emplace_back(item.id, item.queue);
    const std::vector<std::pair<ItemId, QueueName>> both = {{spent, lost}, {fresh, bugs}};
    EXPECT_EQ(got, (std::vector(both.begin(), both.begin() + max)));
    EXPECT_EQ(world.answers.size(), 1u);
    EXPECT_EQ(world.counts(bugs).pending, 2 - max);
  };
  served(1);
  served(2);
}

// What ends while he is being served is his too, if he is the first there.
TEST(QueueTakers, WhoIsServedFromAQueueIsServedFromItsDeadLettersToo) {
  QueueWorld world;
  Config config = plain();
  config.dead_letter = lost;
  world.create(bugs, config);
  const ItemId urgent = world.push(bugs, with(2));
  const ItemId spent = world.push(bugs, with(1));
  const ItemId last = world.push(bugs, with(0));
  world.fail(bugs, as<Taken>(world.ask(TakeOne{bugs, spent, ana, {}})).items.at(0));
  config.max_attempts = 1;
  world.create(bugs, config);
  world.ask(Pause{bugs, {}});
  const WaiterId first = world.await({lost, bugs}, 1h, SessionId{7}, 3);
  const WaiterId second = world.await({lost});

  world.ask(Resume{bugs});

  ASSERT_EQ(world.got(first).size(), 3u);
  EXPECT_EQ(world.got(first)[0].id, urgent);
  EXPECT_EQ(world.got(first)[1].id, spent);
  EXPECT_EQ(world.got(first)[2].id, last);
  EXPECT_FALSE(world.was_answered(second));
}

// What ends while he is being served wakes the line of the dead letters, in which he is the first.
TEST(QueueTakers, AreGivenAnItemOnceAlsoIfAnotherIsServedMeanwhile) {
  QueueWorld world;
  Config config = plain();
  config.dead_letter = lost;
  world.create(bugs, config);
  world.create(lost, plain());
  const ItemId urgent = world.push(bugs, with(3));
  const ItemId spent = world.push(bugs, with(1));
  world.fail(bugs, as<Taken>(world.ask(TakeOne{bugs, spent, ana, {}})).items.at(0));
  config.max_attempts = 1;
  world.create(bugs, config);
  world.ask(Pause{bugs, {}});
  const WaiterId first = world.await({lost, bugs}, 1h, SessionId{7}, 3);
  const WaiterId second = world.await({lost});
  world.input(Resumed{});  // the line waits for its head
  world.ask(Resume{bugs});
  const ItemId letter = world.push(lost, with(2));

  world.input(session::Returned{SessionId{7}});

  ASSERT_EQ(world.got(first).size(), 3u);
  EXPECT_EQ(world.got(first)[0].id, urgent);
  EXPECT_EQ(world.got(first)[1].id, letter);
  EXPECT_EQ(world.got(first)[2].id, spent);
  EXPECT_TRUE(world.completes(lost, world.got(first)[2]));
  EXPECT_FALSE(world.was_answered(second));
}

TEST(QueueTakers, GetWhatIsUsedUpFromItsDeadLettersInWhateverOrderTheQueuesAreNamed) {
  for (const std::vector<QueueName>& queues : {std::vector{bugs, lost}, std::vector{lost, bugs}}) {
    QueueWorld world;
    Config config = plain();
    config.dead_letter = lost;
    world.create(bugs, config);
    const ItemId spent = world.push(bugs);
    world.fail(bugs, world.take(bugs));
    config.max_attempts = 1;
    world.create(bugs, config);

    const std::vector<TakenItem> taken = world.take_all(queues);

    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].id, spent);
  }
}

TEST(QueueTakers, OfALongLineGetWhatWasThereBeforeTheirWaitWasOverHoweverLateTheTick) {
  QueueWorld world;
  std::vector<WaiterId> waiters;
  for (int i = 0; i < 300; ++i) waiters.push_back(world.await({bugs}, 10s));
  world.stamp.now = at(5s);
  world.ask(Push{bugs, std::vector<NewItem>(300, with(0))});
  EXPECT_TRUE(world.got(waiters[299]).empty());

  world.stamp.now = at(1min);
  world.input(Tick{});

  EXPECT_EQ(world.got(waiters[299]).size(), 1u);
  EXPECT_EQ(world.counts(bugs).processing, 300u);
}

// The pause is over at five seconds, and that is noticed later.
TEST(QueueTakers, OfALongLineGetWhatBecameReadyBeforeTheirWaitWasOver) {
  QueueWorld world;
  std::vector<WaiterId> waiters;
  for (int i = 0; i < 300; ++i) waiters.push_back(world.await({bugs}, 10s));
  world.ask(Pause{bugs, 5s});
  world.ask(Push{bugs, std::vector<NewItem>(300, with(0))});

  world.stamp.now = at(1min);
  world.input(Tick{});
  EXPECT_TRUE(world.got(waiters[299]).empty());
  world.input(Tick{});

  EXPECT_EQ(world.got(waiters[299]).size(), 1u);
  EXPECT_EQ(world.counts(bugs).processing, 300u);
}

// Those before it have used up a maximum that was lowered, and are more than one step may end.
TEST(QueueTakers, GetWhatStoodBehindManyThatWereUsedUpHoweverLateTheTick) {
  QueueWorld world;
  Config config = plain();
  world.create(bugs, config);
  world.ask(Push{bugs, std::vector<NewItem>(300, with(1))});
  for (const TakenItem& item : world.take_all({bugs}, 300)) world.fail(bugs, item);
  const ItemId fresh = world.push(bugs);
  config.max_attempts = 1;
  world.create(bugs, config);
  world.ask(Pause{bugs, 5s});
  const WaiterId waiter = world.await({bugs}, 10s);

  world.stamp.now = at(1min);
  world.input(Tick{});
  EXPECT_FALSE(world.was_answered(waiter));
  world.input(Tick{});

  ASSERT_EQ(world.got(waiter).size(), 1u);
  EXPECT_EQ(world.got(waiter)[0].id, fresh);
}

// What one of them gets counts as so much that a step has touched.
TEST(QueueTakers, OfALineGetLargeBatchesAPartAStep) {
  QueueWorld world;
  world.create(bugs, plain());
  std::vector<WaiterId> waiters;
  for (int i = 0; i < 4; ++i) waiters.push_back(world.await({bugs}, 10s, {}, limits::batch_items));
  world.ask(Pause{bugs, {}});
  for (int i = 0; i < 4; ++i) {
    world.ask(Push{bugs, std::vector<NewItem>(limits::batch_items, with(0))});
  }

  world.ask(Resume{bugs});

  EXPECT_EQ(world.counts(bugs).processing, limits::batch_items);
  world.stamp.now = at(1min);
  for (int i = 0; i < 3; ++i) world.input(Tick{});
  EXPECT_EQ(world.got(waiters[3]).size(), limits::batch_items) << "they were there in time";
}

// The item was his until now.
TEST(QueueTakers, WhoseWaitIsOverGetNothingBehindOneWhoIsBackLater) {
  QueueWorld world;
  const WaiterId away = world.await({bugs}, 1h, SessionId{7});
  std::vector<WaiterId> over;
  for (int i = 0; i < 600; ++i) over.push_back(world.await({bugs}, 5s + i * 1ms));
  const WaiterId ten = world.await({bugs}, 10s);
  world.input(Resumed{});
  world.ask(Push{bugs, std::vector<NewItem>(700, with(0))});

  world.stamp.now = at(9s);
  world.input(session::Returned{SessionId{7}});

  for (int i = 0; i < 3; ++i) world.input(Tick{});
  EXPECT_EQ(world.got(away).size(), 1u);
  for (const WaiterId waiter : over) EXPECT_TRUE(world.got(waiter).empty());
  EXPECT_EQ(world.got(ten).size(), 1u);
}

TEST(QueueTakers, MakeNoMoreQueuesThanThereMayBe) {
  QueueWorld world;
  world.await({chores});
  const auto ask = [&](std::uint32_t queues, bool named_twice) {
    State state = world.state;
    state.queues.queues_of.set(default_project, limits::names_a_project - 2);
    std::vector<QueueName> names;
    for (std::uint32_t i = 0; i < queues; ++i) {
      names.push_back({default_project, "q" + std::to_string(i)});
      if (named_twice) names.push_back(names.back());
    }
    names.push_back(chores);
    const queue::Command take = Take{names, ana, {}, 1, 1s};
    return apply(std::move(state), Request{default_project, {}, true, {}, take}, world.stamp).reply;
  };
  EXPECT_TRUE(is<Waiting>(ask(2, false)));
  EXPECT_TRUE(is<Waiting>(ask(2, true)));
  EXPECT_TRUE(refuses(ask(3, false), Why::OverLimit, "queues"));
}

}  // namespace
}  // namespace reeve::queue
