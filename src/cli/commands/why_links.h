#pragma once

#include "cli/commands/why_page.h"

#include <string>
#include <vector>

// The chain of those who are waited for, as `reeve why` tells it: what is behind another is
// indented by two. Of many side by side (the holders of a semaphore, the runs within one) the first
// are told, and how many more there are: one screen has no room for all, and `--json` has them.
// In so many rows: who is waited for comes first, and of what programs said the last lines are
// told. What is left out is counted.
namespace reeve::cli {

std::vector<Words> links_in_words(const Output& output,
                                  const Json::Array& chain,
                                  const std::string& asker,
                                  std::size_t room);

}  // namespace reeve::cli
