#include "api/json_reader.h"

#include <bitset>
#include <charconv>
#include <cstring>

namespace reeve::api {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::uint64_t each_byte(std::uint8_t byte) { return 0x0101010101010101ULL * byte; }

// Whether any of eight bytes is zero (exact for the first one, which is all that counts here).
constexpr std::uint64_t zero_in(std::uint64_t eight) {
  return (eight - each_byte(1)) & ~eight & each_byte(0x80);
}

// Whether eight bytes have a quote, a backslash or a control character among them.
bool has_mark(const char* at) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, at, sizeof eight);
  const std::uint64_t quote = zero_in(eight ^ each_byte('"'));
  const std::uint64_t backslash = zero_in(eight ^ each_byte('\\'));
  const std::uint64_t control = (eight - each_byte(0x20)) & ~eight & each_byte(0x80);
  return (quote | backslash | control) != 0;
}

JsonKind kind_of(char c) {
  switch (c) {
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
      return c == '-' || is_digit(c) ? JsonKind::Number : JsonKind::None;
  }
}

}  // namespace

std::optional<std::string_view> text_of(const Raw& raw, std::string& scratch) {
  if (raw.kind != JsonKind::String) return std::nullopt;
  const std::string_view inside = raw.text.substr(1, raw.text.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside;
  codec::JsonCursor cursor(raw.text);
  if (!cursor.read_string(scratch)) return std::nullopt;
  return scratch;
}

std::optional<std::int64_t> integer_of(const Raw& raw) {
  if (raw.kind != JsonKind::Number) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = raw.text.data() + raw.text.size();
  const auto [stopped, error] = std::from_chars(raw.text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

bool JsonReader::fail(const char* problem) {
  problem_ = problem;
  return false;
}

void JsonReader::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

// Behind the opening quote and up to behind the closing one.
bool JsonReader::skip_string() {
  const std::size_t size = text_.size();
  while (true) {
    while (at_ + 8 <= size && !has_mark(text_.data() + at_)) at_ += 8;
    if (at_ >= size) return fail("a string without its end");
    const char c = text_[at_++];
    if (c == '"') return true;
    if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string");
    if (c != '\\') continue;
    if (!skip_escape()) return false;
  }
}

// Behind the backslash. Half of a surrogate pair is the beginning of no letter.
bool JsonReader::skip_escape() {
  const char letter = at_ < text_.size() ? text_[at_++] : '\0';
  if (letter != 'u') {
    const bool known =
        letter != '\0' && std::string_view("\"\\/bfnrt").find(letter) != std::string_view::npos;
    return known || fail("an escape that JSON does not have");
  }
  std::uint32_t unit = 0;
  if (!skip_hex(unit)) return false;
  if (unit < 0xd800 || unit >= 0xe000) return true;
  std::uint32_t low = 0;
  const bool paired = unit < 0xdc00 && text_.substr(at_).starts_with("\\u");
  if (!paired) return fail("half of a surrogate pair");
  at_ += 2;
  if (!skip_hex(low)) return false;
  return (low >= 0xdc00 && low < 0xe000) || fail("half of a surrogate pair");
}

bool JsonReader::skip_hex(std::uint32_t& unit) {
  unit = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char digit = at_ < text_.size() ? text_[at_] : '\0';
    std::uint32_t value = 0;
    if (is_digit(digit)) {
      value = static_cast<std::uint32_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value = static_cast<std::uint32_t>(digit - 'a') + 10;
    } else if (digit >= 'A' && digit <= 'F') {
      value = static_cast<std::uint32_t>(digit - 'A') + 10;
    } else {
      return fail("an escape that is not four hexadecimal digits");
    }
    unit = unit << 4U | value;
  }
  return true;
}

bool JsonReader::skip_number() {
  const auto digits = [&] {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > from;
  };
  const auto is_next = [&](char c) { return at_ < text_.size() && text_[at_] == c; };
  if (is_next('-')) ++at_;
  const std::size_t first = at_;
  if (!digits()) return fail("not a number");
  if (text_[first] == '0' && at_ > first + 1) return fail("a number that begins with 0");
  if (is_next('.')) {
    ++at_;
    if (!digits()) return fail("not a number");
  }
  if (is_next('e') || is_next('E')) {
    ++at_;
    if (is_next('+') || is_next('-')) ++at_;
    if (!digits()) return fail("not a number");
  }
  return true;
}

bool JsonReader::skip_word(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return fail("not a value");
  at_ += word.size();
  return true;
}

bool JsonReader::skip_scalar() {
  if (at_ >= text_.size()) return fail("the end where a value should be");
  switch (kind_of(text_[at_])) {
    case JsonKind::String:
      ++at_;
      return skip_string();
    case JsonKind::Number:
      return skip_number();
    case JsonKind::True:
      return skip_word("true");
    case JsonKind::False:
      return skip_word("false");
    case JsonKind::Null:
      return skip_word("null");
    case JsonKind::Object:
    case JsonKind::Array:
    case JsonKind::None:
      break;
  }
  return fail("not a value");
}

// An object or array with all there is in it. `objects` has a bit for each level: whether it is an
// object; so the depth is bounded by its width.
bool JsonReader::skip_nested(std::size_t most) {
  std::bitset<128> objects;
  static_assert(limits::request_depth <= objects.size());
  std::size_t depth = 0;
  while (true) {
    // A value begins here.
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    bool opened = false;
    if (c == '{' || c == '[') {
      if (++depth > most) return fail("nested too deep");
      objects <<= 1U;
      objects.set(0, c == '{');
      ++at_;
      skip_space();
      opened = true;
      const char close = c == '{' ? '}' : ']';
      if (at_ < text_.size() && text_[at_] == close) {
        opened = false;
        ++at_;
        --depth;
        objects >>= 1U;
      }
    } else if (!skip_scalar()) {
      return false;
    }
    // Behind it: the marks that end what it stands in, or lead on to the next value.
    while (!opened) {
      if (depth == 0) return true;
      skip_space();
      const char mark = at_ < text_.size() ? text_[at_] : '\0';
      const bool in_object = objects.test(0);
      ++at_;
      if (mark == ',') {
        skip_space();
        break;
      }
      if (mark != (in_object ? '}' : ']')) return fail("a comma or the end is missing");
      --depth;
      objects >>= 1U;
    }
    if (objects.test(0)) {
      Raw ignored;
      if (!name(ignored)) return false;
    }
  }
}

bool JsonReader::value(Raw& raw, std::size_t depth) {
  const std::size_t begin = at_;
  raw.kind = at_ < text_.size() ? kind_of(text_[at_]) : JsonKind::None;
  const bool nested = raw.kind == JsonKind::Object || raw.kind == JsonKind::Array;
  if (!(nested ? skip_nested(depth) : skip_scalar())) return false;
  raw.text = text_.substr(begin, at_ - begin);
  skip_space();
  return true;
}

bool JsonReader::enter(char mark) {
  if (at_ >= text_.size() || text_[at_] != mark) return fail("something else begins here");
  ++at_;
  skip_space();
  first_ = true;
  return true;
}

bool JsonReader::next(char end) {
  const char mark = at_ < text_.size() ? text_[at_] : '\0';
  const bool is_first = first_;
  first_ = false;
  if (mark == end) {
    ++at_;
    skip_space();
    return false;
  }
  if (is_first) return true;
  if (mark != ',') return fail("a comma or the end is missing");
  ++at_;
  skip_space();
  return true;
}

bool JsonReader::name(Raw& raw) {
  const std::size_t begin = at_;
  if (at_ >= text_.size() || text_[at_] != '"') return fail("a name is missing");
  ++at_;
  if (!skip_string()) return false;
  raw = {JsonKind::String, text_.substr(begin, at_ - begin)};
  skip_space();
  if (at_ >= text_.size() || text_[at_] != ':') return fail("a colon is missing");
  ++at_;
  skip_space();
  return true;
}

}  // namespace reeve::api
