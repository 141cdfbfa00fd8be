#include "base/value_bytes.h"

#include "base/bytes.h"
#include "base/time.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reeve {
namespace {

const void* at(const void* value, std::size_t offset) {
  return static_cast<const std::byte*>(value) + offset;
}

class AppendEntries final : public EntryVisitor {
 public:
  AppendEntries(ByteBuffer& to, const Shape& map) : to_(to), map_(map) {}

  void entry(const void* key, const void* value) override {
    append_value(to_, *map_.key, key);
    if (value) append_value(to_, *map_.item, value);
  }

 private:
  ByteBuffer& to_;
  const Shape& map_;
};

void append_fields(ByteBuffer& to, const Shape& shape, const void* value) {
  for (const Field& field : shape.fields) append_value(to, *field.shape, at(value, field.offset));
}

void append_struct(ByteBuffer& to, const Shape& shape, const void* value) {
  if (shape.closed) return append_fields(to, shape, value);
  const std::size_t begin = to.size();
  append_fields(to, shape, value);
  to.put_size_before(begin);
}

void append_optional(ByteBuffer& to, const Shape& shape, const void* value) {
  const void* const item = shape.operations.optional.get(value);
  to.byte(item ? 1 : 0);
  if (item) append_value(to, *shape.item, item);
}

void append_vector(ByteBuffer& to, const Shape& shape, const void* value) {
  const std::size_t size = shape.operations.vector.size(value);
  const void* const items = shape.operations.vector.data(value);
  to.varint(size);
  for (std::size_t i = 0; i < size; ++i) {
    append_value(to, *shape.item, at(items, i * shape.item->size));
  }
}

void append_bits(ByteBuffer& to, const Shape& shape, const void* value) {
  const std::size_t size = shape.operations.bits.size(value);
  to.varint(size);
  for (std::size_t i = 0; i < size; ++i) to.byte(shape.operations.bits.at(value, i) ? 1 : 0);
}

void append_variant(ByteBuffer& to, const Shape& shape, const void* value) {
  const std::size_t index = shape.operations.variant.index(value);
  to.varint(index);
  append_value(to, *shape.alternatives[index].shape, shape.operations.variant.get(value));
}

void append_map(ByteBuffer& to, const Shape& shape, const void* value) {
  to.varint(shape.operations.map.size(value));
  AppendEntries entries(to, shape);
  shape.operations.map.visit(value, entries);
}

class StreamEntries final : public EntryVisitor {
 public:
  StreamEntries(ByteBuffer& buffer, const Shape& map, std::size_t chunk, ByteSink& sink)
      : append_(buffer, map), buffer_(buffer), chunk_(chunk), sink_(sink) {}

  void entry(const void* key, const void* value) override {
    if (!wanted_) return;
    append_.entry(key, value);
    if (buffer_.size() >= chunk_) wanted_ = sink_.take(buffer_);
  }
  bool wanted() const { return wanted_; }

 private:
  AppendEntries append_;
  ByteBuffer& buffer_;
  std::size_t chunk_;
  ByteSink& sink_;
  bool wanted_ = true;
};

// A value or a field of one; false: the sink wants no more.
bool stream(
    ByteBuffer& buffer, const Shape& shape, const void* value, std::size_t chunk, ByteSink& sink) {
  if (shape.kind != Kind::Map && shape.kind != Kind::Set) {
    append_value(buffer, shape, value);
    return buffer.size() < chunk || sink.take(buffer);
  }
  buffer.varint(shape.operations.map.size(value));
  StreamEntries entries(buffer, shape, chunk, sink);
  shape.operations.map.visit(value, entries);
  return entries.wanted();
}

}  // namespace

void ByteBuffer::grow(std::size_t count) {
  const std::size_t larger = std::max({capacity_ * 2, size_ + count, std::size_t{512}});
  auto moved = std::make_unique_for_overwrite<char[]>(larger);
  if (size_ > 0) std::memcpy(moved.get(), begin_.get(), size_);
  begin_ = std::move(moved);
  capacity_ = larger;
}

void ByteBuffer::put_size_before(std::size_t from) {
  const std::size_t size = size_ - from;
  std::size_t width = 1;
  for (std::size_t rest = size; rest >= 0x80; rest >>= 7) ++width;
  room(width);
  char* const begin = begin_.get() + from;
  std::memmove(begin + width, begin, size);
  write_varint(begin, size);
  size_ += width;
}

void append_value(ByteBuffer& to, const Shape& shape, const void* value) {
  switch (shape.kind) {
    case Kind::Bool:
      return to.byte(*static_cast<const bool*>(value) ? 1 : 0);
    case Kind::Unsigned:
    case Kind::Enum:
      return to.varint(load_unsigned(value, shape.width));
    case Kind::Signed:
    case Kind::Lapse:
    case Kind::EngineTime:
    case Kind::WallTime:
      return to.varint(zigzag(load_signed(value, shape.width)));
    case Kind::Text:
      return to.text(*static_cast<const std::string*>(value));
    case Kind::Bytes:
      return to.text(static_cast<const Bytes*>(value)->view());
    case Kind::Struct:
      return append_struct(to, shape, value);
    case Kind::Optional:
      return append_optional(to, shape, value);
    case Kind::Vector:
      return append_vector(to, shape, value);
    case Kind::Bits:
      return append_bits(to, shape, value);
    case Kind::Variant:
      return append_variant(to, shape, value);
    case Kind::Map:
    case Kind::Set:
      return append_map(to, shape, value);
  }
}

bool stream_value(
    ByteBuffer& buffer, const Shape& shape, const void* value, std::size_t chunk, ByteSink& sink) {
  if (shape.kind == Kind::Struct) {
    for (const Field& field : shape.fields) {
      if (!stream(buffer, *field.shape, at(value, field.offset), chunk, sink)) return false;
    }
  } else if (!stream(buffer, shape, value, chunk, sink)) {
    return false;
  }
  return sink.take(buffer);
}

}  // namespace reeve
