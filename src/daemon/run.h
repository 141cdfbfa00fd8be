#pragma once

#include "base/result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reeve::daemon {

// `reeve daemon run [--home DIR] [--foreground-log] [--ready-fd N] [--beanstalk ADDRESS]...
// [--beanstalk-public] [--beanstalk-job-bytes N] [--project NAME]`: the words behind `run`. Serves
// until it is told to stop, and returns the exit status: 0 stopped cleanly, 1 failed (and said why
// on standard error, in the log and, before it was ready, on the descriptor), 2 bad words.
//
// On the descriptor of --ready-fd comes one line: "ready" the moment it listens, else why it
// cannot. In the foreground of a terminal, without --foreground-log, that it is ready and where it
// listens is told on standard error. `command` is what the envelope of --json calls it.
int run(std::span<const std::string_view> arguments,
        std::string_view version,
        std::string_view command = "daemon run");

// Says what is wrong, and gives the exit status.
int complain(const Error& error, bool json, std::string_view command);

// `reeve beanstalkd ...`, and this program started under the name beanstalkd: the same, by the
// flags of the original (api/beanstalk/options.h). Who says no project means $REEVE_PROJECT.
struct AsBeanstalkd {
  std::span<const std::string_view> words;
  std::optional<std::string> home = {};     // if no -b says so
  std::optional<std::string> project = {};  // its name, or the path of its folder
  bool json = false;
};
int run_as_beanstalkd(const AsBeanstalkd& ask, std::string_view version);

}  // namespace reeve::daemon
