#pragma once

#include "engine/clock.h"

namespace reeve::sim {

// The machine's three clocks, moved by nobody but the simulator.
class Clocks {
 public:
  const engine::Reading& reading() const { return reading_; }

  void pass(Duration by) {
    reading_.boot += by;
    reading_.monotonic += by;
    reading_.wall += by;
  }
  // The machine sleeps: the monotonic clock does not see it.
  void sleep(Duration by) {
    reading_.boot += by;
    reading_.wall += by;
  }
  void set_wall(Duration by) { reading_.wall += by; }

  // The machine was off.
  void reboot(Duration off) {
    reading_.boot = Duration{3000};
    reading_.monotonic = Duration{3000};
    reading_.wall += off;
  }

 private:
  engine::Reading reading_{.boot = Duration{5000},
                           .monotonic = Duration{5000},
                           .wall = Wall{Duration{1'700'000'000'000}}};
};

}  // namespace reeve::sim
