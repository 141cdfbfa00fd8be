#pragma once

#include "cli/context.h"
#include "config/key.h"

#include <expected>

// How long locks of the board are good is the project's, in the state; the settings are in files.
// Whoever takes or extends such a lock says first what the files say (board.configure); with what
// the daemon knows already nothing is written down there.
namespace reeve::cli {

// What is in force by the files: where the project has a folder, and so a place for its file, also
// the defaults, or a key that was taken out of it would stay. Elsewhere only what the user's file
// sets. A failure names the mistakes of the files.
std::expected<void, Failure> send_locking_settings(Context& context);

// A key was taken out of a file: what is in force now, be it the default, if a daemon runs.
void send_locking_setting(Context& context, const config::Key& key);

}  // namespace reeve::cli
