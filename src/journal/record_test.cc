#include "journal/record.h"

#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace reeve::journal {
namespace {

const Place here{.journal = small_options().fresh_id, .segment = 3, .offset = 4096};

Record sample(std::string_view payload) {
  return {.sequence = 41, .group = 12, .last_of_group = true, .entry = entry(payload)};
}

std::string bytes_of(const Record& record, const Place& place = here) {
  std::string bytes(encoded_size(record.entry.payload.size()), '?');
  encode(record, place, bytes.data());
  return bytes;
}

// As a version to come might write it: whole, but with another byte in its header.
std::string with_header_byte(std::string bytes, std::size_t at, char value) {
  bytes[at] = value;
  std::string where(32, '\0');
  for (std::size_t i = 0; i < 16; ++i) where[i] = static_cast<char>(here.journal.bytes[i]);
  store(where.data() + 16, here.segment);
  store(where.data() + 24, here.offset);
  const std::string covered = where + bytes.substr(0, 4) + bytes.substr(8, 36);
  store(bytes.data() + 44, crc32c(covered));
  store(bytes.data() + 4, crc32c(bytes.substr(44), crc32c(covered)));
  return bytes;
}

TEST(Record, StandsInTheFileFieldByField) {
  const std::string bytes = bytes_of(sample("hello"));
  EXPECT_EQ(bytes.size(), 64U);
  EXPECT_EQ(load<std::uint32_t>(bytes.data()), 5U);
  EXPECT_EQ(load<std::uint64_t>(bytes.data() + 8), 41U);
  EXPECT_EQ(load<std::uint64_t>(bytes.data() + 16), 12U);
  EXPECT_EQ(load<std::int64_t>(bytes.data() + 24), 7);
  EXPECT_EQ(load<std::int64_t>(bytes.data() + 32), 1'700'000'000'000);
  EXPECT_EQ(load<std::uint8_t>(bytes.data() + 40), 1);  // an input
  EXPECT_EQ(load<std::uint8_t>(bytes.data() + 41), 1);  // the last of its group
  EXPECT_EQ(load<std::uint16_t>(bytes.data() + 42), 0);
  EXPECT_EQ(bytes.substr(48, 8), std::string("hello\0\0\0", 8));
  EXPECT_EQ(load<std::uint64_t>(bytes.data() + 56), 0xd1U);
}

RC_GTEST_PROP(Record, IsReadAsItWasWritten, (std::string payload, bool last)) {
  Record record = sample(payload);
  record.last_of_group = last;
  const std::string bytes = bytes_of(record) + "what follows";
  const AtPlace found = decode(bytes, here);
  RC_ASSERT(std::get<Decoded>(found).record == record);
  RC_ASSERT(std::get<Decoded>(found).size == encoded_size(payload.size()));
}

TEST(Record, WithAnyBitTurnedAroundIsBad) {
  const std::string good = bytes_of(sample("some payload"));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(std::holds_alternative<Bad>(decode(bytes, here))) << "bit " << bit;
  }
}

TEST(Record, IsValidInItsOwnPlaceOnly) {
  const std::string bytes = bytes_of(sample("x"));
  Place other = here;
  other.offset += 8;
  EXPECT_TRUE(std::holds_alternative<Bad>(decode(bytes, other)));
  other = here;
  other.segment += 1;
  EXPECT_TRUE(std::holds_alternative<Bad>(decode(bytes, other)));
  other = here;
  other.journal.bytes[5] ^= 1U;
  EXPECT_TRUE(std::holds_alternative<Bad>(decode(bytes, other)));
}

TEST(Record, CutShortIsBad) {
  const std::string bytes = bytes_of(sample("some payload"));
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_TRUE(std::holds_alternative<Bad>(decode(std::string_view(bytes).substr(0, size), here)));
  }
}

TEST(Record, WhereOnlyZeroesAreNothingWasWritten) {
  EXPECT_TRUE(std::holds_alternative<Nothing>(decode(std::string(100, '\0'), here)));
  EXPECT_TRUE(std::holds_alternative<Nothing>(decode(std::string(47, '\0'), here)));
  EXPECT_TRUE(std::holds_alternative<Nothing>(decode("", here)));
}

TEST(Record, OfAnUnknownTypeIsKnownToBeUnknown) {
  const std::string bytes = with_header_byte(bytes_of(sample("x")), 40, 9);
  const AtPlace found = decode(bytes, here);
  ASSERT_TRUE(std::holds_alternative<Unknown>(found));
  EXPECT_EQ(std::get<Unknown>(found).what, "a record of type 9");
}

TEST(Record, WithUnknownFlagsOrContentIsKnownToBeUnknown) {
  const std::string good = bytes_of(sample("x"));
  EXPECT_TRUE(std::holds_alternative<Unknown>(decode(with_header_byte(good, 41, 3), here)));
  EXPECT_TRUE(std::holds_alternative<Unknown>(decode(with_header_byte(good, 42, 1), here)));
  EXPECT_TRUE(std::holds_alternative<Unknown>(decode(with_header_byte(good, 50, 1), here)));
}

TEST(Record, ShowsItsHeaderByItself) {
  const std::string bytes = bytes_of(sample("x"));
  const auto header = decode_header(std::string_view(bytes).substr(0, 48), here);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->group, 12U);
  EXPECT_FALSE(decode_header(std::string_view(bytes).substr(0, 47), here).has_value());
}

}  // namespace
}  // namespace reeve::journal
