#pragma once

#include "cli/json.h"
#include "cli/output.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// What `reeve why` tells fits one screen: rows are counted as they are shown, before they are told.
namespace reeve::cli {

// As it stands on the screen, in one line or several.
struct Words {
  std::string text;
  Style style = Style::Plain;

  bool operator==(const Words&) const = default;
};

// Without a terminal there is no end to the rows.
inline constexpr std::size_t any_rows = std::string::npos;

// A sentence, as Output::sentence breaks it.
Words in_lines(std::string_view text, std::size_t indent = 2, Style style = Style::Plain);

// Rows of the terminal above the prompt. One that is very small is taken for one of 12.
std::size_t rows_of_screen();

// Into a pipe nothing is broken; but what is told is what a usual screen has room for.
std::size_t page_width();

std::size_t rows_of(std::string_view text);
std::size_t rows_of(const std::vector<Words>& page);

// The first that have room; what is cut ends in `…`.
std::vector<Words> cut(std::vector<Words> page, std::size_t room);

// What a program or a person wrote, safe to print and of at most so many cells.
std::string in_short(std::string_view text, std::size_t margin, std::size_t most);

// `told` says something in one way or another: with each part of it of at most so many cells. As
// long as there is room for it.
template <class Told>
std::vector<Words> as_long_as_fits(std::size_t room, Told told) {
  constexpr std::size_t longest = 300;  // as Output::brief
  constexpr std::size_t shortest = 24;
  for (std::size_t most = longest; most > shortest; most = most * 2 / 3) {
    std::vector<Words> words = told(most);
    if (rows_of(words) <= room) return words;
  }
  return cut(told(shortest), room);
}

// `since 3s ago`.
std::string since(const Output& output, const Json& moment);

// Lines of what a program said, each under a mark: the last that have room. What is before is `…`,
// and so is the end of one that is cut.
std::vector<std::string> marked_lines(std::string_view text, const std::string& indent);
std::vector<std::string> last_lines(std::vector<std::string> lines,
                                    const std::string& indent,
                                    std::size_t room);

void tell(Output& output, const std::vector<Words>& page);

}  // namespace reeve::cli
