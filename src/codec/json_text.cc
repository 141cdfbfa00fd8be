#include "codec/json_text.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

namespace reeve::codec {
namespace {

constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& to, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { to += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t n) {
      return i + n < text.size() ? static_cast<unsigned char>(text[i + n]) : 0u;
    };
    const auto follows = [&](std::size_t n) { return (byte(n) & 0xc0u) == 0x80u; };
    const unsigned first = byte(0);
    if (first < 0x80) {
      i += 1;
    } else if (first >= 0xc2 && first < 0xe0 && follows(1)) {
      i += 2;
    } else if (first >= 0xe0 && first < 0xf0 && follows(1) && follows(2) &&
               !(first == 0xe0 && byte(1) < 0xa0) && !(first == 0xed && byte(1) >= 0xa0)) {
      i += 3;  // neither longer than need be nor half of a pair
    } else if (first >= 0xf0 && first < 0xf5 && follows(1) && follows(2) && follows(3) &&
               !(first == 0xf0 && byte(1) < 0x90) && !(first == 0xf4 && byte(1) >= 0x90)) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        to += "\\\"";
        break;
      case '\\':
        to += "\\\\";
        break;
      case '\n':
        to += "\\n";
        break;
      case '\r':
        to += "\\r";
        break;
      case '\t':
        to += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
          to += c;
        }
    }
  }
  to += '"';
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      bits = bits << 8 | (n < group.size() ? static_cast<unsigned char>(group[n]) : 0u);
    }
    for (std::size_t n = 0; n < 4; ++n) {
      text += n <= group.size() ? base64_letters[(bits >> (18 - 6 * n)) & 0x3f] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool is_last = i + 4 == text.size();
    const std::size_t padding = !is_last             ? 0u
                                : text[i + 2] == '=' ? 2u
                                : text[i + 3] == '=' ? 1u
                                                     : 0u;
    std::uint32_t bits = 0;
    for (std::size_t n = 0; n < 4; ++n) {
      if (n >= 4 - padding) {
        if (text[i + n] != '=') return std::nullopt;
        bits <<= 6;
        continue;
      }
      const std::size_t value = base64_letters.find(text[i + n]);
      if (value == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(value);
    }
    if ((bits & ((1u << (8 * padding)) - 1)) != 0) return std::nullopt;  // one way to write it
    for (std::size_t n = 0; n < 3 - padding; ++n) bytes += static_cast<char>(bits >> (16 - 8 * n));
  }
  return bytes;
}

std::string_view words_for(JsonKind kind) {
  switch (kind) {
    case JsonKind::Object:
      return "an object";
    case JsonKind::Array:
      return "an array";
    case JsonKind::String:
      return "a string";
    case JsonKind::Number:
      return "a number";
    case JsonKind::True:
      return "true";
    case JsonKind::False:
      return "false";
    case JsonKind::Null:
      return "null";
    case JsonKind::None:
      return "nothing of JSON";
  }
  return "";
}

bool JsonCursor::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

void JsonCursor::skip_space() {
  while (at_ < text_.size() && std::string_view(" \t\n\r").contains(text_[at_])) ++at_;
}

JsonKind JsonCursor::kind() const {
  if (is_at_end()) return JsonKind::None;
  switch (text_[at_]) {
    case '{':
      return JsonKind::Object;
    case '[':
      return JsonKind::Array;
    case '"':
      return JsonKind::String;
    case 't':
      return JsonKind::True;
    case 'f':
      return JsonKind::False;
    case 'n':
      return JsonKind::Null;
    default:
      return text_[at_] == '-' || is_digit(text_[at_]) ? JsonKind::Number : JsonKind::None;
  }
}

bool JsonCursor::skip_if(char mark) {
  if (is_at_end() || text_[at_] != mark) return false;
  ++at_;
  skip_space();
  return true;
}

bool JsonCursor::read_mark(char mark) {
  return skip_if(mark) || fail(fmt::format("expected '{}'", mark));
}

bool JsonCursor::read_word(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return fail(fmt::format("expected {}", word));
  at_ += word.size();
  skip_space();
  return true;
}

bool JsonCursor::read_hex(std::uint32_t& unit) {
  unit = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    constexpr std::string_view digits = "0123456789abcdefABCDEF";
    const std::size_t digit = is_at_end() ? std::string_view::npos : digits.find(text_[at_]);
    if (digit == std::string_view::npos) return fail("expected four hexadecimal digits");
    unit = unit << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
  }
  return true;
}

// Behind the backslash.
bool JsonCursor::read_escape(std::string& text) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const char letter = is_at_end() ? '\0' : text_[at_++];
  if (const std::size_t known = letters.find(letter); known != std::string_view::npos) {
    text += meanings[known];
    return true;
  }
  if (letter != 'u') return fail("an escape that JSON does not have");
  std::uint32_t point = 0;
  if (!read_hex(point)) return false;
  if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
    at_ += 2;
    std::uint32_t low = 0;
    if (!read_hex(low)) return false;
    if (low < 0xdc00 || low >= 0xe000) return fail("half of a surrogate pair");
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  } else if (point >= 0xd800 && point < 0xe000) {
    return fail("half of a surrogate pair");
  }
  append_utf8(text, point);
  return true;
}

bool JsonCursor::read_string(std::string& text) {
  text.clear();
  if (kind() != JsonKind::String) return fail("expected a string");
  for (++at_; !is_at_end() && text_[at_] != '"';) {
    const std::size_t begin = at_;
    while (!is_at_end() && text_[at_] != '"' && text_[at_] != '\\') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return fail("a control character");
      ++at_;
    }
    text += text_.substr(begin, at_ - begin);
    if (is_at_end() || text_[at_] == '"') break;
    ++at_;
    if (!read_escape(text)) return false;
  }
  if (is_at_end()) return fail("a string without its end");
  if (!is_utf8(text)) return fail("a string that is not UTF-8");
  ++at_;
  skip_space();
  return true;
}

bool JsonCursor::read_number(std::string_view& text) {
  const std::size_t begin = at_;
  const auto digits = [&] {
    const std::size_t from = at_;
    while (!is_at_end() && is_digit(text_[at_])) ++at_;
    return at_ > from;
  };
  const auto next_is = [&](char c) { return !is_at_end() && text_[at_] == c; };
  if (next_is('-')) ++at_;
  const std::size_t first = at_;
  bool good = digits() && (text_[first] != '0' || at_ == first + 1);
  if (good && next_is('.')) {
    ++at_;
    good = digits();
  }
  if (good && (next_is('e') || next_is('E'))) {
    ++at_;
    if (next_is('+') || next_is('-')) ++at_;
    good = digits();
  }
  text = text_.substr(begin, at_ - begin);
  if (!good) return fail("not a number as JSON has it");
  skip_space();
  return true;
}

bool JsonCursor::skip_value(std::size_t depth) {
  std::string text;
  std::string_view number;
  if (depth == 0) return fail("nested too deep");
  switch (kind()) {
    case JsonKind::Object:
      read_mark('{');
      if (skip_if('}')) return true;
      do {
        if (!read_string(text) || !read_mark(':') || !skip_value(depth - 1)) return false;
      } while (skip_if(','));
      return read_mark('}');
    case JsonKind::Array:
      read_mark('[');
      if (skip_if(']')) return true;
      do {
        if (!skip_value(depth - 1)) return false;
      } while (skip_if(','));
      return read_mark(']');
    case JsonKind::String:
      return read_string(text);
    case JsonKind::Number:
      return read_number(number);
    case JsonKind::True:
      return read_word("true");
    case JsonKind::False:
      return read_word("false");
    case JsonKind::Null:
      return read_word("null");
    case JsonKind::None:
      return fail("expected a value");
  }
  return false;
}

}  // namespace reeve::codec
