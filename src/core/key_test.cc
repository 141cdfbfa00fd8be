#include "core/key.h"

#include "core/board_testing.h"

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

// A retry must not push again what the first request found there.
TEST(Key, AnAnswerThatSaysThatSomethingIsDoneIsKeptAlthoughItChangedNothing) {
  World world;
  queue::Push command = push("1");
  command.items.front().dedupe_key = "one";
  world.ask(command);
  const Reply first = world.ask(command, {}, "k");
  const queue::TakenItem taken =
      as<queue::Taken>(world.ask(queue::Take{{command.queue}, holder("ana"), {}, 1, {}})).items[0];
  world.ask(queue::Complete{command.queue, {{taken.id, taken.claim}}});

  EXPECT_EQ(world.ask(command, {}, "k"), first);
}

TEST(Key, WhatTimeChangesInTheSameStepMakesNoDifferenceToWhatIsKept) {
  for (const bool due : {false, true}) {
    World world;
    world.ask(push("1"));
    if (due) world.ask(lock::Acquire{{main_lock}, holder("ana"), {}, 1s, {}, {}});
    world.stamp.now += 1s;
    const lock::Release release{{default_project, "free"}, holder("bo"), {}};
    EXPECT_TRUE(is<lock::AlreadyFree>(world.ask(release, {}, "k")));
    EXPECT_TRUE(world.state.keys.entries.empty());
  }
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

lock::Acquire acquire_for_ever(const char* who, std::optional<Duration> wait = {}) {
  lock::Acquire command = acquire(who, wait);
  command.timeout = 24h * 365;
  return command;
}

TEST(Key, ARequestThatStillWaitsHasItsKeyForAsLongAsItWaits) {
  World world;
  world.ask(acquire_for_ever("ana"));
  const Waiting waiting = as<Waiting>(world.ask(acquire("bo", 24h * 7), {}, "k"));

  for (const Duration longer : {Duration{24h} + 1ms, Duration{24h} + 1ms, Duration{72h}}) {
    world.pass(longer);
    EXPECT_EQ(as<Waiting>(world.ask(acquire("bo", 24h * 7), {}, "k")), waiting);
  }
  EXPECT_EQ(world.state.grants.waiters.size(), 1u);
  EXPECT_EQ(world.ask(acquire("cy"), {}, "k"), refused(Why::KeyReused, "k"));
}

TEST(Key, ARequestThatStillWaitsHasItsKeyEvenIfNoTickCame) {
  World world;
  world.ask(acquire_for_ever("ana"));
  const Waiting waiting = as<Waiting>(world.ask(acquire("bo", 24h * 7), {}, "k"));

  world.stamp.now += 24h + 1ms;
  EXPECT_EQ(as<Waiting>(world.ask(acquire("bo", 24h * 7), {}, "k")), waiting);
}

TEST(Key, TheDayOfAKeyBeginsWithItsAnswer) {
  World world;
  world.ask(acquire_for_ever("ana"));
  world.ask(acquire_for_ever("bo", 24h * 7), {}, "k");
  world.ask(push("1"), {}, "younger");
  world.pass(20h);
  world.ask(lock::Release{main_lock, holder("ana"), {}});
  ASSERT_EQ(world.answers.size(), 1u);
  const Reply granted = world.answers[0].reply;

  world.pass(24h);
  EXPECT_FALSE(world.state.keys.entries.contains({default_project, "younger"}));
  EXPECT_EQ(world.ask(acquire_for_ever("bo", 24h * 7), {}, "k"), granted);
  world.pass(1ms);
  EXPECT_TRUE(world.state.keys.entries.empty());
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

lock::Acquire acquire_bound(const char* who, SessionId session) {
  lock::Acquire command = acquire(who);
  command.holder.session = session;
  return command;
}

TEST(Key, ABoundHolderThatRepeatsItsRequestKeepsWhatItWasGiven) {
  World world;
  const auto first =
      as<grant::Granted>(world.ask(acquire_bound("bo", first_connection), first_connection, "k"));
  world.input(Resumed{System::What::Ready});

  const auto again =
      as<grant::Granted>(world.ask(acquire_bound("bo", second_connection), second_connection, "k"));
  EXPECT_EQ(again.holder, (Holder{default_project, "bo", second_connection}));
  EXPECT_EQ(again.given, first.given) << "the same token";
  world.pass(11s);

  const lock::Heartbeat beat{main_lock, again.holder, again.given.at(0).token};
  EXPECT_TRUE(is<lock::Alive>(world.ask(beat, second_connection)));
  world.input(session::Ended{second_connection});
  EXPECT_TRUE(std::holds_alternative<lock::Free>(world.state.locks.locks.find(main_lock)->state));
}

TEST(Key, WhatItWasGivenFollowsItAgain) {
  World world;
  world.ask(acquire_bound("bo", first_connection), first_connection, "k");
  world.ask(acquire_bound("bo", second_connection), second_connection, "k");
  const SessionId third{13};
  const auto again = as<grant::Granted>(world.ask(acquire_bound("bo", third), third, "k"));
  EXPECT_EQ(again.holder.session, third);
  world.input(session::Ended{second_connection});
  EXPECT_TRUE(std::holds_alternative<lock::Held>(world.state.locks.locks.find(main_lock)->state));
}

TEST(Key, WhatItHasLostMeanwhileIsNotItsAgain) {
  World world;
  world.ask(acquire_bound("bo", first_connection), first_connection, "k");
  world.input(session::Ended{first_connection});
  world.ask(acquire("ana"));

  world.ask(acquire_bound("bo", second_connection), second_connection, "k");
  EXPECT_EQ(lock::tenure_of(*world.state.locks.locks.find(main_lock))->holder, holder("ana"));
  EXPECT_TRUE(world.state.sessions.sessions.empty());
}

lock::Acquire bound_to(lock::Acquire command, SessionId session) {
  command.holder.session = session;
  return command;
}

// Repeated one after the other, what a holder has and what it waits for belong for a while to two
// different holders; who asks in between closes no circle, and their coming together does.
TEST(Key, AWaitThatFollowsItsHolderIntoACircleEnds) {
  const LockName docs{default_project, "docs"};
  const lock::Acquire has = acquire("bo");
  const lock::Acquire waits{{docs}, holder("bo"), {}, {}, {}, 1min};
  for (const bool lease_first : {true, false}) {
    World world;
    world.ask(lock::Acquire{{docs}, holder("ana"), {}, {}, {}, {}});
    world.ask(bound_to(has, first_connection), first_connection, "has");
    const auto place =
        as<Waiting>(world.ask(bound_to(waits, first_connection), first_connection, "waits"));
    world.input(Resumed{System::What::Ready});

    const auto repeat = [&](bool lease) {
      const lock::Acquire again = bound_to(lease ? has : waits, second_connection);
      return world.ask(again, second_connection, lease ? "has" : "waits");
    };
    repeat(lease_first);
    EXPECT_TRUE(is<Waiting>(world.ask(acquire("ana", 1min))));
    repeat(!lease_first);

    const grant::WouldDeadlock circle{{{default_project, "bo", second_connection}, holder("ana")}};
    EXPECT_EQ(world.answers, (std::vector<Answer>{{place.waiter, {grant::Reply{circle}}}}));
  }
}

// A slot that is being taken from its holder stands in the way of his next one.
TEST(Key, ASlotThatFollowsItsHolderIsInTheWayOfNobodyWhoStaysBehind) {
  World world;
  const SemaphoreName agents{default_project, "agents"};
  world.ask(semaphore::Create{agents, {2, {}}});
  const Boxed<HolderMeta> meta(HolderMeta{"", "", "", Process{1, 7, "boot"}, {}});
  semaphore::Acquire enter{agents, 1, {default_project, "bo", first_connection}, meta, 10s, {}, {}};
  world.ask(enter, first_connection, "k");
  world.pass(10s + 1ms);
  semaphore::Acquire next = enter;
  next.wait = 1min;
  const auto place = as<Waiting>(world.ask(next, first_connection));

  enter.holder.session = second_connection;
  world.ask(enter, second_connection, "k");

  ASSERT_EQ(world.answers.size(), 1u);
  EXPECT_EQ(world.answers[0].waiter, place.waiter);
  EXPECT_EQ(as<grant::Granted>(world.answers[0].reply).holder, next.holder);
}

TEST(Key, AWaitWithinItsOwnHolderCountsForBothOverAnotherConnection) {
  World world;
  world.ask(acquire("ana"));
  lock::Acquire waits = bound_to(acquire("bo", 1min), first_connection);
  waits.meta = Boxed(HolderMeta{"", "", "", std::nullopt, {waits.holder}});
  const auto place = as<Waiting>(world.ask(waits, first_connection, "k"));
  const Holder before = waits.holder;

  waits.holder.session = second_connection;
  world.ask(waits, second_connection, "k");

  const std::vector<WaiterId> one{place.waiter};
  EXPECT_EQ(grant::waits_of(world.state.grants, before), one);
  EXPECT_EQ(grant::waits_of(world.state.grants, waits.holder), one);
}

TEST(Key, ASlotFollowsItsHolderWithItsProcessAndItsDeadline) {
  World world;
  const SemaphoreName agents{default_project, "agents"};
  world.ask(semaphore::Create{agents, {1, {}}});
  const auto enter = [&](SessionId session) {
    const Boxed<HolderMeta> meta(HolderMeta{"", "", "", Process{1, 7, "boot"}, {}});
    const Holder who{default_project, "bo", session};
    return as<grant::Granted>(
        world.ask(semaphore::Acquire{agents, 1, who, meta, {}, {}, {}}, session, "k"));
  };
  enter(first_connection);
  world.input(Resumed{System::What::Ready});
  const grant::Granted again = enter(second_connection);
  world.pass(11s);

  EXPECT_EQ(again.holder.session, second_connection);
  const semaphore::Heartbeat beat{agents, again.holder, again.given.at(0).token};
  EXPECT_TRUE(is<semaphore::Alive>(world.ask(beat, second_connection)));
  world.input(custody::ProcessGone{{1, 7, "boot"}});
  EXPECT_TRUE(world.state.semaphores.slots.empty());
}

TEST(Key, ATakenItemFollowsItsHolder) {
  World world;
  world.ask(push("1"));
  const auto take = [&](SessionId session) {
    const Holder who{default_project, "bo", session};
    const queue::Take command{{{default_project, "jobs"}}, who, {}, 1, {}};
    return as<queue::Taken>(world.ask(command, session, "k"));
  };
  const queue::Taken first = take(first_connection);
  world.input(Resumed{System::What::Ready});
  EXPECT_EQ(take(second_connection), first);
  EXPECT_EQ(take(second_connection), first);
  EXPECT_FALSE(world.last.changed) << "it has followed already";
  world.pass(11s);
  const queue::Item& item = *world.state.queues.items.find(first.items.at(0).id);
  EXPECT_EQ(item.state, queue::ItemState::Processing);
  EXPECT_EQ(item.rest->claim->holder.session, second_connection);
}

// An unbound taker waits over a connection, and is not bound to it by that.
TEST(Key, AnUnboundTakerStaysUnboundOverAnotherConnection) {
  World world;
  const queue::Take take{{{default_project, "jobs"}}, holder("ana"), {}, 1, 1min};
  world.ask(take, {}, "k");
  world.ask(take, second_connection, "k");
  world.ask(push("1"));
  const auto taken = as<queue::Taken>(world.answers.at(0).reply);
  world.input(session::Ended{second_connection});
  EXPECT_EQ(world.state.queues.items.find(taken.items.at(0).id)->state,
            queue::ItemState::Processing);
}

TEST(Key, ThatIsLongerThanANameIsRefused) {
  World world;
  EXPECT_TRUE(is<queue::Pushed>(world.ask(push("1"), {}, std::string(limits::name_bytes, 'k'))));
  EXPECT_EQ(world.ask(push("1"), {}, std::string(limits::name_bytes + 1, 'k')),
            refused(Why::OverLimit, "key"));
}

TEST(Key, ALongTextIsKeptToItsBound) {
  World world;
  decision::Ask question;
  question.question = "what?";
  world.ask(question, first_connection);
  const DecisionId id = world.state.decisions.decisions.begin()->first;
  const decision::Resolve answer{
      id, decision::Choice::Text, std::string(limits::kept_reply_bytes + 1, 'x'), "ana"};
  const auto first = as<decision::Resolved>(world.ask(answer, {}, "k"));
  EXPECT_EQ(first.answer.text.size(), limits::kept_reply_bytes + 1);
  const auto again = as<decision::Resolved>(world.ask(answer, {}, "k"));
  EXPECT_EQ(again.answer.by, "ana");
  EXPECT_EQ(again.answer.text.size(), limits::kept_reply_bytes - again.answer.by.size());
}

TEST(Key, OfALongListItsBeginningIsKept) {
  World world;
  for (int i = 0; i < 30; ++i) {
    world.ask(lock::Acquire{{{default_project, std::to_string(i)}}, holder("ana"), {}, {}, {}, {}});
  }
  world.pass(61s);
  const lock::Cleanup cleanup{default_project};
  EXPECT_EQ(as<lock::Cleaned>(world.ask(cleanup, {}, "k")).names.size(), 30u);
  EXPECT_EQ(as<lock::Cleaned>(world.ask(cleanup, {}, "k")).names.size(), 20u);
}

TEST(Key, APlaceThatIsTakenOverIsServedAtOnce) {
  World world;
  world.ask(acquire("ana"));
  world.ask(acquire("bo", 1min), first_connection, "k");
  world.input(Resumed{System::What::Ready});
  world.ask(lock::Release{main_lock, holder("ana"), {}});
  ASSERT_TRUE(world.answers.empty()) << "bo is away";

  const Waiting again = as<Waiting>(world.ask(acquire("bo", 1min), second_connection, "k"));

  ASSERT_EQ(world.answers.size(), 1u);
  EXPECT_EQ(world.answers[0].waiter, again.waiter);
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

// The answer to a connection that ended comes back when the request waits again under its key.
TEST(Key, WhatCouldNotBeDeliveredTakesNoKeyFromTheRequestThatWaitsUnderIt) {
  World world;
  world.ask(acquire("ana"));
  world.ask(acquire("bo", 1min), first_connection, "k");
  world.input(session::Ended{first_connection});
  const Waiting again = as<Waiting>(world.ask(acquire("bo", 1min), second_connection, "k"));

  world.input(Undelivered{default_project, "k", world.answers.at(0).reply});

  EXPECT_EQ(as<Waiting>(world.ask(acquire("bo", 1min), second_connection, "k")), again);
  EXPECT_EQ(world.state.grants.waiters.size(), 1u);
}

// As above, but the request that waited again has its own answer by then, and gave it back: what it
// gets once more is that answer, and no new lock.
TEST(Key, WhatCouldNotBeDeliveredTakesNoKeyFromARequestThatWasAnsweredUnderItSince) {
  World world;
  for (const SessionId connection : {first_connection, second_connection}) {
    world.ask(acquire("ana"));
    world.ask(acquire("bo", 1min), connection, "k");
    world.ask(lock::Release{main_lock, holder("ana"), {}});
    world.input(Undelivered{default_project, "k", world.answers.at(0).reply});
  }
  const auto granted = as<grant::Granted>(world.answers.at(1).reply);
  world.ask(lock::Release{main_lock, holder("bo"), {}});

  EXPECT_EQ(as<grant::Granted>(world.ask(acquire("bo", 1min), second_connection, "k")), granted);
  EXPECT_TRUE(std::holds_alternative<lock::Free>(world.state.locks.locks.find(main_lock)->state));
}

// The retry came before the answer was found to have reached nobody, and it has what that gave.
TEST(Key, WhatARetryWasGivenIsNotTakenBackFromIt) {
  World world;
  world.ask(acquire("ana"));
  world.ask(acquire("bo", 1min), first_connection, "k");
  world.ask(lock::Release{main_lock, holder("ana"), {}});
  const auto granted = as<grant::Granted>(world.answers.at(0).reply);
  EXPECT_EQ(as<grant::Granted>(world.ask(acquire("bo", 1min), second_connection, "k")), granted);

  world.input(Undelivered{default_project, "k", world.answers.at(0).reply});

  EXPECT_TRUE(std::holds_alternative<lock::Held>(world.state.locks.locks.find(main_lock)->state));
  EXPECT_EQ(as<grant::Granted>(world.ask(acquire("bo", 1min), second_connection, "k")), granted);
}

TEST(Key, OfALongReplyOnlyTheIdsAreKeptAndARetryGetsTheDataOfWhatIsStillItsOwn) {
  World world;
  const std::string large(limits::kept_reply_bytes + 1, 'x');
  world.ask(push(large.c_str()));
  const queue::Take take{{{default_project, "jobs"}}, holder("ana"), {}, 1, {}};
  const queue::Taken first = as<queue::Taken>(world.ask(take, {}, "k"));
  ASSERT_EQ(first.items.size(), 1u);
  EXPECT_EQ(first.items[0].data.size(), large.size());

  const queue::Taken again = as<queue::Taken>(world.ask(take, {}, "k"));
  EXPECT_EQ(again, first);
  const Reply kept = *world.state.keys.entries.find(Name{default_project, "k"})->reply;
  EXPECT_TRUE(as<queue::Taken>(kept).items[0].data.empty());

  world.ask(queue::Complete{first.items[0].queue, {{first.items[0].id, first.items[0].claim}}});
  const queue::Taken later = as<queue::Taken>(world.ask(take, {}, "k"));
  ASSERT_EQ(later.items.size(), 1u);
  EXPECT_EQ(later.items[0].id, first.items[0].id);
  EXPECT_EQ(later.items[0].claim, first.items[0].claim);
  EXPECT_TRUE(later.items[0].data.empty());
}

TEST(Key, ARetryOfALongTakeIsToldTheQueuesOfItsItems) {
  World world;
  const QueueName one{default_project, "one"};
  const QueueName two{default_project, "two"};
  world.ask(queue::Push{one, std::vector<queue::NewItem>(20)});
  world.ask(queue::Push{two, std::vector<queue::NewItem>(20)});
  const queue::Take take{{one, two}, holder("ana"), {}, 40, {}};
  const queue::Taken first = as<queue::Taken>(world.ask(take, {}, "k"));
  ASSERT_EQ(first.items.size(), 40u);

  EXPECT_EQ(as<queue::Taken>(world.ask(take, {}, "k")), first);

  world.ask(queue::Release{one, {first.items[0].id, first.items[0].claim}, Duration{0}, {}});
  world.ask(queue::Drop{one, first.items[0].id});
  const queue::Taken later = as<queue::Taken>(world.ask(take, {}, "k"));
  EXPECT_EQ(later.items[0].queue.name, "");
  EXPECT_EQ(later.items[1], first.items[1]);
}

// What is kept is short; what was given is taken back whole.
TEST(Key, ALongTakeThatCouldNotBeDeliveredIsTakenBack) {
  World world;
  const QueueName jobs{default_project, "jobs"};
  const queue::Take take{{jobs}, holder("ana"), {}, 40, 1min};
  ASSERT_TRUE(is<Waiting>(world.ask(take, first_connection, "k")));
  world.ask(queue::Pause{jobs, {}});
  world.ask(queue::Push{jobs, std::vector<queue::NewItem>(40)});
  world.ask(queue::Resume{jobs});
  ASSERT_EQ(world.answers.size(), 1u);

  world.input(Undelivered{default_project, "k", world.answers[0].reply});
  EXPECT_EQ(world.state.queues.queues.find(1)->counts.pending, 40u);
  EXPECT_FALSE(world.state.keys.entries.contains(Name{default_project, "k"}));
}

TEST(Key, APlaceIsNotTakenOverByOneSessionTooMany) {
  World world;
  world.collects = true;
  world.ask(acquire("ana"));
  const Reply waiting = world.ask(acquire("bo", 1min), first_connection, "k");
  ASSERT_TRUE(is<Waiting>(waiting));
  for (std::uint64_t i = 1; i < limits::sessions; ++i) {
    world.state.sessions.sessions.set(SessionId{100 + i}, {});
  }

  EXPECT_EQ(world.ask(acquire("bo", 1min), second_connection, "k"),
            refused(Why::OverLimit, "sessions"));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(world.ask(acquire("bo", 1min), first_connection, "k"), waiting);
}

TEST(Key, WhatWasGivenToAConnectionIsNotToldToOneSessionTooMany) {
  World world;
  world.collects = true;
  lock::Acquire takes_lock = acquire("ana");
  takes_lock.holder.session = first_connection;
  queue::Take takes_item{{{default_project, "jobs"}}, holder("ana"), {}, 1, {}};
  takes_item.holder.session = first_connection;
  world.ask(push("1"));
  const Reply has_lock = world.ask(takes_lock, first_connection, "lock");
  const Reply has_item = world.ask(takes_item, first_connection, "item");
  ASSERT_EQ(as<queue::Taken>(has_item).items.size(), 1u);
  for (std::uint64_t i = 1; i < limits::sessions; ++i) {
    world.state.sessions.sessions.set(SessionId{100 + i}, {});
  }
  takes_lock.holder.session = second_connection;
  takes_item.holder.session = second_connection;

  const Reply refusal = refused(Why::OverLimit, "sessions");
  EXPECT_EQ(world.ask(takes_lock, second_connection, "lock"), refusal);
  EXPECT_EQ(world.ask(takes_item, second_connection, "item"), refusal);
  EXPECT_FALSE(world.last.changed);
  takes_lock.holder.session = first_connection;
  takes_item.holder.session = first_connection;
  EXPECT_EQ(world.ask(takes_lock, first_connection, "lock"), has_lock);
  EXPECT_EQ(world.ask(takes_item, first_connection, "item"), has_item);
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

TEST(Key, OneThatStillWaitsIsNotTheOldestToBeForgotten) {
  World world;
  world.ask(acquire("ana"));
  const Waiting waiting = as<Waiting>(world.ask(acquire("bo", 1min), {}, "waits"));
  State state = world.state;
  const Stamp stamp = world.stamp;
  for (std::size_t i = 0; i < limits::keys_a_project; ++i) {
    const std::string key = "k" + std::to_string(i);
    const Said said =
        apply_to(state, Request{.key = key, .command = EmitCustom{"ci:green", {}}}, stamp);
    ASSERT_TRUE(said.changed);
  }
  EXPECT_EQ(state.keys.entries.size(), limits::keys_a_project);
  EXPECT_FALSE(state.keys.entries.contains({default_project, "k0"}));
  const Said again = apply_to(
      state, Request{.key = "waits", .command = lock::Command{acquire("bo", 1min)}}, stamp);
  EXPECT_EQ(as<Waiting>(again.reply), waiting);
}

// ── Which answers a retry gets again, noun by noun ──

using Replies = std::vector<reeve::Reply>;

const ItemId some_item{2};

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
  const Waiting first = as<Waiting>(world.ask(start, first_connection, "k"));
  world.pass(1min);
  EXPECT_TRUE(is<board::TaskLocked>(world.told(first.waiter)));
  EXPECT_TRUE(world.state.keys.entries.empty());

  EXPECT_NE(as<Waiting>(world.ask(start, first_connection, "k")), first);
}

TEST(KeyKept, ATakeThatWaitedForNothingMayBeginAgainUnderItsKey) {
  World world;
  const queue::Take take{{{default_project, "jobs"}}, holder("bo"), {}, 1, 1min};
  EXPECT_TRUE(is<Waiting>(world.ask(take, first_connection, "k")));
  world.pass(1min);
  ASSERT_EQ(world.answers.size(), 1u);
  world.ask(push("1"));

  EXPECT_EQ(as<queue::Taken>(world.ask(take, first_connection, "k")).items.size(), 1u);
}

// It ends at its own limit, counted from when it began.
TEST(KeyKept, AWaitForALockThatIsOverIsNotBegunAnew) {
  World world;
  world.ask(acquire_for_ever("ana"));
  EXPECT_TRUE(is<Waiting>(world.ask(acquire("bo", 1min), first_connection, "k")));
  world.pass(1min);
  ASSERT_EQ(world.answers.size(), 1u);

  EXPECT_EQ(world.ask(acquire("bo", 1min), first_connection, "k"), world.answers[0].reply);
}

}  // namespace
}  // namespace reeve::key
