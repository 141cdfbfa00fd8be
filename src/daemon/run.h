#pragma once

#include <span>
#include <string_view>

namespace reeve::daemon {

// `reeve daemon run [--home DIR] [--foreground-log] [--ready-fd N] [--beanstalk ADDRESS]...
// [--beanstalk-public] [--beanstalk-job-bytes N] [--project NAME]`: the words behind `run`. Serves
// until it is told to stop, and returns the exit status: 0 stopped cleanly, 1 failed (and said why
// on standard error, in the log and, before it was ready, on the descriptor), 2 bad words.
//
// On the descriptor of --ready-fd comes one line: "ready" the moment it listens, else why it
// cannot.
int run(std::span<const std::string_view> arguments, std::string_view version);

// `reeve beanstalkd ...`, and this program started under the name beanstalkd: the same, by the
// flags of the original (api/beanstalk/options.h).
int run_as_beanstalkd(std::span<const std::string_view> arguments, std::string_view version);

}  // namespace reeve::daemon
