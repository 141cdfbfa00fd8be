#include "core/queue_testing.h"

#include <gtest/gtest.h>

namespace reeve::queue {
namespace {

using namespace reeve::queue::testing;

bool is_stale(const reeve::Reply& reply, const TakenItem& taken, std::optional<Holder> current) {
  const StaleClaim* stale = find_in<StaleClaim>(reply.value);
  return stale && *stale == StaleClaim{taken.id, std::move(current)};
}

class QueueClaim : public ::testing::Test {
 protected:
  QueueClaim() { world.create(bugs, plain()); }

  QueueWorld world;
};

// ── Complete ──

TEST_F(QueueClaim, CompletesItsItemOnceAndSaysSoAgain) {
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.forget();

  EXPECT_TRUE(world.completes(bugs, taken));
  EXPECT_EQ(world.state_of(item), ItemState::Completed);
  EXPECT_EQ(world.told<WasCompleted>(), (std::vector<WasCompleted>{{bugs, item, taken.claim}}));

  EXPECT_TRUE(world.completes(bugs, taken));
  EXPECT_FALSE(world.last.changed);
}

TEST_F(QueueClaim, ThatIsOldIsRefusedAlsoWhenTheItemWasCompletedByAnother) {
  world.push(bugs);
  const TakenItem old = world.take(bugs, ana);
  world.release(bugs, old);
  const TakenItem fresh = world.take(bugs, bo);

  EXPECT_EQ(as<Settled>(world.complete(bugs, old)), (Settled{{StaleClaim{old.id, bo}}}));
  world.complete(bugs, fresh);
  EXPECT_EQ(as<Settled>(world.complete(bugs, old)), (Settled{{StaleClaim{old.id, {}}}}));
  EXPECT_FALSE(world.last.changed);
}

TEST_F(QueueClaim, ThatIsOldIsRefusedByEveryVerb) {
  world.push(bugs);
  const TakenItem old = world.take(bugs, ana);
  world.release(bugs, old);
  world.take(bugs, bo);
  const ItemClaim claim{old.id, old.claim};

  EXPECT_TRUE(is_stale(world.fail(bugs, old), old, bo));
  EXPECT_TRUE(is_stale(world.ask(Extend{bugs, claim, {}}), old, bo));
  EXPECT_TRUE(is_stale(world.release(bugs, old), old, bo));
  EXPECT_TRUE(is_stale(world.ask(Bury{bugs, claim, "", {}}), old, bo));
  EXPECT_FALSE(world.last.changed);
}

TEST_F(QueueClaim, OfAnItemThatIsNotThereIsOld) {
  world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.push(chores);

  EXPECT_TRUE(is_stale(world.fail(chores, taken), taken, std::nullopt));
  EXPECT_TRUE(refuses(world.fail(lost, taken), Why::NotFound, "lost"));
  EXPECT_TRUE(refuses(world.complete(lost, taken), Why::NotFound, "lost"));
}

TEST_F(QueueClaim, ABatchIsAnsweredItemByItem) {
  world.push(bugs);
  world.push(bugs);
  const std::vector<TakenItem> taken = world.take_all({bugs}, 2);
  const ItemId nowhere{999};

  const reeve::Reply reply = world.ask(Complete{
      bugs, {{taken[0].id, taken[0].claim}, {nowhere, taken[0].claim}, {taken[1].id, {}}}});

  EXPECT_EQ(as<Settled>(reply),
            (Settled{{taken[0].id, StaleClaim{nowhere, {}}, StaleClaim{taken[1].id, ana}}}));
}

TEST_F(QueueClaim, ABatchHasItsBounds) {
  EXPECT_TRUE(refuses(world.ask(Complete{bugs, {}}), Why::BadValue, "items"));
  EXPECT_TRUE(
      refuses(world.ask(Complete{bugs, std::vector<ItemClaim>(1001)}), Why::OverLimit, "items"));
}

// ── Fail ──

TEST_F(QueueClaim, AFailedItemIsPendingAgainWithItsErrorInItsOldPlace) {
  const ItemId first = world.push(bugs);
  world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.forget();

  EXPECT_TRUE(is<Ok>(world.fail(bugs, taken, "boom")));

  EXPECT_EQ(world.rest_of(first).last_error, "boom");
  EXPECT_EQ(world.told<HasFailed>(), (std::vector<HasFailed>{{bugs, first, "boom", start}}));
  const TakenItem again = world.take(bugs);
  EXPECT_EQ(again.id, first);
  EXPECT_EQ(again.attempts, 2u);
}

TEST_F(QueueClaim, AnItemIsTriedAsOftenAsItMayBeAndNoMore) {
  const ItemId item = world.push(bugs);

  world.fail(bugs, world.take(bugs));
  world.fail(bugs, world.take(bugs));
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  world.fail(bugs, world.take(bugs), "the last straw");

  EXPECT_EQ(world.state_of(item), ItemState::Dead);
  EXPECT_EQ(world.item_of(item)->attempts, 3u);
  EXPECT_EQ(world.rest_of(item).reason, "the last straw");
  EXPECT_EQ(world.told<HasDied>(),
            (std::vector<HasDied>{{bugs, item, "the last straw", std::nullopt}}));
}

TEST_F(QueueClaim, WithoutALimitAnItemIsTriedForEver) {
  Config config = plain();
  config.max_attempts = 0;
  world.create(bugs, config);
  const ItemId item = world.push(bugs);

  for (int i = 0; i < 20; ++i) world.fail(bugs, world.take(bugs));

  EXPECT_EQ(world.state_of(item), ItemState::Pending);
}

TEST_F(QueueClaim, TheBackoffDoublesUpToItsMaximumLessAFifthAtMost) {
  Config config;
  config.backoff_first = 1s;
  config.backoff_max = 10s;
  for (std::uint64_t number = 1; number < 200; ++number) {
    const ItemId item{number};
    const std::vector<Duration> nominal = {1s, 2s, 4s, 8s, 10s, 10s};
    for (std::uint32_t attempts = 1; attempts <= nominal.size(); ++attempts) {
      const Duration delay = backoff_of(config, item, attempts);
      EXPECT_LE(delay, nominal[attempts - 1]);
      EXPECT_GE(delay, nominal[attempts - 1] * 8 / 10);
      EXPECT_EQ(delay, backoff_of(config, item, attempts));
    }
  }
  EXPECT_NE(backoff_of(config, ItemId{1}, 1), backoff_of(config, ItemId{2}, 1));
  EXPECT_LE(backoff_of(config, ItemId{1}, UINT32_MAX), 10s);
}

TEST_F(QueueClaim, ABackoffOfNothingOrOfAlmostForEverIsWhatItSays) {
  Config config;
  config.backoff_first = 0s;
  EXPECT_EQ(backoff_of(config, ItemId{1}, 7), 0s);
  config.backoff_first = Duration::max();
  config.backoff_max = Duration::max();
  EXPECT_GT(backoff_of(config, ItemId{1}, 7), Duration::max() / 10 * 7);
  config.backoff_max = 1s;
  EXPECT_LE(backoff_of(config, ItemId{1}, 1), 1s);
}

TEST_F(QueueClaim, AFailedItemComesBackWhenItsBackoffIsOver) {
  Config config = plain();
  config.backoff_first = 1s;
  world.create(bugs, config);
  const ItemId item = world.push(bugs);

  world.fail(bugs, world.take(bugs));

  const Duration delay = backoff_of(config, item, 1);
  EXPECT_EQ(world.told<HasFailed>().at(0).retry_at, at(delay));
  world.stamp.now = at(delay) - 1ms;
  EXPECT_TRUE(world.nothing_in(bugs));
  world.stamp.now = at(delay);
  EXPECT_EQ(world.take(bugs).id, item);
}

TEST_F(QueueClaim, WhoFailsItMaySayWhenToTryAgain) {
  Config config = plain();
  config.backoff_first = 1h;
  world.create(bugs, config);
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);

  EXPECT_TRUE(refuses(world.fail(bugs, taken, "", -1ms), Why::BadValue, "retry_after"));
  world.fail(bugs, taken, "", 5s);

  EXPECT_EQ(world.rest_of(item).not_before, at(5s));
}

TEST_F(QueueClaim, ALongErrorIsCut) {
  const ItemId item = world.push(bugs);

  world.fail(bugs, world.take(bugs), std::string(limits::text_bytes + 5, 'x'));

  EXPECT_EQ(world.rest_of(item).last_error.size(), limits::text_bytes);
}

// ── Silence ──

TEST_F(QueueClaim, IsGoodToTheLastMomentOfItsVisibility) {
  world.push(bugs);
  const TakenItem taken = world.take(bugs);

  world.stamp.now = at(30s);
  EXPECT_TRUE(world.completes(bugs, taken));
}

TEST_F(QueueClaim, IsOverOneMillisecondLaterWithoutATick) {
  world.push(bugs);
  const TakenItem taken = world.take(bugs);

  world.stamp.now = at(30s) + 1ms;

  EXPECT_EQ(as<Settled>(world.complete(bugs, taken)), (Settled{{StaleClaim{taken.id, {}}}}));
  EXPECT_EQ(world.take(bugs, bo).id, taken.id);
}

TEST_F(QueueClaim, ATickTakesTheItemBackWhetherOrNotAnybodyAsks) {
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.forget();

  world.pass(30s);
  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  world.pass(1ms);

  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.item_of(item)->attempts, 1u);
  EXPECT_EQ(world.rest_of(item).last_error, "visibility timeout");
  EXPECT_EQ(world.names(), (std::vector<std::string>{"queue:timeout"}));
  EXPECT_EQ(world.told<TimedOut>(), (std::vector<TimedOut>{{bugs, item, ana, taken.claim}}));
}

TEST_F(QueueClaim, SilenceCountsAsAFailedAttempt) {
  const ItemId item = world.push(bugs);
  for (int i = 0; i < 3; ++i) {
    world.take(bugs);
    world.pass(31s);
  }

  EXPECT_EQ(world.state_of(item), ItemState::Dead);
  EXPECT_EQ(world.rest_of(item).reason, "visibility timeout");
}

TEST_F(QueueClaim, TheBackoffAfterASilenceCountsFromItsEndHoweverLateTheTick) {
  Config config = plain();
  config.backoff_first = 1min;
  world.create(bugs, config);
  const ItemId item = world.push(bugs);
  world.take(bugs);

  world.stamp.now = at(50s);
  world.input(Tick{});

  EXPECT_EQ(world.rest_of(item).not_before, at(30s) + 1ms + backoff_of(config, item, 1));
}

TEST_F(QueueClaim, IsExtendedFromNowByWhatIsAskedOrItsVisibility) {
  world.push(bugs);
  const TakenItem taken = world.take(bugs);
  const ItemClaim claim{taken.id, taken.claim};

  world.stamp.now = at(30s);
  EXPECT_EQ(as<Extended>(world.ask(Extend{bugs, claim, 5s})), (Extended{taken.id, at(35s)}));
  world.stamp.now = at(35s);
  EXPECT_EQ(as<Extended>(world.ask(Extend{bugs, claim, {}})), (Extended{taken.id, at(65s)}));
  EXPECT_TRUE(refuses(world.ask(Extend{bugs, claim, -1ms}), Why::BadValue, "by"));
  world.stamp.now = at(65s) + 1ms;
  EXPECT_TRUE(is_stale(world.ask(Extend{bugs, claim, {}}), taken, std::nullopt));
}

TEST_F(QueueClaim, CountsFromTheMomentTheDaemonListensAgain) {
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.stamp.now = at(1h);
  world.input(Resumed{System::What::Suspended});

  world.pass(30s);
  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  EXPECT_TRUE(world.completes(bugs, taken));
}

TEST_F(QueueClaim, IsOverWhenTheGraceIsOver) {
  const ItemId item = world.push(bugs);
  world.take(bugs);
  world.stamp.now = at(1h);
  world.input(Resumed{System::What::Suspended});

  world.pass(30s + 1ms);

  EXPECT_EQ(world.state_of(item), ItemState::Pending);
}

// ── Release, bury ──

TEST_F(QueueClaim, AReleasedItemHasItsOldPlaceAndItsAttemptBack) {
  const ItemId first = world.push(bugs);
  world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.forget();

  EXPECT_TRUE(is<Ok>(world.release(bugs, taken)));

  EXPECT_EQ(world.told<WasReleased>(),
            (std::vector<WasReleased>{{bugs, first, taken.claim, false}}));
  const TakenItem again = world.take(bugs);
  EXPECT_EQ(again.id, first);
  EXPECT_EQ(again.attempts, 1u);
  EXPECT_NE(again.claim, taken.claim);
}

TEST_F(QueueClaim, AReleaseMaySetPriorityAndDelay) {
  const ItemId item = world.push(bugs, with(5));
  const ItemId other = world.push(bugs, with(3));
  const TakenItem taken = world.take(bugs);
  EXPECT_TRUE(refuses(world.release(bugs, taken, -1ms), Why::BadValue, "delay"));

  world.release(bugs, taken, 10s, 1);

  EXPECT_EQ(world.rest_of(item).not_before, at(10s));
  world.pass(10s);
  EXPECT_EQ(world.take(bugs).id, other);
  EXPECT_EQ(world.take(bugs).priority, 1);
}

TEST_F(QueueClaim, ABuriedItemIsDeadHereForItsReason) {
  Config config = plain();
  config.dead_letter = lost;
  world.create(bugs, config);
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.forget();

  EXPECT_TRUE(is<Ok>(world.ask(Bury{bugs, {taken.id, taken.claim}, "", 4})));

  EXPECT_EQ(world.state_of(item), ItemState::Dead);
  EXPECT_EQ(world.queue_of(item), bugs);
  EXPECT_EQ(world.item_of(item)->priority, 4);
  EXPECT_EQ(world.told<HasDied>(), (std::vector<HasDied>{{bugs, item, "buried", std::nullopt}}));
}

// ── Of a pipeline ──

class QueueWork : public QueueClaim {
 protected:
  // What the worker does, in a step of its own.
  template <class Do>
  void step(Do what) {
    Turn turn(world.state, world.stamp);
    what(turn);
    for (const std::string& violation : check_state(world.state)) ADD_FAILURE() << violation;
  }
  std::optional<TakenItem> take() {
    std::optional<TakenItem> taken;
    step([&](Turn& turn) { taken = take_for_pipeline(turn, bugs, ana); });
    return taken;
  }
};

TEST_F(QueueWork, APipelineHoldsItsItemWithoutATimeout) {
  const ItemId item = world.push(bugs);

  const std::optional<TakenItem> taken = take();

  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->visible_at, std::nullopt);
  world.pass(1000h);
  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  EXPECT_EQ(as<Extended>(world.ask(Extend{bugs, {item, taken->claim}, 1s})),
            (Extended{item, std::nullopt}));
}

TEST_F(QueueWork, APipelineGetsNothingFromAnEmptyAPausedOrAnUnknownQueue) {
  EXPECT_FALSE(take());
  world.push(bugs);
  world.ask(Pause{bugs, {}});
  EXPECT_FALSE(take());
  step([&](Turn& turn) { EXPECT_FALSE(take_for_pipeline(turn, lost, ana)); });
}

TEST_F(QueueWork, ItsEndCompletesFailsOrGivesBackTheItem) {
  const ItemId item = world.push(bugs);
  std::optional<TakenItem> taken = take();
  step([&](Turn& turn) { give_back(turn, item, taken->claim); });
  EXPECT_EQ(world.item_of(item)->attempts, 0u);

  taken = take();
  step([&](Turn& turn) { fail(turn, item, taken->claim, "red"); });
  EXPECT_EQ(world.rest_of(item).last_error, "red");

  taken = take();
  step([&](Turn& turn) { finish(turn, item, taken->claim); });
  EXPECT_EQ(world.state_of(item), ItemState::Completed);
}

// Somebody waited until 100 ms, and an item was ready after 50: it is his, and not the one that
// comes back after 200.
TEST_F(QueueWork, ItsEndComesBehindWhatWasDueBefore) {
  for (const bool fails : {false, true}) {
    const ItemId later = world.push(bugs, with(0, 50ms));
    const ItemId item = world.push(bugs);
    const std::optional<TakenItem> taken = take();
    ASSERT_TRUE(taken && taken->id == item);
    world.await({bugs}, 100ms);
    world.stamp.now += 200ms;

    step([&](Turn& turn) {
      if (fails) {
        fail(turn, item, taken->claim, "red");
      } else {
        give_back(turn, item, taken->claim);
      }
    });

    EXPECT_EQ(world.state_of(later), ItemState::Processing) << fails;
    EXPECT_EQ(world.state_of(item), ItemState::Pending) << fails;
    world.ask(Drop{bugs, item});
  }
}

TEST_F(QueueWork, ItsOldClaimChangesNothing) {
  const ItemId item = world.push(bugs);
  const Token old = take()->claim;
  step([&](Turn& turn) { give_back(turn, item, old); });
  take();
  const State before = world.state;

  step([&](Turn& turn) { finish(turn, item, old); });
  step([&](Turn& turn) { fail(turn, item, old, "late"); });
  step([&](Turn& turn) { give_back(turn, item, old); });
  step([&](Turn& turn) { finish(turn, ItemId{999}, old); });

  EXPECT_EQ(world.state, before);
}

}  // namespace
}  // namespace reeve::queue
