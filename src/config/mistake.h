#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What is wrong with a file of settings, said to the person who wrote it.
namespace reeve::config {

// Both count from 1; a column is a character, not a byte. A line of 0: the file as a whole.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  auto operator<=>(const Place&) const = default;
};

struct Mistake {
  std::string file;
  Place place;
  std::string message;

  auto operator<=>(const Mistake&) const = default;
};

using Mistakes = std::vector<Mistake>;  // in the order of the files, from top to bottom

// file:line:column: message, as editors understand it.
std::string to_text(const Mistake& mistake);

// In one line: the first of them, and how many more there are.
std::string in_one_line(const Mistakes& mistakes);

// The word that was probably meant: up to a third of it may be wrong. Empty: none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace reeve::config
