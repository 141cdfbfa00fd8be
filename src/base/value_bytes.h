#pragma once

#include "base/shape.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

// The bytes of a value, walked through by its shape. There is one way to write a value, so equal
// values have equal bytes, in every process and on every machine; the digest is taken of them
// and the codec reads them back. docs/value_format.md is the contract.
//
//     Bool                    one byte, 0 or 1
//     Unsigned, Enum          a varint: seven bits a byte, the lowest first
//     Signed, Lapse, times    a varint of the zigzag: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
//     Text, Bytes             how many, then they
//     Struct                  how many bytes, then its fields; a closed one without the number
//     Optional                0, or 1 and the item
//     Vector, Bits, Set, Map  how many, then they; of a map key, value, key, value
//     Variant                 the number of the alternative, then it
namespace reeve {

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

inline constexpr std::size_t longest_varint = 10;

// Integers of any width, read from and put to an address. Width is 1, 2, 4 or 8.
inline std::uint64_t load_unsigned(const void* from, std::size_t width) {
  const auto load = [from](auto number) {
    std::memcpy(&number, from, sizeof number);
    return number;
  };
  switch (width) {
    case 1:
      return load(std::uint8_t{});
    case 2:
      return load(std::uint16_t{});
    case 4:
      return load(std::uint32_t{});
    default:
      return load(std::uint64_t{});
  }
}

inline std::int64_t load_signed(const void* from, std::size_t width) {
  const std::uint64_t bits = load_unsigned(from, width);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

inline void store_integer(void* to, std::size_t width, std::uint64_t value) {
  const auto store = [to](auto number) { std::memcpy(to, &number, sizeof number); };
  switch (width) {
    case 1:
      return store(static_cast<std::uint8_t>(value));
    case 2:
      return store(static_cast<std::uint16_t>(value));
    case 4:
      return store(static_cast<std::uint32_t>(value));
    default:
      return store(value);
  }
}

// Bytes in a row that grow as needed.
class ByteBuffer {
 public:
  std::string_view view() const { return {begin_.get(), size_}; }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }

  // Room for `count` more, of which `advance` says how many were used.
  char* room(std::size_t count) {
    if (capacity_ - size_ < count) grow(count);
    return begin_.get() + size_;
  }
  void advance(std::size_t count) { size_ += count; }

  void byte(char value) {
    *room(1) = value;
    ++size_;
  }
  void varint(std::uint64_t value) {
    char* const begin = room(longest_varint);
    size_ += static_cast<std::size_t>(write_varint(begin, value) - begin);
  }
  void text(std::string_view text) {
    char* const begin = room(longest_varint + text.size());
    char* const content = write_varint(begin, text.size());
    if (!text.empty()) std::memcpy(content, text.data(), text.size());
    size_ += static_cast<std::size_t>(content - begin) + text.size();
  }

  void raw(std::string_view text) {
    std::memcpy(room(text.size() + 1), text.data(), text.size());
    size_ += text.size();
  }

  // Puts the number of bytes that were written since the buffer had `from` in front of them.
  void put_size_before(std::size_t from);

 private:
  static char* write_varint(char* at, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
    *at++ = static_cast<char>(value);
    return at;
  }
  void grow(std::size_t count);

  std::unique_ptr<char[]> begin_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

void append_value(ByteBuffer& to, const Shape& shape, const void* value);

// Takes the bytes in the buffer and leaves in it what is to stand before those that follow. False:
// no more are wanted.
class ByteSink {
 public:
  virtual bool take(ByteBuffer& buffer) = 0;

 protected:
  ~ByteSink() = default;
};

// The same for a value too large to be held as bytes; the sink is given what there is whenever
// that is `chunk` or more, always between two entries of a map or set that is a field of this
// value or the value itself, and in any case at the end. Of a struct, the fields without
// their size in front. False: the sink did not want more.
bool stream_value(
    ByteBuffer& buffer, const Shape& shape, const void* value, std::size_t chunk, ByteSink& sink);

}  // namespace reeve
