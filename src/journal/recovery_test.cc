#include "journal/clean_mark.h"
#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/names.h"
#include "journal/segment.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace reeve::journal {
namespace {

using Strings = std::vector<std::string>;

constexpr std::size_t small_record = 64;  // of a payload of one to eight bytes

// All the files, for "nothing was changed".
std::vector<std::pair<std::string, std::string>> contents(const Scratch& scratch) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& name : scratch.names()) all.emplace_back(name, scratch.bytes(name));
  return all;
}

void expect_refused(Scratch& scratch, Error::Code code, const std::string& part) {
  const auto before = contents(scratch);
  const Result<Opened> opened = open(scratch.files());
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, code) << opened.error().message;
  EXPECT_NE(opened.error().message.find(part), std::string::npos) << opened.error().message;
  EXPECT_EQ(contents(scratch), before);
}

TEST(Recovery, OfNothingIsAFreshJournal) {
  Scratch scratch;
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(opened->findings.fresh);
  EXPECT_FALSE(opened->snapshot.has_value());
  EXPECT_EQ(opened->journal->next_sequence(), 1U);
  EXPECT_EQ(scratch.names(), Strings{segment_name(1)});
}

TEST(Recovery, TellsWhatWasCommittedAfterAnUncleanEnd) {
  Scratch scratch;
  EXPECT_EQ(commit(*open(scratch.files())->journal, {"a", "b"}), 2U);
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->payloads, (Strings{"a", "b"}));
  EXPECT_FALSE(opened->findings.fresh);
  EXPECT_FALSE(opened->findings.clean_stop);
  EXPECT_EQ(opened->journal->next_sequence(), 3U);
}

TEST(Recovery, AfterAnUncleanEndTheLastGroupIsWrittenAgainIntoANewFile) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    commit(*opened->journal, {"b", "c"});
  }
  ASSERT_TRUE(open(scratch.files()).has_value());
  std::string buffer;
  auto segment = open_segment(scratch.files(), 2, buffer);
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->header.first_sequence, 2U);
  EXPECT_EQ(segment->header.first_group, 2U);
  EXPECT_EQ(walk(*segment, no_limit, [](auto, auto) { return Result<void>{}; })->next_sequence, 4U);
}

TEST(Recovery, AfterACleanStopNothingIsWrittenAgain) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->close().has_value());
    EXPECT_FALSE(opened->journal->commit(std::vector<Entry>(1)).has_value());
  }
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(opened->findings.clean_stop);
  EXPECT_EQ(read_segment_header(scratch.files(), 2)->first_sequence, 2U);
  EXPECT_EQ(scratch.names(), (Strings{segment_name(1), segment_name(2)}));
}

TEST(Recovery, AShorterJournalThanACleanStopLeftIsRefused) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    commit(*opened->journal, {"b"});
    ASSERT_TRUE(opened->journal->close().has_value());
  }
  scratch.flip(segment_name(1), block_size + small_record + 50);
  expect_refused(scratch, Error::Code::Corrupt, "stopped cleanly after record 2");
}

TEST(Recovery, ADamagedMarkOfACleanStopIsAnUncleanEnd) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->close().has_value());
  }
  scratch.flip(clean_name, 33);
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value());
  EXPECT_FALSE(opened->findings.clean_stop);
  EXPECT_EQ(opened->findings.notes.size(), 1U);
  EXPECT_EQ(opened->payloads, Strings{"a"});
}

TEST(Recovery, TheMarkOfANewerVersionIsRefusedAsSuch) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->close().has_value());
  }
  std::string bytes = scratch.bytes(clean_name);
  store(bytes.data() + 8, std::uint32_t{2});
  store(bytes.data() + 12, crc32c(bytes.substr(16, 32), crc32c(bytes.substr(0, 12))));
  scratch.put(clean_name, bytes);
  expect_refused(scratch, Error::Code::Conflict, "has version 2 and this program reads 1");
}

TEST(Recovery, CutsATornTailAndSaysSo) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    commit(*opened->journal, {"b", "c"});
  }
  scratch.flip(segment_name(1), block_size + small_record + 50);
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->payloads, Strings{"a"});
  ASSERT_TRUE(opened->findings.torn_tail.has_value());
  EXPECT_EQ(opened->findings.torn_tail->file, scratch.path(segment_name(1)));
  EXPECT_EQ(opened->findings.torn_tail->offset, block_size + small_record);
  EXPECT_EQ(opened->findings.torn_tail->first_sequence, 2U);
  EXPECT_EQ(commit(*opened->journal, {"d"}), 2U);
  EXPECT_EQ(open(scratch.files())->payloads, (Strings{"a", "d"}));
}

// At the end of the journal, where a broken one would be cut.
TEST(Recovery, RefusesARecordOfAnUnknownTypeAndCutsNothing) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    Entry newer = entry("b");
    newer.type = static_cast<RecordType>(9);
    ASSERT_TRUE(opened->journal->commit({&newer, 1}).has_value());
  }
  for (int i = 0; i < 2; ++i) {
    expect_refused(scratch,
                   Error::Code::Conflict,
                   scratch.path(segment_name(1)) + " at offset " +
                       std::to_string(block_size + small_record) + ": holds a record of type 9");
  }
}

TEST(Recovery, RefusesDamageBeforeAValidGroup) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    for (const char* payload : {"a", "b", "c"}) commit(*opened->journal, {payload});
  }
  scratch.flip(segment_name(1), block_size + small_record + 50);
  expect_refused(
      scratch,
      Error::Code::Corrupt,
      scratch.path(segment_name(1)) + " at offset " + std::to_string(block_size + small_record));
}

TEST(Recovery, RefusesDamageAtTheEndOfASegmentThatAnotherFollows) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {std::string(3000, 'a')});
    commit(*opened->journal, {std::string(3000, 'b')});
  }
  ASSERT_TRUE(std::filesystem::exists(scratch.path(segment_name(2))));
  scratch.flip(segment_name(1), block_size + 100);
  expect_refused(scratch, Error::Code::Corrupt, "the next segment begins with record 2");
}

TEST(Recovery, RefusesAFileOfAnotherJournal) {
  Scratch scratch;
  Scratch other;
  commit(*open(scratch.files())->journal, {"a"});
  {
    Options options = small_options();
    options.fresh_id.bytes[0] = 77;
    const Result<Opened> opened = open(other.files(), options);
    commit(*opened->journal, {std::string(3000, 'a')});
    commit(*opened->journal, {std::string(3000, 'b')});
  }
  scratch.put(segment_name(2), other.bytes(segment_name(2)));
  expect_refused(scratch, Error::Code::Corrupt, "belongs to journal 4d02");
}

TEST(Recovery, RefusesASegmentUnderAnotherNumber) {
  Scratch scratch;
  commit(*open(scratch.files())->journal, {"a"});
  scratch.put(segment_name(2), scratch.bytes(segment_name(1)));
  expect_refused(scratch, Error::Code::Corrupt, "is segment 1 by its header");
}

TEST(Recovery, RefusesASegmentThatWasCut) {
  Scratch scratch;
  commit(*open(scratch.files())->journal, {"a"});
  scratch.put(segment_name(1), scratch.bytes(segment_name(1)).substr(0, 5000));
  expect_refused(scratch, Error::Code::Corrupt, "has 5000 bytes and was made with 8192");
}

TEST(Recovery, RefusesAJournalWhoseFirstSegmentIsMissing) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {std::string(3000, 'a')});
    commit(*opened->journal, {std::string(3000, 'b')});
  }
  std::filesystem::remove(scratch.path(segment_name(1)));
  expect_refused(scratch, Error::Code::Corrupt, "but record 1 is wanted: a file is missing");
}

TEST(Recovery, RefusesAGapBetweenSegments) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    for (char c = 'a'; c < 'f'; ++c) commit(*opened->journal, {std::string(3500, c)});
  }
  std::filesystem::remove(scratch.path(segment_name(2)));
  expect_refused(scratch, Error::Code::Corrupt, "the records end, but the next segment begins");
}

TEST(Recovery, RefusesASnapshotWithoutAnySegment) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    snapshot(*opened->journal, 1, "one");
    commit(*opened->journal, {"b"});
  }
  std::filesystem::remove(scratch.path(segment_name(1)));
  expect_refused(scratch, Error::Code::Corrupt, "there is no segment");
  scratch.flip(snapshot_name(1), 80);
  expect_refused(scratch, Error::Code::Corrupt, "there is no segment");
}

TEST(Recovery, TellsTheRestOfAGroupThatTheSnapshotHalfContains) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a", "b", "c"});
    snapshot(*opened->journal, 2, "state of a and b");
  }
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->content, "state of a and b");
  EXPECT_EQ(opened->snapshot->moment.sequence, 2U);
  EXPECT_EQ(opened->snapshot->digest, 0xabcU);
  EXPECT_EQ(opened->payloads, Strings{"c"});
}

TEST(Recovery, ADamagedSnapshotIsPassedOverForAnOlderOne) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    snapshot(*opened->journal, 1, "one");
    commit(*opened->journal, {"b"});
    snapshot(*opened->journal, 2, "two");
  }
  scratch.flip(snapshot_name(2), 80);
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->content, "one");
  EXPECT_EQ(opened->payloads, Strings{"b"});
  EXPECT_EQ(opened->findings.notes.size(), 1U);
}

TEST(Recovery, ADamagedSnapshotWithoutAnOlderOneIsRefused) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    for (char c = 'a'; c < 'd'; ++c) commit(*opened->journal, {std::string(3500, c)});
    snapshot(*opened->journal, 3, "three");
    ASSERT_TRUE(opened->journal->truncate(3).has_value());
  }
  scratch.flip(snapshot_name(3), 80);
  expect_refused(scratch, Error::Code::Corrupt, scratch.path(snapshot_name(3)));
}

TEST(Recovery, BeginsFromTheNewestSnapshotThatEverybodyHasPassed) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    for (const char* payload : {"a", "b", "c"}) {
      const Sequence last = commit(*opened->journal, {payload});
      snapshot(*opened->journal, last, std::to_string(last));
    }
  }
  for (const auto& [limit, base] : {std::pair<Sequence, std::string>{0, ""}, {1, "1"}, {2, "2"}}) {
    Options options = small_options();
    options.base_limit = limit;
    const auto recovery = open_file_journal(scratch.files(), options);
    ASSERT_TRUE(recovery.has_value());
    EXPECT_EQ((*recovery)->next_chunk().value(), base);
  }
}

TEST(Recovery, ATailShorterThanASnapshotSawIsRefused) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    commit(*opened->journal, {"b"});
    snapshot(*opened->journal, 1, "one");
  }
  scratch.flip(segment_name(1), block_size + small_record + 50);
  expect_refused(scratch, Error::Code::Corrupt, "but record 2 was durable when");
}

TEST(Recovery, DamageInTheLastGroupIsNothingIfTheSnapshotContainsIt) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    commit(*opened->journal, {"b"});
    snapshot(*opened->journal, 2, "two");
  }
  scratch.flip(segment_name(1), block_size + small_record + 50);
  for (const char* payload : {"c", "d"}) {
    const Result<Opened> opened = open(scratch.files());
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    EXPECT_EQ(opened->content, "two");
    // The damaged group was acknowledged: its number is not given again.
    const std::vector<std::string> names = scratch.names();
    EXPECT_EQ(
        read_segment_header(scratch.files(), *segment_number(names[names.size() - 2]))->first_group,
        3U);
    commit(*opened->journal, {payload});
  }
  EXPECT_EQ(open(scratch.files())->payloads, (Strings{"c", "d"}));
}

TEST(Recovery, RemovesWhatWasNeverFinishedAndLeavesStrangersAlone) {
  Scratch scratch;
  commit(*open(scratch.files())->journal, {"a"});
  scratch.put(unfinished(snapshot_name(1)), "half");
  scratch.put("spare.tmp", "half");
  scratch.put("notes.txt", "mine");
  ASSERT_TRUE(open(scratch.files()).has_value());
  EXPECT_EQ(scratch.names(), (Strings{"notes.txt", segment_name(2)}));
}

TEST(Recovery, UsesTheSpareSegmentThatIsThere) {
  Scratch scratch;
  {
    const Result<Opened> opened = open(scratch.files());
    commit(*opened->journal, {"a"});
    ASSERT_TRUE(opened->journal->prepare().has_value());
    ASSERT_TRUE(opened->journal->close().has_value());
  }
  ASSERT_TRUE(std::filesystem::exists(scratch.path(spare_name)));
  ASSERT_TRUE(open(scratch.files()).has_value());
  EXPECT_FALSE(std::filesystem::exists(scratch.path(spare_name)));
  EXPECT_EQ(read_segment_header(scratch.files(), 2)->size, 16384U);
}

TEST(Recovery, WhatTheVisitorRefusesRecoveryRefuses) {
  Scratch scratch;
  commit(*open(scratch.files())->journal, {"a"});
  const auto before = contents(scratch);
  const auto recovery = open_file_journal(scratch.files(), small_options());
  const Error no{Error::Code::Conflict, "decided otherwise"};
  const auto told = (*recovery)->replay([&](auto) -> Result<void> { return fail(no); });
  EXPECT_EQ(told.error(), no);
  EXPECT_EQ(contents(scratch), before);
}

TEST(CleanMark, IsReadAsItWasWritten) {
  const CleanMark mark{.journal = small_options().fresh_id, .next_sequence = 5, .next_group = 3};
  EXPECT_EQ(decode_clean_mark(encode(mark)), mark);
  for (std::size_t bit = 0; bit < encode(mark).size() * 8; ++bit) {
    std::string bytes = encode(mark);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(decode_clean_mark(bytes), std::nullopt);
  }
}

}  // namespace
}  // namespace reeve::journal
