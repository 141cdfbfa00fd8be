#include "core/json_object.h"

#include <cstddef>
#include <cstdint>

namespace reeve::json {
namespace {

// Reads from the front of a text; every function leaves what it did not read.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void skip_blanks() {
    const std::size_t at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
  }
  bool is_done() {
    skip_blanks();
    return rest_.empty();
  }
  bool take(char letter) {
    skip_blanks();
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool sees(char letter) {
    skip_blanks();
    return rest_.starts_with(letter);
  }

  std::optional<std::string> string();
  std::optional<std::string_view> value();
  std::optional<std::string_view> element();

 private:
  std::optional<std::uint32_t> hex();
  bool escape(std::string& text);
  static void add_utf8(std::string& text, std::uint32_t point);
  bool skip_string();
  bool skip_nested();

  std::string_view rest_;
};

std::optional<std::uint32_t> Reader::hex() {
  if (rest_.size() < 4) return std::nullopt;
  std::uint32_t number = 0;
  for (const char letter : rest_.substr(0, 4)) {
    number <<= 4;
    if (letter >= '0' && letter <= '9') {
      number += static_cast<std::uint32_t>(letter - '0');
    } else if (letter >= 'a' && letter <= 'f') {
      number += static_cast<std::uint32_t>(letter - 'a' + 10);
    } else if (letter >= 'A' && letter <= 'F') {
      number += static_cast<std::uint32_t>(letter - 'A' + 10);
    } else {
      return std::nullopt;
    }
  }
  rest_.remove_prefix(4);
  return number;
}

void Reader::add_utf8(std::string& text, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xc0 | point >> 6);
    add(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    add(0xe0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3f));
    add(0x80 | (point & 0x3f));
  } else {
    add(0xf0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3f));
    add(0x80 | (point >> 6 & 0x3f));
    add(0x80 | (point & 0x3f));
  }
}

// Behind the backslash.
bool Reader::escape(std::string& text) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  if (rest_.empty()) return false;
  const char letter = rest_.front();
  rest_.remove_prefix(1);
  if (const std::size_t at = letters.find(letter); at != std::string_view::npos) {
    text.push_back(meanings[at]);
    return true;
  }
  if (letter != 'u') return false;
  const std::optional<std::uint32_t> first = hex();
  if (!first) return false;
  if (*first < 0xd800 || *first > 0xdfff) {
    add_utf8(text, *first);
    return true;
  }
  if (*first > 0xdbff || !rest_.starts_with("\\u")) return false;
  rest_.remove_prefix(2);
  const std::optional<std::uint32_t> second = hex();
  if (!second || *second < 0xdc00 || *second > 0xdfff) return false;
  add_utf8(text, 0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00));
  return true;
}

std::optional<std::string> Reader::string() {
  if (!take('"')) return std::nullopt;
  std::string text;
  while (!rest_.empty()) {
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    if (letter == '"') return text;
    if (static_cast<unsigned char>(letter) < 0x20) return std::nullopt;
    if (letter != '\\') {
      text.push_back(letter);
    } else if (!escape(text)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool Reader::skip_string() {
  rest_.remove_prefix(1);
  while (!rest_.empty()) {
    const char letter = rest_.front();
    rest_.remove_prefix(letter == '\\' && rest_.size() > 1 ? 2 : 1);
    if (letter == '"') return true;
  }
  return false;
}

bool Reader::skip_nested() {
  std::string open;
  do {
    if (rest_.empty()) return false;
    const char letter = rest_.front();
    if (letter == '"') {
      if (!skip_string()) return false;
      continue;
    }
    if (letter == '{' || letter == '[') open.push_back(letter);
    if (letter == '}' || letter == ']') {
      if (open.back() != (letter == '}' ? '{' : '[')) return false;
      open.pop_back();
    }
    rest_.remove_prefix(1);
  } while (!open.empty());
  return true;
}

// The text of the next value that is not a string.
std::optional<std::string_view> Reader::value() {
  skip_blanks();
  const std::string_view before = rest_;
  if (sees('{') || sees('[')) {
    if (!skip_nested()) return std::nullopt;
  } else {
    const std::size_t end = rest_.find_first_of(" \t\r\n,}]{[\":");
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
  }
  const std::string_view text = before.substr(0, before.size() - rest_.size());
  if (text.empty()) return std::nullopt;
  return text;
}

// The text of the next value, whatever it is.
std::optional<std::string_view> Reader::element() {
  if (!sees('"')) return value();
  const std::string_view before = rest_;
  if (!string()) return std::nullopt;
  return before.substr(0, before.size() - rest_.size());
}

}  // namespace

std::optional<std::string> read_string(std::string_view text) {
  Reader reader(text);
  std::optional<std::string> value = reader.string();
  if (!value || !reader.is_done()) return std::nullopt;
  return value;
}

std::optional<std::vector<Member>> read_object(std::string_view text) {
  Reader reader(text);
  std::vector<Member> members;
  if (!reader.take('{')) return std::nullopt;
  if (!reader.sees('}')) {
    do {
      Member member;
      const std::optional<std::string> key = reader.string();
      if (!key || !reader.take(':')) return std::nullopt;
      member.key = *key;
      member.is_string = reader.sees('"');
      if (member.is_string) {
        std::optional<std::string> value = reader.string();
        if (!value) return std::nullopt;
        member.value = *std::move(value);
      } else {
        const std::optional<std::string_view> value = reader.value();
        if (!value) return std::nullopt;
        member.value = *value;
      }
      members.push_back(std::move(member));
    } while (reader.take(','));
  }
  if (!reader.take('}') || !reader.is_done()) return std::nullopt;
  return members;
}

std::optional<std::vector<std::string>> read_array(std::string_view text) {
  Reader reader(text);
  std::vector<std::string> elements;
  if (!reader.take('[')) return std::nullopt;
  if (!reader.sees(']')) {
    do {
      const std::optional<std::string_view> element = reader.element();
      if (!element) return std::nullopt;
      elements.emplace_back(*element);
    } while (reader.take(','));
  }
  if (!reader.take(']') || !reader.is_done()) return std::nullopt;
  return elements;
}

}  // namespace reeve::json
