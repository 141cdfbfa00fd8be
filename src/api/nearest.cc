#include "api/nearest.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace reeve::api {
namespace {

constexpr std::size_t longest = 64;

}  // namespace

// Three rows of the usual table; a swap of neighbours looks two rows back.
std::size_t slips_between(std::string_view a, std::string_view b) {
  a = a.substr(0, longest);
  b = b.substr(0, longest);
  std::array<std::array<std::size_t, longest + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::array<std::size_t, longest + 1>& row = rows[i % 3];
    const std::array<std::size_t, longest + 1>& above = rows[(i + 2) % 3];
    const std::array<std::size_t, longest + 1>& higher = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], higher[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view other : known) {
    const std::size_t slips = slips_between(word, other);
    if (slips >= fewest) continue;
    fewest = slips;
    best = other;
  }
  return best;
}

}  // namespace reeve::api
