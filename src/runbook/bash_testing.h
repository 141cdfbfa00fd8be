#pragma once

#include "runbook/load.h"

#include <map>
#include <optional>
#include <string>

// The real bash, for tests.
namespace reeve::runbook {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

// With these values, PATH, and nothing else in its environment.
Ran run_bash(const std::string& program, const std::map<std::string, std::string>& values);

// `bash -n`.
std::optional<ShellComplaint> check_with_bash(const std::string& program);

}  // namespace reeve::runbook
