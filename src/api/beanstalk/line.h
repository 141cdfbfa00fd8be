#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

// One line of beanstalkd's protocol, read the way beanstalkd 1.12 reads it: the same prefixes are
// commands, the same digits are numbers, the same sloppiness passes (`reserve-with-timeout abc` is
// one of 0 seconds, `kick 3x` kicks three). Nothing is allocated; names point into the line.
namespace reeve::api::beanstalk {

inline constexpr std::size_t line_bytes = 224;  // with its CRLF
inline constexpr std::size_t name_bytes = 200;

enum class Op : std::uint8_t {
  Put,
  Peek,
  PeekReady,
  PeekDelayed,
  PeekBuried,
  Reserve,
  ReserveWithTimeout,
  ReserveJob,
  Delete,
  Release,
  Use,
  Watch,
  Ignore,
  Bury,
  Kick,
  KickJob,
  Touch,
  Stats,
  StatsJob,
  StatsTube,
  ListTubes,
  ListTubeUsed,
  ListTubesWatched,
  PauseTube,
  Quit,
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::Quit) + 1;

enum class Fault : std::uint8_t { UnknownCommand, BadFormat };

struct Line {
  Op op = Op::Quit;
  std::uint64_t id = 0;           // of a job; kick: how many
  std::uint32_t priority = 0;     // 0 is the most urgent
  std::uint32_t delay = 0;        // seconds; also how long pause-tube pauses
  std::uint32_t time_to_run = 0;  // seconds
  std::uint32_t body = 0;         // bytes, without the CRLF behind them
  bool garbage = false;           // put: something follows; it matters if the job is not too big
  std::optional<std::uint32_t> timeout = {};  // reserve-with-timeout, seconds; none: for ever
  std::string_view name = {};                 // of a tube

  bool operator==(const Line&) const = default;
};

// `line` is without its CRLF.
std::expected<Line, Fault> parse_line(std::string_view line);

// Whether the protocol has a way to say this name, and a queue may have it: letters, digits and
// `-+/;.$_()`, not beginning with `-`, up to 200 bytes, without `..`.
bool is_tube_name(std::string_view name);

// The first line of a connection that was meant for a web server: `GET /put HTTP/1.1`. `whole`:
// all of the line is there, not only its first 224 bytes.
bool looks_like_http(std::string_view line, bool whole);

}  // namespace reeve::api::beanstalk
