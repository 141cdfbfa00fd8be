#include "base/check.h"
#include "base/planted.h"
#include "journal/file_journal_impl.h"
#include "journal/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What the thread does that looks after a journal while another one commits.
namespace reeve::journal {

bool FileJournal::wants_prepare() const {
  const std::scoped_lock lock(mutex_);
  if (error_) return false;
  return spare_ == Spare::Missing || short_ || appended_ - measured_at_ >= options_.measure_every;
}

Result<void> FileJournal::prepare() {
  if (const std::optional<Error> error = ended()) return fail(*error);
  {
    const std::scoped_lock lock(mutex_);
    measured_at_ = appended_;
  }
  if (Result<void> made = make_spare(); !made) return end_unless_full(made.error());
  if (Result<void> measured = measure_room(); !measured) return end(measured.error());
  return {};
}

// Open from now on: that nobody has a descriptor left must not stop a commit.
Result<void> FileJournal::make_spare() {
  std::uint64_t wish = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (spare_ != Spare::Missing) return {};
    // Only one that was filled shows that there is much to write: a start may take any file of
    // zeroes that is there, and is no reason to make a larger one.
    const SegmentInfo& last = segments_.back();
    wish = last.number == first_of_run_ ? options_.first_segment : last.size;
    wish = std::min(2 * wish, options_.largest_segment);
  }
  const std::string name = unfinished(spare_name);
  const Result<std::uint64_t> size =
      make_zeroes(files_,
                  name,
                  segment_size_for(wish, options_.largest_group),
                  segment_size_for(options_.first_segment, options_.largest_group));
  Result<std::unique_ptr<File>> file =
      size ? files_.open(name, Access::Commit) : fail(size.error());
  if (!file) {
    if (file.error().code != Error::Code::Full) return fail(file.error());
    // What is left of it would stand in the way of everybody else.
    if (Result<void> removed = remove(name); !removed) return removed;
    return fail(file.error());
  }
  if (Result<void> renamed = files_.rename(name, spare_name); !renamed) return renamed;
  if (Result<void> synced = sync_names(); !synced) return synced;
  const std::scoped_lock lock(mutex_);
  spare_ = Spare::Ready;
  spare_file_ = std::move(*file);
  spare_size_ = *size;
  return {};
}

Result<void> FileJournal::measure_room() {
  const Result<std::uint64_t> free = files_.free_space();
  if (!free) return fail(free.error());
  const std::scoped_lock lock(mutex_);
  short_ = *free < options_.keep_free + last_snapshot_bytes_;
  return {};
}

Sequence FileJournal::covered() const {
  Sequence covered = 0;
  for (const SnapshotFileInfo& snapshot : snapshots_) {
    if (snapshot.verified) covered = snapshot.sequence;
  }
  return covered;
}

std::uint64_t FileJournal::bytes_after_snapshot() const {
  const Sequence covered = this->covered();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
    if (segments_[i].first_sequence > covered) bytes += segments_[i].size;
  }
  return bytes;
}

std::uint64_t FileJournal::uncovered_bytes() const {
  const Sequence covered = this->covered();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
    if (segments_[i + 1].first_sequence > covered + 1) bytes += segments_[i].size;
  }
  return bytes;
}

// Segments count as well as records: every start makes one, and may have little to put into it.
bool FileJournal::wants_snapshot() const {
  const std::scoped_lock lock(mutex_);
  if (error_) return false;
  const std::uint64_t uncovered = uncovered_bytes();
  if (short_ && uncovered > 0) return true;
  const std::uint64_t records = appended_ - appended_at_snapshot_;
  const std::uint64_t later = bytes_after_snapshot();
  const std::uint64_t hollow = later - std::min(later, records);
  return records > std::max(options_.snapshot_after, last_snapshot_bytes_ / 2) ||
         hollow > std::max(options_.snapshot_after, last_snapshot_bytes_) ||
         uncovered >
             options_.largest_segment + std::max(2 * options_.snapshot_after, last_snapshot_bytes_);
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
    if (!read_back) return journal_.end_unless_full(read_back.error());
    if (read_back->end != *written) {
      return journal_.end(
          {Error::Code::Corrupt,
           fmt::format("{} reads otherwise than it was written", journal_.files_.path_of(made))});
    }
    if (Result<void> renamed = journal_.files_.rename(made, name_); !renamed) {
      return journal_.end(renamed.error());
    }
    if (!planted(Bug::SnapshotNameUnsynced)) {
      if (Result<void> synced = journal_.sync_names(); !synced) return fail(synced.error());
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
  if (planted(Bug::TruncateEarly)) {
    [[maybe_unused]] const Result<void> truncated = truncate_to(moment.sequence);
  }
  return std::make_unique<Writer>(*this, moment, std::move(*file));
}

// One that recovery passed by has yet to be looked at.
bool FileJournal::is_whole(SnapshotFileInfo& snapshot) {
  snapshot.verified =
      snapshot.verified || verify_snapshot(files_, snapshot_name(snapshot.sequence)).has_value();
  return snapshot.verified;
}

std::optional<Time> FileJournal::time_of(SnapshotFileInfo& snapshot) {
  if (snapshot.at) return snapshot.at;
  const auto decoder = SnapshotDecoder::open(files_, snapshot_name(snapshot.sequence));
  if (!decoder) return std::nullopt;
  snapshot.at = (*decoder)->header().moment.stamp.now;
  const std::scoped_lock lock(mutex_);
  for (SnapshotFileInfo& known : snapshots_) {
    if (known.sequence == snapshot.sequence) known.at = snapshot.at;
  }
  return snapshot.at;
}

// The newest that may be a base; or, if more is to be kept, the newest that is so much older.
Result<void> FileJournal::truncate(Sequence passed) {
  if (const std::optional<Error> error = ended()) return fail(*error);
  std::vector<SnapshotFileInfo> snapshots;
  {
    const std::scoped_lock lock(mutex_);
    snapshots = snapshots_;
  }
  const Duration keep = short_ ? Duration{0} : options_.keep;
  std::optional<Time> newest;
  std::ranges::reverse(snapshots);
  for (SnapshotFileInfo& snapshot : snapshots) {
    if (snapshot.sequence > passed) continue;
    if (keep > Duration{0}) {
      const std::optional<Time> at = time_of(snapshot);
      if (!at) continue;
      if (!newest && is_whole(snapshot)) newest = at;
      if (!newest || *newest - *at < keep) continue;
    }
    if (!is_whole(snapshot)) continue;
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
    if (Result<void> removed = remove(name); !removed) return removed;
  }
  if (!snapshots.empty()) {
    if (Result<void> synced = sync_names(); !synced) return synced;
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // The first one is gone for good before the others go: a journal that begins with the very
    // first record is taken for whole.
    if (i == 1) {
      if (Result<void> synced = sync_names(); !synced) return synced;
    }
    if (Result<void> removed = remove(segments[i]); !removed) return removed;
  }
  return {};
}

Result<void> FileJournal::remove(const std::string& name) {
  Result<void> removed = files_.remove(name);
  if (!removed && removed.error().code == Error::Code::NotFound) return {};
  return removed;
}

}  // namespace reeve::journal
