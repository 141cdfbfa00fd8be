#include "core/queue_testing.h"

#include <gtest/gtest.h>

#include <array>

namespace reeve::queue {
namespace {

using namespace reeve::queue::testing;

class QueueDead : public ::testing::Test {
 protected:
  QueueDead() {
    Config config = plain();
    config.max_attempts = 2;
    world.create(bugs, config);
  }

  void set(auto change) {
    Config config = world.of(bugs).config;
    change(config);
    world.create(bugs, config);
  }
  void with_dead_letters() {
    set([](Config& config) { config.dead_letter = lost; });
  }
  ItemId dead_item(NewItem item = with(0)) {
    const ItemId id = world.push(bugs, std::move(item));
    world.kill(bugs, id);
    return id;
  }
  // What somebody decides about an exhausted item.
  void decide(ItemId item, decision::Choice choice) {
    decision::Answer answer;
    answer.choice = choice;
    Turn turn(world.state, world.stamp);
    decided(turn, item, answer);
    for (const std::string& violation : check_state(world.state)) ADD_FAILURE() << violation;
  }

  QueueWorld world;
};

// ── Dead letters ──

TEST_F(QueueDead, WithADeadLetterQueueTheItemMovesThereWithItsPast) {
  with_dead_letters();
  const ItemId item = dead_item(with(5));

  EXPECT_EQ(world.queue_of(item), lost);
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.item_of(item)->attempts, 0u);
  EXPECT_EQ(world.item_of(item)->priority, 5);
  EXPECT_EQ(world.rest_of(item).origin, bugs);
  EXPECT_EQ(world.rest_of(item).last_error, "boom");
  EXPECT_EQ(world.told<HasDied>(), (std::vector<HasDied>{{bugs, item, "boom", lost}}));
  EXPECT_EQ(world.counts(bugs).moved_out, 1u);
  EXPECT_EQ(world.counts(lost).moved_in, 1u);
}

TEST_F(QueueDead, ItsPlaceInTheDeadLetterQueueIsByItsNumber) {
  with_dead_letters();
  const ItemId item = world.push(bugs);
  const ItemId pushed_there = world.push(lost);
  world.kill(bugs, item);

  EXPECT_EQ(world.take(lost).id, item);
  EXPECT_EQ(world.take(lost).id, pushed_there);
}

TEST_F(QueueDead, ASilenceThatIsOverIsFoundInTheDeadLetterQueueThoughNoTickCame) {
  with_dead_letters();
  set([](Config& config) { config.max_attempts = 1; });
  const ItemId item = world.push(bugs);
  world.take(bugs);
  world.stamp.now = at(30s) + 1ms;

  EXPECT_EQ(world.take(lost).id, item);
}

// ── A lowered maximum ──

TEST_F(QueueDead, WhatALoweredMaximumHasUsedUpIsGivenToNobody) {
  const ItemId spent = world.push(bugs);
  world.fail(bugs, world.take(bugs));
  const ItemId fresh = world.push(bugs);
  set([](Config& config) { config.max_attempts = 1; });

  EXPECT_EQ(world.take(bugs).id, fresh);
  EXPECT_EQ(world.state_of(spent), ItemState::Dead);
  EXPECT_EQ(world.told<HasDied>(), (std::vector<HasDied>{{bugs, spent, "boom", std::nullopt}}));
}

TEST_F(QueueDead, AnItemThatIsReleasedUnderALoweredMaximumIsGivenToNobody) {
  const ItemId item = world.push(bugs);
  world.fail(bugs, world.take(bugs));
  const TakenItem second = world.take(bugs);
  set([](Config& config) { config.max_attempts = 1; });
  const WaiterId waiter = world.await({bugs});
  world.release(bugs, second);

  EXPECT_EQ(world.state_of(item), ItemState::Dead);
  const ItemId fresh = world.push(bugs);
  EXPECT_EQ(as<Taken>(world.answer_to(waiter)).items.at(0).id, fresh);
}

TEST_F(QueueDead, MoreThanAStepMayTouchIsEndedStepByStepAndWhoWaitsIsServed) {
  const std::size_t many = limits::touched_a_step + 10;
  for (std::size_t i = 0; i < many; ++i) world.push(bugs);
  for (std::size_t i = 0; i < many; ++i) world.fail(bugs, world.take(bugs), "boom", 1s);
  world.pass(1s);
  set([](Config& config) { config.max_attempts = 1; });
  const WaiterId waiter = world.await({bugs});
  world.pass(1ms);
  EXPECT_EQ(world.counts(bugs).dead, many);

  const ItemId fresh = world.push(bugs);
  EXPECT_EQ(as<Taken>(world.answer_to(waiter)).items.at(0).id, fresh);
}

TEST_F(QueueDead, WhoNamesAnItemBeginsAnewWithIt) {
  const ItemId item = world.push(bugs);
  world.fail(bugs, world.take(bugs));
  set([](Config& config) { config.max_attempts = 1; });

  EXPECT_EQ(as<Taken>(world.ask(TakeOne{bugs, item, ana, {}})).items.at(0).attempts, 1u);
}

TEST_F(QueueDead, RedriveSendsItHome) {
  with_dead_letters();
  const ItemId item = dead_item();
  world.forget();

  EXPECT_EQ(as<Counted>(world.ask(Redrive{lost, {item}, false, {}})), Counted{1});

  EXPECT_EQ(world.queue_of(item), bugs);
  EXPECT_EQ(world.rest_of(item).origin, std::nullopt);
  EXPECT_EQ(world.rest_of(item).last_error, "boom");
  EXPECT_EQ(world.told<WasRedriven>(), (std::vector<WasRedriven>{{lost, item, bugs}}));
  EXPECT_EQ(world.take(bugs).attempts, 1u);
}

TEST_F(QueueDead, RedriveMakesAHomeThatIsGone) {
  with_dead_letters();
  const ItemId item = dead_item();
  ASSERT_TRUE(is<Ok>(world.ask(Remove{bugs})));

  world.ask(Redrive{lost, {}, true, {}});

  EXPECT_EQ(world.queue_of(item), bugs);
}

TEST_F(QueueDead, AnItemThatDiesOfDeadLettersToStillGoesHome) {
  with_dead_letters();
  Config config = plain();
  config.max_attempts = 1;
  config.dead_letter = chores;
  world.create(lost, config);
  const ItemId item = dead_item();
  world.kill(lost, item);
  ASSERT_EQ(world.queue_of(item), chores);

  world.ask(Redrive{chores, {item}, false, {}});

  EXPECT_EQ(world.queue_of(item), bugs);
}

TEST_F(QueueDead, AnItemComesBackWithoutAKeyThatAnotherHasByNow) {
  const ItemId old = dead_item(with(0, 0ms, "k"));
  const ItemId fresh = world.push(bugs, with(0, 0ms, "k"));

  world.ask(Redrive{bugs, {old}, false, {}});

  EXPECT_EQ(world.rest_of(old).dedupe_key, "");
  EXPECT_EQ(world.push(bugs, with(0, 0ms, "k")), fresh);
}

TEST_F(QueueDead, AnItemComesBackWithItsKeyIfItIsFree) {
  const ItemId item = dead_item(with(0, 0ms, "k"));

  world.ask(Redrive{bugs, {item}, false, {}});

  EXPECT_EQ(world.push(bugs, with(0, 0ms, "k")), item);
}

// ── Redrive ──

// Two queues may know different things by one key; their dead letters meet.
TEST_F(QueueDead, AnItemComesHomeWithItsKeyAlsoIfAnotherHadItAmongTheDeadLetters) {
  set([](Config& config) {
    config.dead_letter = lost;
    config.max_attempts = 1;
  });
  world.create(chores, world.of(bugs).config);
  const ItemId bug = world.push(bugs, with(0, 0ms, "k"));
  const ItemId chore = world.push(chores, with(0, 0ms, "k"));
  world.kill(bugs, bug);
  world.kill(chores, chore);
  EXPECT_EQ(as<Pushed>(world.ask(Push{lost, {with(0, 0ms, "k")}})), (Pushed{{bug}, {true}}));

  EXPECT_EQ(as<Counted>(world.ask(Redrive{lost, {}, true, {}})), Counted{2});

  EXPECT_EQ(as<Pushed>(world.ask(Push{bugs, {with(0, 0ms, "k")}})), (Pushed{{bug}, {true}}));
  EXPECT_EQ(as<Pushed>(world.ask(Push{chores, {with(0, 0ms, "k")}})), (Pushed{{chore}, {true}}));
}

TEST_F(QueueDead, WithoutDeadLettersRedriveMakesItPendingInItsOldPlace) {
  const ItemId item = dead_item();
  world.push(bugs);
  world.forget();

  EXPECT_EQ(as<Counted>(world.ask(Redrive{bugs, {item, item}, false, {}})), Counted{1});

  EXPECT_EQ(world.told<WasRedriven>(), (std::vector<WasRedriven>{{bugs, item, std::nullopt}}));
  const TakenItem taken = world.take(bugs);
  EXPECT_EQ(taken.id, item);
  EXPECT_EQ(taken.attempts, 1u);
  EXPECT_EQ(world.rest_of(item).reason, "");
}

TEST_F(QueueDead, RedriveTakesAllOrNoneOfWhatItIsGiven) {
  const ItemId dead = dead_item();
  const ItemId alive = world.push(bugs);

  EXPECT_TRUE(
      refuses(world.ask(Redrive{bugs, {dead, alive}, false, {}}), Why::NotAllowed, to_text(alive)));
  EXPECT_TRUE(refuses(world.ask(Redrive{bugs, {dead, ItemId{999}}, false, {}}),
                      Why::NotFound,
                      to_text(ItemId{999})));
  EXPECT_TRUE(refuses(world.ask(Redrive{bugs, {}, false, {}}), Why::BadValue, "items"));
  EXPECT_TRUE(refuses(world.ask(Redrive{bugs, std::vector<ItemId>(1001, dead), false, {}}),
                      Why::OverLimit,
                      "items"));
  EXPECT_TRUE(refuses(world.ask(Redrive{lost, {dead}, false, {}}), Why::NotFound, "lost"));
  EXPECT_EQ(world.state_of(dead), ItemState::Dead);
}

TEST_F(QueueDead, TheFirstToDieAreRedrivenFirst) {
  const ItemId a = world.push(bugs);
  const ItemId b = world.push(bugs);
  const ItemId c = world.push(bugs);
  for (const ItemId id : {c, a, b}) world.kill(bugs, id);

  EXPECT_EQ(as<Counted>(world.ask(Redrive{bugs, {}, false, 2})), Counted{2});

  EXPECT_EQ(world.state_of(c), ItemState::Pending);
  EXPECT_EQ(world.state_of(a), ItemState::Pending);
  EXPECT_EQ(world.state_of(b), ItemState::Dead);
}

TEST_F(QueueDead, OfADeadLetterQueueAKickMovesOnlyTheDead) {
  with_dead_letters();
  const ItemId guest = dead_item();

  EXPECT_EQ(as<Counted>(world.ask(Redrive{lost, {}, false, 5})), Counted{0});
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.queue_of(guest), lost);
}

TEST_F(QueueDead, RedriveOfAllLeavesWhatWasPushedThere) {
  with_dead_letters();
  const ItemId guest = dead_item();
  const ItemId resident = world.push(lost);

  EXPECT_EQ(as<Counted>(world.ask(Redrive{lost, {}, true, {}})), Counted{1});
  EXPECT_EQ(world.queue_of(guest), bugs);
  EXPECT_EQ(world.queue_of(resident), lost);
}

TEST_F(QueueDead, RedriveOfManyGoesOnByTicksAndAnswersAtTheEnd) {
  set([](Config& config) { config.max_attempts = 1; });
  world.ask(Push{bugs, std::vector<NewItem>(600, with(0))});
  for (const TakenItem& taken : world.take_all({bugs}, 600)) {
    world.ask(Bury{bugs, {taken.id, taken.claim}, "", {}});
  }
  ASSERT_EQ(world.counts(bugs).dead, 600u);

  const WaiterId waiter = as<Waiting>(world.ask(Redrive{bugs, {}, true, {}})).waiter;
  EXPECT_EQ(world.counts(bugs).pending, limits::touched_a_step);
  world.push(chores);  // others are served in between
  world.input(Tick{});
  EXPECT_FALSE(is<Counted>(world.answer_to(waiter)));
  world.input(Tick{});

  EXPECT_EQ(as<Counted>(world.answer_to(waiter)), Counted{600});
  EXPECT_EQ(world.counts(bugs).pending, 600u);
  EXPECT_TRUE(world.state.chores.waiting.empty());
}

// ── On exhaust ──

TEST_F(QueueDead, EscalateMakesItDeadAndRetryBringsItBack) {
  set([](Config& config) { config.on_exhaust = OnExhaust::Escalate; });
  const ItemId item = dead_item();
  ASSERT_EQ(world.state_of(item), ItemState::Dead);

  decide(item, decision::Choice::Dead);
  EXPECT_EQ(world.state_of(item), ItemState::Dead);
  decide(item, decision::Choice::Retry);
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.item_of(item)->attempts, 0u);
}

TEST_F(QueueDead, AnEscalatedItemOfTheDeadLettersGoesHomeOnRetryAndStaysOnDead) {
  with_dead_letters();
  set([](Config& config) { config.on_exhaust = OnExhaust::Escalate; });
  const ItemId item = dead_item();

  decide(item, decision::Choice::Dead);
  EXPECT_EQ(world.queue_of(item), lost);
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  decide(item, decision::Choice::Retry);
  EXPECT_EQ(world.queue_of(item), bugs);
}

TEST_F(QueueDead, AnEscalatedItemCanBeDropped) {
  set([](Config& config) { config.on_exhaust = OnExhaust::Escalate; });
  const ItemId item = dead_item();

  decide(item, decision::Choice::Drop);

  EXPECT_FALSE(world.item_of(item));
  EXPECT_EQ(world.counts(bugs).dropped, 1u);
  decide(item, decision::Choice::Retry);
}

class QueuePauses : public QueueDead {
 protected:
  QueuePauses() {
    set([](Config& config) { config.on_exhaust = OnExhaust::Pause; });
    item = world.push(bugs);
    other = world.push(bugs);
    world.fail(bugs, world.take(bugs));
    world.fail(bugs, world.take(bugs));
  }

  ItemId item;
  ItemId other;
};

TEST_F(QueuePauses, PauseKeepsTheItemInItsOldPlaceAndStopsTheQueue) {
  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.item_of(item)->attempts, 0u);
  EXPECT_TRUE(world.of(bugs).paused);
  EXPECT_EQ(world.told<WasPaused>(), (std::vector<WasPaused>{{bugs}}));
  EXPECT_TRUE(world.nothing_in(bugs));
}

TEST_F(QueuePauses, RetryResumesTheQueueWithTheItemFirst) {
  const WaiterId waiter = world.await({bugs});

  decide(item, decision::Choice::Retry);

  EXPECT_FALSE(world.of(bugs).paused);
  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  EXPECT_FALSE(world.state.queues.takers.contains(waiter));
}

TEST_F(QueuePauses, DeadBuriesTheItemAndResumesTheQueue) {
  decide(item, decision::Choice::Dead);

  EXPECT_EQ(world.state_of(item), ItemState::Dead);
  EXPECT_EQ(world.rest_of(item).reason, "boom");
  EXPECT_EQ(world.take(bugs).id, other);
}

TEST_F(QueuePauses, DropRemovesTheItemAndResumesTheQueue) {
  decide(item, decision::Choice::Drop);

  EXPECT_FALSE(world.item_of(item));
  EXPECT_EQ(world.take(bugs).id, other);
}

TEST_F(QueuePauses, APauseBySomebodyElseOutlivesTheDecision) {
  world.ask(Pause{bugs, 1h});
  world.ask(Pause{bugs, {}});

  decide(item, decision::Choice::Retry);

  EXPECT_TRUE(world.of(bugs).paused);
}

TEST_F(QueuePauses, AnItemThatIsDroppedMeanwhileNoLongerHoldsThePause) {
  world.ask(Drop{bugs, item});

  EXPECT_TRUE(world.of(bugs).paused);
  EXPECT_EQ(world.of(bugs).paused_by, ItemId{});
}

// Two of them are exhausted: the first pauses it, and the second finds it paused.
TEST_F(QueueDead, WhatIsExhaustedAmongTheDeadLettersIsDecidedThere) {
  with_dead_letters();
  const std::array items = {dead_item(), dead_item()};
  Config config = plain();
  config.max_attempts = 1;
  config.on_exhaust = OnExhaust::Pause;
  world.create(lost, config);
  const auto both = world.take_all({lost}, 2);
  for (const TakenItem& item : both) world.fail(lost, item);
  const auto choose = [&](ItemId item, decision::Choice choice) {
    const DecisionId id = *world.state.decisions.open_of.find(decision::ItemOwner{item});
    world.ask(decision::Command{decision::Resolve{id, choice}});
    return std::pair(world.queue_of(item), world.state_of(item));
  };
  const State asked = world.state;

  EXPECT_EQ(choose(items[1], decision::Choice::Dead), std::pair(lost, ItemState::Dead));
  EXPECT_TRUE(world.of(lost).paused);

  world.state = asked;
  EXPECT_EQ(choose(items[1], decision::Choice::Retry), std::pair(lost, ItemState::Pending));
  EXPECT_EQ(choose(items[0], decision::Choice::Dead), std::pair(lost, ItemState::Dead));
  EXPECT_FALSE(world.of(lost).paused);
}

// What a lowered maximum has used up pauses the queue when its turn comes.
TEST_F(QueueDead, WhoseTakePausesTheQueueIsToldSo) {
  const ItemId item = world.push(bugs);
  world.fail(bugs, world.take(bugs));
  set([](Config& config) {
    config.max_attempts = 1;
    config.on_exhaust = OnExhaust::Pause;
  });

  EXPECT_EQ(as<Taken>(world.ask(Take{{bugs}, ana, {}, 1, {}})), (Taken{{}, true}));

  EXPECT_EQ(world.of(bugs).paused_by, item);
}

// Its queue was removed, and the project has as many as it may have.
TEST_F(QueueDead, ARedriveOfAllPassesByOneWhoseHomeCannotBeMadeAgain) {
  with_dead_letters();
  const ItemId homeless = dead_item();
  world.create(chores, world.of(bugs).config);
  const ItemId chore = world.push(chores);
  world.kill(chores, chore);
  world.ask(Remove{bugs});
  State state = world.state;
  state.queues.queues_of.set(default_project, limits::names_a_project);

  const queue::Command all = Redrive{lost, {}, true, {}};
  world.state = apply(state, Request{default_project, {}, true, {}, all}, world.stamp).state;

  EXPECT_EQ(world.queue_of(chore), chores);
  EXPECT_EQ(world.queue_of(homeless), lost);
}

// ── Drop, purge, hurry ──

TEST_F(QueueDead, WhatIsNotBeingProcessedCanBeDropped) {
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);
  EXPECT_TRUE(refuses(world.ask(Drop{bugs, item}), Why::NotAllowed, "processing"));
  world.complete(bugs, taken);
  world.forget();

  EXPECT_TRUE(is<Ok>(world.ask(Drop{bugs, item})));

  EXPECT_EQ(world.told<WasDropped>(), (std::vector<WasDropped>{{bugs, item}}));
  EXPECT_TRUE(refuses(world.ask(Drop{bugs, item}), Why::NotFound, to_text(item)));
  EXPECT_TRUE(refuses(world.ask(Drop{lost, item}), Why::NotFound, "lost"));
}

TEST_F(QueueDead, PurgeDropsWhatIsInOneState) {
  dead_item();
  world.push(bugs);
  world.complete(bugs, world.take(bugs));
  world.push(bugs);
  world.push(bugs, with(0, 1h));

  EXPECT_EQ(as<Counted>(world.ask(Purge{bugs, ItemState::Pending})), Counted{2});
  EXPECT_EQ(world.counts(bugs).completed, 1u);
  EXPECT_EQ(as<Counted>(world.ask(Purge{bugs, ItemState::Completed})), Counted{1});
  EXPECT_EQ(as<Counted>(world.ask(Purge{bugs, ItemState::Dead})), Counted{1});
  EXPECT_EQ(as<Counted>(world.ask(Purge{bugs, ItemState::Dead})), Counted{0});
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.counts(bugs).dropped, 4u);
  EXPECT_TRUE(
      refuses(world.ask(Purge{bugs, ItemState::Processing}), Why::NotAllowed, "processing"));
  EXPECT_TRUE(refuses(world.ask(Purge{lost, ItemState::Dead}), Why::NotFound, "lost"));
}

TEST_F(QueueDead, PurgeOfManyGoesOnByTicksAndSparesWhatCameLater) {
  world.ask(Push{bugs, std::vector<NewItem>(300, with(0))});
  const WaiterId waiter = as<Waiting>(world.ask(Purge{bugs, ItemState::Pending})).waiter;
  world.ask(Push{bugs, std::vector<NewItem>(5, with(-1))});

  world.input(Tick{});

  EXPECT_EQ(as<Counted>(world.answer_to(waiter)), Counted{300});
  EXPECT_EQ(world.counts(bugs).pending, 5u);
}

TEST_F(QueueDead, HurryMakesDelayedItemsReadyTheSoonestFirst) {
  const ItemId late = world.push(bugs, with(0, 2h));
  const ItemId soon = world.push(bugs, with(0, 1h));
  world.push(chores);

  EXPECT_EQ(as<Counted>(world.ask(Hurry{bugs, 1, {}})), Counted{1});
  EXPECT_EQ(world.take(bugs).id, soon);
  EXPECT_EQ(as<Counted>(world.ask(Hurry{bugs, 9, {}})), Counted{1});
  EXPECT_EQ(world.take(bugs).id, late);
  EXPECT_EQ(as<Counted>(world.ask(Hurry{bugs, 9, {}})), Counted{0});
}

TEST_F(QueueDead, HurryCanNameOneItem) {
  world.push(bugs, with(0, 1h));
  const ItemId item = world.push(bugs, with(0, 2h));

  EXPECT_EQ(as<Counted>(world.ask(Hurry{bugs, 1, item})), Counted{1});

  EXPECT_TRUE(refuses(world.ask(Hurry{bugs, 1, item}), Why::NotAllowed, to_text(item)));
  EXPECT_TRUE(refuses(world.ask(Hurry{bugs, 1, ItemId{999}}), Why::NotFound, to_text(ItemId{999})));
  EXPECT_TRUE(refuses(world.ask(Hurry{lost, 1, {}}), Why::NotFound, "lost"));
  EXPECT_EQ(world.take(bugs).id, item);
}

// ── Retention ──

TEST_F(QueueDead, CompletedItemsAreKeptByCount) {
  set([](Config& config) { config.keep_completed = 2; });
  std::vector<ItemId> items;
  for (int i = 0; i < 3; ++i) {
    items.push_back(world.push(bugs));
    world.complete(bugs, world.take(bugs));
  }

  world.pass(limits::completed_kept - 1ms);
  EXPECT_TRUE(world.item_of(items[0]));
  world.pass(1ms);

  EXPECT_FALSE(world.item_of(items[0]));
  EXPECT_TRUE(world.item_of(items[1]));
  EXPECT_EQ(world.counts(bugs).completed, 2u);
  EXPECT_EQ(world.counts(bugs).forgotten, 1u);
}

// Who lost the answer may ask again, and is not told that somebody else has it.
TEST_F(QueueDead, AlsoAQueueThatKeepsNoneLetsTheSameClaimCompleteTwice) {
  set([](Config& config) {
    config.keep_completed = 0;
    config.keep_completed_for = 0s;
  });
  for (int i = 0; i < 2; ++i) world.push(bugs);
  const std::vector<TakenItem> taken = world.take_all({bugs}, 2);
  EXPECT_TRUE(world.completes(bugs, taken[0]));
  world.pass(3s);
  EXPECT_TRUE(world.completes(bugs, taken[1]));
  EXPECT_TRUE(world.completes(bugs, taken[0]));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(as<Settled>(world.ask(Complete{bugs, {{taken[0].id, Token{999}}}})),
            (Settled{{StaleClaim{taken[0].id, {}}}}));

  world.pass(limits::completed_kept - 3s - 1ms);
  EXPECT_TRUE(world.completes(bugs, taken[0]));
  world.pass(1ms);
  EXPECT_EQ(as<Settled>(world.complete(bugs, taken[0])), (Settled{{StaleClaim{taken[0].id, {}}}}));
  EXPECT_TRUE(world.completes(bugs, taken[1]));
  world.pass(3s);
  EXPECT_EQ(world.counts(bugs).completed, 0u);
  EXPECT_EQ(world.counts(bugs).forgotten, 2u);
}

TEST_F(QueueDead, AQueueThatKeepsNoneHasNoMoreThanABatchOfThem) {
  set([](Config& config) { config.keep_completed = 0; });
  world.push(bugs);
  const TakenItem first = world.take(bugs);
  EXPECT_TRUE(world.completes(bugs, first));
  world.ask(Push{bugs, std::vector<NewItem>(limits::batch_items, with(0))});
  std::vector<ItemClaim> claims;
  for (const TakenItem& taken : world.take_all({bugs}, limits::batch_items)) {
    claims.push_back({taken.id, taken.claim});
  }
  const Settled done = as<Settled>(world.ask(Complete{bugs, claims}));

  EXPECT_EQ(world.counts(bugs).completed, limits::batch_items);
  EXPECT_EQ(as<Settled>(world.ask(Complete{bugs, claims})), done);
  EXPECT_EQ(as<Settled>(world.complete(bugs, first)), (Settled{{StaleClaim{first.id, {}}}}));
}

TEST_F(QueueDead, AQueueThatKeepsFewerForgetsTheRestByTick) {
  for (int i = 0; i < 5; ++i) world.push(bugs);
  for (const TakenItem& taken : world.take_all({bugs}, 5)) world.complete(bugs, taken);
  world.pass(limits::completed_kept);
  set([](Config& config) { config.keep_completed = 1; });

  world.input(Tick{});

  EXPECT_EQ(world.counts(bugs).completed, 1u);
}

TEST_F(QueueDead, AQueueThatKeepsFewerForgetsTheOldestFirstAlsoWhileMoreAreCompleted) {
  set([](Config& config) { config.keep_completed = 5000; });
  const auto complete = [&](std::uint32_t count) {
    world.ask(Push{bugs, std::vector<NewItem>(count, with(0))});
    std::vector<ItemClaim> claims;
    for (const TakenItem& item : world.take_all({bugs}, count)) {
      claims.push_back({item.id, item.claim});
    }
    world.ask(Complete{bugs, claims});
    world.pass(1ms);
  };
  complete(2 * limits::touched_a_step);
  complete(1);
  complete(1000);
  complete(1);
  world.push(bugs);
  const TakenItem last = world.take(bugs);
  set([](Config& config) { config.keep_completed = 1000; });

  EXPECT_TRUE(world.completes(bugs, last));

  EXPECT_EQ(world.counts(bugs).completed, 1002u);
  EXPECT_EQ(world.counts(bugs).forgotten, 2 * limits::touched_a_step + 1);
}

TEST_F(QueueDead, CompletedItemsAreKeptForTheirTime) {
  set([](Config& config) { config.keep_completed_for = 1h; });
  const ItemId item = world.push(bugs);
  const TakenItem taken = world.take(bugs);
  world.complete(bugs, taken);

  world.pass(1h - 1ms);
  EXPECT_TRUE(world.item_of(item));
  world.pass(1ms);

  EXPECT_FALSE(world.item_of(item));
  EXPECT_EQ(as<Settled>(world.complete(bugs, taken)), (Settled{{StaleClaim{item, {}}}}));
}

TEST_F(QueueDead, DeadItemsAreKeptUnlessATimeIsSet) {
  const ItemId item = dead_item();
  world.pass(10'000h);
  EXPECT_TRUE(world.item_of(item));

  set([](Config& config) { config.keep_dead_for = 20'000h; });
  world.pass(10'000h - 1ms);
  EXPECT_TRUE(world.item_of(item));
  world.pass(1ms);
  EXPECT_FALSE(world.item_of(item));
  EXPECT_EQ(world.counts(bugs).forgotten, 1u);
}

TEST(QueueLetters, NobodyIsAskedAboutAnItemThatWasTakenFromTheDeadLetters) {
  QueueWorld world;
  Config config = plain();
  config.max_attempts = 1;
  config.on_exhaust = OnExhaust::Escalate;
  config.dead_letter = lost;
  world.create(bugs, config);
  world.create(lost, plain());
  const ItemId item = world.push(bugs);
  const WaiterId bo_waits = world.await({lost});
  world.fail(bugs, world.take(bugs));
  ASSERT_EQ(world.got(bo_waits).size(), 1u);
  ASSERT_EQ(world.state_of(item), ItemState::Processing);
  EXPECT_TRUE(world.state.decisions.open_of.empty());
}

}  // namespace
}  // namespace reeve::queue
