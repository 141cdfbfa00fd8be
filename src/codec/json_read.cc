#include "base/bytes.h"
#include "base/value_bytes.h"
#include "codec/json.h"
#include "codec/json_text.h"
#include "codec/text_forms.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve::codec {
namespace {

constexpr std::size_t max_depth = 100;

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : json_(text) {}

  bool document(const Shape& shape, void* value) {
    if (!read(shape, value)) return false;
    return json_.is_at_end() || fail_with("something behind the end of the value");
  }
  Error error() const {
    return {Error::Code::BadRequest,
            fmt::format("{}{}{}, at character {}",
                        place_,
                        place_.empty() ? "" : ": ",
                        what_,
                        json_.offset() + 1)};
  }

 private:
  class Members;
  class Elements;

  bool read(const Shape& shape, void* value);
  bool read_kind(const Shape& shape, void* value);
  bool read_bool(void* value);
  bool read_number(const Shape& shape, void* value);
  bool read_word(const Shape& shape, std::string_view what, void* value);
  bool read_bytes(std::string& bytes);
  bool read_struct(const Shape& shape, void* value);
  bool read_members(const Shape& shape, void* value);
  bool read_pair(const Shape& shape, void* value);
  bool read_optional(const Shape& shape, void* value);
  bool read_vector(const Shape& shape, void* value);
  bool read_pairs(const Shape& shape, void* value);
  bool read_bits(const Shape& shape, void* value);
  bool read_variant(const Shape& shape, void* value);
  bool read_alternative(const Shape& shape, void* value, std::string_view name, bool has_value);
  bool read_map(const Shape& shape, void* value);

  // Calls `one` for each member or element of the object or array that begins here.
  template <class One>
  bool each_member(One one);
  template <class One>
  bool each_element(One one);

  bool expected(std::string_view what) {
    return fail_with(fmt::format("expected {}, found {}", what, words_for(json_.kind())));
  }
  bool fail_with(std::string what) {
    what_ = std::move(what);
    return false;
  }
  // What the cursor did not like.
  bool fail_text() { return fail_with(json_.problem()); }
  bool fail_in(std::string_view place) {
    const bool dot = !place_.empty() && place_[0] != '[';
    place_ = fmt::format("{}{}{}", place, dot ? "." : "", place_);
    return false;
  }

  JsonCursor json_;
  std::size_t depth_ = 0;
  std::string what_;
  std::string place_;
};

template <class One>
bool JsonReader::each_member(One one) {
  if (json_.kind() != JsonKind::Object) return expected("an object");
  json_.read_mark('{');
  if (json_.skip_if('}')) return true;
  std::string name;
  do {
    if (!json_.read_string(name) || !json_.read_mark(':')) return fail_text();
    if (!one(name)) return false;
  } while (json_.skip_if(','));
  return json_.read_mark('}') || fail_text();
}

template <class One>
bool JsonReader::each_element(One one) {
  if (json_.kind() != JsonKind::Array) return expected("an array");
  json_.read_mark('[');
  if (json_.skip_if(']')) return true;
  std::size_t index = 0;
  do {
    if (!one()) return fail_in(fmt::format("[{}]", index));
    ++index;
  } while (json_.skip_if(','));
  return json_.read_mark(']') || fail_text();
}

// An entry whose key is the name of a member.
class JsonReader::Members final : public EntrySource {
 public:
  Members(JsonReader& reader, const Shape& map, const std::string& name)
      : reader_(reader), map_(map), name_(name) {}

  bool next(void* key, void* value) override {
    if (!parse_text(*map_.key, name_, key)) {
      return reader_.fail_with(fmt::format("\"{}\" is not a key of this map", name_));
    }
    return reader_.read(*map_.item, value);
  }

 private:
  JsonReader& reader_;
  const Shape& map_;
  const std::string& name_;
};

// A key of a set, or an entry of a map as an array of two.
class JsonReader::Elements final : public EntrySource {
 public:
  Elements(JsonReader& reader, const Shape& map) : reader_(reader), map_(map) {}

  bool next(void* key, void* value) override {
    if (!value) return reader_.read(*map_.key, key);
    if (reader_.json_.kind() != JsonKind::Array) return reader_.expected("an array of two");
    reader_.json_.read_mark('[');
    if (!reader_.read(*map_.key, key)) return false;
    if (!reader_.json_.read_mark(',')) return reader_.fail_text();
    if (!reader_.read(*map_.item, value)) return false;
    return reader_.json_.read_mark(']') || reader_.fail_text();
  }

 private:
  JsonReader& reader_;
  const Shape& map_;
};

bool JsonReader::read_bool(void* value) {
  const bool is_true = json_.kind() == JsonKind::True;
  if (!is_true && json_.kind() != JsonKind::False) return expected("true or false");
  *static_cast<bool*>(value) = is_true;
  return json_.read_word(is_true ? "true" : "false") || fail_text();
}

bool JsonReader::read_number(const Shape& shape, void* value) {
  std::string_view number;
  if (json_.kind() != JsonKind::Number) return expected("a whole number");
  if (!json_.read_number(number)) return fail_text();
  if (shape.kind == Kind::WallTime) {
    const Shape as_number{.kind = Kind::Signed, .width = shape.width};
    return parse_text(as_number, number, value) || fail_with("not a moment that there is");
  }
  return parse_text(shape, number, value) ||
         fail_with(fmt::format("{} is not a whole number of {}{} bits",
                               number,
                               shape.kind == Kind::Unsigned ? "unsigned " : "",
                               shape.width * 8));
}

// A string that stands for something.
bool JsonReader::read_word(const Shape& shape, std::string_view what, void* value) {
  std::string text;
  if (json_.kind() != JsonKind::String) return expected(what);
  if (!json_.read_string(text)) return fail_text();
  return parse_text(shape, text, value) || fail_with(fmt::format("\"{}\" is not {}", text, what));
}

bool JsonReader::read_bytes(std::string& bytes) {
  if (json_.kind() == JsonKind::String) return json_.read_string(bytes) || fail_text();
  if (json_.kind() != JsonKind::Object) return expected("a string");
  std::optional<std::string> decoded;
  const bool good = each_member([&](const std::string& name) {
    std::string text;
    if (name != "base64") return fail_with("expected a string or {\"base64\": \"...\"}");
    if (!json_.read_string(text)) return fail_text();
    decoded = from_base64(text);
    return decoded.has_value() || fail_with("not base64");
  });
  if (!good) return false;
  if (!decoded) return fail_with("expected a string or {\"base64\": \"...\"}");
  bytes = std::move(*decoded);
  return true;
}

bool JsonReader::read_struct(const Shape& shape, void* value) {
  if (shape.dashed) return read_word(shape, "an id such as \"12-0\"", value);
  if (shape.name.empty()) return read_pair(shape, value);
  return read_members(shape, value);
}

bool JsonReader::read_members(const Shape& shape, void* value) {
  std::vector<bool> seen(shape.fields.size());
  return each_member([&](const std::string& name) {
    for (std::size_t i = 0; i < shape.fields.size(); ++i) {
      const Field& field = shape.fields[i];
      if (field.name != name) continue;
      if (seen[i]) return fail_with("given twice") || fail_in(name);
      seen[i] = true;
      return read(*field.shape, at_offset(value, field.offset)) || fail_in(name);
    }
    return json_.skip_value(max_depth - depth_) || fail_text();
  });
}

bool JsonReader::read_pair(const Shape& shape, void* value) {
  std::size_t count = 0;
  const bool good = each_element([&] {
    if (count == 2) return fail_with("expected an array of two, found more");
    const Field& field = shape.fields[count++];
    return read(*field.shape, at_offset(value, field.offset));
  });
  return good && (count == 2 || fail_with("expected an array of two, found fewer"));
}

bool JsonReader::read_optional(const Shape& shape, void* value) {
  if (json_.kind() != JsonKind::Null) {
    return read(*shape.item, shape.operations.optional.emplace(value));
  }
  shape.operations.optional.reset(value);
  return json_.read_word("null") || fail_text();
}

bool JsonReader::read_pairs(const Shape& shape, void* value) {
  const Field& first = shape.item->fields[0];
  const Field& second = shape.item->fields[1];
  return each_member([&](const std::string& name) {
    void* const item = shape.operations.vector.append(value);
    if (!parse_text(*first.shape, name, at_offset(item, first.offset))) {
      return fail_with(fmt::format("\"{}\" is not a key of this list", name));
    }
    return read(*second.shape, at_offset(item, second.offset)) || fail_in(name);
  });
}

bool JsonReader::read_vector(const Shape& shape, void* value) {
  shape.operations.vector.clear(value);
  const bool is_pairs = shape.item->kind == Kind::Struct && shape.item->name.empty() &&
                        has_text(*shape.item->fields[0].shape);
  if (is_pairs && json_.kind() == JsonKind::Object) return read_pairs(shape, value);
  return each_element([&] { return read(*shape.item, shape.operations.vector.append(value)); });
}

bool JsonReader::read_bits(const Shape& shape, void* value) {
  shape.operations.bits.clear(value);
  return each_element([&] {
    bool bit = false;
    if (!read_bool(&bit)) return false;
    shape.operations.bits.append(value, bit);
    return true;
  });
}

bool JsonReader::read_alternative(const Shape& shape,
                                  void* value,
                                  std::string_view name,
                                  bool has_value) {
  for (const Alternative& alternative : shape.alternatives) {
    if (snake_case(alternative.name) != name) continue;
    void* const inner = alternative.emplace(value);
    if (!has_value && alternative.shape->kind == Kind::Struct) return true;
    if (!has_value) return fail_with(fmt::format("expected {{\"{}\": ...}}", name));
    return read(*alternative.shape, inner) || fail_in(name);
  }
  std::string known;
  for (const Alternative& alternative : shape.alternatives) {
    known += (known.empty() ? "" : ", ") + snake_case(alternative.name);
  }
  return fail_with(fmt::format("\"{}\" is none of {}", name, known));
}

bool JsonReader::read_variant(const Shape& shape, void* value) {
  if (json_.kind() == JsonKind::String) {
    std::string name;
    if (!json_.read_string(name)) return fail_text();
    return read_alternative(shape, value, name, false);
  }
  if (json_.kind() != JsonKind::Object) return expected("an object with one member, or its name");
  std::size_t count = 0;
  const bool good = each_member([&](const std::string& name) {
    if (++count > 1) return fail_with("expected one member, found more");
    return read_alternative(shape, value, name, true);
  });
  return good && (count == 1 || fail_with("expected one member, found none"));
}

bool JsonReader::read_map(const Shape& shape, void* value) {
  const MapOperations& map = shape.operations.map;
  map.clear(value);
  const auto added = [&](Loaded loaded) {
    return loaded == Loaded::All ||
           (loaded == Loaded::OutOfOrder && fail_with("a key given twice"));
  };
  if (shape.kind == Kind::Map && has_text(*shape.key) && json_.kind() == JsonKind::Object) {
    return each_member([&](const std::string& name) {
      Members entry(*this, shape, name);
      return added(map.add(value, entry)) || fail_in(name);
    });
  }
  return each_element([&] {
    Elements entry(*this, shape);
    return added(map.add(value, entry));
  });
}

bool JsonReader::read_kind(const Shape& shape, void* value) {
  std::string bytes;
  switch (shape.kind) {
    case Kind::Bool:
      return read_bool(value);
    case Kind::Unsigned:
      if (shape.prefix.empty()) return read_number(shape, value);
      if (json_.kind() == JsonKind::Null) {
        store_integer(value, shape.width, 0);
        return json_.read_word("null") || fail_text();
      }
      return read_word(shape, fmt::format("an id such as \"{}4f7kq2\"", shape.prefix), value);
    case Kind::Signed:
    case Kind::EngineTime:
      return read_number(shape, value);
    case Kind::Enum:
      return read_word(shape, fmt::format("one of {}", shape.name), value);
    case Kind::Lapse:
      return read_word(shape, "a duration such as \"1h30m\"", value);
    case Kind::WallTime:
      if (json_.kind() == JsonKind::Number) return read_number(shape, value);
      return read_word(shape, "a moment such as \"2031-05-04T12:00:00.000Z\"", value);
    case Kind::Text:
      return read_bytes(*static_cast<std::string*>(value));
    case Kind::Bytes:
      if (!read_bytes(bytes)) return false;
      *static_cast<Bytes*>(value) = Bytes(bytes);
      return true;
    case Kind::Struct:
      return read_struct(shape, value);
    case Kind::Optional:
      return read_optional(shape, value);
    case Kind::Vector:
      return read_vector(shape, value);
    case Kind::Bits:
      return read_bits(shape, value);
    case Kind::Variant:
      return read_variant(shape, value);
    case Kind::Map:
    case Kind::Set:
      return read_map(shape, value);
  }
  return false;
}

bool JsonReader::read(const Shape& shape, void* value) {
  if (depth_ == max_depth) return fail_with("nested too deep");
  ++depth_;
  const bool good = read_kind(shape, value);
  --depth_;
  return good;
}

}  // namespace

Result<void> from_json(const Shape& shape, std::string_view text, void* value) {
  JsonReader reader(text);
  if (!reader.document(shape, value)) return fail(reader.error());
  return {};
}

}  // namespace reeve::codec
