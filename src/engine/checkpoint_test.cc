#include "engine/checkpoint.h"

#include "core/digest.h"
#include "engine/engine.h"
#include "engine/testing.h"

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;
using Names = std::vector<std::string>;

struct EngineCheckpoint : ::testing::Test {
  MemoryDisk disk;
  House house{disk};

  EngineCheckpoint() { house.start(); }
};

TEST_F(EngineCheckpoint, ACheckpointIsHandedOutWhenAllItContainsIsDurable) {
  house.ask(take_lock(ana, "main"));
  house.engine().checkpoint();
  house.ask(take_lock(ana, "other"));
  house.engine().deliver();
  EXPECT_FALSE(house.engine().take_snapshot());
  house.settle();
  const std::optional<Snapshot> snapshot = house.engine().take_snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->sequence(), 2U);
  EXPECT_FALSE(house.engine().take_snapshot());
  EXPECT_TRUE(house.engine().is_checkpointing());
  house.engine().checkpoint_failed({Error::Code::Full, "no room"});
  EXPECT_FALSE(house.engine().wants_stop());  // commits have their reserve
  EXPECT_FALSE(house.engine().is_checkpointing());
  house.engine().checkpoint();
  EXPECT_FALSE(house.engine().is_checkpointing());  // not at once
  house.pass(10s);
  house.engine().checkpoint();
  EXPECT_TRUE(house.engine().is_checkpointing());
  house.engine().checkpoint_failed({Error::Code::Io, "broken"});
  EXPECT_TRUE(house.engine().wants_stop());
}

TEST_F(EngineCheckpoint, AStateThatIsInACheckpointNeedsNoOther) {
  house.get(take_lock(ana, "main"));
  house.checkpoint();
  house.engine().checkpoint();
  EXPECT_FALSE(house.engine().is_checkpointing());
}

TEST_F(EngineCheckpoint, TheSizeOfTheStateIsThatOfTheLastCheckpointAndWhatCameSince) {
  const std::uint64_t before = house.engine().state_bytes();
  house.get(EmitCustom{"ci:green", {{"log", std::string(5000, 'x')}}});
  EXPECT_GT(house.engine().state_bytes(), before + 5000);
  house.checkpoint();
  EXPECT_EQ(house.engine().state_bytes(), disk.snapshots.rbegin()->second.info.raw_bytes);
  house.get(take_lock(ana, "main"));
  EXPECT_GT(house.engine().state_bytes(), disk.snapshots.rbegin()->second.info.raw_bytes);
}

struct EngineWithHistory : ::testing::Test {
  MemoryDisk disk;
  House house{disk, true};

  EngineWithHistory() { house.start(); }
};

TEST_F(EngineWithHistory, AProjectorSeesEveryEventOnceItIsDurable) {
  house.ask(emit());
  house.engine().deliver();
  EXPECT_EQ(house.projected.size(), 1U);
  house.settle();
  EXPECT_EQ(house.projected.size(), 2U);
  EXPECT_EQ(house.reached_sequence, 2U);
}

TEST_F(EngineWithHistory, NothingIsDeletedThatAProjectorHasNotPassed) {
  house.get(take_lock(ana, "main"));
  house.checkpoint();
  EXPECT_EQ(disk.truncated, 0U);
  EXPECT_EQ(disk.records.size(), 2U);
  house.engine().projected("history", 1, house.stamp);
  EXPECT_FALSE(house.engine().take_truncation());
  house.engine().projected("history", 2, house.stamp);
  EXPECT_EQ(house.engine().take_truncation(), 2U);
  EXPECT_FALSE(house.engine().take_truncation());
}

TEST_F(EngineWithHistory, AProjectorTooFarBehindIsLeftAndItsGapRecorded) {
  house.get(take_lock(ana, "main"));
  house.pass(60s);
  EXPECT_EQ(house.event_names().back(), "lock:acquired");
  const std::size_t seen = house.projected.size();
  house.pass(1ms);
  const Names names = house.event_names();
  EXPECT_EQ(Names(names.end() - 2, names.end()), (Names{"lock:stale", "history:gap"}));
  EXPECT_EQ(house.projected.size(), seen);
  house.checkpoint();
  EXPECT_NE(disk.truncated, 0U);
}

// The last group may be nowhere but in the page cache until the journal has begun.
TEST_F(EngineWithHistory, IsShownTheLastGroupOfAReplayNotBeforeItIsSafe) {
  house.get(emit("ci:red"));
  house.ask(emit());
  house.ask(emit());
  house.settle();
  house.crash();
  std::vector<Sequence> shown;
  const Result<Remembered> remembered =
      remember(*open_memory_journal(disk),
               [&](const Event& event, Time, const State&) { shown.push_back(event.sequence); });
  ASSERT_TRUE(remembered);
  EXPECT_EQ(shown, (std::vector<Sequence>{1, 2}));
  std::vector<Sequence> held;
  for (const Unshown& unshown : remembered->unshown) held.push_back(unshown.event.sequence);
  EXPECT_EQ(held, (std::vector<Sequence>{3, 4}));

  house.projected.clear();
  house.reached_sequence = 1;
  house.start_without_commit();
  EXPECT_EQ(house.projected.size(), 1U);
  house.engine().deliver();
  ASSERT_EQ(house.projected.size(), 3U);
  EXPECT_EQ(house.projected.back().sequence, 4U);
  EXPECT_EQ(house.reached_sequence, 4U);

  house.crash();
  house.projected.clear();
  house.reached_sequence = 3;
  house.start_without_commit();
  house.engine().deliver();
  ASSERT_EQ(house.projected.size(), 1U);
  EXPECT_EQ(house.projected.back().sequence, 4U);
}

TEST_F(EngineWithHistory, AProjectorThatWasLeftGoesOnBehindItsGap) {
  house.get(take_lock(ana, "main"));
  house.pass(61s);
  ASSERT_FALSE(house.engine().projects("history"));
  house.get(emit());
  const Sequence missed = house.engine().durable();
  house.engine().projector_goes_on("history", 3, house.stamp);
  EXPECT_TRUE(house.engine().projects("history"));
  house.projected.clear();
  house.settle();
  house.get(emit());
  ASSERT_EQ(house.projected.size(), 2U);
  const Custom* gap = std::get_if<Custom>(&house.projected[0].body);
  ASSERT_NE(gap, nullptr);
  EXPECT_EQ(gap->name, (EventName{"history", "", "gap"}));
  const std::vector<std::pair<std::string, std::string>> from_to{{"from", "3"},
                                                                 {"to", std::to_string(missed)}};
  EXPECT_EQ(gap->data, from_to);
  // And holds the others back again.
  house.checkpoint();
  EXPECT_FALSE(house.engine().take_truncation());
}

TEST_F(EngineWithHistory, WhatAProjectorMissedWhileItWasLeftIsAGapAfterTheRestart) {
  house.get(take_lock(ana, "main"));
  house.pass(61s);
  house.get(emit());
  house.checkpoint();
  ASSERT_NE(disk.truncated, 0U);
  house.crash();
  house.reached_sequence = 2;
  house.start();
  const auto gaps = [&] {
    std::vector<Custom> found;
    for (const Event& event : house.projected) {
      const Custom* custom = std::get_if<Custom>(&event.body);
      if (custom && custom->name.verb == "gap") found.push_back(*custom);
    }
    return found;
  };
  ASSERT_EQ(gaps().size(), 1U);
  const std::vector<std::pair<std::string, std::string>> missed{
      {"from", "3"}, {"to", std::to_string(disk.truncated)}};
  EXPECT_EQ(gaps()[0].data, missed);

  // Who has all of it has no gap.
  house.crash();
  house.start();
  EXPECT_EQ(gaps().size(), 1U);
}

TEST_F(EngineCheckpoint, ACheckpointMadeInStepsIsTheSame) {
  for (int i = 0; i < 300; ++i) house.ask(take_lock(ana, "lock" + std::to_string(i)));
  house.engine().checkpoint();
  house.settle();
  const std::optional<Snapshot> snapshot = house.engine().take_snapshot();
  Checkpointer checkpointer(house.journal(), *snapshot, 1000);
  int steps = 0;
  while (!checkpointer.is_done()) {
    ASSERT_TRUE(checkpointer.step());
    ++steps;
  }
  EXPECT_GT(steps, 10);
  const std::string in_steps = disk.snapshots.at(301).bytes;
  EXPECT_EQ(checkpointer.info()->digest, digest_of(snapshot->state));
  ASSERT_TRUE(write_checkpoint(house.journal(), *snapshot));
  const Result<Remembered> remembered = remember(*open_memory_journal(disk));
  ASSERT_TRUE(remembered);
  EXPECT_EQ(remembered->state, snapshot->state);
  disk.snapshots.at(301).bytes = in_steps;
  const Result<Remembered> again = remember(*open_memory_journal(disk));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->state, snapshot->state);
}

}  // namespace
}  // namespace reeve::engine
