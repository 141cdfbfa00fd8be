#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace peers {

// What one run came to. A latency is that of a whole operation of the workload, in microseconds.
struct Measured {
  double seconds = 0;
  std::uint64_t operations = 0;
  std::uint64_t refused = 0;  // replies that were not what was asked for
  std::vector<float> latencies;

  double rate() const { return static_cast<double>(operations) / seconds; }
  // Sorts; `part` of 0.99 is the p99.
  double latency(double part) {
    if (latencies.empty()) return 0;
    const auto last = static_cast<double>(latencies.size() - 1);
    const auto place = latencies.begin() + static_cast<std::ptrdiff_t>(part * last);
    std::nth_element(latencies.begin(), place, latencies.end());
    return *place;
  }
};

}  // namespace peers
