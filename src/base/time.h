#pragma once

#include "base/result.h"

#include <chrono>
#include <cstdint>
#include <ratio>
#include <string>
#include <string_view>

namespace reeve {

using Duration = std::chrono::milliseconds;

// The clock of the engine: it never runs backwards and everything that expires or falls
// due is measured on it. It has no now(): its readings come in with the inputs, and only
// the daemon makes them.
struct EngineClock {
  using rep = std::int64_t;
  using period = std::milli;
  using duration = Duration;
  using time_point = std::chrono::time_point<EngineClock, Duration>;
  static constexpr bool is_steady = true;
};

// Two kinds of time that do not mix: engine time, for leases, delays and timeouts, and the
// time of day as the machine tells it, for people and calendars.
using Time = EngineClock::time_point;
using Wall = std::chrono::sys_time<Duration>;

// One moment, told by both clocks.
struct Stamp {
  Time now;
  Wall wall;

  bool operator==(const Stamp&) const = default;
};

// Sums too far away for a Time stop at its ends, so a timeout of a hundred million years
// is in the future and not in the past.
Time saturating_add(Time time, Duration duration);

// Durations as people write them: whole numbers with the units d, h, m, s, ms, each at most
// once and the largest first: "500ms", "30s", "1h30m", "1d12h". A bare "0" is allowed.
Result<Duration> parse_duration(std::string_view text);

// The shortest text that parse_duration reads back as the same duration, in the largest
// units that fit: "1h30m", "1s500ms", and "0s" for none. A negative one, which no text can
// ask for, is shown with a minus in front.
std::string format_duration(Duration duration);

}  // namespace reeve
