#include "codec/value_reader.h"

#include "base/bytes.h"
#include "base/value_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::codec {
namespace {

// No type of ours is nested half as deep.
constexpr std::size_t max_depth = 100;

// What may be set aside for a count that is only claimed.
constexpr std::size_t bytes_on_trust = std::size_t{64} * 1024;

bool fits_unsigned(std::uint64_t value, std::size_t width) {
  return width == 8 || value >> (8 * width) == 0;
}

bool fits_signed(std::int64_t value, std::size_t width) {
  if (width == 8) return true;
  const std::int64_t limit = std::int64_t{1} << (8 * width - 1);
  return value >= -limit && value < limit;
}

// locks, items and [3] are locks.items[3].
std::string joined(std::string_view outer, std::string_view inner) {
  const bool dot = !outer.empty() && !inner.empty() && inner[0] != '[';
  return fmt::format("{}{}{}", outer, dot ? "." : "", inner);
}

// Of a variant: most have no name, so that their alternatives must do.
std::string name_of(const Shape& shape) {
  if (!shape.name.empty()) return std::string(shape.name);
  std::string names;
  for (const Alternative& alternative : shape.alternatives) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", alternative.name);
  }
  return "(" + names + ")";
}

}  // namespace

class ValueReader::Entries final : public EntrySource {
 public:
  Entries(ValueReader& reader, const Shape& map) : reader_(reader), map_(map) {}

  bool next(void* key, void* value) override {
    const bool good = (reader_.has_more(1) || reader_.fail_with("the bytes end too early")) &&
                      reader_.read(*map_.key, key) && (!value || reader_.read(*map_.item, value));
    if (good) ++read_;
    return good;
  }
  std::size_t read() const { return read_; }

 private:
  ValueReader& reader_;
  const Shape& map_;
  std::size_t read_ = 0;
};

bool ValueReader::fail_with(std::string what) {
  what_ = std::move(what);
  failed_at_ = bytes_read();
  return false;
}

bool ValueReader::fail_in(std::string_view place) {
  place_ = joined(place, place_);
  return false;
}

Error ValueReader::error(std::string_view within) const {
  const std::string place = joined(within, place_);
  return {Error::Code::Corrupt,
          fmt::format("{}{}{}, at byte {}", place, place.empty() ? "" : ": ", what_, failed_at_)};
}

bool ValueReader::has_more(std::size_t depth) {
  if (at_ != end_) return true;
  std::string_view bytes;
  while (more_ && depth_ == depth && more_->next(bytes)) {
    before_ += static_cast<std::size_t>(end_ - piece_);
    at_ = piece_ = bytes.data();
    end_ = at_ + bytes.size();
    if (!bytes.empty()) return true;
  }
  return false;
}

bool ValueReader::read_long_varint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) return fail_with("the bytes end too early");
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      if ((byte == 0 && shift > 0) || (shift == 63 && byte > 1)) break;
      return true;
    }
  }
  return fail_with("a number that is not written as it must be");
}

bool ValueReader::read_bool(bool& value) {
  if (at_ == end_) return fail_with("the bytes end too early");
  if (*at_ != 0 && *at_ != 1) return fail_with("neither 0 nor 1");
  value = *at_++ == 1;
  return true;
}

bool ValueReader::read_integer(const Shape& shape, void* value) {
  std::uint64_t number = 0;
  if (!read_varint(number)) return false;
  switch (shape.kind) {
    case Kind::Unsigned:
      if (!fits_unsigned(number, shape.width)) {
        return fail_with(fmt::format("{} does not fit {} bits", number, shape.width * 8));
      }
      break;
    case Kind::Enum:
      if (number >= shape.enumerators.size()) {
        return fail_with(fmt::format("unknown value {} of {}", number, shape.name));
      }
      break;
    default:
      if (!fits_signed(unzigzag(number), shape.width)) {
        return fail_with(fmt::format("{} does not fit {} bits", unzigzag(number), shape.width * 8));
      }
      number = static_cast<std::uint64_t>(unzigzag(number));
  }
  store_integer(value, shape.width, number);
  return true;
}

bool ValueReader::read_text(std::string_view& text) {
  std::uint64_t size = 0;
  if (!read_varint(size)) return false;
  if (size > left()) return fail_with(fmt::format("{} bytes are told of, {} left", size, left()));
  text = std::string_view(at_, size);
  at_ += size;
  return true;
}

// Each thing takes a byte at least.
bool ValueReader::read_count(std::uint64_t& count) {
  if (!read_varint(count)) return false;
  return count <= left() ||
         fail_with(fmt::format("{} things are told of, {} bytes left", count, left()));
}

bool ValueReader::read_fields(const Shape& shape, void* value) {
  for (const Field& field : shape.fields) {
    if (!shape.closed && !has_more(0)) break;
    if (!read(*field.shape, at_offset(value, field.offset))) return fail_in(field.name);
  }
  return true;
}

bool ValueReader::read_struct(const Shape& shape, void* value) {
  if (shape.closed) return read_fields(shape, value);
  std::uint64_t size = 0;
  if (!read_varint(size)) return false;
  if (size > left()) return fail_with(fmt::format("{} bytes are told of, {} left", size, left()));
  const char* const outer_end = std::exchange(end_, at_ + size);
  if (!read_fields(shape, value)) return false;
  passed_over_ |= at_ != end_;
  at_ = end_;  // what a later version appended
  end_ = outer_end;
  return true;
}

bool ValueReader::read_optional(const Shape& shape, void* value) {
  bool present = false;
  if (!read_bool(present)) return false;
  if (present) return read(*shape.item, shape.operations.optional.emplace(value));
  shape.operations.optional.reset(value);
  return true;
}

bool ValueReader::read_vector(const Shape& shape, void* value) {
  const VectorOperations& vector = shape.operations.vector;
  std::uint64_t count = 0;
  vector.clear(value);
  if (!read_count(count)) return false;
  vector.reserve(value, std::min<std::size_t>(count, bytes_on_trust / shape.item->size + 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!read(*shape.item, vector.append(value))) return fail_in(fmt::format("[{}]", i));
  }
  return true;
}

bool ValueReader::read_bits(const Shape& shape, void* value) {
  std::uint64_t count = 0;
  shape.operations.bits.clear(value);
  if (!read_count(count)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    bool bit = false;
    if (!read_bool(bit)) return fail_in(fmt::format("[{}]", i));
    shape.operations.bits.append(value, bit);
  }
  return true;
}

bool ValueReader::read_variant(const Shape& shape, void* value) {
  std::uint64_t index = 0;
  if (!read_varint(index)) return false;
  if (index >= shape.alternatives.size()) {
    return fail_with(fmt::format("unknown alternative {} of {}", index, name_of(shape)));
  }
  const Alternative& alternative = shape.alternatives[index];
  return read(*alternative.shape, alternative.emplace(value)) || fail_in(alternative.name);
}

bool ValueReader::read_map(const Shape& shape, void* value) {
  std::uint64_t count = 0;
  if (!read_varint(count)) return false;
  // What comes in pieces has bytes that are not here yet; the entries are counted as they come.
  if (!(more_ && depth_ == 1) && count > left()) {
    return fail_with(fmt::format("{} entries are told of, {} bytes left", count, left()));
  }
  Entries entries(*this, shape);
  switch (shape.operations.map.load(value, count, entries)) {
    case Loaded::All:
      return true;
    case Loaded::OutOfOrder:
      fail_with("a key that is not above the one before");
      return fail_in(fmt::format("[{}]", entries.read() - 1));
    case Loaded::Stopped:
      return fail_in(fmt::format("[{}]", entries.read()));
  }
  return false;
}

bool ValueReader::read_composite(const Shape& shape, void* value) {
  switch (shape.kind) {
    case Kind::Struct:
      return read_struct(shape, value);
    case Kind::Optional:
      return read_optional(shape, value);
    case Kind::Vector:
      return read_vector(shape, value);
    case Kind::Variant:
      return read_variant(shape, value);
    default:
      return read_map(shape, value);
  }
}

bool ValueReader::read(const Shape& shape, void* value) {
  std::string_view text;
  switch (shape.kind) {
    case Kind::Bool:
      return read_bool(*static_cast<bool*>(value));
    case Kind::Unsigned:
    case Kind::Signed:
    case Kind::Enum:
    case Kind::Lapse:
    case Kind::EngineTime:
    case Kind::WallTime:
      return read_integer(shape, value);
    case Kind::Text:
      if (!read_text(text)) return false;
      static_cast<std::string*>(value)->assign(text);
      return true;
    case Kind::Bytes:
      if (!read_text(text)) return false;
      *static_cast<Bytes*>(value) = Bytes(text);
      return true;
    case Kind::Bits:
      return read_bits(shape, value);
    case Kind::Struct:
    case Kind::Optional:
    case Kind::Vector:
    case Kind::Variant:
    case Kind::Map:
    case Kind::Set:
      break;
  }
  if (depth_ == max_depth) return fail_with("nested too deep");
  ++depth_;
  const bool good = read_composite(shape, value);
  --depth_;
  return good;
}

bool ValueReader::read_rest(const Shape& shape, void* value) {
  if (shape.kind == Kind::Struct) return read_fields(shape, value);
  return (has_more(0) || fail_with("the bytes end too early")) && read(shape, value);
}

}  // namespace reeve::codec
