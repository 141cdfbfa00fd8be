#include "engine/engine.h"

#include "engine/limits.h"
#include "engine/testing.h"

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;
using reeve::testing::bo;
using reeve::testing::bound;
using reeve::testing::process;
using reeve::testing::waiting;
using reeve::testing::with_process;
using Names = std::vector<std::string>;

struct TheEngine : ::testing::Test {
  MemoryDisk disk;
  House house{disk};

  TheEngine() { house.start(); }
};

// ── Nothing leaves before it is durable ──

TEST_F(TheEngine, AReplyLeavesWhenItsInputIsDurable) {
  const Ticket ticket = house.ask(take_lock(ana, "main"));
  house.engine().deliver();
  EXPECT_FALSE(house.reply_to(ticket));
  ASSERT_TRUE(house.commit());
  EXPECT_FALSE(house.reply_to(ticket));
  house.engine().deliver();
  ASSERT_TRUE(house.reply_to(ticket));
  EXPECT_EQ(house.reply_to(ticket)->sequence, 2U);  // the first was the start itself
}

TEST_F(TheEngine, WhatChangedNothingTakesNoSequenceAndWaitsForWhatItWasJudgedAfter) {
  house.ask(take_lock(ana, "main"));
  const Ticket busy = house.ask(take_lock(bo, "main"));
  house.engine().deliver();
  EXPECT_FALSE(house.reply_to(busy));
  house.settle();
  ASSERT_TRUE(house.reply_to(busy));
  EXPECT_EQ(house.reply_to(busy)->sequence, 2U);
  EXPECT_EQ(disk.records.size(), 2U);

  const Ticket again = house.ask(take_lock(bo, "main"));
  house.engine().deliver();  // nothing to wait for
  EXPECT_TRUE(house.reply_to(again));
}

TEST_F(TheEngine, TheNextBatchIsDecidedWhileTheLastIsOnItsWay) {
  const Ticket first = house.ask(take_lock(ana, "one"));
  std::optional<Batch> batch = house.engine().take_batch();
  ASSERT_TRUE(batch);
  const Ticket second = house.ask(take_lock(ana, "two"));
  const Ticket third = house.ask(take_lock(ana, "three"));
  EXPECT_FALSE(house.engine().take_batch());  // one at a time
  ASSERT_TRUE(house.journal().commit(batch->entries()));
  house.engine().committed(batch->last);
  house.engine().deliver();
  EXPECT_TRUE(house.reply_to(first));
  EXPECT_FALSE(house.reply_to(second));

  batch = house.engine().take_batch();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->entries().size(), 2U);
  ASSERT_TRUE(house.journal().commit(batch->entries()));
  house.engine().committed(batch->last);
  house.engine().deliver();
  EXPECT_EQ(house.reply_to(second)->sequence, 3U);
  EXPECT_EQ(house.reply_to(third)->sequence, 4U);
  EXPECT_TRUE(house.engine().is_idle());
}

TEST_F(TheEngine, EventsAndEffectsLeaveWithTheirCause) {
  house.get(hook_on_green());
  house.ask(emit());
  house.engine().deliver();
  EXPECT_EQ(house.event_names(), (Names{"system:ready"}));
  EXPECT_TRUE(house.started.empty());
  house.settle();
  EXPECT_EQ(house.event_names(), (Names{"system:ready", "ci:green"}));
  ASSERT_EQ(house.started.size(), 1U);
  EXPECT_EQ(house.started.at(0).id, (EffectId{3, 0}));
}

TEST_F(TheEngine, AnAnswerComesWithTheInputThatGaveIt) {
  house.get(take_lock(ana, "main"));
  const Reply place = house.get(take_lock(bo, "main", waiting));
  ASSERT_TRUE(is<Waiting>(place));
  house.ask(give_lock(ana, "main"));
  house.engine().deliver();
  EXPECT_TRUE(house.answers.empty());
  house.settle();
  ASSERT_EQ(house.answers.size(), 1U);
  EXPECT_EQ(house.answers.at(0).first, as<Waiting>(place).waiter);
  EXPECT_TRUE(is<grant::Granted>(house.answers.at(0).second));
}

TEST_F(TheEngine, AQueryIsAnsweredWhenAllItContainsIsDurable) {
  house.ask(take_lock(ana, "main"));
  const Ticket ticket = house.query();
  const State asked = house.engine().state();
  house.engine().deliver();
  EXPECT_TRUE(house.queries.empty());
  house.ask(take_lock(ana, "other"));
  house.settle();
  ASSERT_EQ(house.queries.size(), 1U);
  EXPECT_EQ(house.queries.at(0), (std::pair{ticket, Sequence{2}}));
  EXPECT_EQ(house.seen.at(0), asked);
}

TEST_F(TheEngine, FollowersAreToldThatThereIsNews) {
  const int before = house.news_count;
  house.get(look_at_lock("main"));
  EXPECT_EQ(house.news_count, before);
  house.get(emit());
  EXPECT_EQ(house.news_count, before + 1);
}

// ── The first failure is the last ──

TEST_F(TheEngine, AfterAFailedCommitNothingIsAcknowledged) {
  house.get(hook_on_green());
  const Error broken{Error::Code::Io, "the disk is broken"};
  disk.fails = broken;
  const Ticket open = house.ask(emit());
  const Ticket unchanged = house.ask(look_at_lock("main"));
  const Ticket query = house.query();
  ASSERT_TRUE(house.commit());
  EXPECT_EQ(house.engine().wants_stop(), broken);
  const Ticket late = house.ask(emit());
  house.engine().deliver();
  const Ticket later = house.query();
  house.engine().deliver();

  std::vector<std::pair<Ticket, Error>> all;
  for (const Ticket ticket : {open, unchanged, query, late, later})
    all.emplace_back(ticket, broken);
  EXPECT_EQ(house.refusals, all);
  EXPECT_TRUE(house.started.empty());
  EXPECT_FALSE(house.engine().wants_input());

  disk.fails.reset();
  EXPECT_FALSE(house.commit());  // and never again
  EXPECT_EQ(house.engine().next_wake(), Deadlines{});
}

TEST_F(TheEngine, WhatWasDurableBeforeTheFailureIsStillSaidButNotBegun) {
  house.get(hook_on_green());
  const Ticket durable = house.ask(emit());
  ASSERT_TRUE(house.commit());
  disk.fails = Error{Error::Code::Io, "the disk is broken"};
  const Ticket lost = house.ask(emit());
  ASSERT_TRUE(house.commit());
  house.engine().deliver();
  EXPECT_TRUE(house.reply_to(durable));
  EXPECT_FALSE(house.reply_to(lost));
  EXPECT_EQ(house.refusals.size(), 1U);
  EXPECT_TRUE(house.started.empty());  // nobody could write down what comes of it
}

TEST_F(TheEngine, AfterAFailureNothingIsDecidedEither) {
  house.engine().checkpoint_failed({Error::Code::Io, "broken"});  // nothing was open
  const State before = house.engine().state();
  house.ask(take_lock(ana, "main"));
  house.ask(look_at_lock("main"));
  house.query();
  house.engine().deliver();
  EXPECT_EQ(house.refusals.size(), 3U);
  EXPECT_TRUE(house.replies.empty());
  EXPECT_EQ(house.engine().state(), before);
}

// ── Bounds ──

TEST_F(TheEngine, NoMoreIsReadThanCanBeMadeDurable) {
  const std::string large(1'000'000, 'x');
  int asked = 0;
  while (house.engine().wants_input() && asked < 1000) {
    house.ask(EmitCustom{"ci:green", {{"log", large}}});
    ++asked;
  }
  EXPECT_EQ(asked, 68);  // 64 MiB
  std::optional<Batch> batch = house.engine().take_batch();
  EXPECT_FALSE(house.engine().wants_input());  // on its way is not there
  ASSERT_TRUE(house.journal().commit(batch->entries()));
  house.engine().committed(batch->last);
  EXPECT_TRUE(house.engine().wants_input());
}

// The journal has put something by for a full disk, and a batch must fit it.
TEST_F(TheEngine, ABatchIsNoLargerThanTheJournalIsSureToHaveRoomFor) {
  const auto ask = [&](std::size_t bytes) {
    house.ask(EmitCustom{"ci:green", {{"log", std::string(bytes, 'x')}}});
  };
  for (int i = 0; i < 8; ++i) ask(200'000);
  ask(3'000'000);  // alone, and it may be
  for (int i = 0; i < 20'000; ++i) ask(1);
  std::vector<std::size_t> sizes;
  Sequence last = house.engine().durable();
  while (std::optional<Batch> batch = house.engine().take_batch()) {
    EXPECT_EQ(batch->first, last + 1);
    last = batch->last;
    sizes.push_back(batch->entries().size());
    std::uint64_t stored = 0;
    for (const journal::Entry& entry : batch->entries()) {
      stored += journal::encoded_size(entry.payload.size());
    }
    EXPECT_TRUE(stored <= limits::batch_bytes || sizes.back() == 1) << stored;
    ASSERT_TRUE(house.journal().commit(batch->entries()));
    house.engine().committed(last);
  }
  EXPECT_EQ(last, house.engine().state().sequence);
  ASSERT_EQ(sizes.size(), 5U);
  EXPECT_EQ(std::vector(sizes.begin(), sizes.begin() + 3), (std::vector<std::size_t>{5, 3, 1}));
  house.engine().deliver();
  EXPECT_TRUE(house.engine().is_idle());
}

TEST_F(TheEngine, RepliesThatWaitForASlowDiskAreBounded) {
  house.ask(take_lock(ana, "main"));
  std::size_t asked = 1;
  while (house.engine().wants_input() && asked < 1'000'000) {
    house.ask(look_at_lock("main"));
    ++asked;
  }
  EXPECT_EQ(asked, limits::unsynced_replies);
  EXPECT_EQ(house.engine().state().sequence, 2U);
  EXPECT_TRUE(house.commit());
  house.engine().deliver();
  EXPECT_TRUE(house.engine().wants_input());
}

TEST_F(TheEngine, WithoutRoomNewWorkIsRefusedAndTheRestGoesOn) {
  house.get(take_lock(ana, "main"), {}, "key");
  disk.room = journal::Room::FinishingOnly;
  house.settle();
  EXPECT_EQ(as<Refused>(house.get(take_lock(ana, "other"))), (Refused{Why::Full, "disk"}));
  EXPECT_TRUE(
      is<grant::Granted>(house.get(take_lock(ana, "main"), {}, "key")));  // the first answer
  EXPECT_TRUE(is<lock::Released>(house.get(give_lock(ana, "main"))));
  disk.room = journal::Room::Plenty;
  house.settle();
  EXPECT_TRUE(is<grant::Granted>(house.get(take_lock(ana, "other"))));
}

TEST_F(TheEngine, AFullStateRefusesNewWorkToo) {
  house.get(take_lock(ana, "main"));
  house.checkpoint();
  EXPECT_FALSE(house.engine().is_full());
  house.engine().checkpoint();
  house.get(take_lock(ana, "other"));
  house.engine().checkpoint();
  house.settle();
  // A checkpoint tells how large the state really is.
  journal::SnapshotInfo info{.moment = {house.engine().state().sequence, house.stamp}};
  info.raw_bytes = (std::uint64_t{4} << 30U) / 10 * 9;
  house.engine().checkpoint_written(info);
  EXPECT_TRUE(house.engine().is_full());
  EXPECT_EQ(as<Refused>(house.get(take_lock(ana, "third"))), (Refused{Why::Full, "state"}));
  EXPECT_TRUE(is<lock::Released>(house.get(give_lock(ana, "main"))));
}

// ── Effects ──

TEST_F(TheEngine, NoMoreThanSixtyFourEffectsRunAtATime) {
  house.get(hook_on_green());
  for (int i = 0; i < 70; ++i) house.ask(emit());
  house.settle();
  ASSERT_EQ(house.started.size(), limits::running_effects);
  house.end_effect(house.started.at(5).id);
  house.engine().deliver();
  EXPECT_EQ(house.started.size(), limits::running_effects);  // its outcome is not durable yet
  house.settle();
  EXPECT_EQ(house.started.size(), limits::running_effects + 1);
  house.end_effect(house.started.at(5).id);  // once more: nobody waits for it
  house.settle();
  EXPECT_EQ(house.started.size(), limits::running_effects + 1);
}

TEST_F(TheEngine, ProcessesThatHoldSomethingAreWatched) {
  house.get(take_lock(ana, "one", {.meta = with_process(1)}));
  house.get(take_lock(ana, "two", {.meta = with_process(1)}));
  house.get(take_lock(bo, "three", {.meta = with_process(2)}));
  EXPECT_EQ(house.watched, (std::set{process(1), process(2)}));
  house.get(give_lock(ana, "one"));
  EXPECT_EQ(house.watched, (std::set{process(1), process(2)}));
  house.engine().process_gone(process(2), house.stamp);
  house.settle();
  EXPECT_EQ(house.watched, (std::set{process(1)}));
  EXPECT_TRUE(is<grant::Granted>(house.get(take_lock(ana, "three"))));
}

// ── Time ──

TEST_F(TheEngine, DeadlinesAreKeptToTheMillisecondAndNeverEarly) {
  house.get(take_lock(ana, "main"));
  const Reply place = house.get(take_lock(bo, "main", waiting));
  const Time due = house.stamp.now + 60s + 1ms;
  EXPECT_EQ(house.engine().next_wake().engine, due);
  house.pass(60s);
  EXPECT_TRUE(house.answers.empty());
  EXPECT_FALSE(house.engine().tick(house.stamp));
  house.pass(1ms);
  ASSERT_EQ(house.answers.size(), 1U);
  EXPECT_EQ(house.answers.at(0).first, as<Waiting>(place).waiter);
}

TEST_F(TheEngine, WhoWasLateForADeadlineCountsLeasesFromNow) {
  house.get(take_lock(ana, "main"));
  house.get(take_lock(bo, "main", waiting));
  house.stamp.now += 61s + 2ms;  // nobody looked
  EXPECT_FALSE(house.engine().tick(house.stamp));
  house.settle();
  EXPECT_TRUE(house.answers.empty());
  EXPECT_EQ(house.event_names().back(), "system:late");
  house.pass(60s);
  EXPECT_TRUE(house.answers.empty());
  house.pass(1ms);
  EXPECT_EQ(house.answers.size(), 1U);
}

TEST_F(TheEngine, ASecondIsNotYetLate) {
  house.get(take_lock(ana, "main"));
  house.get(take_lock(bo, "main", waiting));
  house.stamp.now += 61s + 1ms;
  house.engine().tick(house.stamp);
  house.settle();
  EXPECT_EQ(house.answers.size(), 1U);
}

TEST_F(TheEngine, AHeartbeatThatWaitedOutAStallCounts) {
  const Token token = as<grant::Granted>(house.get(take_lock(ana, "main"))).given.at(0).token;
  house.stamp.now += 10min;
  const lock::Heartbeat beat{reeve::testing::lock_named("main"), ana, token};
  EXPECT_TRUE(is<lock::Alive>(house.get(beat)));
}

TEST_F(TheEngine, WhatIsDueMayTakeLongWithoutAnybodyBeingLate) {
  house.get(take_lock(ana, "main"));
  house.get(take_lock(bo, "main", waiting));
  house.stamp.now += 60s + 500ms;
  house.ask(look_at_lock("other"));  // somebody looks, and settles nothing but what is due
  house.settle();
  EXPECT_EQ(house.answers.size(), 1U);
}

TEST_F(TheEngine, SaysThatTheMachineSleptAndThatTheClockWasSet) {
  house.get(take_lock(ana, "main"));
  house.stamp.now += 10min;
  house.engine().look({house.stamp, true, 1h});
  house.settle();
  EXPECT_EQ(house.event_names(),
            (Names{"system:ready", "lock:acquired", "system:suspended", "system:clock-stepped"}));
}

// ── Sessions ──

TEST_F(TheEngine, TheEndOfASessionFreesWhatIsBoundToIt) {
  house.get(take_lock(bound(ana, 7), "main"), SessionId{7});
  const std::size_t records = disk.records.size();
  house.engine().session_ended(SessionId{8}, house.stamp);  // nothing bound: no record
  house.settle();
  EXPECT_EQ(disk.records.size(), records);
  house.engine().session_ended(SessionId{7}, house.stamp);
  house.settle();
  EXPECT_TRUE(is<grant::Granted>(house.get(take_lock(bo, "main"))));
}

}  // namespace
}  // namespace reeve::engine
