#pragma once

#include <string>

namespace peers {

// What the machine can do at all: nothing that promises durability is faster than these.
struct MachineLimits {
  double direct_us = 0;      // a synced write of 4 KiB in place: O_DIRECT | O_DSYNC, preallocated
  double append_us = 0;      // an append of 300 bytes and fdatasync
  double round_trip_us = 0;  // one byte there and back over a unix socket between two threads
};

MachineLimits measure_machine(const std::string& directory);

}  // namespace peers
