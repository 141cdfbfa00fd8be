#include "base/time.h"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace reeve {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t milliseconds;
};

constexpr std::array<Unit, 5> units = {{
    {"d", 86'400'000},
    {"h", 3'600'000},
    {"m", 60'000},
    {"s", 1'000},
    {"ms", 1},
}};

constexpr std::uint64_t longest =
    static_cast<std::uint64_t>(std::numeric_limits<Duration::rep>::max());

// Takes the letters in front of the next number off `text`.
std::string_view take_unit(std::string_view& text) {
  const std::string_view name = text.substr(0, text.find_first_of("0123456789"));
  text.remove_prefix(name.size());
  return name;
}

std::unexpected<Error> not_a_duration(std::string_view text) {
  return fail(Error::Code::BadRequest,
              "'" + std::string(text) +
                  "' is not a duration: write whole numbers with the units d, h, m, s, ms, "
                  "largest first, as in 30s, 1h30m or 500ms");
}

std::unexpected<Error> too_long(std::string_view text) {
  return fail(Error::Code::BadRequest,
              "'" + std::string(text) + "' is too long a duration: the longest is " +
                  format_duration(Duration::max()));
}

}  // namespace

Time saturating_add(Time time, Duration duration) {
  Duration::rep sum = 0;
  if (__builtin_add_overflow(time.time_since_epoch().count(), duration.count(), &sum)) {
    return duration < Duration::zero() ? Time::min() : Time::max();
  }
  return Time(Duration(sum));
}

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration::zero();
  if (text.empty()) return not_a_duration(text);

  std::uint64_t total = 0;
  bool overflow = false;
  auto unit = units.begin();
  for (std::string_view rest = text; !rest.empty();) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (problem == std::errc::invalid_argument) return not_a_duration(text);
    if (problem == std::errc::result_out_of_range) overflow = true;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));

    const std::string_view name = take_unit(rest);
    while (unit != units.end() && unit->name != name) ++unit;
    if (unit == units.end()) return not_a_duration(text);
    overflow |= __builtin_mul_overflow(number, unit->milliseconds, &number);
    overflow |= __builtin_add_overflow(total, number, &total);
    ++unit;
  }
  if (overflow || total > longest) return too_long(text);
  return Duration(static_cast<Duration::rep>(total));
}

std::string format_duration(Duration duration) {
  std::uint64_t rest = static_cast<std::uint64_t>(duration.count());
  std::string text;
  if (duration < Duration::zero()) {
    text = "-";
    rest = 0 - rest;
  }
  if (rest == 0) return "0s";
  for (const Unit& unit : units) {
    if (rest < unit.milliseconds) continue;
    text += std::to_string(rest / unit.milliseconds);
    text += unit.name;
    rest %= unit.milliseconds;
  }
  return text;
}

}  // namespace reeve
