#include "api/beanstalk/line.h"

#include "core/names.h"

#include <array>
#include <limits>
#include <utility>

namespace reeve::api::beanstalk {
namespace {

using Parsed = std::expected<Line, Fault>;

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

constexpr bool is_name_letter(char letter) {
  if (is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')) {
    return true;
  }
  return std::string_view("-+/;.$_()").find(letter) != std::string_view::npos;
}

std::unexpected<Fault> bad_format() { return std::unexpected(Fault::BadFormat); }

// Digits at the beginning of `text`, which they are taken from. False: too many for `most`.
template <class Int>
bool take_digits(std::string_view& text, Int& value, Int most) {
  value = 0;
  while (!text.empty() && is_digit(text.front())) {
    const Int digit = static_cast<Int>(text.front() - '0');
    if (value > (most - digit) / 10) return false;
    value = static_cast<Int>(value * 10 + digit);
    text.remove_prefix(1);
  }
  return true;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

// A number as most commands read one: spaces, then at least one digit, and no sign.
template <class Int>
bool take_number(std::string_view& text, Int& value) {
  skip_spaces(text);
  if (text.empty() || !is_digit(text.front())) return false;
  return take_digits(text, value, std::numeric_limits<Int>::max());
}

struct Loose {
  bool any = false;        // there was a number at all
  bool too_big = false;    // for 64 bits
  std::uint64_t bits = 0;  // two's complement
};

// A number as C's strtol and strtoul read one: white space, a sign, digits, and whatever follows.
Loose read_loose(std::string_view text, std::uint64_t most) {
  constexpr std::string_view white = " \t\n\v\f\r";
  while (!text.empty() && white.find(text.front()) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  Loose read;
  read.any = !text.empty() && is_digit(text.front());
  read.too_big = !take_digits(text, read.bits, most);
  if (negative) read.bits = std::uint64_t{0} - read.bits;
  return read;
}

Parsed put(std::string_view rest) {
  Line line{.op = Op::Put};
  if (!take_number(rest, line.priority) || !take_number(rest, line.delay) ||
      !take_number(rest, line.time_to_run) || !take_number(rest, line.body)) {
    return bad_format();
  }
  line.garbage = !rest.empty();
  return line;
}

Parsed with_id(Op op, std::string_view rest) {
  Line line{.op = op};
  if (!take_number(rest, line.id) || !rest.empty()) return bad_format();
  return line;
}

Parsed release(std::string_view rest) {
  Line line{.op = Op::Release};
  if (!take_number(rest, line.id) || !take_number(rest, line.priority) ||
      !take_number(rest, line.delay) || !rest.empty()) {
    return bad_format();
  }
  return line;
}

Parsed bury(std::string_view rest) {
  Line line{.op = Op::Bury};
  if (!take_number(rest, line.id) || !take_number(rest, line.priority) || !rest.empty()) {
    return bad_format();
  }
  return line;
}

Parsed kick(std::string_view rest) {
  const Loose count = read_loose(rest, std::numeric_limits<std::uint64_t>::max());
  if (!count.any || count.too_big) return bad_format();
  return Line{.op = Op::Kick, .id = static_cast<std::uint32_t>(count.bits)};
}

Parsed reserve_with_timeout(std::string_view rest) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const Loose timeout = read_loose(rest, most);
  if (timeout.too_big) return bad_format();
  Line line{.op = Op::ReserveWithTimeout};
  const std::uint32_t wait = static_cast<std::uint32_t>(timeout.bits);
  if (wait <= std::uint32_t{std::numeric_limits<std::int32_t>::max()}) line.timeout = wait;
  return line;
}

Parsed with_name(Op op, std::string_view name) {
  if (!is_tube_name(name)) return bad_format();
  return Line{.op = op, .name = name};
}

Parsed pause_tube(std::string_view rest) {
  skip_spaces(rest);
  std::size_t size = 0;
  while (size < rest.size() && is_name_letter(rest[size])) ++size;
  Line line{.op = Op::PauseTube, .name = rest.substr(0, size)};
  rest.remove_prefix(size);
  // Whether it is a name is seen when it is carried out: it counts, as in the original.
  if (line.name.empty() || !take_number(rest, line.delay) || !rest.empty()) return bad_format();
  return line;
}

Parsed alone(Op op, std::string_view rest) {
  if (!rest.empty()) return bad_format();
  return Line{.op = op};
}

// How the rest of a line that begins with a word is read.
struct Word {
  std::string_view word;
  Op op;
  enum class Rest : std::uint8_t { Put, None, Id, Name, Release, Bury, Kick, Timeout, Pause, Any };
  Rest rest;
};

Parsed read(const Word& word, std::string_view rest) {
  switch (word.rest) {
    case Word::Rest::Put:
      return put(rest);
    case Word::Rest::None:
      return alone(word.op, rest);
    case Word::Rest::Id:
      return with_id(word.op, rest);
    case Word::Rest::Name:
      return with_name(word.op, rest);
    case Word::Rest::Release:
      return release(rest);
    case Word::Rest::Bury:
      return bury(rest);
    case Word::Rest::Kick:
      return kick(rest);
    case Word::Rest::Timeout:
      return reserve_with_timeout(rest);
    case Word::Rest::Pause:
      return pause_tube(rest);
    case Word::Rest::Any:
      return Line{.op = word.op};
  }
  std::unreachable();
}

// The first word that the line begins with counts, so a longer one stands before its beginnings;
// and what is busy stands first.
constexpr std::array words{
    Word{"put ", Op::Put, Word::Rest::Put},
    Word{"reserve-with-timeout ", Op::ReserveWithTimeout, Word::Rest::Timeout},
    Word{"reserve-job ", Op::ReserveJob, Word::Rest::Id},
    Word{"reserve", Op::Reserve, Word::Rest::None},
    Word{"delete ", Op::Delete, Word::Rest::Id},
    Word{"release ", Op::Release, Word::Rest::Release},
    Word{"touch ", Op::Touch, Word::Rest::Id},
    Word{"bury ", Op::Bury, Word::Rest::Bury},
    Word{"use ", Op::Use, Word::Rest::Name},
    Word{"watch ", Op::Watch, Word::Rest::Name},
    Word{"ignore ", Op::Ignore, Word::Rest::Name},
    Word{"peek ", Op::Peek, Word::Rest::Id},
    Word{"peek-ready", Op::PeekReady, Word::Rest::None},
    Word{"peek-delayed", Op::PeekDelayed, Word::Rest::None},
    Word{"peek-buried", Op::PeekBuried, Word::Rest::None},
    Word{"kick ", Op::Kick, Word::Rest::Kick},
    Word{"kick-job ", Op::KickJob, Word::Rest::Id},
    Word{"stats-job ", Op::StatsJob, Word::Rest::Id},
    Word{"stats-tube ", Op::StatsTube, Word::Rest::Name},
    Word{"stats", Op::Stats, Word::Rest::None},
    Word{"list-tubes-watched", Op::ListTubesWatched, Word::Rest::None},
    Word{"list-tube-used", Op::ListTubeUsed, Word::Rest::None},
    Word{"list-tubes", Op::ListTubes, Word::Rest::None},
    Word{"pause-tube", Op::PauseTube, Word::Rest::Pause},
    Word{"quit", Op::Quit, Word::Rest::Any},
};

}  // namespace

bool is_tube_name(std::string_view name) {
  for (const char letter : name) {
    if (!is_name_letter(letter)) return false;
  }
  return name.size() <= name_bytes && is_good_name(name);
}

std::expected<Line, Fault> parse_line(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) return bad_format();
  for (const Word& word : words) {
    if (line.starts_with(word.word)) return read(word, line.substr(word.word.size()));
  }
  return std::unexpected(Fault::UnknownCommand);
}

bool looks_like_http(std::string_view line, bool whole) {
  std::size_t method = 0;
  while (method < line.size() && line[method] >= 'A' && line[method] <= 'Z') ++method;
  if (method < 3 || method >= line.size() || line[method] != ' ') return false;
  if (line.find(" HTTP/") != std::string_view::npos) return true;
  return !whole;  // no command is that long, and none is in capitals
}

}  // namespace reeve::api::beanstalk
