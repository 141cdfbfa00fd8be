#pragma once

#include "base/result.h"
#include "core/state.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

// A state as a sequence of chunks, so that nobody ever needs all of its bytes at once. A part of
// the state may span chunks; an entry of one of its maps never does, so a chunk is about as large
// as asked for, and larger only if a single entry is.
//
//     header chunk │ part 0 │ part 1 │ part 5 │ part 5 │ part 5 │ ... │ end chunk, with the digest
//
// How chunks are kept apart, compressed and guarded against rot is for whoever stores them:
// chunks come back as they were given, in order. The layout is in docs/value_format.md.
namespace reeve::codec {

inline constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

// Takes a chunk, which is good only during the call; an error ends the writing.
using ChunkSink = std::function<Result<void>(std::string_view chunk)>;

// The next chunk, good until the next call; none: there are no more.
using ChunkSource = std::function<Result<std::optional<std::string_view>>()>;

// Says the digest of the state (core/digest), which falls out on the way.
Result<std::uint64_t> write_snapshot(const State& state,
                                     const ChunkSink& sink,
                                     std::size_t chunk = chunk_bytes);

struct Snapshot {
  State state;
  std::uint64_t digest = 0;  // of the bytes that were read; the same as was written
  // A later version wrote parts or fields that this one does not know: `state` is not all there
  // was.
  bool passed_over = false;
};

// Refuses a sequence that was cut off, put into another order, or whose bytes do not have the
// digest its end tells. Whether the state makes sense is for others to say (core/invariants).
Result<Snapshot> read_snapshot(const ChunkSource& source);

}  // namespace reeve::codec
