#include "config/value.h"

#include "base/check.h"
#include "base/match.h"
#include "config/mistake.h"
#include "core/event_name.h"
#include "core/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace reeve::config {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint32_t>, 4> units{
    {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}}};

constexpr std::size_t longest_text = std::size_t{64} << 10U;
constexpr std::size_t most_patterns = 64;

using Judged = std::expected<Value, std::string>;

std::unexpected<std::string> not_this(const Key& key, std::string_view found) {
  return std::unexpected(fmt::format("expected {}, found {}", expected_of(key), found));
}

Judged duration_of(const Key& key, std::string_view text) {
  const Result<Duration> duration = parse_duration(text);
  if (!duration || duration->count() < key.least || duration->count() > key.most) {
    return not_this(key, quoted(text));
  }
  return Value{*duration};
}

Judged size_of(const Key& key, std::uint64_t bytes, std::string_view written) {
  const bool fits = bytes >= static_cast<std::uint64_t>(key.least) &&
                    bytes <= static_cast<std::uint64_t>(key.most);
  if (!fits) return not_this(key, written);
  return Value{Size{bytes}};
}

Judged integer_of(const Key& key, std::int64_t number) {
  if (number < key.least || number > key.most) return not_this(key, fmt::format("{}", number));
  return Value{number};
}

Judged choice_of(const Key& key, std::string_view text) {
  const std::vector<std::string_view> all = choices_of(key);
  if (std::ranges::find(all, text) != all.end()) return Value{std::string(text)};
  const std::string_view meant = nearest(text, all);
  auto complaint = not_this(key, quoted(text));
  if (!meant.empty()) complaint.error() += fmt::format("; did you mean {}?", meant);
  return complaint;
}

Judged text_of(const Key& key, std::string text) {
  if (key.kind == Kind::Name && !is_good_name(text)) return not_this(key, quoted(text));
  if (text.size() > longest_text || text.find('\0') != std::string::npos) {
    return std::unexpected(std::string("expected a text of at most 64 KiB, without NUL"));
  }
  return Value{std::move(text)};
}

Judged patterns_of(const Key& key, std::vector<std::string> all) {
  if (all.size() > most_patterns) {
    return std::unexpected(fmt::format("expected at most {} patterns", most_patterns));
  }
  for (const std::string& each : all) {
    if (!is_pattern(each)) return not_this(key, quoted(each));
  }
  return Value{std::move(all)};
}

Judged integer_in_word(const Key& key, std::string_view word) {
  std::int64_t number = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  if (error != std::errc{} || end != last) return not_this(key, quoted(word));
  return integer_of(key, number);
}

std::string_view described(const Node& node) {
  switch (node.kind) {
    case Node::Kind::Text:
      return "a text";
    case Node::Kind::Integer:
      return "a whole number";
    case Node::Kind::Decimal:
      return "a decimal number";
    case Node::Kind::Bool:
      return "true or false";
    case Node::Kind::List:
      return "a list";
    case Node::Kind::Table:
      return "a table";
    case Node::Kind::Moment:
      return "a date or time";
  }
  return "";
}

// What was written, if it is short, else what kind of thing it is.
std::string found_in(const Node& node) {
  if (node.kind == Node::Kind::Text && node.text.size() <= 40) return quoted(node.text);
  if (node.kind == Node::Kind::Integer) return fmt::format("{}", node.integer);
  if (node.kind == Node::Kind::Bool) return node.boolean ? "true" : "false";
  return std::string(described(node));
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto complain = [&] {
    return fail(Error::Code::BadRequest, fmt::format("{} is no size such as 16MiB", quoted(text)));
  };
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{}) return complain();
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  if (unit.empty() || unit == "B") return number;
  for (const auto& [name, bits] : units) {
    const bool is_it =
        unit == name || unit == name.substr(0, 1) || unit == fmt::format("{}B", name.substr(0, 1));
    if (!is_it) continue;
    if (number > (~std::uint64_t{0} >> bits)) return complain();
    return number << bits;
  }
  return complain();
}

std::string format_size(std::uint64_t bytes) {
  for (const auto& [name, bits] : units) {
    const std::uint64_t unit = std::uint64_t{1} << bits;
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes >> bits, name);
  }
  return fmt::format("{}", bytes);
}

std::expected<Value, std::string> value_in_file(const Key& key, const Node& node) {
  using enum Node::Kind;
  const auto other_kind = [&] { return not_this(key, found_in(node)); };
  switch (key.kind) {
    case Kind::Duration:
      return node.kind == Text ? duration_of(key, node.text) : other_kind();
    case Kind::Size:
      if (node.kind == Integer && node.integer >= 0) {
        return size_of(key, static_cast<std::uint64_t>(node.integer), found_in(node));
      }
      if (const auto size = parse_size(node.text); node.kind == Text && size) {
        return size_of(key, *size, found_in(node));
      }
      return other_kind();
    case Kind::Integer:
      return node.kind == Integer ? integer_of(key, node.integer) : other_kind();
    case Kind::Bool:
      if (node.kind != Bool) return other_kind();
      return Value{node.boolean};
    case Kind::Text:
    case Kind::Name:
      return node.kind == Text ? text_of(key, node.text) : other_kind();
    case Kind::Patterns: {
      if (node.kind != List) return other_kind();
      std::vector<std::string> all;
      for (const Node& item : node.items) {
        if (item.kind != Text) return not_this(key, found_in(item));
        all.push_back(item.text);
      }
      return patterns_of(key, std::move(all));
    }
    case Kind::Choice:
      return node.kind == Text ? choice_of(key, node.text) : other_kind();
  }
  return other_kind();
}

std::expected<Value, std::string> value_of_words(const Key& key,
                                                 std::span<const std::string> words) {
  if (key.kind == Kind::Patterns) return patterns_of(key, {words.begin(), words.end()});
  if (words.size() != 1) return not_this(key, fmt::format("{} words", words.size()));
  const std::string& word = words.front();
  switch (key.kind) {
    case Kind::Duration:
      return duration_of(key, word);
    case Kind::Size:
      if (const auto size = parse_size(word)) return size_of(key, *size, quoted(word));
      return not_this(key, quoted(word));
    case Kind::Integer:
      return integer_in_word(key, word);
    case Kind::Bool:
      if (word != "true" && word != "false") return not_this(key, quoted(word));
      return Value{word == "true"};
    case Kind::Text:
    case Kind::Name:
    case Kind::Patterns:
      return text_of(key, word);
    case Kind::Choice:
      return choice_of(key, word);
  }
  return not_this(key, quoted(word));
}

Value standard_of(const Key& key) {
  if (key.standard.empty()) {
    if (key.kind == Kind::Patterns) return std::vector<std::string>{};
    CHECK(key.kind == Kind::Text || key.kind == Kind::Name);
    return std::string();
  }
  const std::string word(key.standard);
  auto value = value_of_words(key, std::span(&word, 1));
  CHECK(value.has_value());
  return *std::move(value);
}

std::string quoted(std::string_view text) {
  std::string whole = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      whole += '\\';
      whole += letter;
    } else if (letter == '\n') {
      whole += "\\n";
    } else if (letter == '\t') {
      whole += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      whole += fmt::format("\\u{:04X}", byte);
    } else {
      whole += letter;
    }
  }
  return whole + "\"";
}

std::string to_text(const Value& value) {
  return match(
      value,
      [](const Duration& it) { return format_duration(it); },
      [](const Size& it) { return format_size(it.bytes); },
      [](const std::int64_t& it) { return fmt::format("{}", it); },
      [](const bool& it) { return std::string(it ? "true" : "false"); },
      [](const std::string& it) { return it; },
      [](const std::vector<std::string>& it) { return fmt::format("{}", fmt::join(it, " ")); });
}

std::string toml_of_words(const Key& key, std::span<const std::string> words) {
  if (key.kind != Kind::Patterns) {
    const bool is_bare = key.kind == Kind::Integer || key.kind == Kind::Bool;
    return is_bare ? words.front() : quoted(words.front());
  }
  std::string list;
  for (const std::string& word : words) {
    if (!list.empty()) list += ", ";
    list += quoted(word);
  }
  return "[" + list + "]";
}

}  // namespace reeve::config
