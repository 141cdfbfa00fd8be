#include "base/check.h"
#include "base/planted.h"
#include "journal/recovery_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::journal {

namespace {

std::unexpected<Error> corrupt(std::string message) {
  return fail(Error::Code::Corrupt, std::move(message));
}

}  // namespace

// --- looking around
// --------------------------------------------------------------------------------

Result<void> FileRecovery::look() {
  // Before the first look: what is seen must still be so when the first byte is written.
  if (options_.claims && !planted(Bug::SecondDaemon)) {
    Result<std::unique_ptr<Claim>> claim = files_.claim();
    if (!claim) return fail(claim.error());
    claim_ = *std::move(claim);
  }
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
  return corrupt(
      fmt::format("{} at offset 16: belongs to journal {}, but {} to {}; put it back where it came "
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
      return corrupt(
          fmt::format("{} at offset 40: begins with record {}, before the segment before it",
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
    return corrupt(fmt::format("{} at offset 32: is the snapshot of record {} by its header",
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
    // A journal has a segment from its first moment on.
    if (listing_.snapshots.empty()) return {};
    return corrupt(fmt::format("{}: there is no segment beside it: files are missing",
                               files_.path_of(snapshot_name(listing_.snapshots.back()))));
  }
  if (segments_.front().first_sequence <= base() + 1) return {};
  return corrupt(fmt::format("{} at offset 40: begins with record {}, but record {} is wanted: {}",
                             files_.path_of(segment_name(segments_.front().number)),
                             segments_.front().first_sequence,
                             base() + 1,
                             damaged_snapshot_.empty() ? "a file is missing" : damaged_snapshot_));
}

// --- telling
// ---------------------------------------------------------------------------------------

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
  Result<Segment> segment = open_segment(files_, segments_[index].number, buffer_);
  if (!segment) return fail(segment.error());
  const Result<Walked> walked =
      walk(*segment, limit, [&](std::span<const Record> group, Extent /*extent*/) -> Result<void> {
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
  if (!last && !planted(Bug::NoSequenceCheck) &&
      segments_[index + 1].first_group != walked->next_group) {
    return corrupt(fmt::format("{} at offset 48: begins with group {} where {} is next",
                               files_.path_of(segment_name(segments_[index + 1].number)),
                               segments_[index + 1].first_group,
                               walked->next_group));
  }
  if (!last) return {};
  walked_ = *walked;
  if (!walked_.last) return {};
  const Result<std::string_view> bytes =
      segment->bytes->view(walked_.last->begin, walked_.last->end - walked_.last->begin);
  if (!bytes) return fail(bytes.error());
  last_bytes_.assign(bytes->begin(), bytes->end());
  last_group_ = group_in(
      segment->header, *walked_.last, std::string_view(last_bytes_.data(), last_bytes_.size()));
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

Result<std::unique_ptr<Recovery>> open_file_journal(Files& files, const Options& options) {
  auto recovery = std::make_unique<FileRecovery>(files, options);
  if (Result<void> looked = recovery->look(); !looked) return fail(looked.error());
  return recovery;
}

}  // namespace reeve::journal
