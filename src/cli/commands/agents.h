#pragma once

#include "cli/json.h"
#include "cli/output.h"

#include <cstddef>
#include <string>

namespace reeve::cli {

// The table of agents that `agent list`, `status` and `top` show; empty: there are none.
std::string agents_table(const Output& output, const Json::Array& agents, std::size_t width);

}  // namespace reeve::cli
