#pragma once

#include "core/effect.h"
#include "core/state.h"

#include <string>
#include <vector>

// What `pass_env` and `secret` of a runbook name stays out of the journal: whoever started the run
// wrote the values into a file of the home that only its owner reads, `secrets/NAME`, and the
// environment says which one ($REEVE_SECRETS). An entry is `p` or (secret) `s`, then NAME=VALUE and
// a NUL. Neither is to be seen: what is passed on by name is mostly a token, too.
namespace reeve::adapters {

inline constexpr const char* secrets_variable = "REEVE_SECRETS";
// The names of those that the run at hand may see, with blanks between them: the file has what all
// the runs within one may.
inline constexpr const char* passed_variable = "REEVE_PASSED";

struct Passed {
  Variables variables;               // all of them
  std::vector<std::string> secrets;  // their values
};
// A file that is gone leaves nothing.
Passed read_secrets(const std::string& path);

// Removes the files that nothing in the state speaks of any more and that are older than an hour:
// a younger one may be that of a run that is about to begin.
void sweep_secrets(const std::string& home, const State& state);

}  // namespace reeve::adapters
