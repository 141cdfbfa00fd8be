#pragma once

#include "base/time.h"
#include "base/value_bytes.h"
#include "core/event.h"
#include "core/state.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

// Events on their way from the loop to the thread that writes them: encoded as the journal's values
// are, one behind the other. The loop pays for the bytes and nothing else (140 ns an event where it
// was measured, docs/performance.md); it never waits.
namespace reeve::history {

using Sequence = std::uint64_t;

class Buffer {
 public:
  explicit Buffer(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // ── The loop's side ──

  // False: there is no room. Then nothing is taken any more until go_on(), so that what was written
  // has no holes but those that are known.
  bool put(const Event& event, Time now, const State& state);
  void reached(Sequence sequence);
  // From what comes after `sequence`. What is in it stays.
  void go_on(Sequence sequence);
  // Nothing is in it, and nothing was missed.
  void clear(Sequence sequence);

  // ── Both ──

  // The first sequence of which something was missed.
  std::optional<Sequence> missed() const;
  std::size_t bytes() const;
  Sequence reached() const;

  // ── The writer's side ──

  struct Taken {
    std::deque<std::string> chunks;
    Sequence reached = 0;  // with these chunks, all up to this one was seen
  };
  Taken take();
  void wrote(std::size_t bytes);  // of what was taken

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{256} << 10U;

  void append(std::string_view bytes);

  const std::size_t most_bytes_;
  ByteBuffer scratch_;
  std::set<std::uint32_t> named_;  // projects whose names are in it

  mutable std::mutex mutex_;
  std::deque<std::string> chunks_;
  std::size_t bytes_ = 0;  // put, and not yet written
  Sequence reached_ = 0;
  Sequence skip_to_ = 0;
  std::optional<Sequence> missed_;
};

// What stands in a chunk, one after the other.
struct ProjectNamed {
  ProjectNo project;
  std::string_view name;
};
struct Put {
  Event event;
  Stamp stamp;
};

// Reads the record at `offset` and moves it on; false at the end of the chunk.
bool read_record(std::string_view chunk,
                 std::size_t& offset,
                 std::optional<ProjectNamed>& named,
                 std::optional<Put>& put);

}  // namespace reeve::history
