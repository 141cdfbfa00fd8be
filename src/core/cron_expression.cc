#include "core/cron_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace reeve::cron {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 12> month_names = {
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names = {
    "sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
  std::string_view name;
  unsigned first;
  unsigned last;
  Names names = {};  // of first, first + 1, ...
};

constexpr std::array<Field, 5> all_fields = {{{"minute", 0, 59},
                                              {"hour", 0, 23},
                                              {"day of month", 1, 31},
                                              {"month", 1, 12, month_names},
                                              {"day of week", 0, 7, weekday_names}}};

struct Values {
  std::uint64_t bits = 0;
  bool any = false;  // written with `*`
};

std::unexpected<Error> mistake(const Field& field, std::string_view text, std::string_view why) {
  return fail(Error::Code::BadRequest, fmt::format("{} '{}': {}", field.name, text, why));
}

std::unexpected<Error> not_a_value(const Field& field, std::string_view text) {
  return mistake(
      field,
      text,
      fmt::format(
          "expected a number from {} to {}{}",
          field.first,
          field.last,
          field.names.empty() ? "" : " or a name such as " + std::string(field.names.front())));
}

std::optional<unsigned> parse_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<unsigned> parse_value(const Field& field, std::string_view text) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  for (unsigned i = 0; i < field.names.size(); ++i) {
    if (std::ranges::equal(text, field.names[i], same)) return field.first + i;
  }
  const std::optional<unsigned> number = parse_number(text);
  if (!number || *number < field.first || *number > field.last) return std::nullopt;
  return number;
}

// Splits `text` at the first `mark`; the second part is none if there is no mark.
std::pair<std::string_view, std::optional<std::string_view>> split(std::string_view text,
                                                                   char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

// One element of a list: `*`, `a`, `a-b`, each with an optional `/step`.
Result<Values> parse_element(const Field& field, std::string_view text) {
  const auto [range, step_text] = split(text, '/');
  unsigned step = 1;
  if (step_text) {
    const std::optional<unsigned> number = parse_number(*step_text);
    if (!number || *number == 0) {
      return mistake(field, text, "a step is a whole number from 1 on");
    }
    step = *number;
  }

  Values values;
  unsigned first = field.first;
  unsigned last = field.last;
  if (range == "*") {
    values.any = true;
    // Sunday has two numbers, and a step must not meet it twice.
    if (field.last == 7) last = 6;
  } else {
    const auto [first_text, last_text] = split(range, '-');
    const std::optional<unsigned> begin = parse_value(field, first_text);
    if (!begin) return not_a_value(field, first_text);
    first = *begin;
    if (last_text) {
      const std::optional<unsigned> end = parse_value(field, *last_text);
      if (!end) return not_a_value(field, *last_text);
      // `fri-sun` ends with the Sunday that ends the week.
      last = field.last == 7 && *end == 0 && first > 0 ? 7 : *end;
    } else if (!step_text) {
      last = first;
    } else if (field.last == 7 && first < 7) {
      last = 6;
    }
    if (last < first) return mistake(field, text, "the range runs backwards");
  }
  // In 64 bits: a step may be as large as a number can be.
  for (std::uint64_t value = first; value <= last; value += step) {
    values.bits |= std::uint64_t{1} << value;
  }
  return values;
}

Result<Values> parse_field(const Field& field, std::string_view text) {
  Values all;
  std::optional<std::string_view> rest = text;
  while (rest) {
    const auto [element, more] = split(*rest, ',');
    const Result<Values> values = parse_element(field, element);
    if (!values) return fail(values.error());
    all.bits |= values->bits;
    all.any |= values->any;
    rest = more;
  }
  if (field.last == 7 && (all.bits >> 7 & 1U) != 0) all.bits = (all.bits | 1U) & 0x7fU;
  return all;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view spaces = " \t";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(spaces);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    words.push_back(text.substr(0, text.find_first_of(spaces)));
    text.remove_prefix(words.back().size());
  }
}

// With the day of the week left open, one of the days must exist in one of the months.
bool ever_comes(const Expression& expression) {
  constexpr std::array<unsigned, 13> longest = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (!expression.any_weekday) return true;
  for (unsigned month = 1; month <= 12; ++month) {
    if ((expression.months >> month & 1U) == 0) continue;
    for (unsigned day = 1; day <= longest[month]; ++day) {
      if ((expression.days >> day & 1U) != 0) return true;
    }
  }
  return false;
}

}  // namespace

Result<Expression> parse_expression(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != all_fields.size()) {
    return fail(Error::Code::BadRequest,
                fmt::format("'{}' has {} fields: a schedule has five, minute, hour, day of month, "
                            "month and day of week, as in '0 3 * * *'",
                            text,
                            words.size()));
  }
  std::array<Values, all_fields.size()> values;
  for (std::size_t i = 0; i < all_fields.size(); ++i) {
    const Result<Values> field = parse_field(all_fields[i], words[i]);
    if (!field) return fail(field.error());
    values[i] = *field;
  }
  const auto& [minutes, hours, days, months, weekdays] = values;
  const Expression expression{minutes.bits,
                              static_cast<std::uint32_t>(hours.bits),
                              static_cast<std::uint32_t>(days.bits),
                              static_cast<std::uint32_t>(months.bits),
                              static_cast<std::uint32_t>(weekdays.bits),
                              hours.any,
                              days.any,
                              weekdays.any};
  if (!ever_comes(expression)) {
    return mistake(all_fields[2], words[2], "this day never comes in the months asked for");
  }
  return expression;
}

}  // namespace reeve::cron
