#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The letters of JSON (RFC 8259), without knowing what they mean.
namespace reeve::codec {

bool is_utf8(std::string_view text);

// With its quotes. The text must be UTF-8; control characters are written as escapes.
void append_json_string(std::string& to, std::string_view text);

std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

enum class JsonKind : std::uint8_t { Object, Array, String, Number, True, False, Null, None };

// "an object", "a string": for sentences about what was found.
std::string_view words_for(JsonKind kind);

// A place in a text. Each `read_` passes over what it has read and the space behind it, or is
// false and stays: then problem() says what is wrong there.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) { skip_space(); }

  // Of what begins here; None at the end of the text and where nothing of JSON begins.
  JsonKind kind() const;
  bool is_at_end() const { return at_ == text_.size(); }
  std::size_t offset() const { return at_; }
  const std::string& problem() const { return problem_; }

  bool read_mark(char mark);  // one of {}[]:,
  bool skip_if(char mark);    // the same, where it may as well not be
  bool read_string(std::string& text);
  bool read_number(std::string_view& text);  // as it stands
  bool read_word(std::string_view word);     // true, false, null
  // A value of any kind, nested `depth` deep at most.
  bool skip_value(std::size_t depth);

 private:
  bool fail(std::string problem);
  void skip_space();
  bool read_escape(std::string& text);
  bool read_hex(std::uint32_t& unit);

  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

}  // namespace reeve::codec
