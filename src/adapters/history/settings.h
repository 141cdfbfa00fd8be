#pragma once

#include "base/time.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

// What can be said about history, by whoever configures a daemon.
namespace reeve::history {

struct Settings {
  bool enabled = true;

  // What is older, beyond so many events, or beyond so many bytes of the file, is forgotten: the
  // oldest first. Zero: no such limit.
  Duration keep = std::chrono::days{30};
  std::uint64_t most_events = 10'000'000;
  std::uint64_t most_bytes = std::uint64_t{4} << 30U;

  // What may wait in memory to be written. Beyond it nothing is taken until all of it was written,
  // and what was missed is a gap.
  std::size_t buffer_bytes = std::size_t{256} << 20U;

  bool operator==(const Settings&) const = default;
};

}  // namespace reeve::history
