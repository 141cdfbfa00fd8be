#pragma once

#include "base/time.h"
#include "core/state.h"

#include <optional>

// Turns what the machine's clocks say into stamps. Pure: readings come in as arguments, so the
// simulator pushes the same code the daemon runs.
//
// Engine time starts at the later of the last stamp in the journal and the wall clock, advances
// with the boot clock (which counts while the machine sleeps), and never runs backwards. What the
// wall clock does later touches nothing but `wall`: it neither expires a lease nor revives one.
namespace reeve::engine {

// All three read at about the same moment, in this order.
struct Reading {
  Duration boot{0};       // CLOCK_BOOTTIME
  Duration monotonic{0};  // CLOCK_MONOTONIC: stands still while the machine sleeps
  Wall wall;              // CLOCK_REALTIME

  bool operator==(const Reading&) const = default;
};

// The present, and what happened to the clocks since the last time somebody asked.
struct Moment {
  Stamp stamp;
  bool suspended = false;  // the machine slept
  Duration stepped{0};     // the wall clock was set, by this much

  bool operator==(const Moment&) const = default;
};

class Clock {
 public:
  // `last`: engine time of the last record.
  Clock(Time last, const Reading& first);

  Moment read(const Reading& reading);

  // How long to sleep from `now` on until the first of the deadlines, at least to the millisecond;
  // none: until something comes.
  static std::optional<Duration> until(const Deadlines& deadlines, Stamp now);

 private:
  Time start_;
  Reading first_;
  Reading last_;
  Time now_;
};

}  // namespace reeve::engine
