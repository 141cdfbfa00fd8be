#pragma once

#include "cli/context.h"

namespace reeve::cli {

// `queue work`: takes items and runs a command for each.
int queue_work(Context& context, const Parsed& parsed);

// The data of an item as a command reads it: bytes as they are, a JSON string as its text,
// everything else as JSON.
std::string data_of(const Json& item);

}  // namespace reeve::cli
