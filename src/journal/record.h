#pragma once

#include "base/time.h"
#include "journal/journal_id.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

// One record and its bytes; docs/journal_format.md is the contract. The journal does not look into
// a payload.
//
// The checksum covers, beside the record, where it belongs: journal, segment and offset. A record
// is valid in its own place only, so a copy of one, be it in a payload or by a disk that wrote to
// the wrong place, is never taken for one.
namespace reeve::journal {

// Counts records from 1, without a gap.
using Sequence = std::uint64_t;

// Counts commits from 1, without a gap.
using Group = std::uint64_t;

// A reader that meets a type it does not know refuses the journal: it never skips one.
enum class RecordType : std::uint8_t { Input = 1 };

// What one wants remembered.
struct Entry {
  RecordType type = RecordType::Input;
  Stamp stamp;
  std::string_view payload;
  std::uint64_t digest = 0;  // of the answer to the input

  bool operator==(const Entry&) const = default;
};

struct Record {
  Sequence sequence = 0;
  Group group = 0;
  bool last_of_group = false;
  Entry entry;

  bool operator==(const Record&) const = default;
};

// Where a record stands, or is looked for.
struct Place {
  JournalId journal;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;  // a multiple of record_alignment

  bool operator==(const Place&) const = default;
};

inline constexpr std::size_t record_alignment = 8;
inline constexpr std::size_t record_header_size = 48;
inline constexpr std::size_t record_trailer_size = 8;

// Of the whole record with its padding, for a payload of this size.
constexpr std::size_t encoded_size(std::size_t payload) {
  const std::size_t padded = (payload + record_alignment - 1) / record_alignment * record_alignment;
  return record_header_size + padded + record_trailer_size;
}

// Writes encoded_size() bytes. The payload must be smaller than 4 GiB.
void encode(const Record& record, const Place& place, char* out);

// What stands at the beginning of `bytes`.
struct Decoded {
  Record record;  // its payload is a view of `bytes`
  std::size_t size = 0;
};
struct Nothing {};  // zeroes: nothing was ever written here
struct Bad {        // written, but not a whole record
  std::string why;
};
struct Unknown {  // a whole record of a kind that this version does not know
  std::string what;
  Record record;
};
using AtPlace = std::variant<Decoded, Nothing, Bad, Unknown>;
AtPlace decode(std::string_view bytes, const Place& place);

// Whether a header whose own checksum is right stands at the beginning of `bytes`, and what it says
// but for the payload: all that one look at few bytes can tell.
std::optional<Record> decode_header(std::string_view bytes, const Place& place);

}  // namespace reeve::journal
