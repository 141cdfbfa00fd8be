#pragma once

#include "cli/commands/why_page.h"

#include <vector>

// Those who stand in line, as `reeve why` tells them in so many rows. A line that is long is told
// by its first, the asker and the number: one screen has no room for more, and `--json` has them.
namespace reeve::cli {

std::vector<Words> line_in_words(const Output& output, const Json& why, std::size_t room);

}  // namespace reeve::cli
