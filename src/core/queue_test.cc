#include "core/queue_testing.h"

#include <gtest/gtest.h>

#include <limits>

namespace reeve::queue {
namespace {

using namespace reeve::queue::testing;

// ── Push ──

TEST(Queue, IsMadeWithDefaultsByTheFirstPush) {
  QueueWorld world;

  const ItemId item = world.push(bugs);

  EXPECT_EQ(world.of(bugs).config, Config{});
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.names(), (std::vector<std::string>{"queue:create", "queue:push"}));
  EXPECT_EQ(world.told<WasPushed>(), (std::vector<WasPushed>{{bugs, item, 0}}));
}

TEST(Queue, IsMadeByTheFirstTake) {
  QueueWorld world;

  EXPECT_EQ(as<Taken>(world.ask(Take{{bugs}, ana, {}, 1, {}})), Taken{});
  EXPECT_EQ(world.of(bugs).config, Config{});
}

TEST(Queue, AnItemKeepsItsDataAsItCame) {
  QueueWorld world;
  NewItem item = with(7);
  item.data = Bytes(std::string_view("\0\xff", 2));
  item.json = false;
  const ItemId id = world.push(bugs, item);

  const TakenItem taken = world.take(bugs);

  EXPECT_EQ(taken.id, id);
  EXPECT_EQ(taken.queue, bugs);
  EXPECT_EQ(taken.data, item.data);
  EXPECT_FALSE(taken.json);
  EXPECT_EQ(taken.priority, 7);
  EXPECT_EQ(taken.attempts, 1u);
  EXPECT_EQ(world.item_of(id)->created_at, start);
}

TEST(Queue, APushWithTheKeyOfAPendingItemAddsNothing) {
  QueueWorld world;
  const ItemId first = world.push(bugs, with(0, 0ms, "k"));

  const reeve::Reply again = world.ask(Push{bugs, {with(9, 0ms, "k")}});

  EXPECT_EQ(as<Pushed>(again), (Pushed{{first}, {true}}));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.counts(bugs).pushed, 1u);
}

TEST(Queue, APushWithTheKeyOfAProcessingItemAddsNothing) {
  QueueWorld world;
  const ItemId first = world.push(bugs, with(0, 0ms, "k"));
  world.take(bugs);

  EXPECT_EQ(as<Pushed>(world.ask(Push{bugs, {with(0, 0ms, "k")}})), (Pushed{{first}, {true}}));
}

TEST(Queue, AKeyIsFreeOnceItsItemIsCompleted) {
  QueueWorld world;
  world.push(bugs, with(0, 0ms, "k"));
  world.complete(bugs, world.take(bugs));

  EXPECT_EQ(as<Pushed>(world.ask(Push{bugs, {with(0, 0ms, "k")}})).duplicate,
            (std::vector<bool>{false}));
}

TEST(Queue, AKeyIsFreeOnceItsItemIsDeadOrDropped) {
  QueueWorld world;
  const ItemId first = world.push(bugs, with(0, 0ms, "k"));
  world.kill(bugs, first);
  ASSERT_EQ(world.state_of(first), ItemState::Dead);

  const ItemId second = world.push(bugs, with(0, 0ms, "k"));
  EXPECT_NE(second, first);
  world.ask(Drop{bugs, second});
  EXPECT_NE(world.push(bugs, with(0, 0ms, "k")), second);
}

TEST(Queue, AKeyIsAQueuesOwn) {
  QueueWorld world;

  EXPECT_NE(world.push(bugs, with(0, 0ms, "k")), world.push(chores, with(0, 0ms, "k")));
}

TEST(Queue, OfABatchTheSecondWithOneKeyIsTheFirst) {
  QueueWorld world;

  const Pushed pushed =
      as<Pushed>(world.ask(Push{bugs, {with(0, 0ms, "k"), with(0), with(0, 0ms, "k")}}));

  EXPECT_EQ(pushed.duplicate, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(pushed.ids[2], pushed.ids[0]);
  EXPECT_EQ(world.counts(bugs).pending, 2u);
}

TEST(Queue, RefusesWhatItCannotPush) {
  QueueWorld world;
  const auto push = [&](QueueName name, std::vector<NewItem> items) {
    return world.ask(Push{std::move(name), std::move(items)});
  };
  NewItem large = with(0);
  large.data = Bytes(std::string(limits::item_bytes + 1, 'x'));
  NewItem most = with(0);
  most.data = Bytes(std::string(limits::item_bytes, 'x'));
  NewItem blind = with(0);
  blind.visibility = -1ms;

  EXPECT_TRUE(refuses(push({default_project, ""}, {with(0)}), Why::BadName, ""));
  EXPECT_TRUE(refuses(push({ProjectNo{77}, "q"}, {with(0)}), Why::NotFound, "project"));
  EXPECT_TRUE(refuses(push(bugs, {}), Why::BadValue, "items"));
  EXPECT_TRUE(refuses(push(bugs, std::vector<NewItem>(1001, with(0))), Why::OverLimit, "items"));
  EXPECT_TRUE(refuses(push(bugs, {large}), Why::OverLimit, "data"));
  EXPECT_TRUE(refuses(push(bugs, {most, most, most, most, with(0)}), Why::OverLimit, "batch"));
  EXPECT_TRUE(refuses(push(bugs, {with(0, -1ms)}), Why::BadValue, "delay"));
  EXPECT_TRUE(refuses(push(bugs, {blind}), Why::BadValue, "visibility"));
  EXPECT_TRUE(
      refuses(push(bugs, {with(0, 0ms, std::string(201, 'k'))}), Why::OverLimit, "dedupe_key"));
  EXPECT_EQ(world.state.sequence, 0u);
  EXPECT_TRUE(is<Pushed>(push(bugs, {most, most, most, most})));
  EXPECT_TRUE(is<Pushed>(push(bugs, std::vector<NewItem>(1000, with(0)))));
}

TEST(Queue, IsFullAtNineTenthsOfTheState) {
  EXPECT_FALSE(is_full(0, 900, 1000));
  EXPECT_TRUE(is_full(0, 901, 1000));
  EXPECT_FALSE(is_full(900, 0, 1000));
  EXPECT_TRUE(is_full(901, 0, 1000));
  EXPECT_TRUE(is_full(std::numeric_limits<std::uint64_t>::max(), 5, 1000));
}

TEST(Queue, WhenTheStateIsFullNewWorkIsRefusedAndFinishingGoesOn) {
  QueueWorld world;
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);
  State state = world.state;
  state.queues.bytes = limits::state_bytes;  // as if there were as much
  const auto ask = [&](queue::Command command) {
    return apply(state, Request{default_project, {}, true, {}, std::move(command)}, world.stamp)
        .reply;
  };

  EXPECT_TRUE(refuses(ask(Push{bugs, {with(0)}}), Why::Full, "queues"));
  EXPECT_EQ(as<Settled>(ask(Complete{bugs, {{item, taken.claim}}})), Settled{{item}});
}

// ── Take ──

TEST(Queue, TheHighestPriorityIsTakenFirstAndThenTheOldest) {
  QueueWorld world;
  const ItemId low = world.push(bugs, with(std::numeric_limits<std::int32_t>::min()));
  const ItemId first = world.push(bugs, with(0));
  const ItemId second = world.push(bugs, with(0));
  const ItemId high = world.push(bugs, with(std::numeric_limits<std::int32_t>::max()));

  std::vector<ItemId> order;
  for (const TakenItem& taken : world.take_all({bugs}, 10)) order.push_back(taken.id);

  EXPECT_EQ(order, (std::vector<ItemId>{high, first, second, low}));
}

TEST(Queue, OfSeveralQueuesTheBestOfAllIsTaken) {
  QueueWorld world;
  const ItemId a = world.push(bugs, with(1));
  const ItemId b = world.push(chores, with(5));
  const ItemId c = world.push(bugs, with(5));
  const ItemId d = world.push(chores, with(1));

  std::vector<ItemId> order;
  for (const TakenItem& taken : world.take_all({chores, bugs, bugs}, 10)) {
    order.push_back(taken.id);
  }

  EXPECT_EQ(order, (std::vector<ItemId>{b, c, a, d}));
}

TEST(Queue, ATakeMakesAClaimAndTellsUntilWhenItIsGood) {
  QueueWorld world;
  world.create(bugs, plain());
  const ItemId item = world.push(bugs);
  world.forget();

  const TakenItem taken = world.take(bugs);

  EXPECT_EQ(taken.visible_at, at(30s));
  EXPECT_EQ(world.rest_of(item).claim->holder, ana);
  EXPECT_EQ(world.told<WasTaken>(), (std::vector<WasTaken>{{bugs, item, ana, taken.claim, 1}}));
  EXPECT_TRUE(world.nothing_in(bugs));
}

TEST(Queue, AnItemsOwnVisibilityGoesBeforeTheQueues) {
  QueueWorld world;
  NewItem item = with(0);
  item.visibility = 2s;
  world.push(bugs, item);

  EXPECT_EQ(world.take(bugs).visible_at, at(2s));
}

TEST(Queue, ADelayedItemIsThereWhenItsDelayIsOverAndNotBefore) {
  QueueWorld world;
  const ItemId item = world.push(bugs, with(0, 10s));
  EXPECT_EQ(world.counts(bugs).delayed, 1u);

  world.stamp.now = at(10s) - 1ms;
  EXPECT_TRUE(world.nothing_in(bugs));
  world.stamp.now = at(10s);

  EXPECT_EQ(world.take(bugs).id, item);  // without a tick
  EXPECT_EQ(world.counts(bugs).delayed, 0u);
}

TEST(Queue, ADelayedItemBecomesReadyByTick) {
  QueueWorld world;
  world.push(bugs, with(0, 10s));

  world.pass(10s);

  EXPECT_EQ(world.state.queues.ready.size(), 1u);
  EXPECT_EQ(world.state.queues.due.size(), 0u);
}

TEST(Queue, ATakeCarriesNoMoreThanABatchMay) {
  QueueWorld world;
  NewItem large = with(0);
  large.data = Bytes(std::string(limits::item_bytes, 'x'));
  for (int i = 0; i < 6; ++i) world.push(bugs, large);

  EXPECT_EQ(world.take_all({bugs}, 10).size(), 4u);
  EXPECT_EQ(world.take_all({bugs}, 10).size(), 2u);
}

TEST(Queue, RefusesWhatItCannotTake) {
  QueueWorld world;
  const auto take = [&](Take command) { return world.ask(std::move(command)); };

  EXPECT_TRUE(refuses(take({{}, ana, {}, 1, {}}), Why::BadValue, "queues"));
  EXPECT_TRUE(
      refuses(take({std::vector<QueueName>(257, bugs), ana, {}, 1, {}}), Why::OverLimit, "queues"));
  EXPECT_TRUE(refuses(take({{{default_project, "-x"}}, ana, {}, 1, {}}), Why::BadName, "-x"));
  EXPECT_TRUE(refuses(take({{bugs}, {default_project, ""}, {}, 1, {}}), Why::BadName, "holder"));
  EXPECT_TRUE(refuses(take({{bugs}, ana, {}, 0, {}}), Why::BadValue, "max"));
  EXPECT_TRUE(refuses(take({{bugs}, ana, {}, 1001, {}}), Why::OverLimit, "max"));
  EXPECT_TRUE(refuses(take({{bugs}, ana, {}, 1, -1ms}), Why::BadValue, "wait"));
  EXPECT_EQ(world.state.sequence, 0u);
}

TEST(Queue, OneItemIsTakenByItsNumberWhateverStandsBeforeIt) {
  QueueWorld world;
  world.push(bugs, with(9));
  const ItemId item = world.push(bugs, with(0, 1h));
  world.ask(Pause{bugs, {}});

  const Taken taken = as<Taken>(world.ask(TakeOne{bugs, item, ana, {}}));

  ASSERT_EQ(taken.items.size(), 1u);
  EXPECT_EQ(taken.items[0].id, item);
  EXPECT_TRUE(refuses(world.ask(TakeOne{bugs, item, bo, {}}), Why::NotAllowed, "processing"));
  world.complete(bugs, taken.items[0]);
  EXPECT_TRUE(refuses(world.ask(TakeOne{bugs, item, bo, {}}), Why::NotAllowed, "completed"));
}

TEST(Queue, ADeadItemTakenByItsNumberBeginsAnew) {
  QueueWorld world;
  world.create(bugs, plain());
  const ItemId item = world.push(bugs);
  world.kill(bugs, item);
  ASSERT_EQ(world.state_of(item), ItemState::Dead);

  EXPECT_EQ(as<Taken>(world.ask(TakeOne{bugs, item, ana, {}})).items.at(0).attempts, 1u);
}

TEST(Queue, RefusesToTakeByNumberWhatIsNotThere) {
  QueueWorld world;
  const ItemId item = world.push(chores);
  world.push(bugs);

  EXPECT_TRUE(refuses(world.ask(TakeOne{lost, item, ana, {}}), Why::NotFound, "lost"));
  EXPECT_TRUE(refuses(world.ask(TakeOne{bugs, item, ana, {}}), Why::NotFound, to_text(item)));
  EXPECT_TRUE(
      refuses(world.ask(TakeOne{chores, item, {default_project, ""}, {}}), Why::BadName, "holder"));
}

// ── Pause ──

TEST(Queue, APausedQueueGivesNothingAndSaysSo) {
  QueueWorld world;
  world.push(bugs);
  world.forget();
  world.ask(Pause{bugs, {}});

  EXPECT_EQ(as<Taken>(world.ask(Take{{bugs}, ana, {}, 1, {}})), (Taken{{}, true}));
  EXPECT_EQ(as<Taken>(world.ask(Take{{bugs, chores}, ana, {}, 1, {}})), (Taken{{}, false}));
  world.ask(Resume{bugs});
  EXPECT_EQ(world.take_all({bugs}).size(), 1u);
  EXPECT_EQ(world.told<WasPaused>(), (std::vector<WasPaused>{{bugs}}));
  EXPECT_EQ(world.told<WasResumed>(), (std::vector<WasResumed>{{bugs}}));
}

TEST(Queue, PausingOrResumingTwiceChangesNothing) {
  QueueWorld world;
  world.push(bugs);
  world.ask(Resume{bugs});
  EXPECT_FALSE(world.last.changed);
  world.ask(Pause{bugs, {}});
  world.ask(Pause{bugs, {}});
  EXPECT_FALSE(world.last.changed);
}

TEST(Queue, APauseForATimeEndsAtItsEnd) {
  QueueWorld world;
  world.push(bugs);
  world.ask(Pause{bugs, 10s});

  world.stamp.now = at(10s) - 1ms;
  EXPECT_TRUE(as<Taken>(world.ask(Take{{bugs}, ana, {}, 1, {}})).paused);
  world.stamp.now = at(10s);

  EXPECT_EQ(world.take_all({bugs}).size(), 1u);  // without a tick
}

TEST(Queue, APauseForATimeEndsByTickAndALongerOneReplacesIt) {
  QueueWorld world;
  world.push(bugs);
  world.ask(Pause{bugs, 10s});
  world.ask(Pause{bugs, 20s});

  world.pass(10s);
  EXPECT_TRUE(world.of(bugs).paused);
  world.pass(10s);
  EXPECT_FALSE(world.of(bugs).paused);

  world.ask(Pause{bugs, 10s});
  world.ask(Pause{bugs, {}});
  world.pass(1h);
  EXPECT_TRUE(world.of(bugs).paused);
}

TEST(Queue, RefusesToPauseWhatIsNotThere) {
  QueueWorld world;

  EXPECT_TRUE(refuses(world.ask(Pause{bugs, {}}), Why::NotFound, "bugs"));
  EXPECT_TRUE(refuses(world.ask(Resume{bugs}), Why::NotFound, "bugs"));
  world.push(bugs);
  EXPECT_TRUE(refuses(world.ask(Pause{bugs, -1ms}), Why::BadValue, "for"));
}

// ── Create, remove ──

TEST(Queue, CreatingItAgainGivesItAnotherConfiguration) {
  QueueWorld world;
  world.create(bugs, plain());
  world.create(bugs, plain());
  EXPECT_FALSE(world.last.changed);

  Config other = plain();
  other.max_attempts = 9;
  world.create(bugs, other);

  EXPECT_EQ(world.of(bugs).config, other);
  EXPECT_EQ(world.told<WasCreated>().size(), 1u);
}

TEST(Queue, RefusesABadConfiguration) {
  QueueWorld world;
  const auto refuse = [&](auto change, const char* field) {
    Config config;
    change(config);
    return refuses(world.ask(Create{bugs, config}), Why::BadValue, field);
  };

  EXPECT_TRUE(refuse([](Config& c) { c.visibility_timeout = -1ms; }, "visibility_timeout"));
  EXPECT_TRUE(refuse([](Config& c) { c.backoff_first = -1ms; }, "backoff"));
  EXPECT_TRUE(refuse([](Config& c) { c.backoff_max = -1ms; }, "backoff"));
  EXPECT_TRUE(refuse([](Config& c) { c.keep_completed_for = -1ms; }, "retention"));
  EXPECT_TRUE(refuse([](Config& c) { c.keep_dead_for = -1ms; }, "retention"));
  Config config;
  config.dead_letter = QueueName{default_project, ".."};
  EXPECT_TRUE(refuses(world.ask(Create{bugs, config}), Why::BadName, ".."));
  EXPECT_TRUE(refuses(world.ask(Create{{default_project, ""}, {}}), Why::BadName, ""));
}

// Else one request would walk along all the queues that there are.
TEST(Queue, AChainOfDeadLettersHasItsLimit) {
  QueueWorld world;
  const auto named = [](std::size_t number) {
    return QueueName{default_project, "q" + std::to_string(number)};
  };
  const auto create = [&](std::size_t number) {
    Config config;
    config.dead_letter = named(number - 1);
    return world.ask(Create{named(number), config});
  };
  for (std::size_t i = 1; i < limits::queues_a_chain; ++i) EXPECT_TRUE(is<Ok>(create(i)));
  EXPECT_TRUE(refuses(create(limits::queues_a_chain), Why::OverLimit, "dead_letter"));
}

TEST(Queue, AChainOfDeadLettersMayNotLoop) {
  QueueWorld world;
  const auto dead_letters_to = [](const QueueName& to) {
    Config config;
    config.dead_letter = to;
    return config;
  };
  EXPECT_TRUE(refuses(world.ask(Create{bugs, dead_letters_to(bugs)}), Why::Loop, "bugs"));
  world.create(bugs, dead_letters_to(chores));
  world.create(chores, dead_letters_to(lost));

  EXPECT_TRUE(refuses(world.ask(Create{lost, dead_letters_to(bugs)}), Why::Loop, "bugs"));
  EXPECT_TRUE(refuses(world.ask(Create{chores, dead_letters_to(bugs)}), Why::Loop, "bugs"));
  EXPECT_FALSE(world.last.changed);
}

TEST(Queue, AnEmptyQueueCanBeRemovedAndItsEndedItemsGoWithIt) {
  QueueWorld world;
  world.create(bugs, plain());
  world.push(bugs);
  world.complete(bugs, world.take(bugs));
  world.kill(bugs, world.push(bugs));
  world.forget();

  EXPECT_TRUE(is<Ok>(world.ask(Remove{bugs})));

  EXPECT_EQ(world.state.queues.items.size(), 0u);
  EXPECT_EQ(world.told<WasRemoved>(), (std::vector<WasRemoved>{{bugs}}));
  EXPECT_TRUE(refuses(world.ask(Remove{bugs}), Why::NotFound, "bugs"));
}

TEST(Queue, RefusesToRemoveWhatIsInUse) {
  QueueWorld world;
  world.push(bugs);
  EXPECT_TRUE(refuses(world.ask(Remove{bugs}), Why::NotAllowed, "pending"));
  const TakenItem taken = world.take(bugs);
  EXPECT_TRUE(refuses(world.ask(Remove{bugs}), Why::NotAllowed, "processing"));
  world.complete(bugs, taken);
  world.await({bugs});
  EXPECT_TRUE(refuses(world.ask(Remove{bugs}), Why::NotAllowed, "takers"));
}

TEST(Queue, RefusesToRemoveMoreThanAStepMayTouch) {
  QueueWorld world;
  world.ask(Push{bugs, std::vector<NewItem>(257, with(0))});
  std::vector<ItemClaim> claims;
  for (const TakenItem& taken : world.take_all({bugs}, 257)) {
    claims.push_back({taken.id, taken.claim});
  }
  world.ask(Complete{bugs, claims});

  EXPECT_TRUE(refuses(world.ask(Remove{bugs}), Why::NotAllowed, "purge it first"));
}

TEST(Queue, EveryFactHasItsName) {
  const auto verb = [](const Event& event) { return name_of(event).verb; };

  EXPECT_EQ(name_of(WasPushed{bugs, {}, 0}), (EventName{"queue", "bugs", "push"}));
  EXPECT_EQ(verb(WasTaken{}), "take");
  EXPECT_EQ(verb(WasCompleted{}), "complete");
  EXPECT_EQ(verb(HasFailed{}), "fail");
  EXPECT_EQ(verb(TimedOut{}), "timeout");
  EXPECT_EQ(verb(WasReleased{}), "release");
  EXPECT_EQ(verb(HasDied{}), "dead");
  EXPECT_EQ(verb(WasRedriven{}), "redrive");
  EXPECT_EQ(verb(WasDropped{}), "drop");
  EXPECT_EQ(verb(WasPaused{}), "pause");
  EXPECT_EQ(verb(WasResumed{}), "resume");
  EXPECT_EQ(verb(WasCreated{}), "create");
  EXPECT_EQ(verb(WasRemoved{}), "remove");
  EXPECT_EQ(verb(WasRefused{}), "refuse");
}

}  // namespace
}  // namespace reeve::queue
