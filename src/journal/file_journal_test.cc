#include "journal/file_journal.h"

#include "journal/names.h"
#include "journal/segment.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace reeve::journal {
namespace {

using Strings = std::vector<std::string>;

Strings read_from(Journal& journal, Sequence from) {
  Strings payloads;
  const Result<void> told = journal.read(from, [&](std::span<const Record> group) {
    for (const Record& record : group) payloads.emplace_back(record.entry.payload);
    return Result<void>{};
  });
  EXPECT_TRUE(told.has_value()) << (told ? "" : told.error().message);
  return payloads;
}

TEST(Journal, CountsRecordsFromOne) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  EXPECT_EQ(commit(*opened->journal, {"a", "b"}), 2U);
  EXPECT_EQ(commit(*opened->journal, {"c"}), 3U);
  EXPECT_EQ(opened->journal->next_sequence(), 4U);
}

TEST(Journal, ReadsWhatIsDurable) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  for (char c = 'a'; c < 'f'; ++c) commit(*opened->journal, {std::string(3000, c)});
  commit(*opened->journal, {"x", "y"});
  EXPECT_EQ(read_from(*opened->journal, 5), (Strings{std::string(3000, 'e'), "x", "y"}));
  EXPECT_EQ(read_from(*opened->journal, 7), (Strings{"x", "y"}));
  EXPECT_EQ(read_from(*opened->journal, 8), Strings{});
  EXPECT_EQ(read_from(*opened->journal, 1).size(), 7U);
}

// As the daemon opens it: alone.
Options alone() {
  Options options = small_options();
  options.claims = true;
  return options;
}

TEST(Journal, ASecondOneWhoWouldWriteIsTurnedAwayAndChangesNothing) {
  Scratch scratch;
  Result<Opened> first = open(scratch.files(), alone());
  ASSERT_TRUE(first.has_value()) << first.error().message;
  commit(*first->journal, {"a"});
  const Strings names = scratch.names();

  const Result<Opened> second = open(scratch.files(), alone());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Error::Code::Conflict);
  EXPECT_NE(second.error().message.find(scratch.path()), std::string::npos);
  EXPECT_EQ(scratch.names(), names);
  EXPECT_EQ(commit(*first->journal, {"b"}), 2U);

  first->journal.reset();
  EXPECT_EQ(open(scratch.files(), alone())->payloads, (Strings{"a", "b"}));
}

TEST(Journal, ThatIsWrittenCanBeLookedAt) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files(), alone());
  commit(*opened->journal, {"a"});
  Options looks = alone();
  looks.claims = false;
  const Result<std::unique_ptr<Recovery>> looker = open_file_journal(scratch.files(), looks);
  ASSERT_TRUE(looker.has_value()) << looker.error().message;
  EXPECT_EQ(commit(*opened->journal, {"b"}), 2U);
}

TEST(Journal, AGroupLargerThanASegmentGetsALargerOne) {
  Scratch scratch;
  const std::string large(100'000, 'x');
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    commit(*opened->journal, {large, "b"});
  }
  EXPECT_EQ(open(scratch.files())->payloads, (Strings{"a", large, "b"}));
  EXPECT_EQ(open(scratch.files())->payloads, (Strings{"a", large, "b"}));
}

TEST(Journal, SegmentsGrowToTheLargest) {
  Scratch scratch;
  Options options = small_options();
  options.largest_segment = 32768;
  const Result<Opened> opened = open(scratch.files(), options);
  for (int i = 0; i < 30; ++i) commit(*opened->journal, {std::string(3900, 'x')});
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    sizes.push_back(read_segment_header(scratch.files(), number)->size);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{8192, 16384, 32768, 32768}));
}

TEST(Journal, ASpareIsMadeOnceAndUsed) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  EXPECT_TRUE(opened->journal->wants_prepare());
  ASSERT_TRUE(opened->journal->prepare().has_value());
  EXPECT_FALSE(opened->journal->wants_prepare());
  ASSERT_TRUE(opened->journal->prepare().has_value());
  EXPECT_EQ(scratch.names(), (Strings{segment_name(1), spare_name}));
  commit(*opened->journal, {std::string(3000, 'a')});
  commit(*opened->journal, {std::string(3000, 'b')});
  EXPECT_EQ(scratch.names(), (Strings{segment_name(1), segment_name(2)}));
  EXPECT_TRUE(opened->journal->wants_prepare());
}

TEST(Journal, WithTooLittleRoomLeftTakesFinishingWorkOnly) {
  Scratch scratch;
  Options options = small_options();
  options.keep_free = std::uint64_t{1} << 60U;
  const Result<Opened> opened = open(scratch.files(), options);
  EXPECT_EQ(opened->journal->room(), Room::Plenty);
  ASSERT_TRUE(opened->journal->prepare().has_value());
  EXPECT_EQ(opened->journal->room(), Room::FinishingOnly);
  EXPECT_TRUE(opened->journal->wants_prepare());
  EXPECT_EQ(commit(*opened->journal, {"finished"}), 1U);
}

TEST(Journal, WantsASnapshotWhenItHasGrownByMoreThanTheLimit) {
  Scratch scratch;
  Options options = small_options();
  options.snapshot_after = 3 * 64;
  const Result<Opened> opened = open(scratch.files(), options);
  Journal& journal = *opened->journal;
  for (int i = 0; i < 3; ++i) commit(journal, {"x"});
  EXPECT_FALSE(journal.wants_snapshot());
  commit(journal, {"x"});
  EXPECT_TRUE(journal.wants_snapshot());
  snapshot(journal, 4, "small");
  EXPECT_FALSE(journal.wants_snapshot());
}

TEST(Journal, WantsASnapshotWhenItHasGrownByMoreThanHalfOfTheLast) {
  Scratch scratch;
  Options options = small_options();
  options.snapshot_after = 64;
  options.compress = false;
  options.chunk_size = 4096;
  const Result<Opened> opened = open(scratch.files(), options);
  Journal& journal = *opened->journal;
  commit(journal, {"x"});
  // Stored with its 64 + 24 + 24 + 40 bytes of frame: 640.
  snapshot(journal, 1, std::string(640 - 152, 's'));
  for (int i = 0; i < 5; ++i) commit(journal, {"x"});
  EXPECT_FALSE(journal.wants_snapshot());
  commit(journal, {"x"});
  EXPECT_TRUE(journal.wants_snapshot());
}

TEST(Journal, WhatASnapshotCoversIsKeptUntilEverybodyHasPassedIt) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  Journal& journal = *opened->journal;
  for (char c = 'a'; c < 'd'; ++c) commit(journal, {std::string(3500, c)});
  snapshot(journal, 2, "two");
  ASSERT_TRUE(journal.truncate(1).has_value());
  EXPECT_EQ(read_from(journal, 1).size(), 3U);

  ASSERT_TRUE(journal.truncate(2).has_value());
  const Result<void> gone = journal.read(1, [](auto) { return Result<void>{}; });
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error(),
            (Error{Error::Code::NotFound, "record 1 is no longer kept; the oldest is 2"}));

  snapshot(journal, 3, "three");
  ASSERT_TRUE(journal.truncate(3).has_value());
  EXPECT_EQ(scratch.names(), (Strings{segment_name(2), snapshot_name(3)}));
  EXPECT_EQ(open(scratch.files())->content, "three");
}

// What is kept longer is there for whoever wants to tell it once more; recovery has no need of it.
TEST(Journal, WhatASnapshotCoversIsKeptForAsLongAsIsAskedFor) {
  Scratch scratch;
  Options options = small_options();
  options.keep = Duration{100};
  const auto snapshot_at = [](Journal& journal, Sequence sequence, std::int64_t now) {
    auto writer = journal.begin_snapshot(
        {.sequence = sequence, .stamp = {.now = Time{Duration{now}}, .wall = {}}});
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE((*writer)->append("of " + std::to_string(sequence)).has_value());
    ASSERT_TRUE((*writer)->finish(1).has_value());
    ASSERT_TRUE(journal.truncate(sequence).has_value());
  };
  {
    const Result<Opened> opened = open(scratch.files(), options);
    Journal& journal = *opened->journal;
    for (char c = 'a'; c < 'g'; ++c) commit(journal, {std::string(3500, c)});
    snapshot_at(journal, 2, 1000);
    snapshot_at(journal, 3, 1060);
    EXPECT_EQ(read_from(journal, 1).size(), 6U);
    // The first is old enough to be the one that all of the time can be told from.
    snapshot_at(journal, 4, 1100);
    EXPECT_FALSE(journal.read(1, [](auto) { return Result<void>{}; }).has_value());
    EXPECT_EQ(read_from(journal, 3).size(), 4U);
  }
  // So it is after a restart, when the times have to be read from the files.
  const Result<Opened> opened = open(scratch.files(), options);
  EXPECT_EQ(opened->content, "of 4");
  snapshot_at(*opened->journal, 6, 1160);
  EXPECT_EQ(listing_of(scratch.names()).snapshots, (std::vector<std::uint64_t>{3, 4, 6}));
  EXPECT_EQ(read_from(*opened->journal, 4).size(), 3U);

  options.keep = Duration{0};
  const Result<Opened> last = open(scratch.files(), options);
  ASSERT_TRUE(last->journal->truncate(6).has_value());
  EXPECT_EQ(listing_of(scratch.names()).snapshots, (std::vector<std::uint64_t>{6}));
}

TEST(Journal, ASnapshotThatIsDroppedLeavesNothing) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  commit(*opened->journal, {"a"});
  {
    auto writer = opened->journal->begin_snapshot({.sequence = 1, .stamp = {}});
    ASSERT_TRUE((*writer)->append("half").has_value());
    EXPECT_EQ(scratch.names().size(), 2U);
  }
  EXPECT_EQ(scratch.names(), Strings{segment_name(1)});
}

TEST(JournalDeathTest, ASnapshotOfWhatIsNotDurableIsAMistakeOfOurs) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  auto writer = opened->journal->begin_snapshot({.sequence = 1, .stamp = {}});
  EXPECT_DEATH((void)(*writer)->finish(0), "durable_sequence");
}

// Under TSan this says that the two threads of journal.h may be two threads.
TEST(Journal, CommitsWhileAnotherThreadPreparesReadsAndWritesSnapshots) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  Journal& journal = *opened->journal;
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      EXPECT_TRUE(journal.prepare().has_value());
      const Sequence last = journal.next_sequence() - 1;
      snapshot(journal, last, std::string(1000, 's'));
      EXPECT_TRUE(journal.truncate(last / 2).has_value());
      EXPECT_TRUE(journal.read(last + 1, [](auto) { return Result<void>{}; }).has_value());
    }
  });
  for (int i = 0; i < 300; ++i) commit(journal, {std::string(300, 'x'), "y"});
  done = true;
  other.join();
  EXPECT_EQ(journal.next_sequence(), 601U);
  const Result<Opened> again = open(scratch.files());
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->journal->next_sequence(), 601U);
}

}  // namespace
}  // namespace reeve::journal
