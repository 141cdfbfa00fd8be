// Links: journal
//
// A segment with some groups, and then anything done to its bytes: what is read is always a
// beginning of what was written, and damage before a whole later group is never read over.

#include "fuzz/input.h"
#include "journal/segment.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace reeve;
using namespace reeve::journal;
using fuzz::require;

namespace {

constexpr SegmentHeader header{.journal = {.bytes = {1, 2, 3}},
                               .number = 1,
                               .first_sequence = 1,
                               .first_group = 1,
                               .size = 16384};

void read_anything(fuzz::Input& input) {
  std::string bytes = encode(header);
  bytes += input.rest();
  bytes.resize(std::max<std::size_t>(bytes.size(), 2 * block_size));
  (void)decode_segment_header(std::string_view(bytes).substr(block_size), "segment");
  Segment segment{
      .header = header, .path = "segment", .bytes = std::make_unique<SegmentInMemory>(bytes)};
  (void)walk(segment, no_limit, [](std::span<const Record>, Extent) { return Result<void>{}; });
}

void damage(fuzz::Input& input) {
  std::string bytes = encode(header);
  bytes.resize(header.size);
  std::vector<std::string> payloads;
  std::vector<Extent> groups;
  std::vector<std::pair<std::size_t, Extent>> all_records;  // with the number of their group
  std::uint64_t end = block_size;
  const std::size_t count = 1 + input.take<std::uint8_t>() % 6U;
  for (std::size_t group = 0; group < count; ++group) {
    const std::size_t records = 1 + input.take<std::uint8_t>() % 3U;
    const std::uint64_t begin = end;
    for (std::size_t i = 0; i < records; ++i) {
      payloads.emplace_back(input.take<std::uint8_t>(), static_cast<char>('a' + payloads.size()));
      Record record{.sequence = payloads.size(),
                    .group = group + 1,
                    .last_of_group = i + 1 == records,
                    .entry = {}};
      record.entry.payload = payloads.back();
      encode(record, {header.journal, header.number, end}, bytes.data() + end);
      const std::uint64_t next = end + encoded_size(payloads.back().size());
      all_records.push_back({group, {end, next}});
      end = next;
    }
    groups.push_back({begin, end});
  }

  const std::string whole = bytes;
  while (!input.empty()) {
    const std::size_t at = block_size + input.take<std::uint16_t>() % (header.size - block_size);
    bytes[at] = static_cast<char>(input.take<std::uint8_t>());
  }
  // How many groups are untouched from the first, and whether a whole record of a later one comes
  // after the first that is touched.
  const auto untouched = [&](const Extent& extent) {
    const auto begin = static_cast<std::ptrdiff_t>(extent.begin);
    const auto end_of = static_cast<std::ptrdiff_t>(extent.end);
    return std::equal(whole.begin() + begin, whole.begin() + end_of, bytes.begin() + begin);
  };
  const auto first_bad = std::ranges::find_if_not(groups, untouched);
  const auto prefix = static_cast<std::size_t>(first_bad - groups.begin());
  const bool followed = std::ranges::any_of(all_records, [&](const auto& record) {
    return record.first > prefix && untouched(record.second);
  });

  Segment segment{
      .header = header, .path = "segment", .bytes = std::make_unique<SegmentInMemory>(bytes)};
  std::size_t seen = 0;
  std::size_t groups_seen = 0;
  const Result<Walked> walked =
      walk(segment, no_limit, [&](std::span<const Record> group, Extent extent) {
        require(extent == groups.at(groups_seen++), "groups stand where they were written");
        for (const Record& record : group) {
          require(record.entry.payload == payloads.at(seen++), "records are as they were written");
        }
        return Result<void>{};
      });
  require(groups_seen == prefix, "all groups before the damage are read, and no other");
  require(!followed || !walked, "damage that a record of a later group follows is refused");
  require(followed || walked.has_value(), "damage that nothing follows is a torn tail");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  if (input.take<std::uint8_t>() % 2 == 0) {
    read_anything(input);
  } else {
    damage(input);
  }
  return 0;
}
