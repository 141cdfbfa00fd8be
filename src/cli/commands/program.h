#pragma once

#include <string>
#include <utility>
#include <vector>

// A program of somebody else's, run to its end on our behalf.
namespace reeve::cli {

struct Ran {
  int code = -1;  // as a shell says it; -1: it could not be started
  std::string output;
};

// `bash -c`, with these variables beside our own and nothing to read. Its stdout is gathered, up to
// 4 MiB, or goes where our stderr goes.
Ran run_program(const std::string& program,
                const std::vector<std::pair<std::string, std::string>>& variables,
                bool gather);

}  // namespace reeve::cli
