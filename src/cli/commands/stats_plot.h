#pragma once

#include "cli/commands/stats_data.h"

#include <string>

namespace reeve::cli::stats {

// One picture, as SVG: how many items a minute, how long things waited, what failed.
std::string plot(const Stats& stats);

}  // namespace reeve::cli::stats
