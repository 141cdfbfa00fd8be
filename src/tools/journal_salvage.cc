#include "journal/names.h"
#include "journal/segment.h"
#include "journal/segment_writer.h"
#include "journal/snapshot_file.h"
#include "tools/journal_tool.h"
#include "tools/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace reeve::tools {

using namespace journal;

namespace {

constexpr std::uint64_t first_segment = std::uint64_t{1} << 20U;  // later ones double
constexpr std::uint64_t largest_segment = std::uint64_t{64} << 20U;
constexpr std::size_t chunk_size = std::size_t{256} << 10U;

class Salvage {
 public:
  Salvage(Files& files, Files& target, Shape shape, const Sink& out)
      : files_(files), target_(target), shape_(shape), out_(out) {}

  Result<void> run();

 private:
  void note(const std::string& text) const;
  void tell() const;
  Result<void> find_base();
  Result<void> copy_base();
  void read_headers();
  Result<void> copy_records();
  Result<void> copy_segment(std::size_t index);
  Result<void> write(std::span<const Record> group);
  Result<void> new_segment(Sequence sequence, Group group, std::uint64_t size);
  Result<void> begin_if_nothing_was_written();
  Result<void> count_beyond(Segment& segment, std::uint64_t from);

  Files& files_;
  Files& target_;
  Shape shape_;
  const Sink& out_;
  Listing listing_;
  std::optional<JournalId> id_;
  Sequence base_ = 0;
  Group base_group_ = 0;   // of what was durable when the base was finished
  Group first_group_ = 0;  // of what is written; 0: nothing yet
  std::vector<std::optional<SegmentHeader>> headers_;
  std::optional<SegmentWriter> writer_;
  Sequence next_ = 0;          // 0: no record yet
  std::uint64_t written_ = 0;  // records
  std::uint64_t beyond_ = 0;   // records that are whole but come after the damage
  bool stopped_ = false;
  std::string buffer_;
};

Result<void> Salvage::run() {
  const Result<std::vector<std::string>> there = target_.list();
  if (!there) return fail(there.error());
  if (!there->empty()) {
    return fail(Error::Code::Conflict,
                fmt::format("{} is not empty; name a new directory", target_.path_of("")));
  }
  const Result<std::vector<std::string>> names = files_.list();
  if (!names) return fail(names.error());
  listing_ = listing_of(*names);
  if (listing_.segments.empty() && listing_.snapshots.empty()) {
    return fail(Error::Code::NotFound,
                fmt::format("there is no journal in {}", files_.path_of("")));
  }
  if (Result<void> found = find_base(); !found) return found;
  read_headers();
  if (!id_) {
    return fail(Error::Code::Corrupt, fmt::format("nothing in {} can be read", files_.path_of("")));
  }
  if (Result<void> copied = copy_records(); !copied) return copied;
  if (Result<void> begun = begin_if_nothing_was_written(); !begun) return begun;
  // Last, so that what is left of an interrupted salvage does not start.
  if (Result<void> copied = copy_base(); !copied) return copied;
  if (Result<void> synced = target_.sync_directory(); !synced) return synced;
  tell();
  return {};
}

void Salvage::note(const std::string& text) const {
  out_(shape_ == Shape::Json ? fmt::format(R"({{"note":{}}})", json(text)) : text);
}

void Salvage::tell() const {
  const Sequence last = next_ == 0 ? base_ : next_ - 1;
  if (shape_ == Shape::Json) {
    out_(fmt::format(
        R"({{"records":{},"base":{},"last":{},"lost":{}}})", written_, base_, last, beyond_));
    return;
  }
  out_(fmt::format("salvaged {} records after {}, up to record {}",
                   written_,
                   base_ == 0 ? std::string("the beginning") : snapshot_name(base_),
                   last));
  if (beyond_ > 0) {
    out_(
        fmt::format("lost: {} records that can be read come after the damage and cannot be "
                    "applied",
                    beyond_));
  }
}

Result<void> Salvage::find_base() {
  for (auto it = listing_.snapshots.rbegin(); it != listing_.snapshots.rend(); ++it) {
    const Result<VerifiedSnapshot> found = verify_snapshot(files_, snapshot_name(*it));
    if (found) {
      base_ = *it;
      base_group_ = found->end.durable_group;
      id_ = found->header.journal;
      return {};
    }
    if (found.error().code == Error::Code::Conflict) return fail(found.error());
    note("lost: " + found.error().message);
  }
  return {};
}

void Salvage::read_headers() {
  for (const std::uint64_t number : listing_.segments) {
    const Result<SegmentHeader> header = read_segment_header(files_, number);
    const bool ours = header && (!id_ || *id_ == header->journal);
    if (ours) {
      id_ = header->journal;
      headers_.emplace_back(*header);
    } else {
      headers_.emplace_back();
      note("lost: " + (header ? segment_name(number) + " belongs to another journal"
                              : header.error().message));
    }
  }
}

// With another end: what was durable when it was finished may be among what is lost.
Result<void> Salvage::copy_base() {
  if (base_ == 0) return {};
  const std::string name = snapshot_name(base_);
  const Result<std::unique_ptr<SnapshotDecoder>> from = SnapshotDecoder::open(files_, name);
  if (!from) return fail(from.error());
  const Result<std::unique_ptr<File>> to = target_.create(name, Access::Write);
  if (!to) return fail(to.error());
  SnapshotEncoder encoder(**to, (*from)->header(), chunk_size, true);
  for (;;) {
    const Result<std::string_view> chunk = (*from)->next();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) break;
    if (Result<void> put = encoder.append(*chunk); !put) return put;
  }
  const Result<SnapshotEnd> end = encoder.finish({.digest = (*from)->end().digest,
                                                  .durable_sequence = base_,
                                                  .durable_group = first_group_ - 1});
  if (!end) return fail(end.error());
  return (*to)->sync();
}

// A journal has a segment from its first moment on.
Result<void> Salvage::begin_if_nothing_was_written() {
  if (writer_) return {};
  return new_segment(base_ + 1, base_group_ + 1, first_segment);
}

Result<void> Salvage::copy_records() {
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    if (!headers_[i]) {
      // What it held is missing, unless the next one shows that nobody needs it.
      const bool covered = i + 1 < headers_.size() && headers_[i + 1] &&
                           headers_[i + 1]->first_sequence <= base_ + 1;
      stopped_ = stopped_ || !covered;
      continue;
    }
    if (Result<void> copied = copy_segment(i); !copied) return copied;
  }
  return {};
}

Result<void> Salvage::copy_segment(std::size_t index) {
  const bool last = index + 1 == headers_.size();
  const bool open_end = last || !headers_[index + 1];
  const Sequence limit = open_end ? no_limit : headers_[index + 1]->first_sequence;
  if (limit <= base_ + 1) return {};
  Result<Segment> segment = open_segment(files_, headers_[index]->number, buffer_);
  if (!segment) return fail(segment.error());
  const Sequence wanted = next_ == 0 ? base_ + 1 : next_;
  if (!stopped_ && segment->header.first_sequence > wanted) {
    note(fmt::format("lost: records {} to {}", wanted, segment->header.first_sequence - 1));
    stopped_ = true;
  }
  std::uint64_t reached = block_size;
  std::optional<Error> write_error;
  const Result<Walked> walked =
      walk(*segment, limit, [&](std::span<const Record> group, Extent extent) -> Result<void> {
        reached = extent.end;
        if (group.back().sequence <= base_) return {};
        if (stopped_) {
          beyond_ += group.size();
          return {};
        }
        Result<void> written = write(group);
        if (!written) write_error = written.error();
        return written;
      });
  if (write_error) return fail(*write_error);
  if (!walked) {
    note("damage: " + walked.error().message);
    stopped_ = true;
    if (Result<void> counted = count_beyond(*segment, reached); !counted) return counted;
  } else if (walked->torn) {
    note(fmt::format("torn tail in {} at offset {}", walked->torn->file, walked->torn->offset));
  }
  return {};
}

// Groups that only the damage before them keeps from being read.
Result<void> Salvage::count_beyond(Segment& segment, std::uint64_t from) {
  for (;;) {
    const Result<std::optional<std::uint64_t>> at = find_later_group(segment, from, 0);
    if (!at) return fail(at.error());
    if (!*at) return {};
    const Place place{segment.header.journal, segment.header.number, **at};
    const Result<std::string_view> rest = segment.bytes->view(**at, segment.bytes->size() - **at);
    if (!rest) return fail(rest.error());
    const AtPlace found = decode(*rest, place);
    const auto* const decoded = std::get_if<Decoded>(&found);
    if (decoded != nullptr && decoded->record.sequence > base_) ++beyond_;
    from = **at + (decoded != nullptr ? decoded->size : record_alignment);
  }
}

Result<void> Salvage::write(std::span<const Record> group) {
  std::vector<Entry> entries;
  for (const Record& record : group) entries.push_back(record.entry);
  const std::uint64_t size = group_size(entries);
  if (!writer_ || !writer_->fits(size)) {
    const std::uint64_t wish =
        writer_ ? std::min(2 * writer_->header().size, largest_segment) : first_segment;
    const std::uint64_t whole = segment_size_for(wish, size);
    Result<void> begun = new_segment(group.front().sequence, group.front().group, whole);
    if (!begun) return begun;
  }
  Result<void> written = writer_->append(group.front().sequence, group.front().group, entries);
  if (!written) return written;
  next_ = group.back().sequence + 1;
  for (const Record& record : group) written_ += record.sequence > base_ ? 1 : 0;
  return {};
}

Result<void> Salvage::new_segment(Sequence sequence, Group group, std::uint64_t size) {
  if (first_group_ == 0) first_group_ = group;
  const SegmentHeader header{.journal = *id_,
                             .number = writer_ ? writer_->header().number + 1 : 1,
                             .first_sequence = sequence,
                             .first_group = group,
                             .size = size};
  const std::string name = segment_name(header.number);
  if (Result<void> zeroes = make_zeroes(target_, name, header.size); !zeroes) return zeroes;
  Result<std::unique_ptr<File>> file = target_.open(name, Access::Commit);
  if (!file) return fail(file.error());
  Result<SegmentWriter> writer = SegmentWriter::begin(std::move(*file), header);
  if (!writer) return fail(writer.error());
  writer_.emplace(std::move(*writer));
  return {};
}

}  // namespace

Result<void> journal_salvage(Files& files, Files& target, Shape shape, const Sink& out) {
  return Salvage(files, target, shape, out).run();
}

}  // namespace reeve::tools
