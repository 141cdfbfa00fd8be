#include "base/check.h"
#include "journal/clean_mark.h"
#include "journal/file_journal_impl.h"
#include "journal/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::journal {

namespace {

std::unexpected<Error> corrupt(std::string message) {
  return fail(Error::Code::Corrupt, std::move(message));
}

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
  Result<void> tidy_up(const SegmentHeader& first_kept);
  Result<void> check_journal(const JournalId& id, const std::string& name);
  void note(std::string sentence) { findings_.notes.push_back(std::move(sentence)); }

  // The last record that the base contains.
  Sequence base() const { return snapshot_ ? snapshot_->moment.sequence : 0; }

  Files& files_;
  const Options options_;
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

  std::string buffer_;  // the last segment, after replay()
  Walked walked_;       // through it
  Sequence next_sequence_ = 1;
  Group next_group_ = 1;
  std::uint64_t replayed_bytes_ = 0;
  std::string made_;  // the unfinished file that became the new segment
  bool replayed_ = false;
  bool begun_ = false;
};

// --- looking around --------------------------------------------------------------------------------

Result<void> FileRecovery::look() {
  const Result<std::vector<std::string>> names = files_.list();
  if (!names) return fail(names.error());
  listing_ = listing_of(*names);
  if (Result<void> read = read_headers(); !read) return read;
  if (Result<void> chosen = choose_snapshot(); !chosen) return chosen;
  if (listing_.clean) {
    const Result<std::optional<CleanMark>> mark = read_clean_mark(files_);
    if (!mark) return fail(mark.error());
    clean_ = *mark;
    if (!clean_) note(fmt::format("{} is damaged and was ignored", files_.path_of(clean_name)));
  }
  if (clean_) {
    if (Result<void> ours = check_journal(clean_->journal, clean_name); !ours) return ours;
  }
  findings_.fresh = !id_;
  findings_.clean_stop = clean_.has_value();
  return check_reach();
}

Result<void> FileRecovery::check_journal(const JournalId& id, const std::string& name) {
  if (!id_) {
    id_ = id;
    id_from_ = name;
  }
  if (*id_ == id) return {};
  return corrupt(fmt::format("{}: belongs to journal {}, but {} to {}; put it back where it came "
                             "from",
                             files_.path_of(name),
                             to_text(id),
                             id_from_,
                             to_text(*id_)));
}

Result<void> FileRecovery::read_headers() {
  for (const std::uint64_t number : listing_.segments) {
    const Result<SegmentHeader> header = read_segment_header(files_, number);
    if (!header) return fail(header.error());
    const std::string name = segment_name(number);
    if (Result<void> ours = check_journal(header->journal, name); !ours) return ours;
    if (!segments_.empty() && header->first_sequence < segments_.back().first_sequence) {
      return corrupt(fmt::format("{}: begins with record {}, before the segment before it",
                                 files_.path_of(name),
                                 header->first_sequence));
    }
    segments_.push_back(*header);
  }
  return {};
}

// Whether this one may be the base. Damage is passed over, what a newer version wrote is not.
Result<bool> FileRecovery::try_snapshot(Sequence sequence) {
  const std::string name = snapshot_name(sequence);
  const Result<VerifiedSnapshot> verified = verify_snapshot(files_, name);
  if (!verified && verified.error().code == Error::Code::Corrupt) {
    damaged_snapshot_ = verified.error().message;
    note(fmt::format("a snapshot is damaged and was passed over: {}", damaged_snapshot_));
    return false;
  }
  if (!verified) return fail(verified.error());
  if (Result<void> ours = check_journal(verified->header.journal, name); !ours) {
    return fail(ours.error());
  }
  if (verified->header.moment.sequence != sequence) {
    return corrupt(fmt::format("{}: is the snapshot of record {} by its header",
                               files_.path_of(name),
                               verified->header.moment.sequence));
  }
  Result<std::unique_ptr<SnapshotDecoder>> decoder = SnapshotDecoder::open(files_, name);
  if (!decoder) return fail(decoder.error());
  decoder_ = std::move(*decoder);
  snapshot_ = verified->info;
  snapshot_end_ = verified->end;
  return true;
}

// The newest first among those not after the limit; then, if the records do not reach back to the
// very first, upwards, those after it.
Result<void> FileRecovery::choose_snapshot() {
  std::vector<Sequence> order = listing_.snapshots;
  const auto after = std::ranges::upper_bound(order, options_.base_limit);
  std::reverse(order.begin(), after);
  if (!segments_.empty() && segments_.front().first_sequence == 1) {
    order.erase(after, order.end());
  }
  for (const Sequence sequence : order) {
    const Result<bool> good = try_snapshot(sequence);
    if (!good) return fail(good.error());
    if (*good) break;
  }
  for (const Sequence sequence : listing_.snapshots) {
    snapshots_.push_back(
        {.sequence = sequence, .verified = snapshot_.has_value() && sequence == base()});
  }
  return {};
}

// The records after the base must be there from the first.
Result<void> FileRecovery::check_reach() {
  if (segments_.empty()) {
    if (!snapshot_ && !damaged_snapshot_.empty()) return corrupt(damaged_snapshot_);
    return {};
  }
  if (segments_.front().first_sequence <= base() + 1) return {};
  return corrupt(fmt::format("{}: begins with record {}, but record {} is wanted: {}",
                             files_.path_of(segment_name(segments_.front().number)),
                             segments_.front().first_sequence,
                             base() + 1,
                             damaged_snapshot_.empty() ? "a file is missing" : damaged_snapshot_));
}

// --- telling ---------------------------------------------------------------------------------------

Result<std::string_view> FileRecovery::next_chunk() {
  if (!decoder_) return std::string_view();
  Result<std::string_view> chunk = decoder_->next();
  if (!chunk || chunk->empty()) decoder_.reset();
  return chunk;
}

Result<void> FileRecovery::replay(const GroupVisitor& visitor) {
  CHECK(!replayed_);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (Result<void> told = replay_segment(i, visitor); !told) return told;
  }
  // What the base contains needs no records.
  next_sequence_ = std::max(walked_.next_sequence, base() + 1);
  next_group_ = std::max<Group>(walked_.next_group, 1);
  if (walked_.next_sequence <= base()) {
    next_group_ = std::max(next_group_, snapshot_end_.durable_group + 1);
  }
  findings_.torn_tail = walked_.torn;
  if (Result<void> kept = check_promises(); !kept) return kept;
  replayed_ = true;
  return {};
}

Result<void> FileRecovery::replay_segment(std::size_t index, const GroupVisitor& visitor) {
  const bool last = index + 1 == segments_.size();
  const Sequence limit = last ? no_limit : segments_[index + 1].first_sequence;
  if (limit <= base() + 1) return {};
  const Result<SegmentView> segment = read_segment(files_, segments_[index].number, buffer_);
  if (!segment) return fail(segment.error());
  Result<Walked> walked =
      walk(*segment, limit, [&](std::span<const Record> group) -> Result<void> {
        if (group.back().sequence <= base()) return {};
        if (group.front().sequence <= base()) {
          group = group.subspan(base() + 1 - group.front().sequence);
        }
        for (const Record& record : group) {
          replayed_bytes_ += encoded_size(record.entry.payload.size());
        }
        return visitor(group);
      });
  if (!walked) return fail(walked.error());
  // Groups go on from segment to segment as sequences do.
  if (!last && segments_[index + 1].first_group != walked->next_group) {
    return corrupt(fmt::format("{}: begins with group {} where {} is next",
                               files_.path_of(segment_name(segments_[index + 1].number)),
                               segments_[index + 1].first_group,
                               walked->next_group));
  }
  if (last) walked_ = std::move(*walked);
  return {};
}

// A tail may be torn, unless somebody has said in writing that it was durable.
Result<void> FileRecovery::check_promises() {
  if (snapshot_ && snapshot_end_.durable_sequence > base() &&
      snapshot_end_.durable_sequence >= next_sequence_) {
    return corrupt(fmt::format(
        "the journal ends with record {}, but record {} was durable when {} was written{}",
        next_sequence_ - 1,
        snapshot_end_.durable_sequence,
        files_.path_of(snapshot_name(base())),
        walked_.torn ? fmt::format(": {} at offset {}: {}",
                                   walked_.torn->file,
                                   walked_.torn->offset,
                                   walked_.torn->why)
                     : std::string(": a segment is missing")));
  }
  if (!clean_) return {};
  if (clean_->next_sequence == next_sequence_ && clean_->next_group == next_group_ &&
      !walked_.torn) {
    return {};
  }
  return corrupt(fmt::format(
      "the journal ends with record {} of group {}, but it was stopped cleanly after record {} of "
      "group {}{}",
      next_sequence_ - 1,
      next_group_ - 1,
      clean_->next_sequence - 1,
      clean_->next_group - 1,
      walked_.torn ? fmt::format(": {} at offset {}: {}",
                                 walked_.torn->file,
                                 walked_.torn->offset,
                                 walked_.torn->why)
                   : std::string()));
}

// --- beginning -------------------------------------------------------------------------------------

// The order is the durability argument. The new segment is whole on stable storage before it has
// its name; it has its name on stable storage before anything old is removed; and only then is a
// record written. Until the name is there the old files say all there is to say, so a crash
// anywhere in here is a crash before it.
Result<std::unique_ptr<Journal>> FileRecovery::begin() {
  CHECK(replayed_ && !begun_);
  begun_ = true;
  decoder_.reset();
  if (!id_) id_ = options_.fresh_id;

  if (listing_.clean) {
    if (Result<void> removed = files_.remove(clean_name); !removed) return fail(removed.error());
  }
  Result<SegmentWriter> writer = new_segment();
  if (!writer) return fail(writer.error());
  if (Result<void> tidied = tidy_up(writer->header()); !tidied) return fail(tidied.error());

  std::vector<SegmentInfo> segments;
  for (const SegmentHeader& header : segments_) {
    segments.push_back({header.number, header.first_sequence, header.size});
  }
  Inheritance inheritance{.id = *id_,
                          .writer = std::move(*writer),
                          .next_sequence = next_sequence_,
                          .next_group = next_group_,
                          .segments = std::move(segments),
                          .snapshots = std::move(snapshots_),
                          .last_snapshot_bytes = snapshot_ ? snapshot_->stored_bytes : 0,
                          .bytes_since_snapshot = replayed_bytes_};
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
  if (!clean_ && !walked_.last_group.empty() && walked_.next_sequence == next_sequence_) {
    header.first_sequence = walked_.last_group.front().sequence;
    header.first_group = walked_.last_group.front().group;
    for (const Record& record : walked_.last_group) again.push_back(record.entry);
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
  const std::string name = segment_name(header.number);
  if (Result<void> renamed = files_.rename(*made, name); !renamed) return fail(renamed.error());
  if (Result<void> synced = files_.sync_directory(); !synced) return fail(synced.error());
  file = files_.open(name, Access::Commit);
  if (!file) return fail(file.error());
  writer->use(std::move(*file));
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
  if (!zeroes && zeroes.error().code == Error::Code::Full && listing_.spare) {
    if (Result<void> removed = files_.remove(spare_name); !removed) return fail(removed.error());
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
  if (listing_.spare) doomed.push_back(spare_name);
  while (!segments_.empty() && segments_.back().first_sequence >= first_kept.first_sequence) {
    doomed.push_back(segment_name(segments_.back().number));
    segments_.pop_back();
  }
  segments_.push_back(first_kept);
  for (const std::string& name : doomed) {
    if (Result<void> removed = files_.remove(name); !removed) return removed;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Recovery>> open_file_journal(Files& files, const Options& options) {
  auto recovery = std::make_unique<FileRecovery>(files, options);
  if (Result<void> looked = recovery->look(); !looked) return fail(looked.error());
  return recovery;
}

}  // namespace reeve::journal
