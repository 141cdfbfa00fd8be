#include "core/worker.h"

#include "base/die_testing.h"
#include "core/heard_testing.h"
#include "core/worker_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::worker {
namespace {

using namespace reeve::worker::testing;

TEST(Worker, TakesWhatIsThereWhenItIsStarted) {
  WorkerWorld world;
  const ItemId one = world.push("1");
  const ItemId two = world.push("2");
  const ItemId three = world.push("3");
  world.forget();

  EXPECT_EQ(as<Working>(world.start()), (Working{2, 2}));

  EXPECT_EQ(world.own(), (Names{"worker:started", "worker:took", "worker:took"}));
  EXPECT_EQ(world.state_of(one), queue::ItemState::Processing);
  EXPECT_EQ(world.state_of(two), queue::ItemState::Processing);
  EXPECT_EQ(world.state_of(three), queue::ItemState::Pending);
  EXPECT_EQ(world.worker()->active.size(), 2u);
  const queue::Claim& claim = *world.state.queues.items.find(one)->rest->claim;
  EXPECT_EQ(claim.holder.name, "worker fixer#" + std::to_string(claim.token.value));
  EXPECT_FALSE(claim.visibility);
}

// What is due is settled with the outcome, and gives somebody else a claim before.
TEST(Worker, HoldsItsItemUnderTheClaimAlsoIfAnotherIsServedBefore) {
  WorkerWorld world(runbook("one", 1));
  const QueueName chores{default_project, "chores"};
  world.push("1");
  const ItemId two = world.push("2");
  world.start();
  queue::NewItem later;
  later.data = Bytes("{}");
  later.delay = 10s;
  world.ask(queue::Command{queue::Push{chores, {later}}});
  world.ask(queue::Command{queue::Take{{chores}, {default_project, "ana"}, {}, 1, 1h}});
  world.stamp.now = at(10s);

  world.end_one();

  const queue::Claim& claim = *world.state.queues.items.find(two)->rest->claim;
  EXPECT_EQ(claim.holder.name, "worker fixer#" + std::to_string(claim.token.value));
}

TEST(Worker, IsWokenByWhatIsPushed) {
  WorkerWorld world;
  world.start();
  EXPECT_EQ(world.own(), (Names{"worker:started", "worker:idle"}));
  world.forget();
  const ItemId item = world.push("1");
  EXPECT_EQ(world.own(), (Names{"worker:took"}));
  EXPECT_EQ(world.state_of(item), queue::ItemState::Processing);
}

TEST(Worker, IsWokenWhenADelayEnds) {
  WorkerWorld world;
  world.start();
  const ItemId item = world.push("1", 10s);
  EXPECT_EQ(world.state_of(item), queue::ItemState::Pending);
  world.pass(10s);
  EXPECT_EQ(world.state_of(item), queue::ItemState::Processing);
}

TEST(Worker, IsWokenWhenItsQueueGoesOn) {
  WorkerWorld world;
  world.start();
  world.ask(queue::Command{queue::Pause{bugs, {}}});
  const ItemId item = world.push("1");
  EXPECT_EQ(world.state_of(item), queue::ItemState::Pending);
  world.ask(queue::Command{queue::Resume{bugs}});
  EXPECT_EQ(world.state_of(item), queue::ItemState::Processing);
}

TEST(Worker, APipelineThatIsDoneCompletesItsItemAndTakesTheNextInTheSameInput) {
  WorkerWorld world(runbook("one", 1));
  const ItemId one = world.push("1");
  const ItemId two = world.push("2");
  world.start();
  world.forget();

  world.end_one();

  EXPECT_EQ(world.state_of(one), queue::ItemState::Completed);
  EXPECT_EQ(world.state_of(two), queue::ItemState::Processing);
  EXPECT_EQ(world.own(), (Names{"worker:took"}));
  world.end_one();
  EXPECT_EQ(world.own(), (Names{"worker:took", "worker:idle"}));
}

TEST(Worker, APipelineThatFailsFailsItsItem) {
  WorkerWorld world(runbook("one", 1));
  const ItemId item = world.push("1");
  world.start();
  world.end_one(1);
  // No backoff: it has its old place, and is taken again at once.
  EXPECT_EQ(world.state.queues.items.find(item)->attempts, 2u);
  world.end_one(1);
  world.end_one(1);
  EXPECT_EQ(world.state_of(item), queue::ItemState::Dead);
  EXPECT_TRUE(world.worker()->active.empty());
}

TEST(Worker, APipelineThatIsCancelledGivesItsItemBack) {
  WorkerWorld world(runbook("one", 1));
  const ItemId item = world.push("1");
  world.start();
  const PipelineId pipeline = *world.worker()->active.first();
  world.ask(Command{Stop{fixer}});
  world.ask(pipeline::Command{pipeline::Cancel{pipeline}});
  while (!world.state.outbox.empty()) world.end_one(143);
  EXPECT_EQ(world.state_of(item), queue::ItemState::Pending);
  EXPECT_EQ(world.state.queues.items.find(item)->attempts, 0u);
  EXPECT_EQ(world.worker(), nullptr);
}

TEST(Worker, StoppingLetsRunningWorkFinish) {
  WorkerWorld world(runbook("one", 1));
  const ItemId one = world.push("1");
  const ItemId two = world.push("2");
  world.start();
  EXPECT_EQ(as<Working>(world.ask(Command{Stop{fixer}})), (Working{1, 1}));
  EXPECT_EQ(world.own().back(), "worker:stopped");
  world.ask(Command{Stop{fixer}});
  EXPECT_FALSE(world.last.changed);
  world.end_one();
  EXPECT_EQ(world.state_of(one), queue::ItemState::Completed);
  EXPECT_EQ(world.state_of(two), queue::ItemState::Pending);
  EXPECT_EQ(world.worker(), nullptr);
  EXPECT_EQ(as<Refused>(world.ask(Command{Stop{fixer}})), (Refused{Why::NotFound, "fixer"}));
}

TEST(Worker, StartingTwiceIsAWake) {
  WorkerWorld world;
  world.start();
  world.forget();
  EXPECT_EQ(as<Working>(world.start()), (Working{0, 2}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Worker, StartedWithOtherDefinitionsItGoesOnByThose) {
  WorkerWorld world;
  world.start();
  world.load(runbook("two", 5));
  EXPECT_EQ(world.state.definitions.sets.find(first_set)->pins, 1u);
  EXPECT_EQ(as<Working>(world.start("two")), (Working{0, 5}));
  EXPECT_EQ(world.state.definitions.sets.find(first_set), nullptr);
  EXPECT_EQ(world.own(), (Names{"worker:idle"}));
}

TEST(Worker, ResizeIsLive) {
  WorkerWorld world(runbook("one", 1));
  world.push("1");
  world.push("2");
  world.push("3");
  world.start();
  EXPECT_EQ(as<Working>(world.ask(Command{Resize{fixer, 3}})), (Working{3, 3}));
  // Smaller: nothing is ended, but nothing new begins before there is room.
  EXPECT_EQ(as<Working>(world.ask(Command{Resize{fixer, 1}})), (Working{3, 1}));
  world.push("4");
  world.end_one();
  world.end_one();
  EXPECT_EQ(world.worker()->active.size(), 1u);
  world.end_one();
  EXPECT_EQ(world.worker()->active.size(), 1u);
  EXPECT_EQ(as<Refused>(world.ask(Command{Resize{fixer, 0}})),
            (Refused{Why::BadValue, "concurrency"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Resize{fixer, 10'001}})),
            (Refused{Why::BadValue, "concurrency"}));
}

TEST(Worker, APipelineThatCannotBeginFailsItsItemWithTheReason) {
  definition::Set set = runbook("one", 1);
  set.workers.set("fixer", {"bugs", "unknown", 1, {}});
  WorkerWorld world(set);
  const ItemId item = world.push("1");
  world.start();
  EXPECT_EQ(world.own(), (Names{"worker:started", "worker:refused"}));
  EXPECT_EQ(world.state.queues.items.find(item)->rest->last_error,
            "pipeline unknown cannot begin: unknown");
  // It is tried again after a second, until it is dead.
  world.pass(1s);
  EXPECT_EQ(world.state.queues.items.find(item)->attempts, 2u);
  world.pass(1s);
  EXPECT_EQ(world.state_of(item), queue::ItemState::Dead);
}

TEST(Worker, WakeOnWakesIt) {
  definition::Set set = runbook();
  set.sources.set("bugs", {"tracker", 10min});
  WorkerWorld world(set);
  world.start();
  world.finish(world.started[0].id);
  world.pass(1ms);
  world.forget();
  world.ask(EmitCustom{"ci:green", {}});
  // Woken, it asks its source at once.
  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(world.started[0].effect.what, (Outer{PollQueue{bugs, "tracker"}}));
}

TEST(Worker, ItsEventsAreNamedAfterIt) {
  EXPECT_EQ(name_of(WasResized{fixer, 2}), (EventName{"worker", "fixer", "resized"}));
  EXPECT_EQ(name_of(TakeFailed{fixer, ItemId{7}, "gone"}),
            (EventName{"worker", "fixer", "take_failed"}));
}

TEST(Worker, WhatMakesNoSenseIsRefused) {
  WorkerWorld world;
  const auto why = [&](Command command) {
    const auto refused = as<Refused>(world.ask(std::move(command)));
    EXPECT_FALSE(world.last.changed);
    return refused;
  };
  EXPECT_EQ(why(Start{fixer, {default_project, "gone"}, {}}), (Refused{Why::NotFound, "fixer"}));
  EXPECT_EQ(why(Start{{default_project, "x"}, first_set, {}}), (Refused{Why::NotFound, "x"}));
  EXPECT_EQ(why(Stop{fixer}), (Refused{Why::NotFound, "fixer"}));
  EXPECT_EQ(why(Wake{fixer}), (Refused{Why::NotFound, "fixer"}));
  EXPECT_EQ(why(Resize{fixer, 1}), (Refused{Why::NotFound, "fixer"}));
  definition::Set set = runbook("bad", 0);
  world.load(set);
  EXPECT_EQ(why(Start{fixer, {default_project, "bad"}, {}}),
            (Refused{Why::BadValue, "concurrency"}));
}

TEST(Worker, OneThatIsStoppedAndHasWorkLeftIsOnlyWaitedFor) {
  WorkerWorld world;
  world.push("1");
  world.start();
  EXPECT_EQ(as<Refused>(world.ask(Command{Resize{fixer, 0}})),
            (Refused{Why::BadValue, "concurrency"}));
  EXPECT_EQ(as<Working>(world.ask(Command{Stop{fixer}})), (Working{1, 2}));

  EXPECT_EQ(as<Working>(world.ask(Command{Stop{fixer}})), (Working{1, 2}));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(as<Refused>(world.ask(Command{Wake{fixer}})), (Refused{Why::NotFound, "fixer"}));
  EXPECT_EQ(as<Refused>(world.ask(Command{Resize{fixer, 1}})), (Refused{Why::NotFound, "fixer"}));
  world.end_one();
  EXPECT_EQ(world.worker(), nullptr);
}

TEST(Worker, TheDataOfAnItemBecomesTheInputs) {
  const std::vector<std::string> names = {"bug", "branch"};
  EXPECT_EQ(inputs_from(names, R"({"branch":"main","bug":7,"more":1})", true),
            (Map{{"branch", "main"}, {"bug", "7"}}));
  EXPECT_EQ(inputs_from(names, "42", true), (Map{{"bug", "42"}}));
  EXPECT_EQ(inputs_from(names, R"("a \"b\"")", true), (Map{{"bug", "a \"b\""}}));
  EXPECT_EQ(inputs_from(names, R"({"id":7})", true), (Map{{"bug", R"({"id":7})"}}));
  EXPECT_EQ(inputs_from(names, R"({"bug":null,"branch":"x","branch":"y"})", true),
            (Map{{"branch", "x"}}));
  EXPECT_EQ(inputs_from(names, R"({"bug":1})", false), (Map{{"bug", R"({"bug":1})"}}));
  EXPECT_EQ(inputs_from({}, "42", true), Map{});
}

TEST(Worker, ManyItemsAreTakenAPartAStep) {
  WorkerWorld world(runbook("one", 1000));
  queue::Push push{bugs, {}};
  for (int i = 0; i < 600; ++i) push.items.push_back({Bytes("1"), true, 0, 0s, "", {}});
  world.ask(queue::Command{push});
  world.start();
  EXPECT_LE(world.worker()->active.size(), 256u);
  world.pass(0s);
  EXPECT_EQ(world.worker()->active.size(), 600u);
}

// They have used up a maximum that was lowered since, and are more than one step may end.
TEST(Worker, IsNotIdleWhileItsItemStandsBehindManyThatAreUsedUp) {
  WorkerWorld world;
  world.ask(queue::Command{queue::Push{bugs, std::vector<queue::NewItem>(300)}});
  const queue::Take all{{bugs}, {default_project, "ana"}, {}, 300, {}};
  for (const auto& item : as<queue::Taken>(world.ask(queue::Command{all})).items) {
    world.ask(queue::Command{queue::Fail{bugs, {item.id, item.claim}, "no", {}}});
  }
  WorkerWorld without = world;
  world.push("1");
  queue::Config config;
  config.max_attempts = 1;
  for (WorkerWorld* each : {&world, &without}) {
    each->ask(queue::Command{queue::Create{bugs, config}});
    each->forget();
    each->start();
    EXPECT_EQ(each->own(), (Names{"worker:started"}));
    each->pass(0s);
  }

  EXPECT_EQ(world.own(), (Names{"worker:started", "worker:took"}));
  EXPECT_EQ(without.own(), (Names{"worker:started", "worker:idle"}));
}

// Whatever happens: never more at once than there is room for, an item is held by at most one
// pipeline, and nothing that could be taken is left lying.
RC_GTEST_PROP(Worker, NothingIsLeftLyingWhileThereIsRoom, ()) {
  WorkerWorld world(runbook("one", 2));
  world.start();
  std::uint32_t most = 2;
  const int steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    switch (*die(9)) {
      case 0:
      case 1:
        world.push("1", std::chrono::seconds{*die(2)});
        break;
      case 2:
      case 3:
        if (!world.state.outbox.empty()) world.end_one(*die(2));
        break;
      case 4: {
        const std::uint32_t size = *die<std::uint32_t>(1, 4);
        most = std::max(most, size);
        world.ask(Command{Resize{fixer, size}});
        break;
      }
      case 5:
        world.ask(Command{Stop{fixer}});
        break;
      case 6:
        world.ask(queue::Command{queue::Pause{bugs, {}}});
        break;
      case 7:
        world.ask(queue::Command{queue::Resume{bugs}});
        break;
      default:
        world.start();
    }
    world.pass(std::chrono::seconds{*die(2)});
    if (!world.worker()) continue;
    const queue::QueueNo no = *world.state.queues.names.find(bugs);
    const queue::Queue& queue = *world.state.queues.queues.find(no);
    const std::size_t active = world.worker()->active.size();
    RC_ASSERT(active <= most);
    RC_ASSERT(queue.counts.processing == active);
    const bool has_room = world.worker()->started && active < world.worker()->concurrency;
    const bool has_work = !queue.paused && queue.counts.pending > queue.counts.delayed;
    RC_ASSERT(!(has_room && has_work));
  }
}

TEST(WorkerRetry, APipelineThatIsRetriedCountsAsOneOfTheWorkers) {
  WorkerWorld world(runbook("one", 1));
  world.push("1");
  world.start();
  world.end_one(1);
  world.end_one(1);
  const PipelineId last = *world.worker()->active.first();
  world.end_one(1);
  world.ask(Command{Stop{fixer}});
  ASSERT_EQ(world.worker(), nullptr);
  ASSERT_TRUE(is<Ok>(world.ask(pipeline::Command{pipeline::Retry{last, false}})));
  world.push("2");
  world.start();
  EXPECT_EQ(world.state.outbox.size(), 1u) << "concurrency is 1";
}

}  // namespace
}  // namespace reeve::worker
