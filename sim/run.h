#pragma once

#include "sim/world.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Seeds, one after the other.
namespace reeve::sim {

struct Failure {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::string what;
};

struct Finding {
  Counts counts;
  std::uint64_t seeds = 0;
  std::optional<Failure> failure;
  double seconds = 0;
  double processor_seconds = 0;  // of this process: others may be using the machine as well
};

struct Limits {
  std::uint64_t first_seed = 1;
  std::optional<std::uint64_t> seeds = {};
  std::optional<std::uint64_t> steps = {};         // over all seeds
  std::optional<std::uint64_t> steps_a_seed = {};  // else by the seed's own plan
  std::optional<std::chrono::milliseconds> time = {};
};

// Until a limit is reached or something is violated. `before` is told of every seed.
Finding run_seeds(const Limits& limits,
                  const std::function<void(std::uint64_t seed, const Counts& so_far)>& before = {});

// The whole trace of one seed, line by line; what was violated, if anything.
struct Replay {
  std::optional<Failure> failure;
  Counts counts;
  std::uint64_t hash = 0;
};
Replay replay(std::uint64_t seed,
              std::optional<std::uint64_t> steps,
              const std::function<void(const std::string&)>& line);

// The last lines of a failed seed's trace, and how to see all of it.
std::string tell(const Failure& failure, std::optional<std::uint64_t> steps_a_seed);

}  // namespace reeve::sim
