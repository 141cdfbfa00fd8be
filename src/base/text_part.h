#pragma once

#include <cstddef>
#include <string_view>

// Parts of a text that is too long to keep, cut between characters of UTF-8 and never within one:
// what is shown, or written as JSON, stays what it was. Bytes that are no UTF-8 are cut anywhere.
namespace reeve {

namespace text_part {

// A byte of a character that began before it; there are at most three.
inline bool goes_on(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }
inline constexpr std::size_t most = 3;

}  // namespace text_part

inline std::string_view first_bytes(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes;
  while (end > 0 && bytes - end < text_part::most && text_part::goes_on(text[end])) --end;
  return text.substr(0, text_part::goes_on(text[end]) ? bytes : end);
}

inline std::string_view last_bytes(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  const std::size_t first = text.size() - bytes;
  std::size_t begin = first;
  while (begin < text.size() && begin - first < text_part::most &&
         text_part::goes_on(text[begin])) {
    ++begin;
  }
  const bool is_character = begin == text.size() || !text_part::goes_on(text[begin]);
  return text.substr(is_character ? begin : first);
}

}  // namespace reeve
