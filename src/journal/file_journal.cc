#include "base/check.h"
#include "base/planted.h"
#include "journal/clean_mark.h"
#include "journal/file_journal_impl.h"
#include "journal/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::journal {

FileJournal::FileJournal(Files& files, const Options& options, Inheritance inheritance)
    : files_(files),
      claim_(std::move(inheritance.claim)),
      options_(options),
      id_(inheritance.id),
      first_of_run_(inheritance.writer.header().number),
      writer_(std::move(inheritance.writer)),
      next_sequence_(inheritance.next_sequence),
      appended_(inheritance.bytes_since_snapshot),
      next_group_(inheritance.next_group),
      segments_(std::move(inheritance.segments)),
      spare_(inheritance.spare ? Spare::Ready : Spare::Missing),
      spare_file_(std::move(inheritance.spare)),
      spare_size_(inheritance.spare_size),
      snapshots_(std::move(inheritance.snapshots)),
      last_snapshot_bytes_(inheritance.last_snapshot_bytes) {}

std::optional<Error> FileJournal::ended() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

std::unexpected<Error> FileJournal::end(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = error;
  return fail(*error_);
}

std::unexpected<Error> FileJournal::end_unless_full(const Error& error) {
  if (error.code != Error::Code::Full) return end(error);
  short_ = true;
  return fail(error);
}

// One at a time, and none after one that failed: of a failure the system tells once, so that the
// next to ask may hear that all is well. Whoever comes meanwhile finds the journal ended.
Result<void> FileJournal::sync_names() {
  const std::scoped_lock lock(names_);
  if (const std::optional<Error> error = ended()) return fail(*error);
  if (Result<void> synced = files_.sync_directory(); !synced) return end(synced.error());
  return {};
}

// --- the committing thread
// -------------------------------------------------------------------------

// The order is the durability argument: a group is written when the one before it is synced, and
// nobody hears of it before its own sync has succeeded. A file that somebody has removed meanwhile
// can be written and synced, but nobody will find it again.
Result<Sequence> FileJournal::commit(std::span<const Entry> entries) {
  CHECK(!entries.empty());
  if (const std::optional<Error> error = ended()) return fail(*error);
  const std::uint64_t size = group_size(entries);
  if (!writer_.fits(size)) {
    if (Result<void> begun = next_segment(size); !begun) return end(begun.error());
  }
  const Sequence first = next_sequence_;
  if (Result<void> written = writer_.append(first, next_group_, entries); !written) {
    return end(written.error());
  }
  const Result<bool> has_name = writer_.has_name();
  if (!has_name) return end(has_name.error());
  if (!*has_name) {
    return end({Error::Code::Io,
                fmt::format("{}: was removed while it was in use",
                            files_.path_of(segment_name(writer_.header().number)))});
  }
  {
    const std::scoped_lock lock(mutex_);
    ++next_group_;
    next_sequence_ = first + entries.size();
  }
  appended_ += size;
  return first + entries.size() - 1;
}

// A segment has its name on stable storage before its first record: a name that is there says that
// all before it is durable.
Result<void> FileJournal::next_segment(std::uint64_t group) {
  SegmentHeader header{.journal = id_,
                       .number = writer_.header().number + 1,
                       .first_sequence = next_sequence_,
                       .first_group = next_group_,
                       .size = segment_size_for(
                           std::min(2 * writer_.header().size, options_.largest_segment), group)};
  const std::string name = segment_name(header.number);
  std::string made = spare_name;
  std::unique_ptr<File> file;
  {
    const std::scoped_lock lock(mutex_);
    if (spare_ == Spare::Ready && spare_size_ >= block_size + group) {
      spare_ = Spare::BeingUsed;
      header.size = spare_size_;
      file = std::move(spare_file_);
    }
  }
  if (!file) {
    made = unfinished(name);
    const std::uint64_t least = segment_size_for(options_.first_segment, group);
    const Result<std::uint64_t> size = make_zeroes(files_, made, header.size, least);
    if (!size) return fail(size.error());
    header.size = *size;
    Result<std::unique_ptr<File>> opened = files_.open(made, Access::Commit);
    if (!opened) return fail(opened.error());
    file = std::move(*opened);
  }
  Result<SegmentWriter> writer = SegmentWriter::begin(std::move(file), header);
  if (!writer) return fail(writer.error());
  if (Result<void> renamed = files_.rename(made, name); !renamed) return renamed;
  if (!planted(Bug::NoDirectorySync)) {
    if (Result<void> synced = sync_names(); !synced) return synced;
  }
  writer->renamed(files_.path_of(name));
  writer_ = std::move(*writer);

  const std::scoped_lock lock(mutex_);
  segments_.push_back({header.number, header.first_sequence, header.size});
  if (spare_ == Spare::BeingUsed) spare_ = Spare::Missing;
  return {};
}

Result<void> FileJournal::close() {
  if (const std::optional<Error> error = ended()) return fail(*error);
  const CleanMark mark{.journal = id_, .next_sequence = next_sequence_, .next_group = next_group_};
  if (Result<void> marked = write_clean_mark(files_, mark); !marked) return end(marked.error());
  [[maybe_unused]] const auto closed = end({Error::Code::Conflict, "the journal was closed"});
  return {};
}

// --- anybody
// ---------------------------------------------------------------------------------------

Result<void> FileJournal::read(Sequence from, const GroupVisitor& visitor) {
  if (const std::optional<Error> error = ended()) return fail(*error);
  std::vector<SegmentInfo> segments;
  Sequence durable_end = 0;
  {
    const std::scoped_lock lock(mutex_);
    segments = segments_;
    durable_end = next_sequence_;
  }
  if (from < segments.front().first_sequence) {
    return fail(Error::Code::NotFound,
                fmt::format("record {} is no longer kept; the oldest is {}",
                            from,
                            segments.front().first_sequence));
  }
  const SegmentVisitor wanted = [&](std::span<const Record> group, Extent) -> Result<void> {
    return group.back().sequence < from ? Result<void>{} : visitor(group);
  };
  std::string buffer;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    const Sequence limit = last ? durable_end : segments[i + 1].first_sequence;
    if (limit <= from) continue;
    Result<Segment> segment = open_segment(files_, segments[i].number, buffer);
    if (!segment) return fail(segment.error());
    const Result<Walked> walked = walk(*segment, limit, wanted);
    if (!walked) return fail(walked.error());
  }
  return {};
}

}  // namespace reeve::journal
