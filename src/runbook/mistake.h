#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What is wrong with a runbook, said to the person who wrote it.
namespace reeve::runbook {

// Both count from 1; a column is a character, not a byte.
struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  auto operator<=>(const Place&) const = default;
};

// In the order in which people look: by file, then from top to bottom.
struct Mistake {
  std::string file;
  Place place;
  std::string message;

  auto operator<=>(const Mistake&) const = default;
};

// file:line:column: message, as editors understand it.
std::string to_text(const Mistake& mistake);

// The name that was probably meant: the one that takes the fewest changes, if they are few.
std::string nearest(std::string_view name, std::span<const std::string> valid);

// "; did you mean `queue`?", or "; expected one of a, b and c", for the end of a message; each name
// once. Nothing if there is nothing to offer.
std::string hint(std::string_view name, std::span<const std::string> valid);

}  // namespace reeve::runbook
