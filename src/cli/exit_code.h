#pragma once

#include <string_view>

// What the shell hears. Scripts rely on these numbers: they do not change.
namespace reeve::cli {

enum class Exit : int {
  Ok = 0,
  Failed = 1,
  Usage = 2,
  NotFound = 3,
  Cancelled = 4,
  NotAllowed = 5,   // needs permission or --force; somebody else's
  NotObtained = 6,  // busy, full, lost: waited or not
  Unavailable = 7,  // no daemon, and none could be started
  TimedOut = 124,
  Lost = 125,  // lock run, sem run: the lease was lost, or Reeve itself failed
  NotExecutable = 126,
  NoCommand = 127,
  Interrupted = 130,
};

// By the `code` of an error.
Exit exit_of(std::string_view code);

}  // namespace reeve::cli
