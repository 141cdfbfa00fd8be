#pragma once

#include "adapters/descriptor.h"
#include "adapters/run_directory.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <sys/types.h>

// The program in hold's custody, and how it comes to be.
namespace reeve::adapters {

struct Started {
  pid_t pid = -1;
  Descriptor out;  // what it says; none in a pane
  Descriptor err;  // if that is kept apart
  Descriptor trouble;
};

// Bash runs the text, in a process group of its own. An error: nothing runs, and why. To get there
// may take its time (a folder on a disk that does not answer): `trouble` can be read when it is
// decided.
Result<Started> start_program(const RunDirectory& folder, const RunSpec& spec);

// Why it could not be started; empty: it was, or is not yet, and then `trouble` is still there.
std::string trouble_in(Descriptor& trouble, const RunSpec& spec);

// Without what is meant for a terminal: escape sequences, and all control characters but newlines
// and tabs. A letter that was written over another stands beside it.
std::string without_escapes(std::string_view text);

}  // namespace reeve::adapters
