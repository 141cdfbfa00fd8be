#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// A regular expression of core/pattern as a program for a machine that reads one byte after the
// other: at any time it is at some set of these instructions. An instruction goes on to the next;
// a Split to two places, a Jump to another.
namespace reeve::pattern {

using Letters = std::bitset<256>;
using Index = std::uint16_t;

enum class Do : std::uint8_t { One, LineBegin, LineEnd, WordEdge, Split, Jump, Match };

struct Instruction {
  Do what = Do::Match;
  Index to = 0;       // Split, Jump
  Index or_to = 0;    // Split
  Letters letters{};  // One: any of these
};

using Program = std::vector<Instruction>;

// None: a mistake, or too large.
std::optional<Program> compile(std::string_view expression);

inline unsigned char byte_of(char letter) { return static_cast<unsigned char>(letter); }

// A letter, a digit or an underscore, of ASCII.
inline bool is_word(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

}  // namespace reeve::pattern
