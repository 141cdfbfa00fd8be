#include "core/json_split.h"

#include <cstddef>
#include <cstdint>

namespace reeve {
namespace {

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
  }

  bool at_end() const { return at_ == text_.size(); }

  bool take(char letter) {
    if (at_ >= text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }

  // A value as text: a string unescaped, anything else as written.
  std::optional<std::string> value() {
    if (at_ < text_.size() && text_[at_] == '"') return string();
    const std::size_t begin = at_;
    if (!skip_value()) return std::nullopt;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<std::string> string() {
    if (!take('"')) return std::nullopt;
    std::string result;
    while (at_ < text_.size()) {
      const char letter = text_[at_++];
      if (letter == '"') return result;
      if (static_cast<unsigned char>(letter) < 0x20) return std::nullopt;
      if (letter != '\\') {
        result += letter;
      } else if (!escape(result)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  bool escape(std::string& result) {
    if (at_ >= text_.size()) return false;
    const char letter = text_[at_++];
    switch (letter) {
      case '"':
      case '\\':
      case '/':
        result += letter;
        return true;
      case 'b':
        result += '\b';
        return true;
      case 'f':
        result += '\f';
        return true;
      case 'n':
        result += '\n';
        return true;
      case 'r':
        result += '\r';
        return true;
      case 't':
        result += '\t';
        return true;
      case 'u':
        return unicode(result);
      default:
        return false;
    }
  }

  std::optional<std::uint32_t> four_digits() {
    if (text_.size() - at_ < 4) return std::nullopt;
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const char letter = text_[at_++];
      std::uint32_t digit = 0;
      if (letter >= '0' && letter <= '9') {
        digit = static_cast<std::uint32_t>(letter - '0');
      } else if (letter >= 'a' && letter <= 'f') {
        digit = static_cast<std::uint32_t>(letter - 'a' + 10);
      } else if (letter >= 'A' && letter <= 'F') {
        digit = static_cast<std::uint32_t>(letter - 'A' + 10);
      } else {
        return std::nullopt;
      }
      code = code * 16 + digit;
    }
    return code;
  }

  bool unicode(std::string& result) {
    const std::optional<std::uint32_t> first = four_digits();
    if (!first) return false;
    if (*first >= 0xdc00 && *first < 0xe000) return false;  // the second half, alone
    if (*first < 0xd800 || *first >= 0xe000) {
      append_utf8(result, *first);
      return true;
    }
    if (!take('\\') || !take('u')) return false;
    const std::optional<std::uint32_t> second = four_digits();
    if (!second || *second < 0xdc00 || *second >= 0xe000) return false;
    append_utf8(result, 0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00));
    return true;
  }

  // Past a number, a word, or a nested array or object: brackets in pairs, strings skipped. No
  // recursion, so depth costs nothing.
  bool skip_value() {
    std::string open;
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '"') {
        if (open.empty() || !string()) return false;
        continue;
      }
      if (letter == '[' || letter == '{') {
        if (open.empty() && at_ != begin) return false;
        open += letter == '[' ? ']' : '}';
        ++at_;
        continue;
      }
      if (letter == ']' || letter == '}') {
        if (open.empty()) break;  // of what this value stands in
        if (open.back() != letter) return false;
        open.pop_back();
        ++at_;
        if (open.empty()) return true;
        continue;
      }
      const bool between = letter == ',' || std::string_view(" \t\r\n").contains(letter);
      if (open.empty() && between) break;
      ++at_;
    }
    return open.empty() && at_ > begin && is_plain(text_.substr(begin, at_ - begin));
  }

  static bool is_plain(std::string_view text) {
    if (text == "true" || text == "false" || text == "null") return true;
    const std::string_view digits = "0123456789";
    for (const char letter : text) {
      if (!digits.contains(letter) && !std::string_view("+-.eE").contains(letter)) return false;
    }
    return digits.contains(text.back()) && (text.front() == '-' || digits.contains(text.front()));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// The entries between two brackets, each read by `entry`; false: it is not that.
template <class Entry>
bool split(std::string_view json, char opening, char closing, Entry entry) {
  Reader reader(json);
  reader.skip_space();
  if (!reader.take(opening)) return false;
  reader.skip_space();
  if (!reader.take(closing)) {
    do {
      reader.skip_space();
      if (!entry(reader)) return false;
      reader.skip_space();
    } while (reader.take(','));
    if (!reader.take(closing)) return false;
  }
  reader.skip_space();
  return reader.at_end();
}

}  // namespace

std::optional<std::vector<std::string>> split_array(std::string_view json) {
  std::vector<std::string> values;
  const bool whole = split(json, '[', ']', [&](Reader& reader) {
    std::optional<std::string> value = reader.value();
    if (value) values.push_back(*std::move(value));
    return value.has_value();
  });
  if (!whole) return std::nullopt;
  return values;
}

std::optional<std::vector<std::pair<std::string, std::string>>> split_object(
    std::string_view json) {
  std::vector<std::pair<std::string, std::string>> fields;
  const bool whole = split(json, '{', '}', [&](Reader& reader) {
    std::optional<std::string> key = reader.string();
    if (!key) return false;
    reader.skip_space();
    if (!reader.take(':')) return false;
    reader.skip_space();
    std::optional<std::string> value = reader.value();
    if (value) fields.emplace_back(*std::move(key), *std::move(value));
    return value.has_value();
  });
  if (!whole) return std::nullopt;
  return fields;
}

}  // namespace reeve
