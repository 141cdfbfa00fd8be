#pragma once

#include "api/beanstalk/ledger.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The command line of beanstalkd 1.12, for those who start this program under that name. What does
// not apply here is accepted and noted, so that an init script need not change; what would be a
// lie (another user) is refused.
namespace reeve::api::beanstalk {

inline constexpr std::uint16_t default_port = 11300;

struct Options {
  std::string address = "127.0.0.1:11300";  // or unix:PATH: what `daemon run --beanstalk` takes
  bool is_public = false;  // the address was named, and is not of this machine alone
  std::uint32_t job_bytes = default_job_bytes;
  std::optional<std::string> home;  // none: the usual one
  bool help = false;
  bool version = false;
  std::vector<std::string> notes;  // a sentence each, for standard error

  bool operator==(const Options&) const = default;
};

// The words behind the program's name. An error's message says what is wrong with them.
Result<Options> parse_options(std::span<const std::string_view> words);

// What -h prints.
extern const std::string_view options_help;

// Whether only this machine reaches it: 127.0.0.0/8, ::1, localhost, unix:PATH.
bool is_loopback(std::string_view host);

}  // namespace reeve::api::beanstalk
