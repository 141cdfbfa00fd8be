#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

// How the simulator is tested: each planted bug (base/planted.h) must be found.
namespace reeve::sim {

// From now on this one is there. False if there is none of that name, or this is not a build that
// has any.
bool plant(std::string_view name);

// Runs the one of this name, or each of them in a process of its own, until it is found or the time
// (60 s of the processor if not said) is up. Prints the table; the exit status is 0 if all were
// found.
int find_planted(std::string_view name,
                 std::uint64_t first_seed,
                 std::optional<std::chrono::milliseconds> time);

}  // namespace reeve::sim
