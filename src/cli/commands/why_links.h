#pragma once

#include "cli/json.h"
#include "cli/output.h"

#include <string>

// The chain of those who are waited for, as `reeve why` tells it: what is behind another is
// indented by two. Of many side by side (the holders of a semaphore, the runs within one) the first
// are told, and how many more there are: one screen has no room for all, and `--json` has them.
// Of what programs said the last lines are told, as many as the screen has room for.
namespace reeve::cli {

void tell_links(Output& output, const Json::Array& chain, const std::string& asker);

}  // namespace reeve::cli
