#include "journal/record.h"

#include "base/check.h"
#include "base/planted.h"
#include "journal/crc32c.h"
#include "journal/little_endian.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace reeve::journal {

namespace {

// Offsets within a record.
constexpr std::size_t at_length = 0;
constexpr std::size_t at_crc = 4;
constexpr std::size_t at_sequence = 8;
constexpr std::size_t at_group = 16;
constexpr std::size_t at_engine = 24;
constexpr std::size_t at_wall = 32;
constexpr std::size_t at_type = 40;
constexpr std::size_t at_flags = 41;
constexpr std::size_t at_zero = 42;
constexpr std::size_t at_header_crc = 44;

constexpr std::uint8_t flag_last_of_group = 1;

// Of the place and the header up to its own checksum; the record's goes on from there. Whole words
// are gathered first: what was stored a moment ago in smaller pieces is slow to load.
std::uint32_t header_crc(std::string_view record, const Place& place) {
  const char* const data = record.data();
  const auto sequence = load<std::uint64_t>(data + at_sequence);
  const auto group = load<std::uint64_t>(data + at_group);
  const auto engine = load<std::uint64_t>(data + at_engine);
  const auto wall = load<std::uint64_t>(data + at_wall);
  std::array<char, 72> bytes;
  std::memcpy(bytes.data(), place.journal.bytes.data(), 16);
  store(bytes.data() + 16, place.segment);
  store(bytes.data() + 24, place.offset);
  store(bytes.data() + 32, load<std::uint32_t>(data + at_length) | sequence << 32U);
  store(bytes.data() + 40, sequence >> 32U | group << 32U);
  store(bytes.data() + 48, group >> 32U | engine << 32U);
  store(bytes.data() + 56, engine >> 32U | wall << 32U);
  store(bytes.data() + 64, wall >> 32U | std::uint64_t{load<std::uint32_t>(data + at_type)} << 32U);
  return crc32c({bytes.data(), bytes.size()});
}

// Of all that follows the header's checksum, and of that.
std::uint32_t whole_crc(std::string_view record, std::uint32_t header) {
  const std::uint32_t crc =
      crc32c(record.substr(at_header_crc, record_header_size - at_header_crc), header);
  return crc32c(record.substr(record_header_size), crc);
}

Record header_of(std::string_view bytes) {
  const char* const data = bytes.data();
  return {.sequence = load<std::uint64_t>(data + at_sequence),
          .group = load<std::uint64_t>(data + at_group),
          .last_of_group = (load<std::uint8_t>(data + at_flags) & flag_last_of_group) != 0,
          .entry = {.type = static_cast<RecordType>(load<std::uint8_t>(data + at_type)),
                    .stamp = {.now = Time{Duration{load<std::int64_t>(data + at_engine)}},
                              .wall = Wall{Duration{load<std::int64_t>(data + at_wall)}}},
                    .payload = {},
                    .digest = 0}};
}

// What in a whole record is from a version to come, if anything.
std::string unknown_in(std::string_view record, std::size_t length) {
  const auto type = load<std::uint8_t>(record.data() + at_type);
  if (type != static_cast<std::uint8_t>(RecordType::Input)) {
    return fmt::format("a record of type {}", type);
  }
  const auto flags = load<std::uint8_t>(record.data() + at_flags);
  if ((flags & ~flag_last_of_group) != 0) return fmt::format("a record with flags {:#x}", flags);
  const std::string_view padding =
      record.substr(record_header_size + length,
                    record.size() - record_trailer_size - record_header_size - length);
  if (load<std::uint16_t>(record.data() + at_zero) != 0 ||
      std::ranges::any_of(padding, [](char byte) { return byte != 0; })) {
    return "a record with content where this version has none";
  }
  return {};
}

}  // namespace

void encode(const Record& record, const Place& place, char* out) {
  const std::string_view payload = record.entry.payload;
  CHECK(payload.size() <= std::numeric_limits<std::uint32_t>::max());
  CHECK(place.offset % record_alignment == 0);
  const std::size_t size = encoded_size(payload.size());

  store(out + at_length, static_cast<std::uint32_t>(payload.size()));
  store(out + at_sequence, record.sequence);
  store(out + at_group, record.group);
  store(out + at_engine, record.entry.stamp.now.time_since_epoch().count());
  store(out + at_wall, record.entry.stamp.wall.time_since_epoch().count());
  // The type, the flags and two bytes of zero, as one word.
  const std::uint32_t flags = record.last_of_group ? flag_last_of_group : 0U;
  store(out + at_type, static_cast<std::uint8_t>(record.entry.type) | flags << 8U);

  char* const padding = std::ranges::copy(payload, out + record_header_size).out;
  char* const trailer = out + size - record_trailer_size;
  std::fill(padding, trailer, '\0');
  store(trailer, record.entry.digest);

  const std::string_view whole(out, size);
  const std::uint32_t crc = header_crc(whole, place);
  store(out + at_header_crc, crc);
  store(out + at_crc, whole_crc(whole, crc));
}

std::optional<Record> decode_header(std::string_view bytes, const Place& place) {
  if (bytes.size() < record_header_size) return std::nullopt;
  if (load<std::uint32_t>(bytes.data() + at_header_crc) != header_crc(bytes, place)) {
    return std::nullopt;
  }
  return header_of(bytes);
}

AtPlace decode(std::string_view bytes, const Place& place) {
  if (bytes.size() < record_header_size) {
    const bool zero = std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
    return zero ? AtPlace{Nothing{}} : AtPlace{Bad{"the file ends in the middle of a record"}};
  }
  const std::uint32_t crc = header_crc(bytes, place);
  if (crc != load<std::uint32_t>(bytes.data() + at_header_crc)) {
    const bool zero = std::ranges::all_of(bytes.substr(0, record_header_size),
                                          [](char byte) { return byte == 0; });
    if (zero) return Nothing{};
    if (!planted(Bug::NoChecksum)) return Bad{"the checksum of a record's header is wrong"};
  }
  const std::size_t length = load<std::uint32_t>(bytes.data() + at_length);
  const std::size_t size = encoded_size(length);
  if (size > bytes.size()) return Bad{"a record is longer than the rest of the file"};
  const std::string_view whole = bytes.substr(0, size);
  if (load<std::uint32_t>(bytes.data() + at_crc) != whole_crc(whole, crc) &&
      !planted(Bug::NoChecksum)) {
    return Bad{"the checksum of a record is wrong"};
  }

  Record record = header_of(whole);
  record.entry.payload = whole.substr(record_header_size, length);
  record.entry.digest = load<std::uint64_t>(whole.data() + size - record_trailer_size);
  if (std::string what = unknown_in(whole, length); !what.empty()) {
    return Unknown{.what = std::move(what), .record = record};
  }
  return Decoded{.record = record, .size = size};
}

}  // namespace reeve::journal
