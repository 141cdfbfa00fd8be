#pragma once

#include "base/result.h"
#include "base/time.h"
#include "cli/json.h"

#include <string>
#include <string_view>

namespace reeve::cli {

// "visibility 5m, 3 attempts, backoff 1s..5m, …": what a queue does with its items, of one of
// queue.stats.
std::string settings_of(const Json& queue);

struct Backoff {
  Duration first;
  Duration longest;
};

// `1s..5m`, or one duration for both.
Result<Backoff> read_backoff(std::string_view text);

}  // namespace reeve::cli
