#include "cli/commands/why_line.h"

#include "cli/commands/board.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace reeve::cli {

namespace {

constexpr const char* dots = "    …";

// What a semaphore has left, and what the asker wants of it; the first in line gets it first.
std::string wanted_of(const Json& why, std::size_t most) {
  if (!why.has("free")) return "";
  std::string text = why.has("wants") ? fmt::format(": wants {}, ", why["wants"].text()) : ": ";
  text += fmt::format("{} of {} free", why["free"].text(), why["capacity"].text());
  const Json& first = why["line"].items().front();
  if (why["place"].number() > 1 && first["place"].number() == 1) {
    text += fmt::format(", behind {} who wants {}",
                        fitted(printable(first["holder"].text()), most),
                        first["weight"].text());
  }
  return text;
}

class Line {
 public:
  Line(const Output& output, const Json& why)
      : output_(output),
        why_(why),
        listed_(why["line"].items()),
        all_(why.has("waiting") ? why["waiting"].number()
                                : static_cast<std::int64_t>(listed_.size())),
        asker_(why.has("line_of") ? why["place"].number() : 0) {}

  std::int64_t all() const { return all_; }

  // With so many from the first on, and the asker.
  std::vector<Words> told_by(std::int64_t first, std::size_t room) const {
    // Each in a row, or two.
    const std::size_t rows = room == any_rows ? any_rows : 2;
    std::vector<Words> words = as_long_as_fits(
        rows, [&](std::size_t most) { return std::vector{head(first < all_, most)}; });
    std::int64_t told = 0;
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      const std::int64_t place = place_of(i);
      if (place > first && place != asker_) continue;
      if (place > told + 1) words.push_back({dots});
      told = place;
      std::ranges::move(
          as_long_as_fits(
              rows, [&](std::size_t most) { return std::vector{one(listed_[i], place, most)}; }),
          std::back_inserter(words));
    }
    if (all_ > told) words.push_back({dots});
    return words;
  }

  std::vector<Words> told_by_number(std::size_t room) const {
    return as_long_as_fits(std::min<std::size_t>(room, 2),
                           [&](std::size_t most) { return std::vector{head(true, most)}; });
  }

 private:
  std::int64_t place_of(std::size_t i) const {
    const Json& each = listed_[i];
    return each.has("place") ? each["place"].number() : static_cast<std::int64_t>(i) + 1;
  }

  Words head(bool is_long, std::size_t most) const {
    std::string text = "in line";
    if (why_.has("line_of")) {
      text += fmt::format(" for {}", fitted(printable(why_["line_of"].text()), most));
    }
    if (why_.has("place")) text += fmt::format(", at place {}", why_["place"].text());
    if (is_long) text += asker_ > 0 ? fmt::format(" of {}", all_) : fmt::format(", {}", all_);
    return in_lines(text + wanted_of(why_, most), 2);
  }

  Words one(const Json& each, std::int64_t place, std::size_t most) const {
    const std::string label = fitted(printable(each["label"].text()), most);
    return in_lines(
        fmt::format("  {:>3}. {}{}  {}{}{}",
                    place,
                    fitted(board::runner_in_words(each, "holder"), most),
                    label.empty() ? "" : fmt::format(" ({})", label),
                    each.has("weight") ? fmt::format("wants {}, ", each["weight"].text()) : "",
                    since(output_, each["since"]),
                    each["away"].truth() ? ", away" : ""),
        7);
  }

  const Output& output_;
  const Json& why_;
  const Json::Array& listed_;
  std::int64_t all_;
  std::int64_t asker_;  // its place; 0: nobody's
};

}  // namespace

std::vector<Words> line_in_words(const Output& output, const Json& why, std::size_t room) {
  if (why["line"].items().empty()) return {};
  const Line line(output, why);
  constexpr std::int64_t few = 6;
  std::int64_t first = line.all() > few ? 3 : line.all();
  for (; first > 0; --first) {
    std::vector<Words> words = line.told_by(first, room);
    if (rows_of(words) <= room) return words;
  }
  return line.told_by_number(room);
}

}  // namespace reeve::cli
