#include "cli/text.h"

#include "codec/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace reeve::cli {

namespace {

struct Range {
  char32_t from;
  char32_t to;
};

// Of East Asian Width W and F, in blocks, signs like ✅ and ❌ among them; and what takes no cell
// of its own.
constexpr std::array<Range, 46> wide{
    {{0x1100, 0x115f},  {0x231a, 0x231b}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0}, {0x23f3, 0x23f3},
     {0x25fd, 0x25fe},  {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693},
     {0x26a1, 0x26a1},  {0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce},
     {0x26d4, 0x26d4},  {0x26ea, 0x26ea}, {0x26f2, 0x26f3}, {0x26f5, 0x26f5}, {0x26fa, 0x26fa},
     {0x26fd, 0x26fd},  {0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c},
     {0x274e, 0x274e},  {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0},
     {0x27bf, 0x27bf},  {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x2e80, 0x303e},
     {0x3041, 0x33ff},  {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xac00, 0xd7a3},
     {0xf900, 0xfaff},  {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff},
     {0x20000, 0x3fffd}}};
constexpr std::array<Range, 6> without_width{{{0x0300, 0x036f},
                                              {0x1ab0, 0x1aff},
                                              {0x200b, 0x200f},
                                              {0x20d0, 0x20ff},
                                              {0xfe00, 0xfe0f},
                                              {0xfe20, 0xfe2f}}};

// What nobody sees, or what turns around the order of what is behind it: with them one name can
// look like another.
constexpr std::array<Range, 5> unseen{
    {{0x00ad, 0x00ad}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return point >= range.from && point <= range.to;
  });
}

// The character at the front, and how many bytes it has; 0 bytes: not UTF-8.
struct Character {
  char32_t point = 0;
  std::size_t bytes = 0;
};

Character front_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t length = 1;
  if (byte(0) >= 0xf0) {
    length = 4;
  } else if (byte(0) >= 0xe0) {
    length = 3;
  } else if (byte(0) >= 0xc0) {
    length = 2;
  }
  if (length > text.size() || !codec::is_utf8(text.substr(0, length))) return {};
  if (length == 1) return {byte(0), 1};
  char32_t point = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) point = point << 6 | (byte(i) & 0x3fU);
  return {point, length};
}

std::size_t width_of(char32_t point) {
  if (point < 0x300) return 1;
  if (is_in(without_width, point)) return 0;
  return is_in(wide, point) ? 2 : 1;
}

bool number_at(std::string_view text, std::size_t at, std::size_t digits, int& number) {
  if (at + digits > text.size()) return false;
  const char* const from = text.data() + at;
  const auto [end, error] = std::from_chars(from, from + digits, number);
  return error == std::errc{} && end == from + digits;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = front_of(text);
    width += character.bytes == 0 ? 1 : width_of(character.point);
    text.remove_prefix(std::max<std::size_t>(1, character.bytes));
  }
  return width;
}

std::size_t rows_on_screen(std::string_view text, std::size_t width) {
  std::size_t rows = 1;
  std::size_t used = 0;
  while (!text.empty()) {
    const Character character = front_of(text);
    const std::size_t cells = character.bytes == 0 ? 1 : width_of(character.point);
    // A wide one has no place in the last cell.
    if (character.point == '\n' || used + cells > width) {
      ++rows;
      used = 0;
    }
    if (character.point != '\n') used += cells;
    text.remove_prefix(std::max<std::size_t>(1, character.bytes));
  }
  return rows;
}

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character character = front_of(text);
    if (character.bytes == 0) {
      safe += '?';
    } else if (character.point == '\n' || character.point == '\t') {
      safe += ' ';
    } else if (character.point < 0x20 || (character.point >= 0x7f && character.point < 0xa0)) {
      safe += fmt::format("\\x{:02x}", static_cast<unsigned>(character.point));
    } else if (is_in(unseen, character.point)) {
      safe += fmt::format("\\u{{{:04x}}}", static_cast<unsigned>(character.point));
    } else {
      safe += text.substr(0, character.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, character.bytes));
  }
  return safe;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, newline));
    text.remove_prefix(std::min(text.size(), newline + 1));
  }
  return lines;
}

std::string fitted(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string begin;
  std::size_t used = 1;  // the …
  while (!text.empty()) {
    const Character character = front_of(text);
    const std::size_t cells = character.bytes == 0 ? 1 : width_of(character.point);
    if (used + cells > width) break;
    used += cells;
    const std::size_t bytes = std::max<std::size_t>(1, character.bytes);
    begin += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return begin + "…";
}

namespace {

// Where the word at the front ends. A command in backquotes is one: it is to be copied.
std::size_t end_of_word(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::size_t command = text.find("`reeve ");
  if (command >= space) return space;
  const std::size_t end = text.find('`', command + 1);
  return end == std::string_view::npos ? space : std::min(text.find(' ', end), text.size());
}

// Where what is to be done begins: behind what happened, which may be of any length.
std::size_t begin_of_advice(std::string_view text) {
  const std::size_t command = text.rfind("`reeve ");
  if (command == std::string_view::npos) return text.size();
  constexpr std::size_t most_before = 12;  // " (answer: "
  for (const std::string_view mark : {"; ", " ("}) {
    const std::size_t begin = text.rfind(mark, command);
    if (begin != std::string_view::npos && command - begin <= most_before) return begin;
  }
  return command;
}

}  // namespace

std::string in_brief(std::string_view text, std::size_t most, std::size_t widest) {
  std::string whole;
  if (display_width(text) > most) {
    std::string_view advice = text.substr(begin_of_advice(text));
    const std::size_t command = std::min(advice.find('`'), advice.size());
    const std::size_t end = std::min(advice.find('`', command + 1), advice.size());
    // A command that is cut is none.
    if (end > most / 2) advice = "";
    const std::string last = fitted(advice, std::max(end + 1, most / 2));
    whole = fitted(text.substr(0, text.size() - advice.size()), most - display_width(last)) + last;
    text = whole;
  }
  if (widest == 0) return std::string(text);
  std::string words;
  while (!text.empty()) {
    const std::size_t space = end_of_word(text);
    const std::string_view word = text.substr(0, space);
    const bool is_command = word.find("`reeve ") != std::string_view::npos;
    words += is_command ? std::string(word) : fitted(word, widest);
    if (space < text.size()) words += ' ';
    text.remove_prefix(std::min(text.size(), space + 1));
  }
  return words;
}

std::string wrapped(std::string_view text,
                    std::size_t width,
                    std::size_t indent,
                    std::size_t more) {
  std::string lines;
  std::size_t used = 0;
  std::size_t room = width + more;
  while (!text.empty()) {
    const std::size_t space = end_of_word(text);
    const std::string_view word = text.substr(0, space);
    const std::size_t cells = display_width(word);
    if (used > 0 && used + 1 + cells > room) {
      lines += '\n' + std::string(indent, ' ');
      used = 0;
      room = width;
    }
    if (used > 0) lines += ' ';
    lines += word;
    used += cells + (used > 0 ? 1 : 0);
    text.remove_prefix(std::min(text.size(), space + 1));
  }
  return lines;
}

std::optional<std::int64_t> parse_moment(std::string_view text) {
  // 2026-07-28T09:00:00[.250]Z
  std::array<int, 6> part{};
  constexpr std::array<std::size_t, 6> at{0, 5, 8, 11, 14, 17};
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!number_at(text, at.at(i), i == 0 ? 4 : 2, part.at(i))) return std::nullopt;
  }
  int milliseconds = 0;
  std::string_view rest = text.substr(19);
  if (rest.starts_with('.')) {
    if (!number_at(rest, 1, 3, milliseconds)) return std::nullopt;
    rest.remove_prefix(4);
  }
  if (rest != "Z") return std::nullopt;
  using namespace std::chrono;
  const year_month_day date{
      year{part[0]}, month{static_cast<unsigned>(part[1])}, day{static_cast<unsigned>(part[2])}};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = sys_days{date}.time_since_epoch().count();
  return (((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5]) * 1000 + milliseconds;
}

std::string format_moment(std::int64_t milliseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::milliseconds> moment{std::chrono::milliseconds{milliseconds}};
  const sys_days day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss time{moment - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     time.hours().count(),
                     time.minutes().count(),
                     time.seconds().count(),
                     time.subseconds().count());
}

std::string rough_duration(std::int64_t milliseconds) {
  const std::int64_t seconds = milliseconds / 1000;
  if (seconds < 1) return fmt::format("{}ms", milliseconds);
  const auto two = [](std::int64_t large, char unit, std::int64_t small, char below) {
    return small == 0 ? fmt::format("{}{}", large, unit)
                      : fmt::format("{}{}{}{}", large, unit, small, below);
  };
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return two(seconds / 60, 'm', seconds % 60, 's');
  if (seconds < 86400) return two(seconds / 3600, 'h', seconds / 60 % 60, 'm');
  return two(seconds / 86400, 'd', seconds / 3600 % 24, 'h');
}

std::string relative(std::int64_t moment, std::int64_t now) {
  const std::int64_t distance = moment > now ? moment - now : now - moment;
  if (distance < 1000) return "now";
  // What is ahead is rounded to the nearest second: a lease of 60s ends "in 1m", not "in 59s".
  return moment > now ? fmt::format("in {}", rough_duration(distance + 500))
                      : fmt::format("{} ago", rough_duration(distance));
}

std::string with_commas(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

std::string byte_size(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes);
  constexpr std::array<std::string_view, 4> units{"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  size /= 1024;
  while (size >= 1024 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", size, units.at(unit));
}

}  // namespace reeve::cli
