#include "tools/journal_backup.h"

#include "journal/names.h"
#include "journal/segment.h"
#include "journal/segment_writer.h"
#include "journal/snapshot_file.h"

#include <fmt/format.h>

#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reeve::tools {

using namespace journal;

namespace {

constexpr std::size_t chunk_size = std::size_t{256} << 10U;
constexpr std::uint64_t first_segment = std::uint64_t{1} << 20U;
// A daemon that serves may replace the snapshot we are about to open.
constexpr int most_attempts = 20;

// Copies a snapshot as one that promises nothing beyond itself: what was durable when it was
// finished does not come along. Synced, under another name yet.
Result<BackupInfo> copy_snapshot(SnapshotDecoder& from, Files& folder, const std::string& name) {
  const Result<std::unique_ptr<File>> to = folder.create(name, Access::Write);
  if (!to) return fail(to.error());
  const Sequence sequence = from.header().moment.sequence;
  SnapshotEncoder encoder(**to, from.header(), chunk_size, true);
  for (;;) {
    const Result<std::string_view> chunk = from.next();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) break;
    if (Result<void> put = encoder.append(*chunk); !put) return fail(put.error());
  }
  const Result<SnapshotEnd> end = encoder.finish({.digest = from.end().digest,
                                                  .durable_sequence = sequence,
                                                  .durable_group = from.end().durable_group});
  if (!end) return fail(end.error());
  if (Result<void> synced = (*to)->sync(); !synced) return fail(synced.error());
  const Result<VerifiedSnapshot> read_back = verify_snapshot(folder, name);
  if (!read_back) return fail(read_back.error());
  if (read_back->end != *end) {
    return fail(Error::Code::Io,
                fmt::format("{} reads otherwise than it was written", folder.path_of(name)));
  }
  return BackupInfo{.sequence = sequence, .bytes = read_back->info.stored_bytes};
}

// Whole, under its name, for good; or nothing of it.
Result<BackupInfo> place_copy(SnapshotDecoder& from, Files& folder, const std::string& name) {
  const std::string made = unfinished(fmt::format("{}.{}", name, getpid()));
  Result<BackupInfo> copied = copy_snapshot(from, folder, made);
  if (copied) {
    if (Result<void> renamed = folder.rename(made, name); !renamed) copied = fail(renamed.error());
  }
  if (!copied) {
    [[maybe_unused]] const Result<void> removed = folder.remove(made);
    return copied;
  }
  if (Result<void> synced = folder.sync_directory(); !synced) return fail(synced.error());
  return copied;
}

Result<std::unique_ptr<SnapshotDecoder>> open_newest(Files& files, Sequence least) {
  for (int attempt = 1;; ++attempt) {
    const Result<std::vector<std::string>> names = files.list();
    if (!names) return fail(names.error());
    const Listing listing = listing_of(*names);
    if (listing.snapshots.empty() || listing.snapshots.back() < least) {
      return fail(Error::Code::NotFound,
                  fmt::format("there is no snapshot of record {} in {}", least, files.path_of("")));
    }
    Result<std::unique_ptr<SnapshotDecoder>> opened =
        SnapshotDecoder::open(files, snapshot_name(listing.snapshots.back()));
    const bool again = !opened && opened.error().code == Error::Code::NotFound;
    if (!again || attempt == most_attempts) return opened;
  }
}

// The state in it is one that this version understands, and it is the one that was written.
Result<void> judge_backup(Files& folder, const std::string& name, Judge& judge) {
  const Result<std::unique_ptr<SnapshotDecoder>> from = SnapshotDecoder::open(folder, name);
  if (!from) return fail(from.error());
  for (;;) {
    const Result<std::string_view> chunk = (*from)->next();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) break;
    if (Result<void> loaded = judge.load(*chunk); !loaded) return loaded;
  }
  return judge.loaded((*from)->info());
}

Result<BackupInfo> make_journal(Files& folder, const std::string& name, Files& target) {
  const Result<std::unique_ptr<SnapshotDecoder>> from = SnapshotDecoder::open(folder, name);
  if (!from) return fail(from.error());
  const Result<VerifiedSnapshot> verified = verify_snapshot(folder, name);
  if (!verified) return fail(verified.error());
  const Sequence sequence = verified->header.moment.sequence;
  const SegmentHeader header{.journal = verified->header.journal,
                             .number = 1,
                             .first_sequence = sequence + 1,
                             .first_group = verified->end.durable_group + 1,
                             .size = first_segment};
  const std::string segment = segment_name(header.number);
  if (Result<void> zeroes = make_zeroes(target, segment, header.size); !zeroes) {
    return fail(zeroes.error());
  }
  Result<std::unique_ptr<File>> file = target.open(segment, Access::Commit);
  if (!file) return fail(file.error());
  if (const auto begun = SegmentWriter::begin(std::move(*file), header); !begun) {
    return fail(begun.error());
  }
  // Last, so that what is left of an interrupted restore does not start.
  return place_copy(**from, target, snapshot_name(sequence));
}

}  // namespace

Result<BackupInfo> journal_backup(Files& files,
                                  Sequence least,
                                  Files& folder,
                                  const std::string& name) {
  const Result<std::unique_ptr<SnapshotDecoder>> from = open_newest(files, least);
  if (!from) return fail(from.error());
  return place_copy(**from, folder, name);
}

Result<BackupInfo> journal_restore(Files& folder,
                                   const std::string& name,
                                   Judge& judge,
                                   Files& target) {
  const Result<std::vector<std::string>> there = target.list();
  if (!there) return fail(there.error());
  if (!there->empty()) {
    return fail(Error::Code::Conflict,
                fmt::format("{} is not empty; a backup is restored into a home without a journal",
                            target.path_of("")));
  }
  if (Result<void> judged = judge_backup(folder, name, judge); !judged) {
    return fail(judged.error());
  }
  Result<BackupInfo> made = make_journal(folder, name, target);
  if (made) {
    const Result<Verdict> verdict = journal_verify(target, Shape::Text, [](std::string_view) {});
    if (!verdict) {
      made = fail(verdict.error());
    } else if (!verdict->starts || verdict->damaged) {
      made = fail(Error::Code::Io,
                  fmt::format("{} reads otherwise than it was written", target.path_of("")));
    }
  }
  if (made) return made;
  if (const Result<std::vector<std::string>> left = target.list()) {
    for (const std::string& left_behind : *left) {
      [[maybe_unused]] const Result<void> removed = target.remove(left_behind);
    }
  }
  return made;
}

}  // namespace reeve::tools
