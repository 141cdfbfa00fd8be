#pragma once

#include "cli/json.h"

#include <string>

namespace reeve::cli {

// "visibility 5m, 3 attempts, backoff 1s..5m, …": what a queue does with its items, of one of
// queue.stats.
std::string settings_of(const Json& queue);

}  // namespace reeve::cli
