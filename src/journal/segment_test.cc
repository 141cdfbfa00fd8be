#include "journal/segment.h"

#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/names.h"
#include "journal/segment_writer.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reeve::journal {
namespace {

const SegmentHeader header{.journal = small_options().fresh_id,
                           .number = 3,
                           .first_sequence = 10,
                           .first_group = 5,
                           .size = 16384};

// A segment in memory, with a group for each list of payloads.
struct Built {
  std::string bytes = encode(header);
  std::uint64_t end = block_size;
  std::vector<std::uint64_t> groups;  // where they begin
  Sequence sequence = header.first_sequence;
  Group group = header.first_group;

  Built() { bytes.resize(header.size); }

  Built& add(const std::vector<std::string>& payloads) {
    groups.push_back(end);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const Record record{.sequence = sequence++,
                          .group = group,
                          .last_of_group = i + 1 == payloads.size(),
                          .entry = entry(payloads[i])};
      encode(record, Place{header.journal, header.number, end}, bytes.data() + end);
      end += encoded_size(payloads[i].size());
    }
    ++group;
    return *this;
  }
  Built& flip(std::uint64_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return *this;
  }
  Segment segment() const {
    return {.header = header, .path = "segment", .bytes = std::make_unique<SegmentInMemory>(bytes)};
  }
};

struct Seen {
  Result<Walked> walked = Walked{};
  std::vector<std::string> payloads;
};

Seen see(const Built& built, Sequence limit = no_limit) {
  Seen seen;
  Segment segment = built.segment();
  seen.walked = walk(segment, limit, [&](std::span<const Record> group, Extent) {
    for (const Record& record : group) seen.payloads.emplace_back(record.entry.payload);
    return Result<void>{};
  });
  return seen;
}

using Strings = std::vector<std::string>;

TEST(Segment, HeaderIsReadAsItWasWritten) {
  EXPECT_EQ(encode(header).size(), block_size);
  EXPECT_EQ(decode_segment_header(encode(header), "x").value(), header);
}

TEST(Segment, HeaderOfAnotherVersionIsRefusedAsSuch) {
  std::string bytes = encode(header);
  store(bytes.data() + 8, std::uint32_t{2});
  store(bytes.data() + 12, crc32c(bytes.substr(16, 48), crc32c(bytes.substr(0, 12))));
  const auto found = decode_segment_header(bytes, "x");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, Error::Code::Conflict);
  EXPECT_EQ(found.error().message,
            "x: has version 2 and this program reads 1; use the version of Reeve that wrote it");
}

TEST(Segment, HeaderWithAnyBitTurnedAroundIsRefused) {
  for (std::size_t bit = 0; bit < std::size_t{64} * 8; ++bit) {
    std::string bytes = encode(header);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto found = decode_segment_header(bytes, "x");
    ASSERT_FALSE(found.has_value()) << bit;
    EXPECT_EQ(found.error().code, Error::Code::Corrupt);
  }
}

TEST(Segment, EndsWithoutComplaintInZeroes) {
  const Seen seen = see(Built().add({"a", "b"}).add({"c"}));
  ASSERT_TRUE(seen.walked.has_value());
  EXPECT_EQ(seen.payloads, (Strings{"a", "b", "c"}));
  EXPECT_EQ(seen.walked->torn, std::nullopt);
  EXPECT_EQ(seen.walked->next_sequence, 13U);
  EXPECT_EQ(seen.walked->next_group, 7U);
  EXPECT_EQ(seen.walked->last, (Extent{seen.walked->end - 64, seen.walked->end}));
}

TEST(Segment, ABadLastGroupIsATornTailAndCutAsAWhole) {
  Built built;
  built.add({"a"}).add({"b", "c"});
  built.flip(built.end - 1);
  const Seen seen = see(built);
  ASSERT_TRUE(seen.walked.has_value());
  EXPECT_EQ(seen.payloads, Strings{"a"});
  EXPECT_EQ(seen.walked->torn,
            (TornTail{.file = "segment",
                      .offset = built.groups[1],
                      .first_sequence = 11,
                      .why = "the checksum of a record is wrong"}));
}

TEST(Segment, AGroupWithoutItsLastRecordIsATornTail) {
  Built built;
  built.add({"a"}).add({"b", "c"});
  std::fill(
      built.bytes.begin() + static_cast<std::ptrdiff_t>(built.end - 64), built.bytes.end(), '\0');
  const Seen seen = see(built);
  ASSERT_TRUE(seen.walked.has_value());
  EXPECT_EQ(seen.walked->torn->why, "a group ends before its last record");
  EXPECT_EQ(seen.payloads, Strings{"a"});
}

TEST(Segment, ARecordWhoseFirstSectorNeverCameIsATornTail) {
  Built built;
  built.add({"a"}).add({std::string(1000, 'x')});
  std::fill_n(built.bytes.begin() + static_cast<std::ptrdiff_t>(built.groups[1]), 512, '\0');
  const Seen seen = see(built);
  ASSERT_TRUE(seen.walked.has_value());
  EXPECT_EQ(seen.walked->torn->why, "a record has no beginning");
}

TEST(Segment, ABadGroupThatAValidOneFollowsIsCorruption) {
  Built built;
  built.add({"a"}).add({"b"}).add({"c"});
  built.flip(built.groups[1] + 48);
  const Seen seen = see(built);
  ASSERT_FALSE(seen.walked.has_value());
  EXPECT_EQ(seen.walked.error().code, Error::Code::Corrupt);
  EXPECT_TRUE(seen.walked.error().message.starts_with(
      "segment at offset " + std::to_string(built.groups[1]) +
      ": the checksum of a record is wrong, but a later group follows at offset " +
      std::to_string(built.groups[2])))
      << seen.walked.error().message;
}

TEST(Segment, ZeroesThatAValidGroupFollowsAreCorruption) {
  Built built;
  built.add({"a"}).add({"b"}).add({"c"});
  std::fill_n(built.bytes.begin() + static_cast<std::ptrdiff_t>(built.groups[1]), 64, '\0');
  EXPECT_FALSE(see(built).walked.has_value());
}

TEST(Segment, ACopyOfALaterRecordInAPayloadIsNoLaterGroup) {
  Built later;
  later.add({"a"}).add({"b"}).add({"c"});
  const std::string copy = later.bytes.substr(later.groups[2], 64);
  Built built;
  built.add({"a"}).add({"padding", copy + copy});
  built.flip(built.groups[1] + 48);
  const Seen seen = see(built);
  ASSERT_TRUE(seen.walked.has_value());
  EXPECT_TRUE(seen.walked->torn.has_value());
}

TEST(Segment, EndsBeforeTheNextOneBegins) {
  Built built;
  built.add({"a"}).add({"b"}).add({"void"});
  built.flip(built.groups[2]);
  const Seen seen = see(built, 12);
  ASSERT_TRUE(seen.walked.has_value());
  EXPECT_EQ(seen.payloads, (Strings{"a", "b"}));
  EXPECT_EQ(seen.walked->torn, std::nullopt);
}

TEST(Segment, ThatEndsTooEarlyForTheNextOneIsCorrupt) {
  EXPECT_FALSE(see(Built().add({"a"}), 12).walked.has_value());
  Built built;
  built.add({"a"}).add({"b"});
  built.flip(built.groups[1]);
  EXPECT_FALSE(see(built, 12).walked.has_value());
}

TEST(Segment, AGroupThatReachesIntoTheNextSegmentIsCorruption) {
  EXPECT_FALSE(see(Built().add({"a"}).add({"b", "c"}), 12).walked.has_value());
}

TEST(Segment, ARecordOutOfSequenceIsCorruptionEvenAtTheEnd) {
  Built built;
  built.add({"a"});
  built.sequence += 1;
  built.add({"b"});
  EXPECT_FALSE(see(built).walked.has_value());

  Built groups;
  groups.add({"a"});
  groups.group += 1;
  groups.add({"b"});
  EXPECT_FALSE(see(groups).walked.has_value());
}

TEST(Segment, FilledToTheLastByteEndsThere) {
  Built built;
  built.add({std::string(header.size - block_size - 56, 'x')});
  const Seen seen = see(built);
  ASSERT_TRUE(seen.walked.has_value());
  EXPECT_EQ(seen.walked->end, header.size);
  EXPECT_EQ(seen.walked->torn, std::nullopt);
}

TEST(SegmentNames, AreReadAsTheyAreWrittenAndNotOtherwise) {
  EXPECT_EQ(segment_name(42), "segment-000000000042");
  EXPECT_EQ(segment_number("segment-000000000042"), 42U);
  EXPECT_EQ(segment_number("segment-42"), std::nullopt);
  EXPECT_EQ(segment_number("segment-000000000042.tmp"), std::nullopt);
  EXPECT_EQ(segment_number("segment-00000000004x"), std::nullopt);
  EXPECT_EQ(snapshot_sequence("snapshot-00000000000000000007"), 7U);
  EXPECT_TRUE(is_unfinished("snapshot-00000000000000000007.tmp"));
  EXPECT_TRUE(is_unfinished("spare.tmp"));
  EXPECT_FALSE(is_unfinished("somebody's.tmp"));
}

}  // namespace
}  // namespace reeve::journal
