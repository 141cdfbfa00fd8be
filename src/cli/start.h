#pragma once

#include "cli/home.h"
#include "cli/output.h"

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

// Starting the daemon: this same program as `daemon run`, in a session of its own, with nothing of
// ours but the environment, and back when it serves. If it does not come up, its own error is ours.
namespace reeve::cli {

enum class Started : std::uint8_t {
  Ready,    // it listens
  Running,  // another one has the home: it listens, or will, or is just ending
  Died,     // without a word: it was killed, or there is something wrong with it
};

std::expected<Started, Failure> start_daemon(const Home& home,
                                             const std::vector<std::string>& more = {});

}  // namespace reeve::cli
