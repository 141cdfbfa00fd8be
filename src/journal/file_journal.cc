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
      options_(options),
      id_(inheritance.id),
      writer_(std::move(inheritance.writer)),
      next_sequence_(inheritance.next_sequence),
      appended_(inheritance.bytes_since_snapshot),
      next_group_(inheritance.next_group),
      segments_(std::move(inheritance.segments)),
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

// --- the committing thread
// -------------------------------------------------------------------------

// The order is the durability argument: a group is written when the one before it is synced, and
// nobody hears of it before its own sync has succeeded.
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
  std::string made = unfinished(name);
  {
    const std::scoped_lock lock(mutex_);
    if (spare_ == Spare::Ready && spare_size_ >= block_size + group) {
      spare_ = Spare::BeingUsed;
      header.size = spare_size_;
      made = spare_name;
    }
  }
  if (made != spare_name) {
    if (Result<void> zeroes = make_zeroes(files_, made, header.size); !zeroes) return zeroes;
  }
  Result<std::unique_ptr<File>> file = files_.open(made, Access::Commit);
  if (!file) return fail(file.error());
  Result<SegmentWriter> writer = SegmentWriter::begin(std::move(*file), header);
  if (!writer) return fail(writer.error());
  if (Result<void> renamed = files_.rename(made, name); !renamed) return renamed;
  if (!planted(Bug::NoDirectorySync)) {
    if (Result<void> synced = files_.sync_directory(); !synced) return synced;
  }
  file = files_.open(name, Access::Commit);
  if (!file) return fail(file.error());
  writer->use(std::move(*file));
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

// --- the other thread
// ------------------------------------------------------------------------------

bool FileJournal::wants_prepare() const {
  const std::scoped_lock lock(mutex_);
  return !error_ && (spare_ == Spare::Missing || short_);
}

Result<void> FileJournal::prepare() {
  if (const std::optional<Error> error = ended()) return fail(*error);
  if (Result<void> made = make_spare(); !made) return end_unless_full(made.error());
  if (Result<void> measured = measure_room(); !measured) return end(measured.error());
  return {};
}

Result<void> FileJournal::make_spare() {
  std::uint64_t size = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (spare_ != Spare::Missing) return {};
    size = segment_size_for(std::min(2 * segments_.back().size, options_.largest_segment), 1);
  }
  const std::string name = unfinished(spare_name);
  Result<void> made = make_zeroes(files_, name, size);
  if (made) made = files_.rename(name, spare_name);
  if (!made) {
    if (made.error().code != Error::Code::Full) return made;
    // What is left of it would stand in the way of everybody else.
    const Result<void> removed = files_.remove(name);
    if (!removed && removed.error().code != Error::Code::NotFound) return removed;
    return made;
  }
  if (Result<void> synced = files_.sync_directory(); !synced) return synced;
  const std::scoped_lock lock(mutex_);
  spare_ = Spare::Ready;
  spare_size_ = size;
  return {};
}

Result<void> FileJournal::measure_room() {
  const Result<std::uint64_t> free = files_.free_space();
  if (!free) return fail(free.error());
  const std::scoped_lock lock(mutex_);
  short_ = *free < options_.keep_free + last_snapshot_bytes_;
  return {};
}

bool FileJournal::wants_snapshot() const {
  const std::scoped_lock lock(mutex_);
  return !error_ && appended_ - appended_at_snapshot_ >
                        std::max(options_.snapshot_after, last_snapshot_bytes_ / 2);
}

class FileJournal::Writer final : public SnapshotWriter {
 public:
  Writer(FileJournal& journal, const Moment& moment, std::unique_ptr<File> file)
      : journal_(journal),
        name_(snapshot_name(moment.sequence)),
        moment_(moment),
        appended_(journal.appended_),
        file_(std::move(file)),
        encoder_(*file_,
                 {.journal = journal.id_, .moment = moment},
                 journal.options_.chunk_size,
                 journal.options_.compress) {}

  ~Writer() override {
    file_.reset();
    if (finished_ || journal_.ended()) return;
    // What stays behind, should this fail, the next start removes.
    [[maybe_unused]] const Result<void> removed = journal_.files_.remove(unfinished(name_));
  }

  Result<void> append(std::string_view bytes) override {
    if (const std::optional<Error> error = journal_.ended()) return fail(*error);
    if (Result<void> appended = encoder_.append(bytes); !appended) {
      return journal_.end_unless_full(appended.error());
    }
    // In pieces: one large sync at the end would hold up the commits of others.
    if (encoder_.stored_bytes() - synced_ < journal_.options_.sync_every) return {};
    if (Result<void> synced = file_->sync(); !synced) return journal_.end(synced.error());
    synced_ = encoder_.stored_bytes();
    return {};
  }

  // The order is the durability argument: the content is on stable storage before the name, the
  // name before anybody deletes what the snapshot stands for.
  Result<SnapshotInfo> finish(std::uint64_t state_digest) override {
    if (const std::optional<Error> error = journal_.ended()) return fail(*error);
    SnapshotEnd end{.digest = state_digest};
    {
      const std::scoped_lock lock(journal_.mutex_);
      end.durable_sequence = journal_.next_sequence_ - 1;
      end.durable_group = journal_.next_group_ - 1;
    }
    CHECK(moment_.sequence <= end.durable_sequence);
    const Result<SnapshotEnd> written = encoder_.finish(end);
    if (!written) return journal_.end_unless_full(written.error());
    if (!planted(Bug::SnapshotRenameUnsynced)) {
      if (Result<void> synced = file_->sync(); !synced) return journal_.end(synced.error());
    }

    const std::string made = unfinished(name_);
    const Result<VerifiedSnapshot> read_back = verify_snapshot(journal_.files_, made);
    if (!read_back) return journal_.end(read_back.error());
    if (read_back->end != *written) {
      return journal_.end(
          {Error::Code::Corrupt,
           fmt::format("{} reads otherwise than it was written", journal_.files_.path_of(made))});
    }
    if (Result<void> renamed = journal_.files_.rename(made, name_); !renamed) {
      return journal_.end(renamed.error());
    }
    if (!planted(Bug::SnapshotNameUnsynced)) {
      if (Result<void> synced = journal_.files_.sync_directory(); !synced) {
        return journal_.end(synced.error());
      }
    }
    finished_ = true;
    adopt(read_back->info);
    return read_back->info;
  }

 private:
  void adopt(const SnapshotInfo& info) {
    const std::scoped_lock lock(journal_.mutex_);
    std::erase_if(journal_.snapshots_, [&](const SnapshotFileInfo& other) {
      return other.sequence == moment_.sequence;
    });
    journal_.snapshots_.push_back({.sequence = moment_.sequence, .verified = true});
    std::ranges::sort(journal_.snapshots_, {}, &SnapshotFileInfo::sequence);
    journal_.last_snapshot_bytes_ = info.stored_bytes;
    journal_.appended_at_snapshot_ = appended_;
  }

  FileJournal& journal_;
  std::string name_;
  Moment moment_;
  std::uint64_t appended_;  // when it was begun
  std::unique_ptr<File> file_;
  SnapshotEncoder encoder_;
  std::uint64_t synced_ = 0;
  bool finished_ = false;
};

Result<std::unique_ptr<SnapshotWriter>> FileJournal::begin_snapshot(const Moment& moment) {
  if (const std::optional<Error> error = ended()) return fail(*error);
  Result<std::unique_ptr<File>> file =
      files_.create(unfinished(snapshot_name(moment.sequence)), Access::Write);
  if (!file) return end_unless_full(file.error());
  if (planted(Bug::TruncateEarly)) (void)truncate_to(moment.sequence);
  return std::make_unique<Writer>(*this, moment, std::move(*file));
}

Result<void> FileJournal::truncate(Sequence passed) {
  if (const std::optional<Error> error = ended()) return fail(*error);
  std::vector<SnapshotFileInfo> snapshots;
  {
    const std::scoped_lock lock(mutex_);
    snapshots = snapshots_;
  }
  // The newest that may be a base; one that recovery passed by has yet to be looked at.
  std::ranges::reverse(snapshots);
  for (const SnapshotFileInfo& snapshot : snapshots) {
    if (snapshot.sequence > passed) continue;
    if (!snapshot.verified && !verify_snapshot(files_, snapshot_name(snapshot.sequence))) continue;
    if (Result<void> truncated = truncate_to(snapshot.sequence); !truncated) {
      return end(truncated.error());
    }
    return {};
  }
  return {};
}

// Older snapshots first, and for good: one that came back after a crash without its segments, or
// with some of them, would be a base that leads nowhere.
Result<void> FileJournal::truncate_to(Sequence base) {
  std::vector<std::string> snapshots;
  std::vector<std::string> segments;
  {
    const std::scoped_lock lock(mutex_);
    for (SnapshotFileInfo& snapshot : snapshots_) {
      if (snapshot.sequence < base) snapshots.push_back(snapshot_name(snapshot.sequence));
      snapshot.verified |= snapshot.sequence == base;
    }
    std::erase_if(snapshots_, [&](const SnapshotFileInfo& it) { return it.sequence < base; });
    // A segment is needed as long as the next one begins after what comes after the base.
    while (segments_.size() > 1 && segments_[1].first_sequence <= base + 1) {
      segments.push_back(segment_name(segments_[0].number));
      segments_.erase(segments_.begin());
    }
  }
  for (const std::string& name : snapshots) {
    if (Result<void> removed = files_.remove(name); !removed) return removed;
  }
  if (!snapshots.empty()) {
    if (Result<void> synced = files_.sync_directory(); !synced) return synced;
  }
  for (const std::string& name : segments) {
    if (Result<void> removed = files_.remove(name); !removed) return removed;
  }
  return {};
}

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
