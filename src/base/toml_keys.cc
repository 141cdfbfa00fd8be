#include "base/toml_keys.h"

#include <cstddef>

namespace reeve {
namespace {

constexpr int most_dots = 31;

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  bool more() const { return !rest_.empty(); }
  bool starts(std::string_view text) const { return rest_.starts_with(text); }
  char letter() const { return rest_.front(); }

  void step() {
    if (rest_.empty()) return;
    const bool is_line = rest_.front() == '\n';
    rest_.remove_prefix(1);
    if (is_line) {
      ++line_;
      column_ = 1;
    } else if (rest_.empty() || !continues(rest_.front())) {
      ++column_;
    }
  }
  void steps(std::size_t count) {
    for (; count > 0; --count) step();
  }

  RefusedKey refuse(std::string_view message) const {
    return {line_, column_, std::string(message)};
  }

 private:
  static bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

  std::string_view rest_;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
};

void skip_comment(Reader& reader) {
  while (reader.more() && reader.letter() != '\n') reader.step();
}

// Over a text of one or of several lines. False: it has no end.
bool skip_text(Reader& reader) {
  const bool escapes = reader.letter() == '"';
  const std::string_view quote = escapes ? "\"" : "'";
  const std::string_view three = escapes ? R"(""")" : "'''";
  const bool several = reader.starts(three);
  reader.steps(several ? 3 : 1);
  while (reader.more()) {
    if (escapes && reader.letter() == '\\') {
      reader.steps(2);
    } else if (several ? reader.starts(three) : reader.starts(quote)) {
      reader.steps(several ? 3 : 1);
      // One or two quotes may stand right before the three that end it.
      for (int i = 0; several && i < 2 && reader.starts(quote); ++i) reader.step();
      return true;
    } else if (!several && reader.letter() == '\n') {
      return false;
    } else {
      reader.step();
    }
  }
  return false;
}

}  // namespace

std::optional<RefusedKey> refused_key(std::string_view toml) {
  Reader reader(toml);
  int dots = 0;
  while (reader.more()) {
    switch (const char letter = reader.letter()) {
      case '#':
        skip_comment(reader);
        break;
      case '"':
      case '\'':
        if (!skip_text(reader)) return std::nullopt;
        break;
      case '.':
        if (++dots > most_dots) return reader.refuse("a key has more than 32 parts");
        reader.step();
        break;
      case '\n':
      case '=':
      case ',':
      case '[':
      case ']':
      case '{':
        dots = 0;
        reader.step();
        break;
      default:
        if (static_cast<unsigned char>(letter) >= 0x80) {
          return reader.refuse(
              "a key in other letters than A-Z, a-z, 0-9, - and _ must be in quotes, and so must a "
              "text");
        }
        reader.step();
    }
  }
  return std::nullopt;
}

}  // namespace reeve
