#include "runbook/mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reeve::runbook {
namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// How many letters to add, leave out, replace or swap with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

}  // namespace

std::string to_text(const Mistake& mistake) {
  return fmt::format(
      "{}:{}:{}: {}", mistake.file, mistake.place.line, mistake.place.column, mistake.message);
}

std::string nearest(std::string_view name, std::span<const std::string> valid) {
  std::string best;
  std::size_t fewest = name.size() / 3 + 1;  // up to a third of it may be wrong
  if (name.size() > 100) return best;
  for (const std::string& each : valid) {
    if (each.size() > 100) continue;
    const std::size_t changes = distance(name, each);
    if (changes < fewest) {
      fewest = changes;
      best = each;
    }
  }
  // What was cut short, or has a word too many.
  for (const std::string& each : valid) {
    if (!best.empty()) break;
    if (name.size() >= 3 && (each.starts_with(name) || name.starts_with(each))) best = each;
  }
  return best;
}

std::string hint(std::string_view name, std::span<const std::string> names) {
  // Something may be there twice, which is another mistake.
  std::vector<std::string> valid;
  for (const std::string& each : names) {
    if (std::ranges::find(valid, each) == valid.end()) valid.push_back(each);
  }
  if (valid.empty()) return "";
  if (const std::string best = nearest(name, valid); !best.empty()) {
    return fmt::format("; did you mean `{}`?", best);
  }
  constexpr std::size_t most = 24;
  std::string list = valid.size() == 1 ? "; expected " : "; expected one of ";
  for (std::size_t i = 0; i < valid.size() && i < most; ++i) {
    if (i > 0) list += i + 1 == valid.size() ? " and " : ", ";
    list += valid[i];
  }
  if (valid.size() > most) list += " ...";
  return list;
}

}  // namespace reeve::runbook
