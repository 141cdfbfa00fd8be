#include "journal/snapshot_file.h"

#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <string>

namespace reeve::journal {
namespace {

const SnapshotHeader header{.journal = small_options().fresh_id,
                            .moment = {.sequence = 99, .stamp = entry("").stamp}};
const SnapshotEnd end{
    .chunks = 0, .raw_bytes = 0, .digest = 0xfeed, .durable_sequence = 101, .durable_group = 50};

void write(Scratch& scratch, const std::string& content, bool compress, std::size_t chunk = 100) {
  const auto file = scratch.files().create("s", Access::Write);
  SnapshotEncoder encoder(**file, header, chunk, compress);
  for (std::size_t at = 0; at < content.size(); at += 33) {
    ASSERT_TRUE(encoder.append(std::string_view(content).substr(at, 33)).has_value());
  }
  ASSERT_TRUE(encoder.finish(end).has_value());
}

Result<std::string> content(Scratch& scratch) {
  const auto decoder = SnapshotDecoder::open(scratch.files(), "s");
  if (!decoder) return fail(decoder.error());
  std::string all;
  for (;;) {
    const auto chunk = (*decoder)->next();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) return all;
    all += *chunk;
  }
}

std::string some_content() {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "item " + std::to_string(i * 7919) + "\n";
  return text;
}

TEST(Snapshot, IsReadAsItWasWrittenCompressedOrNot) {
  for (const bool compress : {true, false}) {
    Scratch scratch;
    write(scratch, some_content(), compress);
    EXPECT_EQ(content(scratch).value(), some_content());
    const auto verified = verify_snapshot(scratch.files(), "s");
    ASSERT_TRUE(verified.has_value());
    EXPECT_EQ(verified->header, header);
    EXPECT_EQ(verified->end.digest, 0xfeedU);
    EXPECT_EQ(verified->end.durable_sequence, 101U);
    EXPECT_EQ(verified->info.raw_bytes, some_content().size());
    EXPECT_EQ(verified->info.stored_bytes, scratch.bytes("s").size());
  }
}

TEST(Snapshot, CompressesWhatCanBeCompressed) {
  Scratch scratch;
  write(scratch, std::string(100000, 'a'), true, 100000);
  EXPECT_LT(scratch.bytes("s").size(), 1000U);
  EXPECT_EQ(content(scratch).value(), std::string(100000, 'a'));
}

TEST(Snapshot, OfNothingIsASnapshot) {
  Scratch scratch;
  write(scratch, "", true);
  EXPECT_EQ(content(scratch).value(), "");
  EXPECT_TRUE(verify_snapshot(scratch.files(), "s").has_value());
}

TEST(Snapshot, CutAnywhereIsNone) {
  Scratch scratch;
  write(scratch, some_content().substr(0, 500), true);
  const std::string whole = scratch.bytes("s");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    scratch.put("s", whole.substr(0, size));
    const auto verified = verify_snapshot(scratch.files(), "s");
    ASSERT_FALSE(verified.has_value()) << size;
    EXPECT_EQ(verified.error().code, Error::Code::Corrupt);
  }
}

TEST(Snapshot, WithAnyBitTurnedAroundIsNone) {
  Scratch scratch;
  write(scratch, some_content().substr(0, 300), true);
  const std::string whole = scratch.bytes("s");
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += 3) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    scratch.put("s", bytes);
    EXPECT_FALSE(verify_snapshot(scratch.files(), "s").has_value()) << bit;
  }
}

TEST(Snapshot, WithSomethingBehindItsEndIsNone) {
  Scratch scratch;
  write(scratch, "x", true);
  scratch.put("s", scratch.bytes("s") + "y");
  EXPECT_FALSE(verify_snapshot(scratch.files(), "s").has_value());
}

TEST(Snapshot, WithChunksInAnotherOrderIsNone) {
  Scratch scratch;
  write(scratch, std::string(100, 'a') + std::string(100, 'b'), false);
  const std::string whole = scratch.bytes("s");
  const std::size_t chunk = 24 + 100;
  scratch.put("s",
              whole.substr(0, 64) + whole.substr(64 + chunk, chunk) + whole.substr(64, chunk) +
                  whole.substr(64 + 2 * chunk));
  EXPECT_FALSE(verify_snapshot(scratch.files(), "s").has_value());
  scratch.put("s", whole.substr(0, 64) + whole.substr(64 + chunk));
  EXPECT_FALSE(verify_snapshot(scratch.files(), "s").has_value());
}

// Turns a byte of a chunk around and makes its checksum right again, as a newer version would.
void say_more(Scratch& scratch, std::size_t chunk, std::size_t offset, char byte) {
  std::string bytes = scratch.bytes("s");
  bytes[chunk + offset] = byte;
  const std::uint32_t stored = load<std::uint32_t>(bytes.data() + chunk);
  std::uint32_t crc = crc32c(bytes.substr(16, 24));
  crc = crc32c(bytes.substr(chunk, 8), crc);
  crc = crc32c(bytes.substr(chunk + 12, 12 + stored), crc);
  store(bytes.data() + chunk + 8, crc);
  scratch.put("s", bytes);
}

TEST(Snapshot, WhatANewerVersionSaysWhereZeroesWereIsRefused) {
  for (const std::size_t offset : {13U, 14U, 15U}) {
    Scratch scratch;
    write(scratch, "x", false);
    say_more(scratch, 64, offset, 1);
    EXPECT_EQ(verify_snapshot(scratch.files(), "s").error().code, Error::Code::Conflict);
  }
  Scratch scratch;
  write(scratch, "x", false);
  say_more(scratch, 64 + 24 + 1, 4, 1);  // the end
  EXPECT_EQ(verify_snapshot(scratch.files(), "s").error().code, Error::Code::Conflict);

  write(scratch, "x", false);
  std::string bytes = scratch.bytes("s");
  bytes[60] = 1;
  store(bytes.data() + 12, crc32c(bytes.substr(16, 48), crc32c(bytes.substr(0, 12))));
  scratch.put("s", bytes);
  EXPECT_EQ(verify_snapshot(scratch.files(), "s").error().code, Error::Code::Conflict);
}

TEST(Snapshot, AChunkOfNothingIsNotTakenForTheEnd) {
  Scratch scratch;
  write(scratch, "x", false);
  std::string bytes = scratch.bytes("s");
  bytes.erase(64 + 24, 1);
  store(bytes.data() + 64, std::uint32_t{0});
  bytes[64 + 12] = 2;
  scratch.put("s", bytes);
  say_more(scratch, 64, 13, 0);
  EXPECT_EQ(verify_snapshot(scratch.files(), "s").error().code, Error::Code::Corrupt);
}

TEST(Snapshot, OfAnotherVersionIsRefusedAsSuch) {
  Scratch scratch;
  write(scratch, "x", true);
  std::string bytes = scratch.bytes("s");
  store(bytes.data() + 8, std::uint32_t{2});
  store(bytes.data() + 12, crc32c(bytes.substr(16, 48), crc32c(bytes.substr(0, 12))));
  scratch.put("s", bytes);
  EXPECT_EQ(verify_snapshot(scratch.files(), "s").error().code, Error::Code::Conflict);
}

}  // namespace
}  // namespace reeve::journal
