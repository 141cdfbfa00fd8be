#pragma once

#include "cli/context.h"

#include <expected>

// How long locks of the board are good is the project's, in the state; the settings are in files.
// Whoever takes or extends such a lock says first what the files say (board.configure); with what
// the daemon knows already nothing is written down there.
namespace reeve::cli {

// What is in force by the files, be it the default: what was taken out of a file, here or for every
// project of the user, counts no longer from the next such command on. A failure names the mistakes
// of the files.
std::expected<void, Failure> send_locking_settings(Context& context);

}  // namespace reeve::cli
