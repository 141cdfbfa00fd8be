#include "config/mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reeve::config {
namespace {

// How many letters to add, leave out, replace or swap with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

// `timeout` of `locking.task_timeout`, `task_timeout` of the same: what somebody remembers of it.
bool is_part_of(std::string_view word, std::string_view whole) {
  return word.size() >= 3 && (whole.starts_with(word) || whole.ends_with(word));
}

}  // namespace

std::string to_text(const Mistake& mistake) {
  if (mistake.place.line == 0) return fmt::format("{}: {}", mistake.file, mistake.message);
  return fmt::format(
      "{}:{}:{}: {}", mistake.file, mistake.place.line, mistake.place.column, mistake.message);
}

std::string in_one_line(const Mistakes& mistakes) {
  if (mistakes.empty()) return "";
  std::string first = to_text(mistakes.front());
  if (mistakes.size() == 1) return first;
  return fmt::format("{} (and {} more: `reeve config list`)", first, mistakes.size() - 1);
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr std::size_t most_shown = 100;
  if (word.size() > most_shown) return "";
  std::string_view best;
  std::size_t fewest = word.size() / 3 + 1;
  for (const std::string_view each : known) {
    const std::size_t changes = distance(word, each);
    if (changes >= fewest) continue;
    fewest = changes;
    best = each;
  }
  for (const std::string_view each : known) {
    if (best.empty() && is_part_of(word, each)) best = each;
  }
  return best;
}

}  // namespace reeve::config
