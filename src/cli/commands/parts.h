#pragma once

#include "cli/json.h"
#include "cli/output.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a screen shows of several kinds of things when there is not room for all of them: of each
// what matters most, and in a line how many more there are and which command lists them.
namespace reeve::cli {

// The lower, the sooner it is shown.
enum class Rank : std::uint8_t { NeedsSomebody, Moves, Idle, Hidden };

struct Part {
  std::string_view noun;     // "queue"
  std::string_view command;  // lists them all
  std::function<std::string(const Json::Array&)> table;
  std::int64_t unlisted = 0;  // that the daemon has counted and not told
  std::vector<std::pair<Rank, Json>> rows = {};

  // In their order, within a rank.
  void take(const Json::Array& things, const std::function<Rank(const Json&)>& rank);
};

// The parts, one below the other, with an empty line between them. In so many lines, of which each
// part needs two at least; 0: all of it.
std::string write_parts(const std::vector<Part>& parts, std::size_t room, const Output& output);

std::size_t lines_of(std::string_view text);

}  // namespace reeve::cli
