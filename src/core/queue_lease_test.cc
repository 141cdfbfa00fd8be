#include "base/die_testing.h"
#include "core/queue_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

// Claims and waits that are bound to a connection, and claims held by a process.
namespace reeve::queue {
namespace {

using reeve::testing::die;
using namespace reeve::queue::testing;

constexpr SessionId session{7};
constexpr SessionId another{8};
const Process process{4711, 99, "boot"};

class QueueLease : public ::testing::Test {
 protected:
  QueueLease() {
    Config config = plain();
    config.max_attempts = 2;
    world.create(bugs, config);
    item = world.push(bugs);
  }

  // A claim that is bound to a connection, or held by a process, or both.
  TakenItem take(SessionId of, bool by_process) {
    HolderMeta meta;
    if (by_process) meta.process = process;
    Take command{{bugs}, {default_project, "ana", of}, Boxed<HolderMeta>(meta), 1, {}};
    return as<Taken>(world.ask(command, of)).items.at(0);
  }

  QueueWorld world;
  ItemId item;
};

TEST_F(QueueLease, TheEndOfTheSessionGivesTheItemBackUncounted) {
  const TakenItem taken = take(session, false);
  world.push(bugs);
  world.forget();

  world.input(session::Ended{session});

  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.item_of(item)->attempts, 0u);
  EXPECT_EQ(world.told<WasReleased>(), (std::vector<WasReleased>{{bugs, item, taken.claim, true}}));
  EXPECT_EQ(world.take(bugs).id, item);
}

TEST_F(QueueLease, AClaimThatWasOverBeforeItsSessionEndedTimedOut) {
  take(session, false);
  world.stamp.now = at(30s) + 1ms;

  world.input(session::Ended{session});

  EXPECT_EQ(world.item_of(item)->attempts, 1u);
  EXPECT_EQ(world.told<TimedOut>().size(), 1u);
}

TEST_F(QueueLease, ACompletedItemIsNoLongerBound) {
  world.complete(bugs, take(session, false));

  world.input(session::Ended{session});

  EXPECT_EQ(world.state_of(item), ItemState::Completed);
  EXPECT_TRUE(world.state.sessions.bound.empty());
}

TEST_F(QueueLease, ASilentProcessIsEndedBeforeItsItemIsGivenOn) {
  const TakenItem taken = take({}, true);
  const WaiterId waiter = world.await({bugs});
  world.forget();

  world.pass(30s + 1ms);

  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  ASSERT_EQ(world.started.size(), 1u);
  EXPECT_EQ(std::get<Kill>(world.started[0].effect.what).target,
            (std::variant<WorkId, EffectId, Process>{process}));
  const Holder holder{default_project, "ana"};
  EXPECT_EQ(as<Settled>(world.complete(bugs, taken)), (Settled{{StaleClaim{item, holder}}}));

  world.input(custody::ProcessGone{process});
  EXPECT_EQ(world.told<TimedOut>(), (std::vector<TimedOut>{{bugs, item, holder, taken.claim}}));
  EXPECT_EQ(world.got(waiter).at(0).id, item);
  EXPECT_EQ(world.got(waiter).at(0).attempts, 2u);
}

// Else an item that kills whoever works on it would do so for ever.
TEST_F(QueueLease, AProcessThatEndsByItselfIsAnAttemptThatFailed) {
  take({}, true);

  world.input(custody::ProcessGone{process});

  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.item_of(item)->attempts, 1u);
  EXPECT_EQ(world.rest_of(item).last_error, "its process ended");
  EXPECT_EQ(world.names().back(), "queue:fail");
  EXPECT_TRUE(world.told<TimedOut>().empty());
}

TEST_F(QueueLease, SoIsOneWhoseEndIsHeardOfLate) {
  take({}, true);
  world.stamp.now += 1h;
  world.input(custody::ProcessGone{process});
  EXPECT_EQ(world.rest_of(item).last_error, "its process ended");
  EXPECT_TRUE(world.started.empty()) << "there is nothing to kill";
}

TEST_F(QueueLease, WhatCouldNotBeDeliveredGoesToTheNextAndIsNotCounted) {
  const TakenItem first = take({}, false);
  const WaiterId waiter = world.await({bugs}, 1h, session);
  const WaiterId next = world.await({bugs}, 1h, another);
  world.release(bugs, first);
  ASSERT_EQ(world.got(waiter).size(), 1u);

  world.input(Undelivered{default_project, "", world.answer_to(waiter)});

  ASSERT_EQ(world.got(next).size(), 1u);
  EXPECT_EQ(world.got(next).front().attempts, 1u);
}

TEST_F(QueueLease, AHolderMaySayNoMoreOfItselfThanThatOfALock) {
  const auto take_with = [&](const HolderMeta& meta) {
    return world.ask(Take{{bugs}, {default_project, "ana"}, Boxed<HolderMeta>(meta), 1, {}});
  };
  HolderMeta meta;
  meta.process = Process{1, 1, std::string(limits::name_bytes + 1, 'b')};
  EXPECT_EQ(as<Refused>(take_with(meta)), (Refused{Why::BadValue, "process"}));
  meta = {};
  meta.within = {{default_project, ""}};
  EXPECT_EQ(as<Refused>(take_with(meta)), (Refused{Why::BadName, "within"}));
  meta.within.assign(limits::pipelines_within + 1, {default_project, "x"});
  EXPECT_EQ(as<Refused>(take_with(meta)), (Refused{Why::OverLimit, "within"}));
  meta = {};
  meta.label = std::string(limits::text_bytes + 1, 'x');
  EXPECT_EQ(as<Taken>(take_with(meta)).items.size(), 1u);
  EXPECT_EQ(world.rest_of(item).claim->meta->label.size(), limits::text_bytes);
}

TEST_F(QueueLease, WhatAHolderSaysOfItselfIsCutBetweenCharacters) {
  const std::string most(limits::text_bytes - 1, 'x');
  const std::string text = most + "\u00e4";
  const Boxed<HolderMeta> meta(HolderMeta{text, text, text, std::nullopt, {}});
  world.ask(Take{{bugs}, {default_project, "ana"}, meta, 1, {}});
  EXPECT_EQ(*world.rest_of(item).claim->meta, (HolderMeta{most, most, most, std::nullopt, {}}));
}

TEST_F(QueueLease, AQuestionAboutItsProcessIsAskedWhereItsQueueIs) {
  take({}, true);
  world.pass(30s + 1ms + 30s);
  ASSERT_EQ(world.state.decisions.decisions.size(), 1u);
  EXPECT_EQ(world.state.decisions.decisions.begin()->second.project, default_project);
}

TEST_F(QueueLease, AClaimCannotBeBoundToTheConnectionOfAnother) {
  const Holder bound_elsewhere{default_project, "ana", another};
  const queue::Take take{{bugs}, bound_elsewhere, {}, 1, {}};
  EXPECT_EQ(as<Refused>(world.ask(Command{take}, session)), (Refused{Why::BadValue, "session"}));
}

TEST_F(QueueLease, ADisconnectEndsTheProcessFirstAndIsNotCounted) {
  take(session, true);

  world.input(session::Ended{session});
  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  EXPECT_EQ(world.started.size(), 1u);
  world.input(custody::ProcessGone{process});

  EXPECT_EQ(world.state_of(item), ItemState::Pending);
  EXPECT_EQ(world.item_of(item)->attempts, 0u);
}

TEST_F(QueueLease, AProcessThatIsBeingEndedForItsSilenceStaysSoWhenItsSessionEnds) {
  take(session, true);
  world.pass(30s + 1ms);

  world.input(session::Ended{session});
  EXPECT_EQ(world.state_of(item), ItemState::Processing);
  world.input(custody::ProcessGone{process});

  EXPECT_EQ(world.item_of(item)->attempts, 1u);
}

TEST_F(QueueLease, AWaitEndsWithItsSessionAndTheNextIsServed) {
  world.take(bugs);
  const WaiterId first = world.await({bugs}, 1h, session);
  const WaiterId second = world.await({bugs}, 1h, another);

  world.input(session::Ended{session});
  world.push(bugs);

  EXPECT_TRUE(world.got(first).empty());
  EXPECT_EQ(world.got(second).size(), 1u);
}

TEST_F(QueueLease, WhoComesBackGetsTheFirstOfAllThatIsDue) {
  world.take(bugs);
  const WaiterId waiter = world.await({bugs}, 1h, session);
  world.input(Resumed{System::What::Ready});
  NewItem delayed;
  delayed.data = Bytes("1");
  delayed.priority = 5;
  delayed.delay = 2s;
  const ItemId urgent = world.push(bugs, delayed);
  world.push(bugs);
  world.stamp.now += 3s;  // and no tick

  world.input(session::Returned{session});

  EXPECT_EQ(world.got(waiter).at(0).id, urgent);
}

TEST_F(QueueLease, ALineWaitsForItsHeadToComeBack) {
  world.take(bugs);
  const WaiterId first = world.await({bugs}, 1h, session);
  const WaiterId second = world.await({bugs}, 1h, another);
  world.input(Resumed{System::What::Ready});
  world.input(session::Returned{another});

  const ItemId fresh = world.push(bugs);
  EXPECT_FALSE(world.was_answered(second));
  EXPECT_TRUE(world.nothing_in(bugs));
  world.input(session::Returned{session});

  ASSERT_EQ(world.got(first).size(), 1u);
  EXPECT_EQ(world.got(first)[0].id, fresh);
}

TEST_F(QueueLease, AHeadThatDoesNotComeBackLosesItsPlace) {
  world.take(bugs);
  const WaiterId first = world.await({bugs}, 1h, session);
  const WaiterId second = world.await({bugs}, 1h, another);
  world.input(Resumed{System::What::Ready});
  world.input(session::Returned{another});
  world.push(bugs);

  world.pass(10s);

  EXPECT_TRUE(world.got(first).empty());
  EXPECT_EQ(world.got(second).size(), 1u);
}

TEST_F(QueueLease, ATakerThatWasServedKeepsItsSessionKnown) {
  world.take(bugs);
  world.await({bugs}, 1h, session);
  const ItemId fresh = world.push(bugs);

  world.input(session::Ended{session});

  EXPECT_EQ(world.state_of(fresh), ItemState::Pending);
}

TEST_F(QueueLease, TheSameRequestOverAnotherConnectionTakesOverThePlace) {
  world.take(bugs);
  const Take command{{bugs}, bo, {}, 1, 1h};
  const WaiterId waiter = as<Waiting>(world.ask(command, session, "key")).waiter;
  world.input(Resumed{System::What::Ready});
  world.push(bugs);
  EXPECT_FALSE(world.was_answered(waiter));

  world.ask(command, another, "key");

  EXPECT_EQ(world.got(waiter).size(), 1u);
}

using LeaseAct = std::tuple<int, int, int>;

// Connections, processes and time come and go; the world checks the invariants.
RC_GTEST_PROP(QueueLeaseLaws, InvariantsHoldWhoeverComesAndGoes, ()) {
  QueueWorld world;
  Config config = plain();
  config.visibility_timeout = 3s;
  config.dead_letter = lost;
  world.create(bugs, config);
  const std::vector<LeaseAct> acts =
      *rc::gen::container<std::vector<LeaseAct>>(rc::gen::tuple(die(9), die(4), die(4)));
  std::vector<TakenItem> taken;
  for (const auto& [verb, a, b] : acts) {
    const SessionId of{static_cast<std::uint64_t>(a)};
    HolderMeta meta;
    if (b > 1) meta.process = Process{b, 1, "boot"};
    const Take take{{bugs, lost}, {default_project, "ana", of}, Boxed<HolderMeta>(meta), 1, {}};
    switch (verb) {
      case 0:
        world.push(bugs);
        break;
      case 1:
        for (const TakenItem& one : as<Taken>(world.ask(take, of)).items) taken.push_back(one);
        break;
      case 2: {
        Take wait = take;
        wait.wait = 5s;
        world.ask(wait, of);
        break;
      }
      case 3:
        if (!taken.empty()) world.complete(bugs, taken.back());
        break;
      case 4:
        world.input(session::Ended{of});
        break;
      case 5:
        world.input(custody::ProcessGone{{b, 1, "boot"}});
        break;
      case 6:
        world.pass(b * 1s);
        break;
      case 7:
        world.input(Resumed{System::What::Ready});
        break;
      default:
        world.input(session::Returned{of});
        break;
    }
    RC_ASSERT(!::testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace reeve::queue
