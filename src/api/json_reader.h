#pragma once

#include "api/limits.h"
#include "codec/json_text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// JSON read without building anything: a value is the piece of text it stands in. Passing over a
// value checks that it is JSON (RFC 8259), nested no deeper than the limit; the text as a whole
// must be known to be UTF-8.
namespace reeve::api {

using codec::JsonKind;

// A value as it stands, without space around it.
struct Raw {
  JsonKind kind = JsonKind::None;
  std::string_view text;
};

// The letters between the quotes; `scratch` keeps them if there are escapes among them. None: not a
// string.
std::optional<std::string_view> text_of(const Raw& raw, std::string& scratch);

// The whole number; none: not a number, has a fraction, or does not fit.
std::optional<std::int64_t> integer_of(const Raw& raw);

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) { skip_space(); }

  bool is_at_end() const { return at_ == text_.size(); }
  std::size_t offset() const { return at_; }
  const char* problem() const { return problem_; }

  // Passes over the value that begins here and the space behind it; false: problem().
  bool value(Raw& raw, std::size_t depth = limits::json_depth);

  // The fields of an object, the elements of an array, one by one:
  //
  //     if (!reader.enter('{')) ...
  //     while (reader.next('}')) { reader.name(raw), reader.value(raw) ... }
  //     if (reader.problem()) ...
  bool enter(char mark);
  bool next(char end);
  bool name(Raw& raw);  // and the colon behind it

 private:
  bool fail(const char* problem);
  void skip_space();
  bool skip_string();
  bool skip_escape();
  bool skip_hex(std::uint32_t& unit);
  bool skip_number();
  bool skip_word(std::string_view word);
  bool skip_nested(std::size_t most);
  bool skip_scalar();

  std::string_view text_;
  std::size_t at_ = 0;
  bool first_ = false;  // just behind the mark that next() follows
  const char* problem_ = nullptr;
};

}  // namespace reeve::api
