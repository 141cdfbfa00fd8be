#include "codec/text_forms.h"

#include "base/id.h"
#include "base/time.h"
#include "base/value_bytes.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>

namespace reeve::codec {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alpha_numeric(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// All of the text, without a plus or zeros in front.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stopped != end || fmt::format("{}", number) != text) {
    return std::nullopt;
  }
  return number;
}

bool store_unsigned(const Shape& shape, std::optional<std::uint64_t> number, void* value) {
  if (!number || (shape.width < 8 && *number >> (8 * shape.width) != 0)) return false;
  store_integer(value, shape.width, *number);
  return true;
}

bool store_signed(const Shape& shape, std::optional<std::int64_t> number, void* value) {
  if (!number) return false;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - 8 * shape.width);
  if (*number > most || *number < -most - 1) return false;
  store_integer(value, shape.width, static_cast<std::uint64_t>(*number));
  return true;
}

bool parse_unsigned(const Shape& shape, std::string_view text, void* value) {
  if (shape.prefix.empty()) return store_unsigned(shape, parse_number<std::uint64_t>(text), value);
  if (!text.starts_with(shape.prefix)) return false;
  return store_unsigned(shape, decode_id(text.substr(shape.prefix.size())), value);
}

bool parse_enumerator(const Shape& shape, std::string_view text, void* value) {
  for (std::size_t i = 0; i < shape.enumerators.size(); ++i) {
    if (snake_case(shape.enumerators[i]) != text) continue;
    store_integer(value, shape.width, i);
    return true;
  }
  return false;
}

bool parse_lapse(const Shape& shape, std::string_view text, void* value) {
  const bool negative = text.starts_with('-');
  std::int64_t milliseconds = 0;
  if (text == format_duration(Duration::min())) {
    milliseconds = Duration::min().count();
  } else if (const auto parsed = parse_duration(text.substr(negative ? 1 : 0)); parsed) {
    milliseconds = negative ? -parsed->count() : parsed->count();
  } else {
    return false;
  }
  if (milliseconds % shape.unit != 0) return false;
  return store_signed(shape, milliseconds / shape.unit, value);
}

bool parse_dashed(const Shape& shape, std::string_view text, void* value) {
  for (const Field& field : shape.fields) {
    const bool is_last = &field == &shape.fields.back();
    const std::size_t end = is_last ? text.size() : text.find('-');
    if (end == std::string_view::npos) return false;
    if (!parse_text(*field.shape, text.substr(0, end), at_offset(value, field.offset)))
      return false;
    text.remove_prefix(is_last ? end : end + 1);
  }
  return true;
}

std::string text_of_dashed(const Shape& shape, const void* value) {
  std::string text;
  for (const Field& field : shape.fields) {
    if (!text.empty()) text += '-';
    text += text_of(*field.shape, at_offset(value, field.offset));
  }
  return text;
}

}  // namespace

std::string snake_case(std::string_view name) {
  std::string snake;
  char before = 0;
  for (const char c : name) {
    const bool is_word = is_alpha_numeric(c);
    const bool begins = is_word && !snake.empty() && (is_upper(c) || !is_alpha_numeric(before));
    if (begins && snake.back() != '_') snake += '_';
    if (is_word) snake += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  return snake;
}

bool has_text(const Shape& shape) {
  switch (shape.kind) {
    case Kind::Unsigned:
    case Kind::Signed:
    case Kind::Enum:
    case Kind::Text:
    case Kind::Lapse:
      return true;
    case Kind::Struct:
      return shape.dashed;
    case Kind::Bool:
    case Kind::Bytes:
    case Kind::EngineTime:
    case Kind::WallTime:
    case Kind::Optional:
    case Kind::Vector:
    case Kind::Bits:
    case Kind::Variant:
    case Kind::Map:
    case Kind::Set:
      return false;
  }
  return false;
}

std::string text_of(const Shape& shape, const void* value) {
  switch (shape.kind) {
    case Kind::Unsigned: {
      const std::uint64_t number = load_unsigned(value, shape.width);
      if (shape.prefix.empty()) return fmt::format("{}", number);
      return fmt::format("{}{}", shape.prefix, encode_id(number));
    }
    case Kind::Signed:
      return fmt::format("{}", load_signed(value, shape.width));
    case Kind::Enum: {
      const std::uint64_t number = load_unsigned(value, shape.width);
      return number < shape.enumerators.size() ? snake_case(shape.enumerators[number])
                                               : fmt::format("{}", number);
    }
    case Kind::Text:
      return *static_cast<const std::string*>(value);
    case Kind::Lapse:
      return format_duration(Duration(load_signed(value, shape.width) * shape.unit));
    case Kind::Struct:
      return text_of_dashed(shape, value);
    case Kind::Bool:
    case Kind::Bytes:
    case Kind::EngineTime:
    case Kind::WallTime:
    case Kind::Optional:
    case Kind::Vector:
    case Kind::Bits:
    case Kind::Variant:
    case Kind::Map:
    case Kind::Set:
      return {};
  }
  return {};
}

bool parse_text(const Shape& shape, std::string_view text, void* value) {
  switch (shape.kind) {
    case Kind::Unsigned:
      return parse_unsigned(shape, text, value);
    case Kind::Signed:
      return store_signed(shape, parse_number<std::int64_t>(text), value);
    case Kind::Enum:
      return parse_enumerator(shape, text, value);
    case Kind::Text:
      static_cast<std::string*>(value)->assign(text);
      return true;
    case Kind::Lapse:
      return parse_lapse(shape, text, value);
    case Kind::Struct:
      return shape.dashed && parse_dashed(shape, text, value);
    case Kind::EngineTime:
      return store_signed(shape, parse_number<std::int64_t>(text), value);
    case Kind::WallTime:
      return store_signed(shape, parse_wall(text), value);
    case Kind::Bool:
    case Kind::Bytes:
    case Kind::Optional:
    case Kind::Vector:
    case Kind::Bits:
    case Kind::Variant:
    case Kind::Map:
    case Kind::Set:
      return false;
  }
  return false;
}

std::optional<std::string> format_wall(std::int64_t milliseconds) {
  using namespace std::chrono;
  constexpr sys_days first = year{0} / January / 1;
  constexpr sys_days end = year{10000} / January / 1;
  const Wall wall{Duration(milliseconds)};
  if (wall < first || wall >= end) return std::nullopt;
  const sys_days day = floor<days>(wall);
  const year_month_day date(day);
  const hh_mm_ss time(wall - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     time.hours().count(),
                     time.minutes().count(),
                     time.seconds().count(),
                     time.subseconds().count());
}

std::optional<std::int64_t> parse_wall(std::string_view text) {
  using namespace std::chrono;
  const auto digits = [&](std::size_t from, std::size_t count) {
    int number = 0;
    for (const char c : text.substr(from, count)) number = number * 10 + (c - '0');
    return number;
  };
  constexpr std::string_view pattern = "0000-00-00T00:00:00.000Z";
  if (text.size() != pattern.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fits = pattern[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == pattern[i];
    if (!fits) return std::nullopt;
  }
  const year_month_day date(year(digits(0, 4)),
                            month(static_cast<unsigned>(digits(5, 2))),
                            day(static_cast<unsigned>(digits(8, 2))));
  if (!date.ok() || digits(11, 2) > 23 || digits(14, 2) > 59 || digits(17, 2) > 59) {
    return std::nullopt;
  }
  const Wall wall = sys_days(date) + hours(digits(11, 2)) + minutes(digits(14, 2)) +
                    seconds(digits(17, 2)) + Duration(digits(20, 3));
  return wall.time_since_epoch().count();
}

}  // namespace reeve::codec
