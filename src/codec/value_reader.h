#pragma once

#include "base/result.h"
#include "base/shape.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Reads the bytes that base/value_bytes writes back into values. Any bytes are answered, by a
// value or an error; nothing is allocated that they do not pay for: a count of things is believed
// only as far as there are bytes for them.
namespace reeve::codec {

// Gives the bytes that follow, good until it is asked again; false: there are none.
class MoreBytes {
 public:
  virtual bool next(std::string_view& bytes) = 0;

 protected:
  ~MoreBytes() = default;
};

class ValueReader {
 public:
  explicit ValueReader(std::string_view bytes)
      : at_(bytes.data()), end_(at_ + bytes.size()), piece_(at_) {}
  explicit ValueReader(MoreBytes& more) : more_(&more) {}
  ValueReader(const ValueReader&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;

  // Both fill in a value that has its defaults. False: it is worth nothing, and error() says why.
  bool read(const Shape& shape, void* value);
  // All that is left, as stream_value writes it: of a struct its fields without their size.
  bool read_rest(const Shape& shape, void* value);

  bool read_varint(std::uint64_t& value) {
    if (at_ == end_ || static_cast<unsigned char>(*at_) >= 0x80) return read_long_varint(value);
    value = static_cast<unsigned char>(*at_++);
    return true;
  }
  bool is_at_end() const { return at_ == end_; }
  // Whether a struct held more than the fields we know: a later version appended some.
  bool has_passed_over() const { return passed_over_; }
  std::size_t bytes_read() const { return before_ + static_cast<std::size_t>(at_ - piece_); }

  // With the place: which field, below those of `within`, and which byte of all that were read.
  Error error(std::string_view within = {}) const;

 private:
  class Entries;

  bool read_long_varint(std::uint64_t& value);
  bool read_bool(bool& value);
  bool read_integer(const Shape& shape, void* value);
  bool read_text(std::string_view& text);
  bool read_composite(const Shape& shape, void* value);
  bool read_struct(const Shape& shape, void* value);
  bool read_fields(const Shape& shape, void* value);
  bool read_optional(const Shape& shape, void* value);
  bool read_vector(const Shape& shape, void* value);
  bool read_bits(const Shape& shape, void* value);
  bool read_variant(const Shape& shape, void* value);
  bool read_map(const Shape& shape, void* value);
  bool read_count(std::uint64_t& count);

  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  // Whether there is more of what we are in. At this depth of the whole, where a value ends and the
  // next one begins, asks for it.
  bool has_more(std::size_t depth);

  bool fail_with(std::string what);
  bool fail_in(std::string_view place);  // a field or an index, from the inside outwards

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* piece_ = nullptr;  // where the bytes began of which at_ is one
  std::size_t before_ = 0;       // how many bytes came before those
  bool passed_over_ = false;
  MoreBytes* more_ = nullptr;
  std::size_t depth_ = 0;
  std::string what_;
  std::string place_;
  std::size_t failed_at_ = 0;
};

}  // namespace reeve::codec
