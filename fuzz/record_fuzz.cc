// Links: journal
//
// One record: any bytes are read without harm, and what is read is what was written, byte for byte.

#include "fuzz/input.h"
#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/record.h"

#include <string>

using namespace reeve;
using namespace reeve::journal;
using fuzz::require;

namespace {

constexpr Place place{.journal = {.bytes = {1, 2, 3}}, .segment = 1, .offset = 4096};

std::string bytes_of(const Record& record) {
  std::string bytes(encoded_size(record.entry.payload.size()), '\0');
  encode(record, place, bytes.data());
  return bytes;
}

// Gives the bytes the checksums that they would have, so that what is behind them is reached.
void mend(std::string& bytes) {
  if (bytes.size() < record_header_size) return;
  std::string where(32, '\0');
  for (std::size_t i = 0; i < 16; ++i) where[i] = static_cast<char>(place.journal.bytes[i]);
  store(where.data() + 16, place.segment);
  store(where.data() + 24, place.offset);
  const std::uint32_t header = crc32c(where + bytes.substr(0, 4) + bytes.substr(8, 36));
  store(bytes.data() + 44, header);
  const std::size_t size = encoded_size(load<std::uint32_t>(bytes.data()));
  store(bytes.data() + 4, crc32c(bytes.substr(44, size - 44), header));
}

void read(std::string_view bytes) {
  const AtPlace found = decode(bytes, place);
  if (const auto* decoded = std::get_if<Decoded>(&found)) {
    require(decoded->size <= bytes.size(), "a record is no longer than its bytes");
    require(bytes_of(decoded->record) == bytes.substr(0, decoded->size),
            "a record that is read is written with the same bytes");
    require(decode_header(bytes, place).has_value(), "a record has a header");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto mode = input.take<std::uint8_t>();
  if (mode % 3 == 0) {
    read(input.rest());
  } else if (mode % 3 == 1) {
    std::string bytes(input.rest());
    mend(bytes);
    read(bytes);
  } else {
    Record record;
    record.sequence = input.take<std::uint64_t>();
    record.group = input.take<std::uint64_t>();
    record.last_of_group = (input.take<std::uint8_t>() & 1U) != 0;
    record.entry.stamp.now = Time{Duration{input.take<std::int64_t>()}};
    record.entry.stamp.wall = Wall{Duration{input.take<std::int64_t>()}};
    record.entry.digest = input.take<std::uint64_t>();
    record.entry.payload = input.rest();
    const std::string bytes = bytes_of(record);
    const AtPlace found = decode(bytes, place);
    const auto* decoded = std::get_if<Decoded>(&found);
    require(decoded != nullptr && decoded->record == record, "a record is read as it was written");
  }
  return 0;
}
