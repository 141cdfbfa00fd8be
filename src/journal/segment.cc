#include "journal/segment.h"

#include "base/check.h"
#include "base/planted.h"
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

std::unexpected<Error> corrupt(const std::string& path,
                               std::uint64_t offset,
                               std::string_view why) {
  return fail(Error::Code::Corrupt, fmt::format("{} at offset {}: {}", path, offset, why));
}

std::unexpected<Error> corrupt_at(const Segment& segment,
                                  std::uint64_t offset,
                                  std::string_view why) {
  return corrupt(segment.path, offset, why);
}

constexpr std::size_t window_size = std::size_t{1} << 20U;

class SegmentWindow final : public SegmentBytes {
 public:
  SegmentWindow(std::unique_ptr<File> file, std::uint64_t size, std::string& buffer)
      : file_(std::move(file)), size_(size), buffer_(buffer) {}

  std::uint64_t size() const override { return size_; }
  void keep_from(std::uint64_t offset) override { keep_ = offset; }

  Result<std::string_view> view(std::uint64_t offset, std::size_t size) override {
    if (offset >= size_) return std::string_view();
    size = std::min<std::uint64_t>(size, size_ - offset);
    if (offset < begin_ || offset + size > begin_ + held_) {
      if (Result<void> got = fetch(std::min(offset, keep_), offset + size); !got) {
        return fail(got.error());
      }
      if (offset + size > begin_ + held_) {
        return fail(Error::Code::Io, "a segment became shorter while it was read");
      }
    }
    return std::string_view(buffer_).substr(offset - begin_, size);
  }

 private:
  // Twice of what is needed, so that a group larger than a window is read in few rounds.
  Result<void> fetch(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t wanted = std::max<std::uint64_t>(window_size, 2 * (end - begin));
    const std::uint64_t size = std::min(wanted, size_ - begin);
    if (buffer_.size() < size) buffer_.resize(size);
    const Result<std::size_t> got = file_->read(begin, std::span(buffer_).first(size));
    if (!got) return fail(got.error());
    begin_ = begin;
    held_ = *got;
    return {};
  }

  std::unique_ptr<File> file_;
  std::uint64_t size_;
  std::string& buffer_;
  std::uint64_t keep_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t held_ = 0;
};

Result<bool> zeroes_from(SegmentBytes& bytes, std::uint64_t at) {
  bytes.keep_from(bytes.size());
  for (; at < bytes.size(); at += window_size) {
    const Result<std::string_view> piece = bytes.view(at, window_size);
    if (!piece) return fail(piece.error());
    if (!all_zeroes(*piece)) return false;
  }
  return true;
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
  if (bytes.size() < header_size)
    return corrupt(path, bytes.size(), "is too short for a segment's header");
  if (!bytes.starts_with(magic)) return corrupt(path, 0, "does not begin like a segment");
  if (load<std::uint32_t>(bytes.data() + 12) != header_crc(bytes)) {
    return corrupt(path, 12, "the checksum of the segment's header is wrong");
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
    return corrupt(path, 40, "its header counts from zero");
  }
  return header;
}

namespace {

Result<SegmentHeader> header_of(File& file, std::uint64_t number, const std::string& path) {
  std::string bytes(header_size, '\0');
  const Result<std::size_t> got = file.read(0, bytes);
  if (!got) return fail(got.error());
  bytes.resize(*got);
  Result<SegmentHeader> header = decode_segment_header(bytes, path);
  if (!header) return header;
  if (header->number != number) {
    return corrupt(path, 32, fmt::format("is segment {} by its header", header->number));
  }
  const Result<std::uint64_t> size = file.size();
  if (!size) return fail(size.error());
  if (*size != header->size) {
    return corrupt(path, 56, fmt::format("has {} bytes and was made with {}", *size, header->size));
  }
  return header;
}

}  // namespace

Result<SegmentHeader> read_segment_header(Files& files, std::uint64_t number) {
  const std::string name = segment_name(number);
  const Result<std::unique_ptr<File>> file = files.open(name, Access::Read);
  if (!file) return fail(file.error());
  return header_of(**file, number, files.path_of(name));
}

Result<Segment> open_segment(Files& files, std::uint64_t number, std::string& buffer) {
  const std::string name = segment_name(number);
  Result<std::unique_ptr<File>> file = files.open(name, Access::Read);
  if (!file) return fail(file.error());
  const Result<SegmentHeader> header = header_of(**file, number, files.path_of(name));
  if (!header) return fail(header.error());
  return Segment{.header = *header,
                 .path = files.path_of(name),
                 .bytes = std::make_unique<SegmentWindow>(std::move(*file), header->size, buffer)};
}

Result<std::optional<std::uint64_t>> find_later_group(Segment& segment,
                                                      std::uint64_t from,
                                                      Group group) {
  if (from >= segment.bytes->size() || planted(Bug::CorruptionCut)) return std::nullopt;
  const Result<std::string_view> rest = segment.bytes->view(from, segment.bytes->size() - from);
  if (!rest) return fail(rest.error());
  for (std::size_t at = 0; at + record_header_size <= rest->size(); at += record_alignment) {
    // Most of what follows a tail is zeroes, and no record has the sequence zero.
    if (load<std::uint64_t>(rest->data() + at + 8) == 0) continue;
    const Place place{segment.header.journal, segment.header.number, from + at};
    const std::optional<Record> header = decode_header(rest->substr(at), place);
    if (!header || header->group <= group) continue;
    const AtPlace found = decode(rest->substr(at), place);
    if (!std::holds_alternative<Bad>(found)) return from + at;
  }
  return std::nullopt;
}

std::vector<Record> group_in(const SegmentHeader& header, Extent extent, std::string_view bytes) {
  std::vector<Record> group;
  for (std::uint64_t at = extent.begin; at < extent.end;) {
    const Place place{header.journal, header.number, at};
    const AtPlace found = decode(bytes.substr(at - extent.begin), place);
    const auto* const decoded = std::get_if<Decoded>(&found);
    CHECK(decoded != nullptr);
    group.push_back(decoded->record);
    at += decoded->size;
  }
  return group;
}

namespace {

// One walk through one segment.
class Walker {
 public:
  Walker(Segment& segment, Sequence limit, const SegmentVisitor& visitor)
      : segment_(segment), limit_(limit), visitor_(visitor) {
    walked_.next_sequence = segment.header.first_sequence;
    walked_.next_group = segment.header.first_group;
    walked_.end = block_size;
  }

  Result<Walked> run() {
    segment_.bytes->keep_from(at_);
    while (walked_.next_sequence < limit_) {
      const Result<bool> more = step();
      if (!more) return fail(more.error());
      if (!*more) break;
    }
    if (walked_.next_sequence == limit_) return walked_;
    if (Result<void> ended = judge_end(); !ended) return fail(ended.error());
    return walked_;
  }

 private:
  Sequence expected() const { return walked_.next_sequence + group_.size(); }

  // What stands here, with as much of the segment as it says it needs.
  Result<AtPlace> look() {
    const Place place{segment_.header.journal, segment_.header.number, at_};
    Result<std::string_view> bytes = segment_.bytes->view(at_, record_header_size);
    if (!bytes) return fail(bytes.error());
    if (bytes->size() == record_header_size) {
      const char* const header = bytes->data();
      const std::size_t size = encoded_size(load<std::uint32_t>(header));
      if (size <= segment_.bytes->size() - at_) bytes = segment_.bytes->view(at_, size);
      if (!bytes) return fail(bytes.error());
    }
    return decode(*bytes, place);
  }

  // Whether the walk goes on.
  Result<bool> step() {
    const Result<AtPlace> found = look();
    if (!found) return fail(found.error());
    if (const auto* unknown = std::get_if<Unknown>(&*found)) {
      return fail(Error::Code::Conflict,
                  fmt::format("{} at offset {}: holds {}, which this program does not know; use "
                              "the version of Reeve that wrote it",
                              segment_.path,
                              at_,
                              unknown->what));
    }
    if (const auto* broken = std::get_if<Bad>(&*found)) {
      bad_ = broken->why;
      return false;
    }
    const auto* const decoded = std::get_if<Decoded>(&*found);
    if (decoded == nullptr) return false;

    const Record& record = decoded->record;
    if ((record.sequence != expected() || record.group != walked_.next_group) &&
        !planted(Bug::NoSequenceCheck)) {
      return corrupt_at(segment_,
                        at_,
                        fmt::format("holds record {} of group {} where record {} of group {} "
                                    "belongs",
                                    record.sequence,
                                    record.group,
                                    expected(),
                                    walked_.next_group));
    }
    group_.push_back(record);
    offsets_.push_back(at_);
    at_ += decoded->size;
    if (record.last_of_group) {
      if (Result<void> ended = end_group(); !ended) return fail(ended.error());
    }
    return true;
  }

  Result<void> end_group() {
    const Sequence last = group_.back().sequence;
    if (last >= limit_) {
      return corrupt_at(segment_,
                        walked_.end,
                        fmt::format("a group goes on to record {}, but the next segment begins "
                                    "with {}",
                                    last,
                                    limit_));
    }
    // The window may have moved since a record was looked at.
    const Extent extent{.begin = walked_.end, .end = at_};
    const Result<std::string_view> bytes =
        segment_.bytes->view(extent.begin, extent.end - extent.begin);
    if (!bytes) return fail(bytes.error());
    for (std::size_t i = 0; i < group_.size(); ++i) {
      std::string_view& payload = group_[i].entry.payload;
      payload = bytes->substr(offsets_[i] - extent.begin + record_header_size, payload.size());
    }
    if (Result<void> seen = visitor_(group_, extent); !seen) return seen;
    walked_.next_sequence = last + 1;
    ++walked_.next_group;
    walked_.end = at_;
    walked_.last = extent;
    group_.clear();
    offsets_.clear();
    segment_.bytes->keep_from(at_);
    return {};
  }

  // There is no further record. Whether that is right, a torn tail, or damage.
  Result<void> judge_end() {
    if (planted(Bug::NoGroupCheck) && !group_.empty()) return end_group();
    if (bad_.empty() && !group_.empty()) bad_ = "a group ends before its last record";
    if (limit_ != no_limit && !planted(Bug::NoSequenceCheck)) {
      return corrupt_at(segment_,
                        at_,
                        fmt::format("{}, but the next segment begins with record {}",
                                    bad_.empty() ? "the records end" : bad_,
                                    limit_));
    }
    if (bad_.empty()) {
      const Result<bool> zeroes = zeroes_from(*segment_.bytes, at_);
      if (!zeroes) return fail(zeroes.error());
      if (*zeroes) return {};
    }
    const Result<std::optional<std::uint64_t>> later =
        find_later_group(segment_, at_, walked_.next_group);
    if (!later) return fail(later.error());
    if (*later) {
      return corrupt_at(segment_,
                        at_,
                        fmt::format("{}, but a later group follows at offset {}",
                                    bad_.empty() ? "the records end" : bad_,
                                    **later));
    }
    walked_.torn = TornTail{.file = segment_.path,
                            .offset = walked_.end,
                            .first_sequence = walked_.next_sequence,
                            .why = bad_.empty() ? "a record has no beginning" : bad_};
    return {};
  }

  Segment& segment_;
  Sequence limit_;
  const SegmentVisitor& visitor_;
  Walked walked_;
  std::vector<Record> group_;  // so far
  std::vector<std::uint64_t> offsets_;
  std::uint64_t at_ = block_size;
  std::string bad_;  // why the walk cannot go on, if it cannot
};

}  // namespace

Result<Walked> walk(Segment& segment, Sequence limit, const SegmentVisitor& visitor) {
  return Walker(segment, limit, visitor).run();
}

}  // namespace reeve::journal
