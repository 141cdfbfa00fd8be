#pragma once

#include "core/limits.h"

#include <string_view>

namespace reeve {

// What users may call things: 1 to 200 bytes, not beginning with `-`, without `..`, control
// characters or NUL. (Names reach command lines, paths and tables.)
inline bool is_good_name(std::string_view name) {
  if (name.empty() || name.size() > limits::name_bytes) return false;
  if (name.front() == '-' || name.find("..") != std::string_view::npos) return false;
  for (const char letter : name) {
    const unsigned char byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7f) return false;
  }
  return true;
}

// Long texts that come with a request are kept to a bound: cut, not refused.
inline std::string_view cut(std::string_view text) { return text.substr(0, limits::text_bytes); }

}  // namespace reeve
