#pragma once

#include "journal/files.h"
#include "journal/journal.h"
#include "journal/journal_id.h"

#include <cstdint>
#include <limits>
#include <memory>

namespace reeve::journal {

// The defaults are what is shipped; tests make everything small.
struct Options {
  // The name of a journal that is made new. Random, see random_journal_id().
  JournalId fresh_id;

  // Recovery begins from the newest snapshot not after this: what every projector has committed. If
  // there is none such, from the very first record, or, if that is gone, from the oldest snapshot.
  Sequence base_limit = std::numeric_limits<Sequence>::max();

  // Nobody else may write here from the first look until the journal is destroyed. Not for those
  // who only look: they may do so while another writes.
  bool claims = true;

  std::uint64_t first_segment = std::uint64_t{1} << 20U;  // those after a filled one double
  std::uint64_t largest_segment = std::uint64_t{64} << 20U;
  // The spare segment has room for a group of this size whatever becomes of the disk: no input is
  // larger, and batches are not unless they are one input.
  std::uint64_t largest_group = std::uint64_t{5} << 20U;
  std::uint64_t measure_every = std::uint64_t{256} << 10U;  // bytes of journal: the disk's room
  std::uint64_t snapshot_after = std::uint64_t{32} << 20U;  // bytes of journal, at least
  std::uint64_t keep_free = std::uint64_t{16} << 20U;       // beside room for a snapshot

  // How much longer than needed segments and snapshots are kept, by the stamps of the snapshots: so
  // that all that happened in this time can be told once more. Not while the disk is short of room.
  Duration keep{0};

  std::size_t chunk_size = std::size_t{256} << 10U;    // raw bytes of a snapshot's chunk
  std::uint64_t sync_every = std::uint64_t{1} << 20U;  // bytes of a snapshot between syncs
  bool compress = true;
};

// `files` outlives what is returned.
Result<std::unique_ptr<Recovery>> open_file_journal(Files& files, const Options& options);

}  // namespace reeve::journal
