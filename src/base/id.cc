#include "base/id.h"

#include <algorithm>
#include <cstddef>

namespace reeve {
namespace {

constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr unsigned bits_per_character = 5;
constexpr unsigned fewest_characters = 6;
constexpr unsigned most_characters = 13;

// 2^64 divided by the golden ratio. Multiplying by it, cut to the bits in use and made odd,
// permutes the numbers of those bits, and a step of one moves the result by 0.618 of their
// range: nearly twenty of the thirty-two first characters.
constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;

// What can be written in so many characters. Thirteen could hold 65 bits; they hold 64.
struct Width {
  unsigned characters;

  unsigned bits() const { return std::min(characters * bits_per_character, 64U); }
  std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits()); }
  std::uint64_t multiplier() const { return (golden >> (64 - bits())) | 1; }
};

Width width_of(std::uint64_t number) {
  Width width{fewest_characters};
  while (number > width.mask()) ++width.characters;
  return width;
}

// The inverse of an odd number modulo 2^64, and so modulo every smaller power of two.
// An odd number is its own inverse modulo 8, and each round doubles the bits that are right.
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t guess = odd;
  for (int right_bits = 3; right_bits < 64; right_bits *= 2) guess *= 2 - odd * guess;
  return guess;
}

}  // namespace

std::string encode_id(std::uint64_t number) {
  const Width width = width_of(number);
  std::uint64_t scattered = number * width.multiplier() & width.mask();
  std::string text(width.characters, '0');
  for (std::size_t i = text.size(); i-- > 0; scattered >>= bits_per_character) {
    text[i] = alphabet[scattered % alphabet.size()];
  }
  return text;
}

std::optional<std::uint64_t> decode_id(std::string_view text) {
  if (text.size() < fewest_characters || text.size() > most_characters) return std::nullopt;
  const Width width{static_cast<unsigned>(text.size())};
  std::uint64_t scattered = 0;
  for (const char character : text) {
    const std::size_t digit = alphabet.find(character);
    if (digit == std::string_view::npos) return std::nullopt;
    if (scattered > width.mask() >> bits_per_character) return std::nullopt;  // a 65th bit
    scattered = scattered << bits_per_character | digit;
  }
  const std::uint64_t number = scattered * inverse(width.multiplier()) & width.mask();
  if (width_of(number).characters != width.characters) return std::nullopt;
  return number;
}

}  // namespace reeve
