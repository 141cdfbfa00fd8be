#include "codec/shell_word.h"

#include <algorithm>

namespace reeve::codec {
namespace {

// Bytes of characters beyond ASCII mean nothing to a shell.
bool is_plain(char c) {
  constexpr std::string_view signs = "_@%+:,./-=";
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         byte >= 0x80 || signs.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  // zsh looks for a program where a word begins with `=`.
  if (!text.empty() && text[0] != '=' && std::ranges::all_of(text, is_plain)) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace reeve::codec
