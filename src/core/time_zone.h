#pragma once

#include "base/time.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Time zones as plain data. The loader reads them from the system (tzdata) and they travel in
// the definitions: the core opens no file, and a new zone is a new definition, not a new past.
//
// A zone is a list of periods in which the local time differs from UTC by one offset:
//
//      before        transitions                     rule, for ever
//   ───────────┬───────────┬──────────┬ · · · ┬──────────────────────────▶
//              at          at         at      the last transition
//
// Where a period begins with a smaller offset than the one before had, a stretch of local time
// comes twice (a fold); where it begins with a larger one, a stretch is left out (a gap).
namespace reeve::time_zone {

using Seconds = std::chrono::duration<std::int32_t>;

// Local time as a clock on the wall shows it, without saying where.
using Local = std::chrono::local_time<Duration>;

struct Transition {
  Wall at;
  Seconds offset{0};  // east of UTC, from here on
  bool is_dst = false;

  bool operator==(const Transition&) const = default;
};

// `Mm.w.d/time` of POSIX: in month m, the w-th (5: the last) weekday d.
struct Change {
  std::uint32_t month = 1;    // 1 to 12
  std::uint32_t week = 1;     // 1 to 5
  std::uint32_t weekday = 0;  // 0 is Sunday
  Seconds time{7200};         // since midnight, by the clock in force before it; -167 h to 167 h

  bool operator==(const Change&) const = default;
};

struct Daylight {
  Seconds offset{0};
  Change start;
  Change end;

  bool operator==(const Daylight&) const = default;
};

// How it goes on after the last transition.
struct Rule {
  Seconds standard{0};
  std::optional<Daylight> daylight;

  bool operator==(const Rule&) const = default;
};

// The empty one is UTC.
struct Zone {
  std::string name;
  Seconds before{0};  // the first transition
  std::vector<Transition> transitions;
  Rule rule;

  bool operator==(const Zone&) const = default;
};

// Whether everything in it is within the bounds that the arithmetic below relies on: transitions
// in order and within the years 1 to 9999, offsets up to 26 hours, months, weeks and days that
// exist.
bool is_sound(const Zone& zone);

// From `begin` up to, not including, `end` the local time is UTC + offset.
struct Period {
  Wall begin;
  Wall end;
  Seconds offset{0};

  bool operator==(const Period&) const = default;
};

// The period of a sound zone that contains `at`.
Period period_at(const Zone& zone, Wall at);

inline Local to_local(Wall at, const Period& period) {
  return Local((at + period.offset).time_since_epoch());
}

// The first moment at which the clocks show `local` or more: for a time that comes twice the
// first of the two, for one that is left out the end of the gap.
Wall first_at_or_past(const Zone& zone, Local local);

// The most that the clocks had shown at `at` or ever before. In the second pass of a fold this
// is the end of the first one.
Local high_water(const Zone& zone, Wall at);

}  // namespace reeve::time_zone
