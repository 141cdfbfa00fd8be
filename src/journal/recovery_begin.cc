#include "base/check.h"
#include "base/planted.h"
#include "journal/recovery_impl.h"

#include <algorithm>
#include <utility>

namespace reeve::journal {

// The order is the durability argument. The new segment is whole on stable storage before it has
// its name; it has its name on stable storage before anything old is removed; and only then is a
// record written. Until the name is there the old files say all there is to say, so a crash
// anywhere in here is a crash before it.
Result<std::unique_ptr<Journal>> FileRecovery::begin() {
  CHECK(replayed_ && !begun_);
  begun_ = true;
  decoder_.reset();
  if (!id_) id_ = options_.fresh_id;

  Result<SegmentWriter> writer = new_segment();
  if (!writer) return fail(writer.error());
  if (Result<void> tidied = tidy_up(writer->header()); !tidied) return fail(tidied.error());

  std::vector<SegmentInfo> segments;
  segments.reserve(segments_.size());
  for (const SegmentHeader& header : segments_) {
    segments.push_back({header.number, header.first_sequence, header.size});
  }
  Inheritance inheritance{.claim = std::move(claim_),
                          .id = *id_,
                          .writer = std::move(*writer),
                          .next_sequence = next_sequence_,
                          .next_group = next_group_,
                          .segments = std::move(segments),
                          .snapshots = std::move(snapshots_),
                          .last_snapshot_bytes = snapshot_ ? snapshot_->stored_bytes : 0,
                          .bytes_since_snapshot = replayed_bytes_,
                          .spare = std::move(spare_),
                          .spare_size = spare_size_};
  return std::make_unique<FileJournal>(files_, options_, std::move(inheritance));
}

Result<SegmentWriter> FileRecovery::new_segment() {
  SegmentHeader header{.journal = *id_,
                       .number = segments_.empty() ? 1 : segments_.back().number + 1,
                       .first_sequence = next_sequence_,
                       .first_group = next_group_,
                       .size = 0};

  // Unless the stop was clean, the last group may be in the page cache only: the sync that should
  // have written it may have failed, which is why nobody may believe another one. The groups
  // before it were synced before it was written.
  std::vector<Entry> again;
  if (!clean_ && !planted(Bug::TrustPageCache) && !last_group_.empty() &&
      walked_.next_sequence == next_sequence_) {
    header.first_sequence = last_group_.front().sequence;
    header.first_group = last_group_.front().group;
    again.reserve(last_group_.size());
    for (const Record& record : last_group_) again.push_back(record.entry);
  }
  header.size = segment_size_for(options_.first_segment, group_size(again));

  const Result<std::string> made = zeroes_for(header, !again.empty());
  if (!made) return fail(made.error());
  Result<std::unique_ptr<File>> file = files_.open(*made, Access::Commit);
  if (!file) return fail(file.error());
  Result<SegmentWriter> writer = SegmentWriter::begin(std::move(*file), header);
  if (!writer) return writer;
  if (!again.empty()) {
    Result<void> rewritten = writer->append(header.first_sequence, header.first_group, again);
    if (!rewritten) return fail(rewritten.error());
  }
  // Not before it is known that there is room to begin with.
  if (listing_.clean) {
    if (Result<void> removed = remove(clean_name); !removed) return fail(removed.error());
  }
  const std::string name = segment_name(header.number);
  if (Result<void> renamed = files_.rename(*made, name); !renamed) return fail(renamed.error());
  if (!planted(Bug::StartNameUnsynced)) {
    if (Result<void> synced = files_.sync_directory(); !synced) return fail(synced.error());
  }
  writer->renamed(files_.path_of(name));
  return writer;
}

// The name of a file of zeroes. The spare one will do, if only a header is written to it before it
// has its name as a segment: whatever is in its first block is written over at the next start. But
// records that are written again must not be left in it by a crash, to be found one day behind
// another header; for those its room is taken only if there is no other.
Result<std::string> FileRecovery::zeroes_for(SegmentHeader& header, bool records) {
  if (listing_.spare && !records) {
    const Result<std::unique_ptr<File>> spare = files_.open(spare_name, Access::Read);
    if (!spare) return fail(spare.error());
    const Result<std::uint64_t> size = (*spare)->size();
    if (!size) return fail(size.error());
    if (*size >= header.size && *size % block_size == 0) {
      header.size = *size;
      listing_.spare = false;
      return spare_name;
    }
  }
  made_ = unfinished(segment_name(header.number));
  Result<void> zeroes = make_zeroes(files_, made_, header.size);
  const auto is_full = [&] { return !zeroes && zeroes.error().code == Error::Code::Full; };
  if (is_full() && !listing_.unfinished.empty()) {
    for (const std::string& name : std::exchange(listing_.unfinished, {})) {
      if (Result<void> removed = remove(name); !removed) return fail(removed.error());
    }
    zeroes = make_zeroes(files_, made_, header.size);
  }
  if (is_full() && listing_.spare) {
    if (Result<void> removed = remove(spare_name); !removed) return fail(removed.error());
    listing_.spare = false;
    zeroes = make_zeroes(files_, made_, header.size);
  }
  if (!zeroes) return fail(zeroes.error());
  return made_;
}

// Takes away what nobody will read again: what was never finished, a spare that was too small, and
// segments that are void because the new one begins where they do.
Result<void> FileRecovery::tidy_up(const SegmentHeader& first_kept) {
  std::vector<std::string> doomed;
  for (const std::string& name : listing_.unfinished) {
    if (name != made_) doomed.push_back(name);
  }
  if (Result<void> kept = keep_spare(); !kept) return kept;
  if (listing_.spare && !spare_) doomed.push_back(spare_name);
  while (!segments_.empty() && segments_.back().first_sequence >= first_kept.first_sequence) {
    doomed.push_back(segment_name(segments_.back().number));
    segments_.pop_back();
  }
  segments_.push_back(first_kept);
  for (const std::string& name : doomed) {
    if (Result<void> removed = remove(name); !removed) return removed;
  }
  return {};
}

// What the last user has put by for a full disk, if it is as much as we would. No record was ever
// written to it: a spare has another name, for good, before its first one.
Result<void> FileRecovery::keep_spare() {
  if (!listing_.spare) return {};
  Result<std::unique_ptr<File>> spare = files_.open(spare_name, Access::Commit);
  if (!spare) return fail(spare.error());
  const Result<std::uint64_t> size = (*spare)->size();
  if (!size) return fail(size.error());
  const std::uint64_t wish = std::min(2 * options_.first_segment, options_.largest_segment);
  if (*size < segment_size_for(wish, options_.largest_group) || *size % block_size != 0) return {};
  spare_ = std::move(*spare);
  spare_size_ = *size;
  return {};
}

Result<void> FileRecovery::remove(const std::string& name) {
  Result<void> removed = files_.remove(name);
  if (!removed && removed.error().code == Error::Code::NotFound) return {};
  return removed;
}

}  // namespace reeve::journal
