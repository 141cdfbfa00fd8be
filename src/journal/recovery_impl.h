#pragma once

#include "journal/clean_mark.h"
#include "journal/file_journal_impl.h"
#include "journal/names.h"
#include "journal/segment.h"
#include "journal/snapshot_file.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

// The recovery of a journal in a directory; inside this folder only. recovery.cc looks and tells,
// recovery_begin.cc makes the tail safe and begins.
namespace reeve::journal {

class FileRecovery final : public Recovery {
 public:
  FileRecovery(Files& files, const Options& options) : files_(files), options_(options) {}

  Result<void> look();

  const std::optional<SnapshotInfo>& snapshot() const override { return snapshot_; }
  Result<std::string_view> next_chunk() override;
  Result<void> replay(const GroupVisitor& visitor) override;
  const Findings& findings() const override { return findings_; }
  Result<std::unique_ptr<Journal>> begin() override;

 private:
  Result<void> read_headers();
  Result<void> choose_snapshot();
  Result<bool> try_snapshot(Sequence sequence);
  Result<void> check_reach();
  Result<void> replay_segment(std::size_t index, const GroupVisitor& visitor);
  Result<void> check_promises();
  Result<SegmentWriter> new_segment();
  Result<std::string> zeroes_for(SegmentHeader& header, bool records);
  Result<void> keep_spare();
  Result<void> remove(const std::string& name);
  Result<void> tidy_up(const SegmentHeader& first_kept);
  Result<void> check_journal(const JournalId& id, const std::string& name);
  void note(std::string sentence) { findings_.notes.push_back(std::move(sentence)); }

  // The last record that the base contains.
  Sequence base() const { return snapshot_ ? snapshot_->moment.sequence : 0; }

  Files& files_;
  const Options options_;
  std::unique_ptr<Claim> claim_;
  Listing listing_;
  std::vector<SegmentHeader> segments_;
  std::optional<JournalId> id_;
  std::string id_from_;  // the file that says so
  std::optional<CleanMark> clean_;
  std::optional<SnapshotInfo> snapshot_;
  SnapshotEnd snapshot_end_;
  std::vector<SnapshotFileInfo> snapshots_;
  std::unique_ptr<SnapshotDecoder> decoder_;
  Findings findings_;
  std::string damaged_snapshot_;  // what is wrong with the last one passed over

  std::string buffer_;
  Walked walked_;  // through the last segment
  std::vector<char> last_bytes_;
  std::vector<Record> last_group_;  // views of these
  Sequence next_sequence_ = 1;
  Group next_group_ = 1;
  std::uint64_t replayed_bytes_ = 0;
  std::string made_;  // the unfinished file that became the new segment
  std::unique_ptr<File> spare_;
  std::uint64_t spare_size_ = 0;
  bool replayed_ = false;
  bool begun_ = false;
};

}  // namespace reeve::journal
