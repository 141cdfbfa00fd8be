#pragma once

#include <cstdint>
#include <string>

namespace reeve::adapters {

// What an agent gets done besides talking: another number whenever a value was published to
// `output` ($REEVE_OUTPUT), or HEAD moved (a commit, a rebase) in the repository or worktree that
// `workspace` lies in. Files are looked at, git is not started.
std::uint64_t progress_of(const std::string& output, const std::string& workspace);

// Another number whenever the file was written to; 0 while there is none.
std::uint64_t change_of(const std::string& path);

}  // namespace reeve::adapters
