#pragma once

#include "base/result.h"
#include "base/time.h"
#include "journal/record.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The memory of the engine: records in one total order, durable in commit groups, and snapshots
// that stand for all records up to a sequence. `open_file_journal` keeps them in a directory; an
// implementation that lets somebody else do the ordering has the same shape.
//
// First a Recovery tells what was remembered, then it becomes a Journal:
//
//     Result<std::unique_ptr<Recovery>> recovery = open_file_journal(files, options);
//     while (chunk = recovery->next_chunk()) ...       the state, if there is a snapshot
//     recovery->replay([](std::span<const Record> group) { ... });
//     Result<std::unique_ptr<Journal>> journal = recovery->begin();
namespace reeve::journal {

// A moment of the journal that a snapshot stands for.
struct Moment {
  Sequence sequence = 0;  // of the last record it contains
  Stamp stamp;

  bool operator==(const Moment&) const = default;
};

// What a whole, verified snapshot says of itself.
struct SnapshotInfo {
  Moment moment;
  std::uint64_t digest = 0;  // of the state, for the reader to compare
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t chunks = 0;

  bool operator==(const SnapshotInfo&) const = default;
};

// A snapshot being written, by one thread, while commits go on. Dropped before finish(), it leaves
// nothing behind that anybody would take for a snapshot.
class SnapshotWriter {
 public:
  SnapshotWriter() = default;
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  virtual ~SnapshotWriter() = default;

  // Any pieces: the reader gets the same bytes in pieces of its own.
  virtual Result<void> append(std::string_view bytes) = 0;

  // When it succeeds, the snapshot is whole, read back, on stable storage under its name, and a
  // base to recover from. Everything it contains must be durable by now (CHECKed).
  virtual Result<SnapshotInfo> finish(std::uint64_t state_digest) = 0;
};

// Whether new work may be taken. The reserve is the segment in use and the spare one, which are
// there whatever happens to the disk (unless its file system writes every block to a new place, as
// btrfs and zfs do: there a full disk may end the journal at any commit). What is left of it when
// new work ends is the rest of that segment, less Options::measure_every, and all of the spare.
enum class Room {
  Plenty,
  FinishingOnly,  // the disk is as good as full: only what frees things may still be committed
};

using GroupVisitor = std::function<Result<void>(std::span<const Record> group)>;

// Threads: commit() and close() belong to one thread. prepare(), begin_snapshot() and what it
// returns, truncate() and read() belong to one other thread, and may run while commit() does. The
// rest may be asked by anybody at any time.
//
// The first failed write or sync ends it: from then on every call fails with that same error, and
// no sync is ever tried again, by no thread. Only the next recovery knows what the disk holds. That
// the disk is full while a spare or a snapshot is being made, or that no descriptor is left to open
// a file with, is no such end: the call fails with Error::Code::Full, room() shrinks. A segment
// that somebody has removed ends it too: what was written there nobody will find again.
class Journal {
 public:
  Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  virtual ~Journal() = default;

  // One group: all of the entries or none survive. When it returns they are on stable storage, in
  // order, under the sequences from next_sequence() on; the last one is returned. At least one
  // entry. A group of up to Options::largest_group has its place on a full disk too, once a spare
  // was prepared.
  virtual Result<Sequence> commit(std::span<const Entry> entries) = 0;

  // The sequence of the next entry to be committed; everything before it is durable.
  virtual Sequence next_sequence() const = 0;

  virtual Room room() const = 0;

  // Makes what the next commits will need, so that they need not wait for it: call it after the
  // first reply and whenever wants_prepare(). Also looks at the disk's free space, which is wanted
  // whenever Options::measure_every bytes were committed; while room() is FinishingOnly again and
  // again, so ask once a second, and after each truncate().
  virtual bool wants_prepare() const = 0;
  virtual Result<void> prepare() = 0;

  // Since the last snapshot the journal has grown by more than max(32 MiB, half of that one); or
  // its segments (every start makes one) have by max(32 MiB, that one) more than what is in them,
  // or by 128 MiB or so in all; or room() is FinishingOnly and a snapshot would free a segment.
  virtual bool wants_snapshot() const = 0;
  virtual Result<std::unique_ptr<SnapshotWriter>> begin_snapshot(const Moment& moment) = 0;

  // Deletes what is no longer needed if recovery may begin from the newest snapshot that is not
  // after `passed`: older snapshots and the segments it covers. Whoever has yet to see events made
  // from records holds `passed` back.
  virtual Result<void> truncate(Sequence passed) = 0;

  // The durable records from `from` on, group by group; a group is shown whole if any of it is
  // wanted. NotFound if the first of them is no longer kept.
  virtual Result<void> read(Sequence from, const GroupVisitor& visitor) = 0;

  // Marks a clean stop. The last call there is; without it the next start is an unclean one. No
  // other thread may be in a call.
  virtual Result<void> close() = 0;
};

// A bad last group: the disk was interrupted while it was written, so nobody was told it was done.
struct TornTail {
  std::string file;
  std::uint64_t offset = 0;
  Sequence first_sequence = 0;  // would have been
  std::string why;

  bool operator==(const TornTail&) const = default;
};

// What recovery found, for the log.
struct Findings {
  bool fresh = false;       // there was no journal
  bool clean_stop = false;  // the last user said goodbye
  std::optional<TornTail> torn_tail;
  std::vector<std::string> notes;  // sentences: a damaged snapshot passed over, leftovers removed
};

// Nothing on the disk changes before begin(). One thread.
//
// It refuses (Error::Code::Corrupt, naming file and offset) a bad record that a valid later group
// follows, a gap, a snapshot without any segment, a file of another journal, and a tail that is
// shorter than a clean stop or a snapshot says; and (Error::Code::Conflict) what a newer version
// has written.
class Recovery {
 public:
  Recovery() = default;
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;
  virtual ~Recovery() = default;

  // The snapshot to begin from, if any: whole and verified.
  virtual const std::optional<SnapshotInfo>& snapshot() const = 0;

  // Its content, piece by piece; empty at the end. The view holds until the next call.
  virtual Result<std::string_view> next_chunk() = 0;

  // The records after the snapshot, in order, group by group; of a group of which only the last
  // part is after it, that part. What the visitor fails with, replay fails with. Once.
  virtual Result<void> replay(const GroupVisitor& visitor) = 0;

  // Known in full after replay().
  virtual const Findings& findings() const = 0;

  // After replay(): makes the tail safe and begins a new segment. After an unclean stop the last
  // group is written again, since the page cache may have shown what the disk does not have. When
  // it returns, all that replay() has shown is on stable storage.
  virtual Result<std::unique_ptr<Journal>> begin() = 0;
};

}  // namespace reeve::journal
