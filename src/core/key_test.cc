#include "core/key.h"

#include "core/testing.h"

#include <gtest/gtest.h>

namespace reeve::key {
namespace {

using namespace reeve::testing;

const LockName main_lock{default_project, "main"};
const SessionId first_connection{11};
const SessionId second_connection{12};

Holder holder(const char* name) { return {default_project, name}; }

lock::Acquire acquire(const char* who, std::optional<Duration> wait = {}) {
  return {{main_lock}, holder(who), {}, {}, {}, wait};
}

queue::Push push(const char* data) {
  return {{default_project, "jobs"}, {{Bytes(data), true, 0, Duration{0}, "", {}}}};
}

TEST(Key, ARepeatedRequestGetsTheFirstAnswerAndIsAppliedOnce) {
  World world;
  const Reply first = world.ask(push("1"), {}, "k");
  const State after_first = world.state;

  EXPECT_EQ(world.ask(push("1"), {}, "k"), first);
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.state, after_first);
}

TEST(Key, TheSameKeyWithAnotherRequestIsFoundOut) {
  World world;
  world.ask(push("1"), {}, "k");

  EXPECT_EQ(world.ask(push("2"), {}, "k"), refused(Why::KeyReused, "k"));
  EXPECT_FALSE(world.last.changed);
}

TEST(Key, TwoProjectsMayUseTheSameKey) {
  World world;
  const project::Opened other = as<project::Opened>(world.ask(project::Open{"/shop", "shop"}));
  world.ask(push("1"), {}, "k");

  EXPECT_TRUE(is<queue::Pushed>(world.ask(push("2"), {}, "k", other.project)));
}

TEST(Key, AReplyThatChangedNothingIsNotKept) {
  World world;
  world.ask(acquire("ana"));
  EXPECT_TRUE(is<grant::Busy>(world.ask(acquire("bo"), {}, "k")));
  world.ask(lock::Release{main_lock, holder("ana"), {}});

  EXPECT_TRUE(is<grant::Granted>(world.ask(acquire("bo"), {}, "k")));
}

TEST(Key, AKeyIsGoodToTheLastMomentOfItsDayAndForgottenOneMillisecondLater) {
  World world;
  const Reply first = world.ask(push("1"), {}, "k");

  world.pass(24h);
  EXPECT_EQ(world.ask(push("1"), {}, "k"), first);
  world.pass(1ms);
  EXPECT_TRUE(world.state.keys.entries.empty());
  EXPECT_NE(world.ask(push("1"), {}, "k"), first);
}

TEST(Key, AKeyThatIsTooOldIsForgottenEvenIfNoTickCame) {
  World world;
  const Reply first = world.ask(push("1"), {}, "k");

  world.stamp.now += 24h + 1ms;
  EXPECT_NE(world.ask(push("1"), {}, "k"), first);
}

TEST(Key, ARequestThatStillWaitsIsTakenOverWithItsPlace) {
  World world;
  world.ask(acquire("ana"));
  const Waiting waiting = as<Waiting>(world.ask(acquire("bo", 1min), first_connection, "k"));

  EXPECT_EQ(as<Waiting>(world.ask(acquire("bo", 1min), second_connection, "k")), waiting);
  EXPECT_EQ(world.state.grants.waiters.size(), 1u);

  world.input(session::Ended{first_connection});
  EXPECT_EQ(world.state.grants.waiters.size(), 1u) << "its place went with the new connection";
  world.input(session::Ended{second_connection});
  EXPECT_TRUE(world.state.grants.waiters.empty());
}

TEST(Key, TheAnswerToAWaitIsKeptUnderItsKey) {
  World world;
  world.ask(acquire("ana"));
  world.ask(acquire("bo", 1min), first_connection, "k");
  world.ask(lock::Release{main_lock, holder("ana"), {}});
  ASSERT_EQ(world.answers.size(), 1u);

  EXPECT_EQ(world.ask(acquire("bo", 1min), second_connection, "k"), world.answers[0].reply);
}

// Else the client that lost its connection could never ask again under the key it has.
TEST(Key, TheEndOfAConnectionIsNoAnswerToKeep) {
  World world;
  world.ask(acquire("ana"));
  world.ask(acquire("bo", 1min), first_connection, "k");
  world.input(session::Ended{first_connection});

  EXPECT_TRUE(is<Waiting>(world.ask(acquire("bo", 1min), second_connection, "k")));
}

TEST(Key, ARefusalIsNotKeptEvenIfTimeChangedSomethingMeanwhile) {
  World world;
  world.ask(acquire("ana"));
  const Waiting next = as<Waiting>(world.ask(acquire("cy", 1h)));
  world.stamp.now += 61s;
  EXPECT_TRUE(is<grant::Busy>(world.ask(acquire("bo"), {}, "k")));
  ASSERT_EQ(world.answers.at(0).waiter, next.waiter);
  EXPECT_TRUE(world.last.changed);
  world.ask(lock::Release{main_lock, holder("cy"), {}});

  EXPECT_TRUE(is<grant::Granted>(world.ask(acquire("bo"), {}, "k")));
}

TEST(Key, ABoundHolderMayRepeatItsRequestOverAnotherConnection) {
  World world;
  world.ask(acquire("ana"));
  const auto bound = [](SessionId session) {
    lock::Acquire command = acquire("bo", 1min);
    command.holder.session = session;
    return command;
  };
  const auto place = as<Waiting>(world.ask(bound(first_connection), first_connection, "k"));
  EXPECT_EQ(as<Waiting>(world.ask(bound(second_connection), second_connection, "k")), place);

  world.ask(lock::Release{main_lock, holder("ana"), {}});
  world.input(session::Ended{first_connection});
  EXPECT_EQ(as<grant::Granted>(world.answers.at(0).reply).holder.session, second_connection);
  world.input(session::Ended{second_connection});
  EXPECT_TRUE(std::holds_alternative<lock::Free>(world.state.locks.locks.find(main_lock)->state));
}

TEST(Key, APlaceThatIsTakenOverIsServedAtOnce) {
  World world;
  world.ask(acquire("ana"));
  world.ask(acquire("bo", 1min), first_connection, "k");
  world.input(Resumed{System::What::Ready});
  world.ask(lock::Release{main_lock, holder("ana"), {}});
  ASSERT_TRUE(world.answers.empty()) << "bo is away";

  world.ask(acquire("bo", 1min), second_connection, "k");

  EXPECT_EQ(world.answers.size(), 1u);
}

TEST(Key, WhatCouldNotBeDeliveredMayBeAskedForAgain) {
  World world;
  world.ask(acquire("ana"));
  world.ask(acquire("bo", 1min), first_connection, "k");
  world.ask(lock::Release{main_lock, holder("ana"), {}});

  world.input(Undelivered{default_project, "k", world.answers.at(0).reply});

  EXPECT_TRUE(std::holds_alternative<lock::Free>(world.state.locks.locks.find(main_lock)->state));
  const auto again = as<grant::Granted>(world.ask(acquire("bo", 1min), second_connection, "k"));
  EXPECT_NE(again.given.at(0).token,
            as<grant::Granted>(world.answers.at(0).reply).given.at(0).token);
}

TEST(Key, OfALongReplyOnlyTheIdsAreKept) {
  World world;
  const std::string large(limits::kept_reply_bytes + 1, 'x');
  world.ask(push(large.c_str()));
  const queue::Take take{{{default_project, "jobs"}}, holder("ana"), {}, 1, {}};
  const queue::Taken first = as<queue::Taken>(world.ask(take, {}, "k"));
  ASSERT_EQ(first.items.size(), 1u);
  EXPECT_EQ(first.items[0].data.size(), large.size());

  const queue::Taken again = as<queue::Taken>(world.ask(take, {}, "k"));
  ASSERT_EQ(again.items.size(), 1u);
  EXPECT_EQ(again.items[0].id, first.items[0].id);
  EXPECT_EQ(again.items[0].claim, first.items[0].claim);
  EXPECT_TRUE(again.items[0].data.empty());
}

TEST(Key, AProjectKeepsItsLastHundredThousand) {
  State state = initial_state(start);
  const Stamp stamp{start, Wall{}};
  const auto ask = [&](std::size_t number) {
    Applied applied =
        apply(std::move(state),
              Request{.key = "k" + std::to_string(number), .command = EmitCustom{"ci:green", {}}},
              stamp);
    state = std::move(applied.state);
    return applied.changed;
  };
  for (std::size_t i = 0; i <= limits::keys_a_project; ++i) ask(i);

  EXPECT_EQ(state.keys.entries.size(), limits::keys_a_project);
  EXPECT_FALSE(ask(1)) << "still known";
  EXPECT_TRUE(ask(0)) << "the oldest was forgotten";
}

}  // namespace
}  // namespace reeve::key
