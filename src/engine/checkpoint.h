#pragma once

#include "base/result.h"
#include "core/state.h"
#include "engine/ports.h"
#include "journal/journal.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A checkpoint is a query that goes to the journal: Engine::checkpoint() asks for a copy of the
// state, which comes out when all it contains is durable, and is written beside the commits that go
// on. When it is safe the journal may forget what it covers, as far as the projectors have passed.
namespace reeve::engine {

struct Snapshot {
  State state;
  Stamp stamp;  // of its last record

  Sequence sequence() const { return state.sequence; }
};

// Writes all of it, chunk by chunk: on a thread of its own.
Result<journal::SnapshotInfo> write_checkpoint(journal::Journal& journal, const Snapshot& snapshot);

// The same in small steps, for whoever has one thread and wants to do other things in between (or
// to pull the plug). Holds the chunks of the whole state in memory.
class Checkpointer {
 public:
  // `chunk`: raw bytes a step.
  Checkpointer(journal::Journal& journal,
               const Snapshot& snapshot,
               std::size_t chunk = std::size_t{64} << 10U);

  // One operation of the journal: begins, appends a chunk, finishes. Not to be called again after
  // it failed or is_done().
  Result<void> step();
  bool is_done() const { return info_.has_value(); }
  const std::optional<journal::SnapshotInfo>& info() const { return info_; }

 private:
  journal::Journal& journal_;
  journal::Moment moment_;
  std::vector<std::string> chunks_;
  std::size_t next_ = 0;
  std::uint64_t digest_ = 0;
  std::unique_ptr<journal::SnapshotWriter> writer_;
  std::optional<journal::SnapshotInfo> info_;
};

}  // namespace reeve::engine
