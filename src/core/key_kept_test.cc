#include "core/board_testing.h"
#include "core/key.h"

#include <gtest/gtest.h>

// Which answers a retry gets again, noun by noun.
namespace reeve::key {
namespace {

using namespace reeve::testing;
using Replies = std::vector<reeve::Reply>;

const ItemId some_item{2};
const SessionId here{11};

void expect_kept(const Replies& replies, bool kept) {
  for (std::size_t i = 0; i < replies.size(); ++i) EXPECT_EQ(is_kept(replies[i]), kept) << i;
}

TEST(KeyKept, WhatIsDoneIsAndARefusalIsNot) {
  expect_kept({Ok{}, Waiting{WaiterId{1}}}, true);
  expect_kept({refused(Why::NotFound, "x")}, false);
}

// That a wait is over is kept: a retry is not to wait anew.
TEST(KeyKept, OfGrantsWhatWasGivenAndThatAWaitIsOver) {
  expect_kept({grant::Granted{}, grant::NotGranted{}}, true);
  expect_kept({grant::Busy{}, grant::Full{}, grant::WouldDeadlock{}}, false);
}

TEST(KeyKept, OfLocksAndSlotsWhatWasGivenBackOrExtended) {
  expect_kept({lock::Released{}, lock::Alive{}, lock::Cleaned{}}, true);
  expect_kept({lock::NotOwner{}, lock::AlreadyFree{}, lock::Lost{}, lock::Valid{}}, false);
  expect_kept({lock::Superseded{}}, false);
  expect_kept({semaphore::Released{}, semaphore::Alive{}}, true);
  expect_kept({semaphore::NotHolder{}, semaphore::Lost{}}, false);
}

TEST(KeyKept, OfQueuesWhatHasAnItemInIt) {
  expect_kept({queue::Pushed{}, queue::Extended{}, queue::Counted{}}, true);
  expect_kept({queue::Taken{{queue::TakenItem{}}, false}}, true);
  expect_kept({queue::Taken{}, queue::Taken{{}, true}, queue::StaleClaim{}}, false);
  expect_kept({queue::Settled{{queue::StaleClaim{some_item, {}}, some_item}}}, true);
  expect_kept({queue::Settled{{queue::StaleClaim{some_item, {}}}}}, false);
}

TEST(KeyKept, OfAgentsWhatReachedTheOneThatWorks) {
  expect_kept({task::Begun{}, task::Beat{}}, true);
  expect_kept({task::Beat{true, {}, false}, task::Superseded{}, task::AlreadyDone{}}, false);
}

TEST(KeyKept, OfDispatchesWhatWasSent) {
  expect_kept({dispatch::Planned{}, dispatch::Again{}}, true);
  expect_kept({dispatch::Busy{}, dispatch::LookAgain{}}, false);
}

TEST(KeyKept, OfPipelinesWorkersCronsAndProjectsWhatBegan) {
  expect_kept({pipeline::Started{}, worker::Working{}, project::Opened{}}, true);
  expect_kept({cron::Enabled{}, cron::Fired{}, cron::Buffered{}}, true);
  expect_kept({cron::Skipped{}}, false);
}

TEST(KeyKept, OfTheBoardWhatChangedIt) {
  expect_kept({board::Added{}, board::Started{}, board::Extended{}, board::Alive{}}, true);
  expect_kept({board::CleanedUp{}, board::WaitEnded{}}, true);
  expect_kept({board::TaskLocked{}, board::SectionLocked{}, board::TaskFinished{}}, false);
  expect_kept({board::Lost{}, board::Found{}, board::Nothing{}}, false);
}

// A question that nobody answered was put all the same.
TEST(KeyKept, OfDecisionsTheAnswerAndThatThereWasNone) {
  expect_kept({decision::Resolved{}, decision::NotAnswered{}}, true);
  expect_kept({decision::AlreadyAnswered{}}, false);
}

TEST(KeyKept, OfMailWhatWasSentAndNotWhatWasRead) {
  expect_kept({mailbox::Sent{}, mailbox::Acked{}}, true);
  expect_kept({mailbox::Mail{}}, false);
}

TEST(KeyKept, ATaskThatWasLockedMayBeAskedForAgain) {
  board::BoardWorld world;
  const BoardTaskId task = world.add("one");
  world.start(task, board::ana);
  const board::Start start{task, board::bo, {}};
  EXPECT_TRUE(is<board::TaskLocked>(world.ask(start, {}, "k")));
  world.say(board::PutBack{task, board::ana, {}});

  EXPECT_TRUE(is<board::Started>(world.ask(start, {}, "k")));
}

TEST(KeyKept, AWaitThatGaveNothingMayBeginAgainUnderItsKey) {
  board::BoardWorld world;
  const BoardTaskId task = world.add("one");
  world.start(task, board::ana);
  const board::Start start{task, board::bo, board::Wait{1min}};
  const Waiting first = as<Waiting>(world.ask(start, here, "k"));
  world.pass(1min);
  EXPECT_TRUE(is<board::TaskLocked>(world.told(first.waiter)));
  EXPECT_TRUE(world.state.keys.entries.empty());

  EXPECT_NE(as<Waiting>(world.ask(start, here, "k")), first);
}

TEST(KeyKept, ATakeThatWaitedForNothingMayBeginAgainUnderItsKey) {
  World world;
  const QueueName jobs{default_project, "jobs"};
  const queue::Take take{{jobs}, {default_project, "bo"}, {}, 1, 1min};
  EXPECT_TRUE(is<Waiting>(world.ask(take, here, "k")));
  world.pass(1min);
  ASSERT_EQ(world.answers.size(), 1u);
  world.ask(queue::Push{jobs, {{Bytes("1"), true, 0, Duration{0}, "", {}}}});

  EXPECT_EQ(as<queue::Taken>(world.ask(take, here, "k")).items.size(), 1u);
}

// It ends at its own limit, counted from when it began.
TEST(KeyKept, AWaitForALockThatIsOverIsNotBegunAnew) {
  World world;
  const LockName main_lock{default_project, "main"};
  const auto acquire = [&](const char* who, std::optional<Duration> wait) {
    return lock::Acquire{{main_lock}, {default_project, who}, {}, 1h, {}, wait};
  };
  world.ask(acquire("ana", {}));
  EXPECT_TRUE(is<Waiting>(world.ask(acquire("bo", 1min), here, "k")));
  world.pass(1min);
  ASSERT_EQ(world.answers.size(), 1u);

  EXPECT_EQ(world.ask(acquire("bo", 1min), here, "k"), world.answers[0].reply);
}

}  // namespace
}  // namespace reeve::key
