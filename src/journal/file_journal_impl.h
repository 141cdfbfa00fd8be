#pragma once

#include "journal/file_journal.h"
#include "journal/segment_writer.h"
#include "journal/snapshot_file.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

// The journal in a directory, between its recovery and its end; inside this folder only.
namespace reeve::journal {

struct SegmentInfo {
  std::uint64_t number = 0;
  Sequence first_sequence = 1;
  std::uint64_t size = 0;
};

struct SnapshotFileInfo {
  Sequence sequence = 0;
  bool verified = false;        // whole, as far as this process has seen
  std::optional<Time> at = {};  // engine time, once it was looked at
};

// What recovery hands over.
struct Inheritance {
  std::unique_ptr<Claim> claim;
  JournalId id;
  SegmentWriter writer;
  Sequence next_sequence = 1;
  Group next_group = 1;
  std::vector<SegmentInfo> segments;  // rising; the last one is the writer's
  std::vector<SnapshotFileInfo> snapshots;
  std::uint64_t last_snapshot_bytes = 0;
  std::uint64_t bytes_since_snapshot = 0;
  std::unique_ptr<File> spare;  // open for Commit, if there is one
  std::uint64_t spare_size = 0;
};

class FileJournal final : public Journal {
 public:
  FileJournal(Files& files, const Options& options, Inheritance inheritance);

  Result<Sequence> commit(std::span<const Entry> entries) override;
  Sequence next_sequence() const override { return next_sequence_.load(); }
  Room room() const override { return short_.load() ? Room::FinishingOnly : Room::Plenty; }
  bool wants_prepare() const override;
  Result<void> prepare() override;
  bool wants_snapshot() const override;
  Result<std::unique_ptr<SnapshotWriter>> begin_snapshot(const Moment& moment) override;
  Result<void> truncate(Sequence passed) override;
  Result<void> read(Sequence from, const GroupVisitor& visitor) override;
  Result<void> close() override;

 private:
  class Writer;

  // Why it has ended, if it has.
  std::optional<Error> ended() const;

  // Ends it with this error, or with the one that was first; returns that one.
  std::unexpected<Error> end(const Error& error);

  // For what may fail for want of room and leave everything as it was.
  std::unexpected<Error> end_unless_full(const Error& error);

  Result<void> sync_names();
  Result<void> next_segment(std::uint64_t group);
  Result<void> make_spare();
  Result<void> measure_room();
  Result<void> truncate_to(Sequence base);
  bool is_whole(SnapshotFileInfo& snapshot);
  std::optional<Time> time_of(SnapshotFileInfo& snapshot);
  Result<void> remove(const std::string& name);

  // Of the segments before the one in use that no snapshot covers: what one would make needless.
  // The mutex is held.
  std::uint64_t uncovered_bytes() const;
  // Of those among them that hold nothing of the newest snapshot. The mutex is held.
  std::uint64_t bytes_after_snapshot() const;
  // The last record in the newest snapshot. The mutex is held.
  Sequence covered() const;

  Files& files_;
  const std::unique_ptr<Claim> claim_;
  const Options options_;
  const JournalId id_;
  const std::uint64_t first_of_run_;  // the number of the segment that the start made

  SegmentWriter writer_;  // the committing thread's

  std::atomic<Sequence> next_sequence_;
  std::atomic<std::uint64_t> appended_ = 0;  // bytes of records, since the base of recovery
  std::atomic<bool> short_ = false;

  // Held while the directory is synced.
  std::mutex names_;

  // What both threads touch. Held for moments, never while the disk is at work.
  mutable std::mutex mutex_;
  std::optional<Error> error_;
  Group next_group_;
  std::vector<SegmentInfo> segments_;
  enum class Spare { Missing, Ready, BeingUsed } spare_ = Spare::Missing;
  std::unique_ptr<File> spare_file_;  // of one that is ready: using it takes no descriptor
  std::uint64_t spare_size_ = 0;
  std::uint64_t measured_at_ = 0;  // what had been appended when the disk's room was looked at
  std::vector<SnapshotFileInfo> snapshots_;
  std::uint64_t last_snapshot_bytes_ = 0;
  std::uint64_t appended_at_snapshot_ = 0;
};

}  // namespace reeve::journal
