#include "core/board_testing.h"
#include "core/queue_testing.h"

#include <gtest/gtest.h>

// An answer for which somebody had waited, and which found nobody.
namespace reeve {
namespace {

using namespace reeve::testing;

constexpr SessionId gone{7};
constexpr SessionId back{8};
const LockName main_lock{default_project, "main"};
const SemaphoreName slots{default_project, "slots"};
const Holder ana{default_project, "ana"};
const Holder bo{default_project, "bo"};

TEST(Undelivered, WhatWasDoneForGoodIsNotDoneAgainUnderItsKey) {
  queue::testing::QueueWorld world;
  const QueueName& bugs = queue::testing::bugs;
  queue::Config config;
  config.max_attempts = 1;
  world.ask(queue::Create{bugs, config});
  world.ask(queue::Push{bugs, std::vector<queue::NewItem>(900)});
  const auto taken = as<queue::Taken>(world.ask(queue::Take{{bugs}, ana, {}, 900, {}}));
  for (const queue::TakenItem& item : taken.items) {
    const queue::Command fails = queue::Fail{bugs, {item.id, item.claim}, "no", {}};
    world.state =
        apply(std::move(world.state), Request{default_project, {}, true, "", fails}, world.stamp)
            .state;
  }
  queue::Redrive some;
  some.queue = bugs;
  some.first = 300;
  EXPECT_TRUE(is<Waiting>(world.ask(some, gone, "k")));
  world.input(Tick{});
  ASSERT_EQ(world.answers.size(), 1u);
  EXPECT_EQ(world.counts(bugs).dead, 600u);

  world.input(Undelivered{default_project, "k", world.answers[0].reply});

  EXPECT_EQ(as<queue::Counted>(world.ask(some, back, "k")), queue::Counted{300});
  world.input(Tick{});
  EXPECT_EQ(world.counts(bugs).dead, 600u);
}

TEST(Undelivered, WhatAPersonAnsweredIsToldToWhoAsksAgainUnderItsKey) {
  World world;
  const decision::Command ask = decision::Ask{"which?"};
  const WaiterId waiter = as<Waiting>(world.ask(ask, gone, "k")).waiter;
  const DecisionId id = *decision::asked_by(world.state.decisions, waiter);
  world.ask(decision::Command{decision::Resolve{id, std::string("blue"), "", "me"}});
  ASSERT_EQ(world.answers.size(), 1u);

  world.input(Undelivered{default_project, "k", world.answers[0].reply});

  EXPECT_EQ(world.ask(ask, back, "k"), world.answers[0].reply);
  EXPECT_TRUE(world.state.decisions.open_of.empty());
}

// He was told over another connection that it is his.
TEST(Undelivered, ALockAndASlotThatTheirHolderHasBeenHeardOfStayHis) {
  World world;
  world.ask(semaphore::Create{slots, {1, {}}});
  world.ask(lock::Acquire{{main_lock}, ana, {}, {}, {}, {}});
  world.ask(semaphore::Acquire{slots, 1, ana, {}, {}, {}, {}});
  EXPECT_TRUE(is<Waiting>(world.ask(lock::Acquire{{main_lock}, bo, {}, {}, {}, 1min}, gone)));
  EXPECT_TRUE(is<Waiting>(world.ask(semaphore::Acquire{slots, 1, bo, {}, {}, {}, 1min}, gone)));
  world.ask(lock::Release{main_lock, ana, {}});
  world.ask(semaphore::Release{slots, ana, {}});
  ASSERT_EQ(world.answers.size(), 2u);
  world.pass(1ms);
  const auto of_lock =
      as<grant::Granted>(world.ask(lock::Acquire{{main_lock}, bo, {}, {}, {}, {}}, back));
  const auto of_slot =
      as<grant::Granted>(world.ask(semaphore::Acquire{slots, 1, bo, {}, {}, {}, {}}, back));

  for (const Answer& answer : std::vector<Answer>(world.answers)) {
    world.input(Undelivered{default_project, "", answer.reply});
  }

  EXPECT_TRUE(is<lock::Alive>(world.ask(lock::Heartbeat{main_lock, bo, of_lock.given[0].token})));
  EXPECT_TRUE(
      is<semaphore::Alive>(world.ask(semaphore::Heartbeat{slots, bo, of_slot.given[0].token})));
}

TEST(Undelivered, AnIncreaseOfWhichItsHolderWasToldElsewhereStaysHis) {
  World world;
  world.ask(semaphore::Create{slots, {3, {}}});
  const auto enter = [](const Holder& who, std::uint32_t weight, std::optional<Duration> wait) {
    return semaphore::Acquire{slots, weight, who, {}, {}, {}, wait};
  };
  world.ask(enter(bo, 1, {}));
  world.ask(enter(ana, 2, {}));
  EXPECT_TRUE(is<Waiting>(world.ask(enter(bo, 3, 1min), gone)));
  world.ask(semaphore::Release{slots, ana, {}});
  ASSERT_EQ(world.answers.size(), 1u);
  const auto again = as<grant::Granted>(world.ask(enter(bo, 3, {}), back));
  EXPECT_EQ(again.given.at(0).weight, 3u);

  world.input(Undelivered{default_project, "", world.answers[0].reply});

  EXPECT_EQ(as<grant::Full>(world.ask(enter(ana, 1, {}))), (grant::Full{slots, 0, 3, 0}));
}

TEST(Undelivered, AnIncreaseOfWhichItsHolderKnowsNothingIsTakenBackThoughHeIsHeardOf) {
  World world;
  world.ask(semaphore::Create{slots, {3, {}}});
  const auto enter = [](const Holder& who, std::uint32_t weight, std::optional<Duration> wait) {
    return semaphore::Acquire{slots, weight, who, {}, {}, {}, wait};
  };
  const auto small = as<grant::Granted>(world.ask(enter(bo, 1, {})));
  world.ask(enter(bo, 1, {}));
  world.ask(enter(ana, 2, {}));
  EXPECT_TRUE(is<Waiting>(world.ask(enter(bo, 3, 1min), gone)));
  world.ask(semaphore::Release{slots, ana, {}});
  ASSERT_EQ(world.answers.size(), 1u);
  world.pass(1ms);
  world.ask(semaphore::Heartbeat{slots, bo, small.given.at(0).token});

  world.input(Undelivered{default_project, "", world.answers[0].reply});

  EXPECT_TRUE(is<grant::Granted>(world.ask(enter(ana, 2, {}))));
}

TEST(Undelivered, ATaskThatItsRunnerHasStartedElsewhereStaysHis) {
  board::BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, board::ana);
  const board::Start waits{task, board::bo, board::Wait{}};
  EXPECT_TRUE(is<Waiting>(world.say(waits, gone)));
  world.say(board::PutBack{task, board::ana, {}});
  ASSERT_EQ(world.answers.size(), 1u);
  world.pass(1ms);
  const auto again = as<board::Started>(world.say(board::Start{task, board::bo, {}}, back));
  EXPECT_FALSE(again.took_task);

  world.input(Undelivered{default_project, "", world.answers[0].reply});

  EXPECT_TRUE(is<board::Extended>(world.heartbeat(task, board::bo, again.token)));
}

TEST(Undelivered, WhatAnotherAnswerOfTheSameMomentGaveStaysHis) {
  World world;
  world.ask(lock::Acquire{{main_lock}, ana, {}, {}, {}, {}});
  EXPECT_TRUE(is<Waiting>(world.ask(lock::Acquire{{main_lock}, bo, {}, {}, {}, 1min}, gone)));
  EXPECT_TRUE(is<Waiting>(world.ask(lock::Acquire{{main_lock}, bo, {}, {}, {}, 1min}, back)));
  world.ask(lock::Release{main_lock, ana, {}});
  ASSERT_EQ(world.answers.size(), 2u);
  const auto got = as<grant::Granted>(world.answers[0].reply);
  const auto told = as<grant::Granted>(world.answers[1].reply);
  ASSERT_EQ(got.how, grant::How::Acquired);
  ASSERT_EQ(told.how, grant::How::Extended);

  world.input(Undelivered{default_project, "", Reply{grant::Reply{got}}});

  EXPECT_TRUE(is<lock::Alive>(world.ask(lock::Heartbeat{main_lock, bo, told.given[0].token})));
}

TEST(Undelivered, ASlotThatAnotherAnswerOfTheSameMomentGaveStaysHis) {
  for (const std::uint32_t weight : {1u, 2u}) {
    World world;
    world.ask(semaphore::Create{slots, {2, {}}});
    world.ask(semaphore::Acquire{slots, 2, ana, {}, {}, {}, {}});
    EXPECT_TRUE(is<Waiting>(world.ask(semaphore::Acquire{slots, 1, bo, {}, {}, {}, 1min}, gone)));
    world.ask(semaphore::Release{slots, ana, {}});
    ASSERT_EQ(world.answers.size(), 1u);
    const auto again =
        as<grant::Granted>(world.ask(semaphore::Acquire{slots, weight, bo, {}, {}, {}, {}}, back));
    ASSERT_EQ(again.given.at(0).weight, weight);

    world.input(Undelivered{default_project, "", world.answers[0].reply});

    EXPECT_TRUE(
        is<semaphore::Alive>(world.ask(semaphore::Heartbeat{slots, bo, again.given[0].token})));
  }
}

TEST(Undelivered, ATaskThatAnotherAnswerOfTheSameMomentGaveStaysHis) {
  board::BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, board::ana);
  const board::Start waits{task, board::bo, board::Wait{}};
  EXPECT_TRUE(is<Waiting>(world.say(waits, gone)));
  world.say(board::PutBack{task, board::ana, {}});
  ASSERT_EQ(world.answers.size(), 1u);
  const auto again = as<board::Started>(world.say(board::Start{task, board::bo, {}}, back));
  EXPECT_FALSE(again.took_task);

  world.input(Undelivered{default_project, "", world.answers[0].reply});

  EXPECT_TRUE(is<board::Extended>(world.heartbeat(task, board::bo, again.token)));
}

}  // namespace
}  // namespace reeve
