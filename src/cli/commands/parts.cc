#include "cli/commands/parts.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace reeve::cli {

namespace {

std::size_t lines_for(const Part& part, std::size_t shown) {
  const bool has_more = shown < part.rows.size() || part.unlisted > 0;
  if (shown == 0 && !has_more) return 0;
  // The empty line, the heading, the rows, how many more.
  return 1 + (shown > 0 ? 1 + shown : 0) + (has_more ? 1 : 0);
}

// How many rows of each. Round by round each part gets one more, while there is room for it, of the
// rank whose turn it is.
std::vector<std::size_t> shares(const std::vector<Part>& parts, std::size_t room) {
  std::vector<std::size_t> shown(parts.size());
  const auto total = [&] {
    std::size_t lines = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) lines += lines_for(parts[i], shown[i]);
    return lines;
  };
  for (const Rank rank : {Rank::NeedsSomebody, Rank::Moves, Rank::Idle}) {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& rows = parts[i].rows;
        if (shown[i] == rows.size() || rows[shown[i]].first > rank) continue;
        ++shown[i];
        if (total() <= room) {
          more = true;
        } else {
          --shown[i];
        }
      }
    }
  }
  return shown;
}

}  // namespace

void Part::take(const Json::Array& things, const std::function<Rank(const Json&)>& rank) {
  rows.reserve(things.size());
  for (const Json& thing : things) {
    const Rank of = rank(thing);
    if (of != Rank::Hidden) rows.emplace_back(of, thing);
  }
}

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::string write_parts(const std::vector<Part>& parts, std::size_t room, const Output& output) {
  std::size_t needed = 0;
  for (const Part& part : parts) needed += lines_for(part, part.rows.size());
  const bool cuts = room > 0 && needed > room;
  std::vector<Part> ordered = parts;
  std::vector<std::size_t> shown;
  shown.reserve(parts.size());
  for (const Part& part : parts) shown.push_back(part.rows.size());
  if (cuts) {
    for (Part& part : ordered) {
      std::ranges::stable_sort(part.rows, {}, [](const auto& row) { return row.first; });
    }
    shown = shares(ordered, room);
  }
  std::string text;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const Part& part = ordered[i];
    if (lines_for(part, shown[i]) == 0) continue;
    if (!text.empty()) text += '\n';
    Json::Array rows;
    rows.reserve(shown[i]);
    for (std::size_t row = 0; row < shown[i]; ++row) rows.push_back(part.rows[row].second);
    if (!rows.empty()) text += part.table(rows);
    const auto hidden = static_cast<std::int64_t>(part.rows.size() - shown[i]) + part.unlisted;
    if (hidden == 0) continue;
    const std::string count =
        rows.empty() ? counted(hidden, part.noun) : fmt::format("and {} more", with_commas(hidden));
    text += output.styled(Style::Dim, fmt::format("… {}; `{}`", count, part.command));
    text += '\n';
  }
  return text;
}

}  // namespace reeve::cli
