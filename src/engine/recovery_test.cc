#include "engine/recovery.h"

#include "base/value_bytes.h"
#include "codec/binary.h"
#include "codec/frames.h"
#include "core/apply.h"
#include "core/digest.h"
#include "engine/testing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;
using reeve::testing::bo;
using reeve::testing::bound;
using reeve::testing::process;
using reeve::testing::waiting;
using reeve::testing::with_process;

Result<Remembered> remembered_of(MemoryDisk& disk) {
  const auto recovery = open_memory_journal(disk);
  return remember(*recovery);
}

TEST(EngineRecovery, FindsTheStateThatWasThere) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(take_lock(ana, "one"));
  house.get(take_lock(bo, "one", waiting));
  const State state = house.engine().state();
  house.crash();
  const Result<Remembered> remembered = remembered_of(disk);
  ASSERT_TRUE(remembered);
  EXPECT_EQ(remembered->state, state);
  EXPECT_EQ(remembered->replayed, 3U);
  EXPECT_EQ(remembered->snapshot, 0U);
}

TEST(EngineRecovery, BeginsFromTheCheckpoint) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(take_lock(ana, "one"));
  house.checkpoint();
  EXPECT_TRUE(disk.records.empty());
  house.get(take_lock(ana, "two"));
  const State state = house.engine().state();
  house.crash();
  const Result<Remembered> remembered = remembered_of(disk);
  ASSERT_TRUE(remembered) << remembered.error().message;
  EXPECT_EQ(remembered->state, state);
  EXPECT_EQ(remembered->replayed, 1U);
  EXPECT_EQ(remembered->snapshot, 2U);
  EXPECT_EQ(remembered->stamp, house.stamp);
}

TEST(EngineRecovery, WhatWasNotDurableIsGoneAndNobodyWasToldOtherwise) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  const Ticket lost = house.ask(take_lock(ana, "main"));
  house.engine().deliver();
  house.crash();
  house.start();
  EXPECT_FALSE(house.reply_to(lost));
  EXPECT_TRUE(is<grant::Granted>(house.get(take_lock(bo, "main"))));
}

TEST(EngineRecovery, AnotherDecisionStopsTheStartAndNamesBothWaysOn) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(take_lock(ana, "main"));
  house.crash();
  disk.records.at(1).record.entry.digest ^= 1U;
  const Result<Remembered> remembered = remembered_of(disk);
  ASSERT_FALSE(remembered);
  EXPECT_EQ(remembered.error().code, Error::Code::Conflict);
  const std::string& message = remembered.error().message;
  EXPECT_NE(message.find("record 2 (a request)"), std::string::npos) << message;
  EXPECT_NE(message.find("stop it cleanly"), std::string::npos) << message;
  EXPECT_NE(message.find("reeve journal accept --from 2"), std::string::npos) << message;
}

TEST(EngineRecovery, ARecordThatChangesNothingIsAnotherDecision) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  State state = house.engine().state();
  house.crash();
  const Input tick = Tick{};  // nothing is due
  const Said said = apply_to(state, tick, house.stamp);
  ASSERT_FALSE(said.changed);
  disk.records.push_back(disk.records.back());
  disk.records.back().payload = codec::to_bytes(tick);
  disk.records.back().record.sequence = 2;
  disk.records.back().record.entry.digest = digest_of(said);
  EXPECT_FALSE(remembered_of(disk));
}

TEST(EngineRecovery, ARecordThatCannotBeReadIsNamed) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.crash();
  disk.records.at(0).payload = "nonsense";
  const Result<Remembered> remembered = remembered_of(disk);
  ASSERT_FALSE(remembered);
  EXPECT_NE(remembered.error().message.find("record 1"), std::string::npos);
}

// An older version would go on without it, and its next checkpoint make that final.
TEST(EngineRecovery, ASnapshotThatHoldsMoreThanThisVersionKnowsIsRefused) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.checkpoint();
  house.crash();
  MemoryDisk::KeptSnapshot& kept = disk.snapshots.begin()->second;
  bool read = false;
  codec::Unframer unframer([&]() -> Result<std::string_view> {
    return std::exchange(read, true) ? std::string_view() : std::string_view(kept.bytes);
  });
  StateDigest digest;
  std::string bytes;
  const auto add = [&](std::string_view chunk) {
    if (chunk[0] == 2) return;  // the end
    if (chunk[0] == 1) digest.add(chunk.substr(2));
    bytes += codec::frame(chunk);
  };
  while (const std::optional<std::string_view> chunk = *unframer.next()) add(*chunk);
  add(std::string("\x01\x63", 2) + "a table of a later version");
  ByteBuffer end;
  end.byte(2);
  end.varint(digest.value());
  kept.bytes = bytes + codec::frame(end.view());
  kept.info.digest = digest.value();
  const Result<Remembered> remembered = remembered_of(disk);
  ASSERT_FALSE(remembered);
  EXPECT_EQ(remembered.error().code, Error::Code::Conflict) << remembered.error().message;
  EXPECT_NE(remembered.error().message.find("more than this version"), std::string::npos);
}

TEST(EngineRecovery, ASnapshotOfAnotherStateIsRefused) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.checkpoint();
  house.crash();
  disk.snapshots.begin()->second.info.digest ^= 1U;
  const Result<Remembered> remembered = remembered_of(disk);
  ASSERT_FALSE(remembered);
  EXPECT_EQ(remembered.error().code, Error::Code::Corrupt);
}

TEST(EngineRecovery, ReachesNoFollowerAndStartsNoEffect) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(hook_on_green());
  house.get(emit());
  house.crash();
  house.started.clear();
  const int news = house.news_count;
  house.start_without_commit();
  house.engine().deliver();
  EXPECT_EQ(house.news_count, news);
  EXPECT_TRUE(house.started.empty());
  // But what happened can be asked for.
  EXPECT_EQ(house.event_names(), (std::vector<std::string>{"system:ready", "ci:green"}));
}

TEST(EngineRecovery, AProjectorIsShownWhatItMayHaveMissed) {
  MemoryDisk disk;
  House house(disk, true);
  house.start();
  house.get(emit());
  house.crash();
  house.projected.clear();
  house.reached_sequence = 1;  // it had not made the second durable
  house.start();
  ASSERT_GE(house.projected.size(), 2U);
  EXPECT_EQ(house.projected.at(0).sequence, 2U);
}

// ── What a restart means ──

TEST(EngineRecovery, LeasesCountFromTheMomentTheDaemonListensAgain) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(take_lock(ana, "main"));
  house.get(take_lock(bo, "main", waiting));
  house.crash();
  house.stamp.now += 10h;
  house.start();
  house.pass(60s);
  EXPECT_TRUE(house.answers.empty());
  house.pass(1ms);
  EXPECT_EQ(house.answers.size(), 1U);
}

TEST(EngineRecovery, ASessionHasTenSecondsToComeBack) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(take_lock(bound(ana, 7), "one"), SessionId{7});
  house.get(take_lock(bound(bo, 8), "two"), SessionId{8});
  house.crash();
  house.start();
  house.pass(9s + 999ms);
  house.engine().session_returned(Ticket{101}, SessionId{7}, house.stamp);
  house.stamp.now += 1ms;
  house.engine().session_returned(Ticket{102}, SessionId{8}, house.stamp);
  house.engine().session_returned(Ticket{103}, SessionId{9}, house.stamp);
  house.pass(1s);
  EXPECT_EQ(house.reply_to(Ticket{101})->reply, Reply{Ok{}});
  EXPECT_EQ(house.reply_to(Ticket{102})->reply, refused(Why::NotFound, "session"));
  EXPECT_EQ(house.reply_to(Ticket{103})->reply, refused(Why::NotFound, "session"));
  EXPECT_TRUE(is<grant::Busy>(house.get(take_lock(bo, "one"))));
  EXPECT_TRUE(is<grant::Granted>(house.get(take_lock(ana, "two"))));
}

TEST(EngineRecovery, ProcessesThatHoldSomethingAreWatchedAgain) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(take_lock(ana, "one", {.meta = with_process(1)}));
  house.crash();
  house.watched.clear();
  house.start();
  EXPECT_EQ(house.watched, (std::set{process(1)}));
}

TEST(EngineRecovery, ARepeatedRequestGetsItsFirstAnswer) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  const Reply first = house.get(take_lock(ana, "main"), {}, "key");
  house.crash();
  house.start();
  const std::size_t records = disk.records.size();
  EXPECT_EQ(house.get(take_lock(ana, "main"), {}, "key"), first);
  EXPECT_EQ(disk.records.size(), records);
}

// ── The outbox ──

struct AfterACrash : ::testing::Test {
  MemoryDisk disk;
  House house{disk};
  EffectId effect{3, 0};

  AfterACrash() {
    house.start();
    house.get(hook_on_green());
    house.get(emit());
    EXPECT_EQ(house.started.size(), 1U);
    house.crash();
    house.started.clear();
    house.start();
  }
};

TEST_F(AfterACrash, AnEffectIsObservedBeforeAnythingElse) {
  ASSERT_EQ(house.observed.size(), 1U);
  EXPECT_EQ(house.observed.at(0).id, effect);
  house.settle();
  EXPECT_EQ(house.observed.size(), 1U);
  EXPECT_TRUE(house.started.empty());
}

TEST_F(AfterACrash, WhatNeverStartedIsStarted) {
  house.observe(effect, NeverStarted{});
  house.observe(effect, NeverStarted{});  // said twice, done once
  house.settle();
  ASSERT_EQ(house.started.size(), 1U);
  EXPECT_EQ(house.started.at(0), house.observed.at(0));
}

TEST_F(AfterACrash, WhatStillRunsIsLeftAlone) {
  house.observe(effect, StillRunning{});
  house.settle();
  EXPECT_TRUE(house.started.empty());
  EXPECT_EQ(house.engine().outbox().running(), 1U);
  house.end_effect(effect);
  house.settle();
  EXPECT_TRUE(house.engine().state().outbox.empty());
  EXPECT_EQ(house.engine().outbox().running(), 0U);
}

TEST_F(AfterACrash, WhatFinishedHasItsOutcome) {
  house.observe(effect, Finished{});
  house.settle();
  EXPECT_TRUE(house.started.empty());
  EXPECT_TRUE(house.engine().state().outbox.empty());
  EXPECT_EQ(house.engine().outbox().size(), 0U);
}

TEST_F(AfterACrash, WhatCannotBeKnownIsUnknown) {
  house.observe(effect, CannotKnow{"the run left no trace"});
  house.settle();
  EXPECT_TRUE(house.started.empty());  // a hook is never run twice
  EXPECT_TRUE(house.engine().state().outbox.empty());
}

TEST_F(AfterACrash, NothingDueIsSettledBeforeTheObservationsAreIn) {
  house.get(take_lock(ana, "main", {.timeout = 1s}));
  house.get(take_lock(bo, "main", waiting));
  EXPECT_FALSE(house.engine().wants_input());
  house.pass(3s);
  EXPECT_TRUE(house.answers.empty());
  house.observe(effect, StillRunning{});
  EXPECT_TRUE(house.engine().wants_input());
  house.pass(1ms);
  EXPECT_EQ(house.answers.size(), 1U);
}

TEST_F(AfterACrash, DeadlinesDoNotWaitForEverAndTheEffectIsStillNotStarted) {
  house.get(take_lock(ana, "main", {.timeout = 1s}));
  house.get(take_lock(bo, "main", waiting));
  house.pass(6s);
  EXPECT_EQ(house.answers.size(), 1U);
  EXPECT_TRUE(house.engine().wants_input());
  EXPECT_TRUE(house.started.empty());
  house.observe(effect, NeverStarted{});
  house.settle();
  EXPECT_EQ(house.started.size(), 1U);
}

TEST_F(AfterACrash, AKillOfUnknownOutcomeIsDoneAgain) {
  house.observe(effect, Finished{});
  house.get(take_lock(ana, "main", {.meta = with_process(1)}));
  house.get(lock::ForceRelease{reeve::testing::lock_named("main"), "bo", "hurry"});
  ASSERT_EQ(house.started.size(), 1U);
  const EffectId kill = house.started.at(0).id;
  house.crash();
  house.started.clear();
  house.observed.clear();
  house.start();
  ASSERT_EQ(house.observed.size(), 1U);
  house.observe(kill, CannotKnow{"who knows"});
  house.settle();
  EXPECT_FALSE(house.engine().state().outbox.contains(kill));
  EXPECT_EQ(house.engine().state().outbox.size(), 1U);
  ASSERT_EQ(house.started.size(), 1U);
  EXPECT_NE(house.started.at(0).id, kill);
  EXPECT_TRUE(house.engine().state().decisions.open_of.empty());
  EXPECT_TRUE(is<grant::Busy>(house.get(take_lock(bo, "main"))));  // nothing is given on blindly
}

// ── Frames ──

TEST(EngineFrames, ChunksComeBackAsTheyWereWhateverThePieces) {
  const std::vector<std::string> chunks{"one", "", std::string(5000, 'x'), "four"};
  std::string stream;
  for (const std::string& chunk : chunks) stream += codec::frame(chunk);
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{3}, std::size_t{999}, stream.size()}) {
    std::size_t read = 0;
    codec::Unframer unframer([&]() -> Result<std::string_view> {
      const std::string_view next = std::string_view(stream).substr(read, piece);
      read += next.size();
      return next;
    });
    for (const std::string& chunk : chunks) {
      const auto next = unframer.next();
      ASSERT_TRUE(next && *next);
      EXPECT_EQ(**next, chunk);
    }
    const auto end = unframer.next();
    ASSERT_TRUE(end);
    EXPECT_FALSE(*end);
  }
}

TEST(EngineFrames, AStreamThatEndsInsideAChunkIsCorrupt) {
  const std::string whole = codec::frame("something");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    std::string_view rest = std::string_view(whole).substr(0, cut);
    codec::Unframer unframer(
        [&]() -> Result<std::string_view> { return std::exchange(rest, std::string_view()); });
    const auto next = unframer.next();
    ASSERT_FALSE(next) << cut;
    EXPECT_EQ(next.error().code, Error::Code::Corrupt);
  }
}

}  // namespace
}  // namespace reeve::engine
