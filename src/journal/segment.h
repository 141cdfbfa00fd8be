#pragma once

#include "base/result.h"
#include "journal/files.h"
#include "journal/journal.h"
#include "journal/record.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A segment: one block with a header, then records to the end or to the zeroes it was made of. A
// group lies in one segment. A segment gets its name when everything before its first sequence is
// on stable storage; so only the last one can have a torn tail, and what a segment holds from the
// first sequence of the next one on is void: it was torn, or it was written again there.
namespace reeve::journal {

inline constexpr std::uint32_t segment_version = 1;

struct SegmentHeader {
  JournalId journal;
  std::uint64_t number = 0;
  Sequence first_sequence = 1;
  Group first_group = 1;
  std::uint64_t size = 0;  // of the file

  bool operator==(const SegmentHeader&) const = default;
};

// One block.
std::string encode(const SegmentHeader& header);

// Conflict for another version, Corrupt for everything else that is not a header.
Result<SegmentHeader> decode_segment_header(std::string_view bytes, const std::string& path);
Result<SegmentHeader> read_segment_header(Files& files, std::uint64_t number);

// A segment in memory.
struct SegmentView {
  SegmentHeader header;
  std::string_view bytes;  // of the whole file, the header's block included
  std::string path;
};

// The whole file into `buffer`, which only grows.
Result<SegmentView> read_segment(Files& files, std::uint64_t number, std::string& buffer);

// How far a walk came.
struct Walked {
  Sequence next_sequence = 0;
  Group next_group = 0;
  std::uint64_t end = 0;           // the offset after the last whole group
  std::vector<Record> last_group;  // views of the segment
  std::optional<TornTail> torn;    // only of a last segment
};

inline constexpr Sequence no_limit = std::numeric_limits<Sequence>::max();

// Shows the whole groups before `limit` to the visitor, in order. With a limit, all of them must
// be there. Without one this is the last segment: it ends in zeroes or in a torn tail, and a bad
// record that a valid later group follows is corruption. Unknown records are refused anywhere.
Result<Walked> walk(const SegmentView& segment, Sequence limit, const GroupVisitor& visitor);

// The offset of the first whole record of a group after `group`, from `from` on.
std::optional<std::uint64_t> find_later_group(const SegmentView& segment,
                                              std::uint64_t from,
                                              Group group);

}  // namespace reeve::journal
