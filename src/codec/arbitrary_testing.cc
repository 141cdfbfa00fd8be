#include "codec/arbitrary_testing.h"

#include "base/bytes.h"
#include "base/time.h"
#include "base/value_bytes.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace reeve::testing {
namespace {

std::uint64_t some_integer(Dice& dice) {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  switch (dice.below(10)) {
    case 0:
      return std::numeric_limits<std::uint64_t>::max();
    case 1:
      return top >> dice.below(64);
    case 2:
      return (top >> dice.below(64)) - 1;
    case 3:
      return 0 - dice.below(5);
    case 4:
      return dice.roll() >> dice.below(64);
    default:
      return dice.below(30);
  }
}

std::string some_text(Dice& dice) {
  static const std::string odd[] = {"\xff\xfe",
                                    std::string("\0\x01\x7f", 3),
                                    "\u00e9\u20ac\U0001f600",
                                    "\"\\/\b\f\r\n\t",
                                    "\xc3",
                                    "\xed\xa0\x80"};
  if (dice.one_in(8)) return odd[dice.below(std::size(odd))];
  std::string text;
  fill(dice, text);
  return text;
}

class Source final : public EntrySource {
 public:
  Source(Dice& dice, const Shape& map) : dice_(dice), map_(map) {}

  bool next(void* key, void* value) override {
    fill(dice_, *map_.key, key);
    if (value) fill(dice_, *map_.item, value);
    return true;
  }

 private:
  Dice& dice_;
  const Shape& map_;
};

}  // namespace

void fill(Dice& dice, const Shape& shape, void* value) {
  switch (shape.kind) {
    case Kind::Bool:
      *static_cast<bool*>(value) = dice.one_in(2);
      return;
    case Kind::Unsigned:
    case Kind::Signed:
    case Kind::Lapse:
    case Kind::EngineTime:
      return store_integer(value, shape.width, some_integer(dice));
    case Kind::WallTime:
      return store_integer(
          value, shape.width, dice.one_in(2) ? some_integer(dice) : dice.below(4'000'000'000'000));
    case Kind::Enum:
      return store_integer(value, shape.width, dice.below(shape.enumerators.size()));
    case Kind::Text:
      *static_cast<std::string*>(value) = some_text(dice);
      return;
    case Kind::Bytes:
      *static_cast<Bytes*>(value) = Bytes(some_text(dice));
      return;
    case Kind::Struct:
      for (const Field& field : shape.fields)
        fill(dice, *field.shape, at_offset(value, field.offset));
      return;
    case Kind::Optional:
      if (dice.one_in(2)) return shape.operations.optional.reset(value);
      return fill(dice, *shape.item, shape.operations.optional.emplace(value));
    case Kind::Vector:
      shape.operations.vector.clear(value);
      for (std::uint64_t count = dice.below(4); count > 0; --count) {
        fill(dice, *shape.item, shape.operations.vector.append(value));
      }
      return;
    case Kind::Bits:
      shape.operations.bits.clear(value);
      for (std::uint64_t count = dice.below(4); count > 0; --count) {
        shape.operations.bits.append(value, dice.one_in(2));
      }
      return;
    case Kind::Variant: {
      const Alternative& alternative = shape.alternatives[dice.below(shape.alternatives.size())];
      return fill(dice, *alternative.shape, alternative.emplace(value));
    }
    case Kind::Map:
    case Kind::Set: {
      Source source(dice, shape);
      shape.operations.map.clear(value);
      for (std::uint64_t count = dice.below(4); count > 0; --count) {
        static_cast<void>(shape.operations.map.add(value, source));
      }
      return;
    }
  }
}

}  // namespace reeve::testing
