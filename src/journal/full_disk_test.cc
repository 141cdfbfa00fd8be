// What a disk without room does to a journal: it goes on with what it has put by, asks for what
// gives room back, and starts again.

#include "journal/meddling_testing.h"
#include "journal/names.h"
#include "journal/segment.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace reeve::journal {
namespace {

using Strings = std::vector<std::string>;

const Error no_room{Error::Code::Full, "no room"};

// From now on nobody gets a block.
void fill_up(Meddling& files) {
  files.free = 0;
  files.meddler = [](const std::string& call) -> std::optional<Error> {
    if (call.starts_with("fill ")) return no_room;
    return std::nullopt;
  };
}

// Of files larger than this.
void fill_up_to(Meddling& files, std::uint64_t most) {
  files.meddler = [most](const std::string& call) -> std::optional<Error> {
    if (!call.starts_with("fill ")) return std::nullopt;
    if (std::stoull(call.substr(call.rfind(' '))) <= most) return std::nullopt;
    return no_room;
  };
}

TEST(FullDisk, TheLargestGroupThereIsFitsTheSpare) {
  Scratch scratch;
  Meddling files(scratch.files());
  Options options = small_options();
  options.largest_group = 50'000;
  const Result<Opened> opened = open(files, options);
  ASSERT_TRUE(opened->journal->prepare().has_value());
  fill_up(files);
  commit(*opened->journal, {std::string(50'000 - encoded_size(0), 'x')});
}

TEST(FullDisk, ASmallerSegmentIsMadeWhereALargeOneFindsNoRoom) {
  Scratch scratch;
  Meddling files(scratch.files());
  const Result<Opened> opened = open(files);
  fill_up_to(files, 8192);
  for (char c = 'a'; c < 'e'; ++c) commit(*opened->journal, {std::string(3500, c)});
  EXPECT_EQ(read_segment_header(scratch.files(), 4)->size, 8192U);
  ASSERT_TRUE(opened->journal->prepare().has_value());
  EXPECT_EQ(std::filesystem::file_size(scratch.path(spare_name)), 8192U);
}

TEST(FullDisk, IsNoticedBeforeTheReserveIsUsed) {
  Scratch scratch;
  Meddling files(scratch.files());
  Options options = small_options();
  options.keep_free = 1000;
  options.first_segment = 65536;
  options.largest_segment = 65536;
  options.measure_every = 4096;
  const Result<Opened> opened = open(files, options);
  Journal& journal = *opened->journal;
  ASSERT_TRUE(journal.prepare().has_value());
  fill_up(files);
  EXPECT_FALSE(journal.wants_prepare());
  for (std::uint64_t bytes = 0; bytes < 4096; bytes += encoded_size(400)) {
    commit(journal, {std::string(400, 'x')});
  }
  ASSERT_TRUE(journal.wants_prepare());
  ASSERT_TRUE(journal.prepare().has_value());
  EXPECT_EQ(journal.room(), Room::FinishingOnly);
  EXPECT_TRUE(std::filesystem::exists(scratch.path(spare_name)));

  files.free.reset();
  files.meddler = {};
  ASSERT_TRUE(journal.prepare().has_value());
  EXPECT_EQ(journal.room(), Room::Plenty);
  EXPECT_FALSE(journal.wants_prepare());
}

TEST(FullDisk, ACheckpointIsAskedForIfThatGivesRoomBack) {
  Scratch scratch;
  Meddling files(scratch.files());
  Options options = small_options();
  options.keep_free = 1000;
  const Result<Opened> opened = open(files, options);
  Journal& journal = *opened->journal;
  commit(journal, {"a"});
  files.free = 0;
  ASSERT_TRUE(journal.prepare().has_value());
  EXPECT_EQ(journal.room(), Room::FinishingOnly);
  EXPECT_FALSE(journal.wants_snapshot());  // the segment in use stays
  for (char c = 'b'; c < 'e'; ++c) commit(journal, {std::string(3500, c)});
  EXPECT_TRUE(journal.wants_snapshot());
  // Once is enough, also while somebody holds back what it would free.
  snapshot(journal, 4, "four");
  EXPECT_FALSE(journal.wants_snapshot());
  ASSERT_TRUE(journal.truncate(4).has_value());
  EXPECT_FALSE(journal.wants_snapshot());
  files.free.reset();
  ASSERT_TRUE(journal.prepare().has_value());
  EXPECT_EQ(journal.room(), Room::Plenty);
}

TEST(FullDisk, AnUncleanStartKeepsTheSpare) {
  Scratch scratch;
  Meddling files(scratch.files());
  {
    const Result<Opened> opened = open(files);
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->prepare().has_value());
  }
  const Result<Opened> opened = open(files);
  ASSERT_TRUE(opened.has_value());
  fill_up(files);
  EXPECT_FALSE(opened->journal->wants_prepare());
  EXPECT_TRUE(std::filesystem::exists(scratch.path(spare_name)));
  for (char c = 'b'; c < 'e'; ++c) commit(*opened->journal, {std::string(3500, c)});
  EXPECT_FALSE(std::filesystem::exists(scratch.path(spare_name)));
  EXPECT_EQ(open(scratch.files())->payloads.size(), 4U);
}

TEST(FullDisk, ASpareThatIsTooSmallIsMadeAnew) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->prepare().has_value());
  }
  Options options = small_options();
  options.largest_group = 50'000;
  const Result<Opened> opened = open(scratch.files(), options);
  EXPECT_TRUE(opened->journal->wants_prepare());
  EXPECT_FALSE(std::filesystem::exists(scratch.path(spare_name)));
}

// Each start makes a segment, however little is committed to it.
TEST(FullDisk, IsNotReachedByStartingAgainAndAgain) {
  Scratch scratch;
  Options options = small_options();
  options.snapshot_after = 100'000;
  bool wanted = false;
  int starts = 0;
  for (; starts < 100 && !wanted; ++starts) {
    const Result<Opened> opened = open(scratch.files(), options);
    commit(*opened->journal, {"x"});
    wanted = opened->journal->wants_snapshot();
  }
  EXPECT_TRUE(wanted);
  EXPECT_GT(starts, 10);
  const Result<Opened> opened = open(scratch.files(), options);
  snapshot(*opened->journal, static_cast<Sequence>(starts), "all");
  ASSERT_TRUE(opened->journal->truncate(static_cast<Sequence>(starts)).has_value());
  EXPECT_FALSE(opened->journal->wants_snapshot());
  EXPECT_LE(scratch.names().size(), 3U);
}

std::uint64_t bytes_on_disk(const Scratch& scratch) {
  std::uint64_t bytes = 0;
  for (const std::string& name : scratch.names()) {
    bytes += std::filesystem::file_size(scratch.path(name));
  }
  return bytes;
}

// What was filled makes the next one larger; to be started is not to be filled.
TEST(FullDisk, IsNotReachedByStartingAgainAfterCleanStops) {
  Scratch scratch;
  Options options = small_options();
  options.largest_segment = std::uint64_t{1} << 20U;
  for (Sequence last = 1; last < 12; ++last) {
    const Result<Opened> opened = open(scratch.files(), options);
    ASSERT_TRUE(opened.has_value());
    ASSERT_TRUE(opened->journal->truncate(last).has_value());
    EXPECT_EQ(commit(*opened->journal, {"x"}), last);
    ASSERT_TRUE(opened->journal->prepare().has_value());
    EXPECT_LE(bytes_on_disk(scratch), 4U * options.first_segment + 1000U) << last;
    snapshot(*opened->journal, last, "all");
    ASSERT_TRUE(opened->journal->close().has_value());
  }
}

TEST(FullDisk, SegmentsGrowWhileTheyAreFilledAndBeginSmallAfterTheNextStop) {
  Scratch scratch;
  Options options = small_options();
  options.largest_segment = std::uint64_t{1} << 20U;
  Sequence last = 0;
  {
    const Result<Opened> opened = open(scratch.files(), options);
    for (int i = 0; i < 200; ++i) {
      last = commit(*opened->journal, {std::string(3500, 'x')});
      ASSERT_TRUE(opened->journal->prepare().has_value());
    }
    EXPECT_GE(std::filesystem::file_size(scratch.path(spare_name)), 32U * options.first_segment);
    snapshot(*opened->journal, last, "all");
    ASSERT_TRUE(opened->journal->close().has_value());
  }
  for (int start = 0; start < 2; ++start) {
    const Result<Opened> opened = open(scratch.files(), options);
    ASSERT_TRUE(opened->journal->truncate(last).has_value());
    ASSERT_TRUE(opened->journal->prepare().has_value());
    ASSERT_TRUE(opened->journal->close().has_value());
  }
  EXPECT_LE(bytes_on_disk(scratch), 4U * options.first_segment + 1000U);
}

TEST(FullDisk, AStartTakesTheRoomOfWhatWasNeverFinished) {
  Scratch scratch;
  Meddling files(scratch.files());
  commit(*open(files)->journal, {"a"});
  const std::string half = unfinished(snapshot_name(1));
  scratch.put(half, "half");
  files.meddler = [&](const std::string& call) -> std::optional<Error> {
    if (call.starts_with("fill ") && std::filesystem::exists(scratch.path(half))) return no_room;
    return std::nullopt;
  };
  const Result<Opened> opened = open(files);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  EXPECT_EQ(opened->payloads, Strings{"a"});
  EXPECT_EQ(scratch.names(), Strings{segment_name(2)});
}

TEST(FullDisk, AStartThatFindsNoRoomLeavesTheMarkOfACleanStop) {
  Scratch scratch;
  Meddling files(scratch.files());
  {
    const Result<Opened> opened = open(files);
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->close().has_value());
  }
  fill_up(files);
  EXPECT_EQ(open(files).error(), no_room);
  EXPECT_TRUE(std::filesystem::exists(scratch.path(clean_name)));
  files.meddler = {};
  EXPECT_TRUE(open(files)->findings.clean_stop);
}

}  // namespace
}  // namespace reeve::journal
