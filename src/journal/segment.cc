#include "journal/segment.h"

#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace reeve::journal {

namespace {

constexpr std::string_view magic = "ReeveSeg";
constexpr std::size_t header_size = 64;

// The checksum stands between what it covers.
std::uint32_t header_crc(std::string_view header) {
  return crc32c(header.substr(16, header_size - 16), crc32c(header.substr(0, 12)));
}

// At the speed of memcmp: a segment is mostly zeroes when it is young.
bool all_zeroes(std::string_view bytes) {
  return bytes.empty() ||
         (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::unexpected<Error> corrupt(const std::string& path, std::string_view why) {
  return fail(Error::Code::Corrupt, fmt::format("{}: {}", path, why));
}

std::unexpected<Error> corrupt_at(const SegmentView& segment,
                                  std::uint64_t offset,
                                  std::string_view why) {
  return fail(Error::Code::Corrupt,
              fmt::format("{} at offset {}: {}. Nothing was changed; `reeve journal verify` tells "
                          "more, `reeve journal salvage` rescues what comes before",
                          segment.path,
                          offset,
                          why));
}

}  // namespace

std::string encode(const SegmentHeader& header) {
  std::string block(block_size, '\0');
  char* const out = block.data();
  std::ranges::copy(magic, out);
  store(out + 8, segment_version);
  std::ranges::copy(header.journal.bytes, out + 16);
  store(out + 32, header.number);
  store(out + 40, header.first_sequence);
  store(out + 48, header.first_group);
  store(out + 56, header.size);
  store(out + 12, header_crc(block));
  return block;
}

Result<SegmentHeader> decode_segment_header(std::string_view bytes, const std::string& path) {
  if (bytes.size() < header_size) return corrupt(path, "is too short for a segment's header");
  if (!bytes.starts_with(magic)) return corrupt(path, "does not begin like a segment");
  if (load<std::uint32_t>(bytes.data() + 12) != header_crc(bytes)) {
    return corrupt(path, "the checksum of the segment's header is wrong");
  }
  const auto version = load<std::uint32_t>(bytes.data() + 8);
  if (version != segment_version) {
    return fail(Error::Code::Conflict,
                fmt::format("{}: has version {} and this program reads {}; use the version of "
                            "Reeve that wrote it",
                            path,
                            version,
                            segment_version));
  }
  SegmentHeader header;
  std::ranges::copy(bytes.substr(16, 16), header.journal.bytes.begin());
  header.number = load<std::uint64_t>(bytes.data() + 32);
  header.first_sequence = load<std::uint64_t>(bytes.data() + 40);
  header.first_group = load<std::uint64_t>(bytes.data() + 48);
  header.size = load<std::uint64_t>(bytes.data() + 56);
  if (header.first_sequence == 0 || header.first_group == 0) {
    return corrupt(path, "its header counts from zero");
  }
  return header;
}

Result<SegmentHeader> read_segment_header(Files& files, std::uint64_t number) {
  const std::string name = segment_name(number);
  const std::string path = files.path_of(name);
  const Result<std::unique_ptr<File>> file = files.open(name, Access::Read);
  if (!file) return fail(file.error());
  std::string bytes(header_size, '\0');
  const Result<std::size_t> got = (*file)->read(0, bytes);
  if (!got) return fail(got.error());
  bytes.resize(*got);
  Result<SegmentHeader> header = decode_segment_header(bytes, path);
  if (!header) return header;
  if (header->number != number) {
    return corrupt(path, fmt::format("is segment {} by its header", header->number));
  }
  const Result<std::uint64_t> size = (*file)->size();
  if (!size) return fail(size.error());
  if (*size != header->size) {
    return corrupt(path,
                   fmt::format("has {} bytes and was made with {}", *size, header->size));
  }
  return header;
}

Result<SegmentView> read_segment(Files& files, std::uint64_t number, std::string& buffer) {
  const Result<SegmentHeader> header = read_segment_header(files, number);
  if (!header) return fail(header.error());
  const std::string name = segment_name(number);
  const Result<std::unique_ptr<File>> file = files.open(name, Access::Read);
  if (!file) return fail(file.error());
  if (buffer.size() < header->size) buffer.resize(header->size);
  const Result<std::size_t> got = (*file)->read(0, std::span(buffer).first(header->size));
  if (!got) return fail(got.error());
  return SegmentView{.header = *header,
                     .bytes = std::string_view(buffer).substr(0, *got),
                     .path = files.path_of(name)};
}

std::optional<std::uint64_t> find_later_group(const SegmentView& segment,
                                              std::uint64_t from,
                                              Group group) {
  const std::string_view bytes = segment.bytes;
  for (std::uint64_t at = from; at + record_header_size <= bytes.size(); at += record_alignment) {
    // Most of what follows a tail is zeroes, and no record begins with a header of zeroes.
    if (load<std::uint64_t>(bytes.data() + at + 8) == 0) continue;
    const Place place{segment.header.journal, segment.header.number, at};
    const std::optional<Record> header = decode_header(bytes.substr(at), place);
    if (!header || header->group <= group) continue;
    const AtPlace found = decode(bytes.substr(at), place);
    if (!std::holds_alternative<Bad>(found)) return at;
  }
  return std::nullopt;
}

Result<Walked> walk(const SegmentView& segment, Sequence limit, const GroupVisitor& visitor) {
  Walked walked{.next_sequence = segment.header.first_sequence,
                .next_group = segment.header.first_group,
                .end = block_size,
                .last_group = {},
                .torn = {}};
  std::vector<Record> group;
  std::uint64_t at = block_size;
  std::string bad;  // why the walk cannot go on, if it cannot

  while (walked.next_sequence < limit) {
    const Sequence expected = walked.next_sequence + group.size();
    const Place place{segment.header.journal, segment.header.number, at};
    const AtPlace found =
        decode(at < segment.bytes.size() ? segment.bytes.substr(at) : std::string_view(), place);
    if (const auto* unknown = std::get_if<Unknown>(&found)) {
      return fail(Error::Code::Conflict,
                  fmt::format("{} at offset {}: holds {}, which this program does not know; use "
                              "the version of Reeve that wrote it",
                              segment.path,
                              at,
                              unknown->what));
    }
    if (const auto* broken = std::get_if<Bad>(&found)) {
      bad = broken->why;
      break;
    }
    const auto* decoded = std::get_if<Decoded>(&found);
    if (decoded == nullptr) break;

    const Record& record = decoded->record;
    if (record.sequence != expected || record.group != walked.next_group) {
      return corrupt_at(segment,
                        at,
                        fmt::format("holds record {} of group {} where record {} of group {} "
                                    "belongs",
                                    record.sequence,
                                    record.group,
                                    expected,
                                    walked.next_group));
    }
    group.push_back(record);
    at += decoded->size;
    if (!record.last_of_group) continue;

    if (expected >= limit) {
      return corrupt_at(segment,
                        walked.end,
                        fmt::format("a group goes on to record {}, but the next segment begins "
                                    "with {}",
                                    expected,
                                    limit));
    }
    if (Result<void> seen = visitor(group); !seen) return fail(std::move(seen.error()));
    walked.next_sequence = expected + 1;
    ++walked.next_group;
    walked.end = at;
    std::swap(walked.last_group, group);
    group.clear();
  }
  if (walked.next_sequence == limit) return walked;

  if (bad.empty() && !group.empty()) bad = "a group ends before its last record";
  if (limit != no_limit) {
    if (bad.empty()) bad = "the records end";
    return corrupt_at(segment,
                      at,
                      fmt::format("{}, but the next segment begins with record {}", bad, limit));
  }
  if (bad.empty() && (at >= segment.bytes.size() || all_zeroes(segment.bytes.substr(at)))) {
    return walked;
  }
  if (const auto later = find_later_group(segment, at, walked.next_group)) {
    if (bad.empty()) bad = "the records end";
    return corrupt_at(
        segment, at, fmt::format("{}, but a later group follows at offset {}", bad, *later));
  }
  walked.torn = TornTail{.file = segment.path,
                         .offset = walked.end,
                         .first_sequence = walked.next_sequence,
                         .why = bad.empty() ? "a record has no beginning" : bad};
  return walked;
}

}  // namespace reeve::journal
