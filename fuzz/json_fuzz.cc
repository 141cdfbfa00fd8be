// Links: api codec
//
// JSON: two readers, one that builds nothing (of the protocol's lines) and one of values, agree on
// what is JSON; and a string that was read is written as one that is read as the same string.

#include "api/json_reader.h"
#include "api/limits.h"
#include "codec/json_text.h"
#include "fuzz/input.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

using namespace reeve;
using fuzz::require;

namespace {

void holds_as_string(const api::Raw& raw) {
  std::string scratch;
  const std::optional<std::string_view> text = api::text_of(raw, scratch);
  require(text.has_value(), "a string has letters");
  codec::JsonCursor cursor(raw.text);
  std::string same;
  require(cursor.read_string(same) && cursor.is_at_end(), "a string is one to both readers");
  require(same == *text, "both readers read the same letters");
  require(codec::is_utf8(same), "the letters are UTF-8");

  std::string written;
  codec::append_json_string(written, same);
  codec::JsonCursor again(written);
  std::string read;
  require(again.read_string(read) && again.is_at_end() && read == same,
          "a string is read as it was written");
}

// Everything inside of a value, as far down as there is room.
void walk(std::string_view text, std::size_t depth) {
  api::JsonReader reader(text);
  api::Raw raw;
  if (!text.starts_with('{') && !text.starts_with('[')) {
    require(reader.value(raw) && reader.is_at_end(), "a part of JSON is JSON");
    if (raw.kind == api::JsonKind::String) holds_as_string(raw);
    (void)api::integer_of(raw);
    return;
  }
  const bool object = text.front() == '{';
  const char end = object ? '}' : ']';
  require(reader.enter(text.front()), "what begins like an object or an array can be entered");
  while (reader.next(end)) {
    if (object) {
      require(reader.name(raw), "a field has a name");
      holds_as_string(raw);
    }
    require(reader.value(raw), "a part of JSON is JSON");
    if (depth > 0) walk(raw.text, depth - 1);
  }
  require(reader.problem() == nullptr && reader.is_at_end(), "an end is found");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::string_view text = input.rest();
  if (!codec::is_utf8(text)) return 0;
  api::JsonReader reader(text);
  api::Raw raw;
  const bool is_json = reader.value(raw) && reader.is_at_end();
  codec::JsonCursor cursor(text);
  const bool to_the_other = cursor.skip_value(api::limits::json_depth) && cursor.is_at_end();
  require(is_json == to_the_other, "two readers agree on what is JSON");
  if (is_json) walk(raw.text, 8);
  return 0;
}
