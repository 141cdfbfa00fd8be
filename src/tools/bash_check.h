#pragma once

#include "runbook/load.h"

#include <optional>
#include <string>

namespace reeve::tools {

// What `bash -n` says about a program: read, and nothing of it run. Bash is looked for on the PATH
// and sees nothing else of our environment.
std::optional<runbook::ShellComplaint> bash_check(const std::string& program);

}  // namespace reeve::tools
