#include "tools/json.h"

#include <fmt/format.h>

#include <cstdint>

namespace reeve::tools {

std::string json(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<std::uint8_t>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<std::uint8_t>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string visible(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte >= 0x20 && byte <= 0x7e && c != '\\') {
      text += c;
    } else {
      text += "\\x";
      text += digits[byte / 16];
      text += digits[byte % 16];
    }
  }
  return text;
}

}  // namespace reeve::tools
