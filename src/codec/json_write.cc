#include "base/bytes.h"
#include "base/value_bytes.h"
#include "codec/json.h"
#include "codec/json_text.h"
#include "codec/text_forms.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve::codec {
namespace {

bool is_pair_with_text(const Shape& shape) {
  return shape.kind == Kind::Struct && shape.name.empty() && has_text(*shape.fields[0].shape);
}

// Whether the key can be one of an object: JSON is UTF-8.
bool can_be_key(const Shape& shape, const void* key) {
  return shape.kind != Kind::Text || is_utf8(*static_cast<const std::string*>(key));
}

class KeysOfObject final : public EntryVisitor {
 public:
  explicit KeysOfObject(const Shape& map) : map_(map), good_(has_text(*map.key)) {}

  void entry(const void* key, const void*) override { good_ = good_ && can_be_key(*map_.key, key); }
  bool good() const { return good_; }

 private:
  const Shape& map_;
  bool good_;
};

class JsonWriter final {
 public:
  void value(const Shape& shape, const void* value);
  std::string take() { return std::move(out_); }

 private:
  class Entries;

  void unsigned_number(const Shape& shape, const void* value);
  void text(std::string_view text);
  void wall(std::int64_t milliseconds);
  void fields(const Shape& shape, const void* value);
  void pair(const Shape& shape, const void* value);
  void optional(const Shape& shape, const void* value);
  void vector(const Shape& shape, const void* value);
  void pairs(const Shape& shape, const void* items, std::size_t size);
  void bits(const Shape& shape, const void* value);
  void variant(const Shape& shape, const void* value);
  void map(const Shape& shape, const void* value);

  void key(std::string_view name) {
    append_json_string(out_, name);
    out_ += ':';
  }
  // Between the things of a list.
  void comma(bool& is_first) {
    if (!is_first) out_ += ',';
    is_first = false;
  }

  std::string out_;
};

// The entries of a map as members, or as arrays of two; those of a set as elements.
class JsonWriter::Entries final : public EntryVisitor {
 public:
  Entries(JsonWriter& writer, const Shape& map, bool is_object)
      : writer_(writer), map_(map), is_object_(is_object) {}

  void entry(const void* key, const void* value) override {
    writer_.comma(is_first_);
    if (!value) return writer_.value(*map_.key, key);
    if (is_object_) {
      writer_.key(text_of(*map_.key, key));
      return writer_.value(*map_.item, value);
    }
    writer_.out_ += '[';
    writer_.value(*map_.key, key);
    writer_.out_ += ',';
    writer_.value(*map_.item, value);
    writer_.out_ += ']';
  }

 private:
  JsonWriter& writer_;
  const Shape& map_;
  bool is_object_;
  bool is_first_ = true;
};

// Zero is the id of nothing.
void JsonWriter::unsigned_number(const Shape& shape, const void* value) {
  if (shape.prefix.empty()) {
    out_ += text_of(shape, value);
  } else if (load_unsigned(value, shape.width) == 0) {
    out_ += "null";
  } else {
    append_json_string(out_, text_of(shape, value));
  }
}

void JsonWriter::text(std::string_view text) {
  if (is_utf8(text)) return append_json_string(out_, text);
  out_ += "{\"base64\":";
  append_json_string(out_, to_base64(text));
  out_ += '}';
}

void JsonWriter::wall(std::int64_t milliseconds) {
  if (const auto text = format_wall(milliseconds)) {
    append_json_string(out_, *text);
  } else {
    out_ += fmt::format("{}", milliseconds);
  }
}

void JsonWriter::fields(const Shape& shape, const void* value) {
  if (shape.dashed) return append_json_string(out_, text_of(shape, value));
  if (shape.name.empty()) return pair(shape, value);
  out_ += '{';
  bool is_first = true;
  for (const Field& field : shape.fields) {
    const void* const inner = at_offset(value, field.offset);
    const bool is_absent =
        field.shape->kind == Kind::Optional && !field.shape->operations.optional.get(inner);
    if (is_absent) continue;
    comma(is_first);
    key(field.name);
    this->value(*field.shape, inner);
  }
  out_ += '}';
}

void JsonWriter::pair(const Shape& shape, const void* value) {
  out_ += '[';
  this->value(*shape.fields[0].shape, at_offset(value, shape.fields[0].offset));
  out_ += ',';
  this->value(*shape.fields[1].shape, at_offset(value, shape.fields[1].offset));
  out_ += ']';
}

// An id of nothing is still an id here: null would be none.
void JsonWriter::optional(const Shape& shape, const void* value) {
  const void* const item = shape.operations.optional.get(value);
  if (!item) {
    out_ += "null";
  } else if (!shape.item->prefix.empty()) {
    append_json_string(out_, text_of(*shape.item, item));
  } else {
    this->value(*shape.item, item);
  }
}

// A list of pairs is what people mean by an object.
void JsonWriter::pairs(const Shape& shape, const void* items, std::size_t size) {
  const Field& first = shape.fields[0];
  const Field& second = shape.fields[1];
  bool is_first = true;
  out_ += '{';
  for (std::size_t i = 0; i < size; ++i) {
    const void* const item = at_offset(items, i * shape.size);
    comma(is_first);
    key(text_of(*first.shape, at_offset(item, first.offset)));
    value(*second.shape, at_offset(item, second.offset));
  }
  out_ += '}';
}

void JsonWriter::vector(const Shape& shape, const void* value) {
  const std::size_t size = shape.operations.vector.size(value);
  const void* const items = shape.operations.vector.data(value);
  bool is_object = is_pair_with_text(*shape.item);
  for (std::size_t i = 0; is_object && i < size; ++i) {
    const Field& first = shape.item->fields[0];
    is_object = can_be_key(*first.shape, at_offset(items, i * shape.item->size + first.offset));
  }
  if (is_object) return pairs(*shape.item, items, size);
  out_ += '[';
  bool is_first = true;
  for (std::size_t i = 0; i < size; ++i) {
    comma(is_first);
    this->value(*shape.item, at_offset(items, i * shape.item->size));
  }
  out_ += ']';
}

void JsonWriter::bits(const Shape& shape, const void* value) {
  out_ += '[';
  bool is_first = true;
  for (std::size_t i = 0; i < shape.operations.bits.size(value); ++i) {
    comma(is_first);
    out_ += shape.operations.bits.at(value, i) ? "true" : "false";
  }
  out_ += ']';
}

void JsonWriter::variant(const Shape& shape, const void* value) {
  const Alternative& alternative = shape.alternatives[shape.operations.variant.index(value)];
  const std::string name = snake_case(alternative.name);
  if (alternative.shape->kind == Kind::Struct && alternative.shape->fields.empty()) {
    return append_json_string(out_, name);
  }
  out_ += '{';
  key(name);
  this->value(*alternative.shape, shape.operations.variant.get(value));
  out_ += '}';
}

void JsonWriter::map(const Shape& shape, const void* value) {
  KeysOfObject keys(shape);
  if (shape.kind == Kind::Map) shape.operations.map.visit(value, keys);
  const bool is_object = shape.kind == Kind::Map && keys.good();
  Entries entries(*this, shape, is_object);
  out_ += is_object ? '{' : '[';
  shape.operations.map.visit(value, entries);
  out_ += is_object ? '}' : ']';
}

void JsonWriter::value(const Shape& shape, const void* value) {
  switch (shape.kind) {
    case Kind::Bool:
      out_ += *static_cast<const bool*>(value) ? "true" : "false";
      return;
    case Kind::Unsigned:
      return unsigned_number(shape, value);
    case Kind::Signed:
    case Kind::EngineTime:
      out_ += fmt::format("{}", load_signed(value, shape.width));
      return;
    case Kind::Enum:
    case Kind::Lapse:
      return append_json_string(out_, text_of(shape, value));
    case Kind::Text:
      return text(*static_cast<const std::string*>(value));
    case Kind::Bytes:
      return text(static_cast<const Bytes*>(value)->view());
    case Kind::WallTime:
      return wall(load_signed(value, shape.width));
    case Kind::Struct:
      return fields(shape, value);
    case Kind::Optional:
      return optional(shape, value);
    case Kind::Vector:
      return vector(shape, value);
    case Kind::Bits:
      return bits(shape, value);
    case Kind::Variant:
      return variant(shape, value);
    case Kind::Map:
    case Kind::Set:
      return map(shape, value);
  }
}

}  // namespace

std::string to_json(const Shape& shape, const void* value) {
  JsonWriter writer;
  writer.value(shape, value);
  return writer.take();
}

}  // namespace reeve::codec
