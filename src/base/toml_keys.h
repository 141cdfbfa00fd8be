#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// A look at the keys of a TOML file before the library sees it.
namespace reeve {

struct RefusedKey {
  std::uint32_t line = 1;
  std::uint32_t column = 1;  // a character, not a byte
  std::string message;

  bool operator==(const RefusedKey&) const = default;
};

// The first letter beyond ASCII that is neither in quotes nor in a comment, or the first dot that
// gives a key more than 32 parts: tables are thrown away by a function that calls itself, and a key
// of a megabyte would be too much for it. Behind a mistake of syntax, which the library tells,
// nothing is looked at.
std::optional<RefusedKey> refused_key(std::string_view toml);

}  // namespace reeve
