#include "cli/commands/why_links.h"

#include "cli/commands/board.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace reeve::cli {

namespace {

// A run by its id, and what it runs if that is known.
std::string named(const Json& id, const Json& name, std::size_t most) {
  const std::string called = fitted(printable(name.text()), most);
  return called.empty() ? id.text() : fmt::format("{} ({})", id.text(), called);
}

// What is told of one that is waited for.
struct Told {
  std::vector<Words> words;
  std::string indent;
  std::vector<std::string> output;
  std::int64_t count = 1;  // of how many
};

std::size_t rows_of_output(const Told& told) {
  std::size_t rows = 0;
  for (const std::string& line : told.output) rows += rows_of(line);
  return rows;
}

// Who or what it is, since when, which process; and below that what is known besides.
std::vector<Words> words_of(const Output& output,
                            const Json& link,
                            const std::string& asker,
                            const std::string& indent,
                            std::size_t most) {
  std::string line;
  if (link.has("waiter") && link["waiter"].text() != asker) {
    line = fmt::format("{} waits for ", named(link["waiter"], link["waiter_name"], most));
  }
  line += fmt::format("{} {}", link["kind"].text(), fitted(printable(link["name"].text()), most));
  if (link.has("pipeline") && link["pipeline"].text() != asker) {
    line += fmt::format(" of {}", named(link["pipeline"], link["pipeline_name"], most));
  }
  if (link.has("holder")) {
    line += fmt::format(" held by {}", fitted(board::runner_in_words(link, "holder"), most));
  }
  if (link.has("label")) {
    line += fmt::format(" ({})", fitted(printable(link["label"].text()), most));
  }
  if (link.has("since")) line += " " + since(output, link["since"]);
  if (link.has("pid")) line += fmt::format(", process {}", link["pid"].text());
  std::vector<Words> words{in_lines(indent + line, indent.size() + 4)};
  if (link.has("detail")) {
    const std::size_t margin = indent.size() + 2;
    words.push_back(
        in_lines(std::string(margin, ' ') + in_short(link["detail"].text(), margin, most),
                 margin,
                 Style::Dim));
  }
  return words;
}

// One of those that are waited for: indented by how far behind others it is.
Told told_of(const Output& output, const Json& link, const std::string& asker, std::size_t room) {
  const std::string indent(2 + 2 * static_cast<std::size_t>(link["depth"].number()), ' ');
  return {as_long_as_fits(
              room, [&](std::size_t most) { return words_of(output, link, asker, indent, most); }),
          indent,
          marked_lines(link["output"].text(), indent)};
}

// ── One screen ──

// How many rows each output may take, so that all together have no more than `room`: what a short
// one leaves over is for the long ones.
std::vector<std::size_t> shared_out(std::size_t room, const std::vector<Told>& page) {
  std::vector<std::size_t> wanted;
  wanted.reserve(page.size());
  for (const Told& told : page) wanted.push_back(rows_of_output(told));
  std::vector<std::size_t> given(page.size());
  for (bool gave = true; room > 0 && gave;) {
    gave = false;
    for (std::size_t i = 0; i < page.size() && room > 0; ++i) {
      if (given[i] == wanted[i]) continue;
      ++given[i];
      --room;
      gave = true;
    }
  }
  return given;
}

// How many of them, from the first on, have room besides `kept` rows for the first output. 0 if
// that one is not among them.
std::size_t those_that_fit(const std::vector<Told>& page, std::size_t room, std::size_t kept) {
  const auto speaks = [](const Told& told) { return !told.output.empty(); };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(page, speaks) - page.begin());
  std::size_t used = 0;
  for (std::size_t i = 0; i < page.size(); ++i) {
    used += rows_of(page[i].words) + (i == first ? std::min(kept, rows_of_output(page[i])) : 0);
    if (used > room) return i > first || kept == 0 ? i : 0;
  }
  return page.size();
}

// The same, with as many rows for the first output as can be had, up to those that tell what it is
// about: `…` and two lines.
std::size_t those_that_fit(const std::vector<Told>& page, std::size_t room) {
  for (std::size_t kept = 3; kept > 0; --kept) {
    if (const std::size_t shown = those_that_fit(page, room, kept)) return shown;
  }
  return those_that_fit(page, room, 0);
}

// Who is waited for comes first, and what programs said has the rest.
std::vector<Words> fit_together(std::vector<Told> page, std::size_t room) {
  if (page.empty()) return {};
  std::size_t shown = those_that_fit(page, room);
  std::string more;
  if (shown < page.size()) {
    room = std::max<std::size_t>(room, 1) - 1;  // one for how many are left out
    shown = std::max<std::size_t>(those_that_fit(page, room), 1);
    page.front().words = cut(std::move(page.front().words), room);
    std::int64_t left = 0;
    for (std::size_t i = shown; i < page.size(); ++i) left += page[i].count;
    if (left > 0) more = fmt::format("  … and {} more; `--json` has them", left);
    page.resize(shown);
  }
  std::size_t used = 0;
  for (const Told& told : page) used += rows_of(told.words);
  const std::vector<std::size_t> rooms = shared_out(room - std::min(room, used), page);
  std::vector<Words> whole;
  for (std::size_t i = 0; i < page.size(); ++i) {
    std::ranges::move(page[i].words, std::back_inserter(whole));
    for (std::string& line : last_lines(std::move(page[i].output), page[i].indent, rooms[i])) {
      whole.push_back({std::move(line)});
    }
  }
  if (!more.empty()) whole.push_back({std::move(more)});
  return whole;
}

// ── Many side by side ──

constexpr std::int64_t holders_told = 3;
constexpr std::int64_t children_told = 5;

// What makes a link one of many.
struct OneOf {
  std::string what;  // the semaphore, or the run that they are within
  std::string who;
  std::int64_t all = 0;
  std::int64_t most = 0;  // that are told
};

// Those of one kind at one depth.
struct Many {
  OneOf last;
  std::size_t depth = 0;
  std::int64_t told = 0;
  bool is_hidden = false;  // the last one is
};

std::size_t depth_of(const Json& link) { return static_cast<std::size_t>(link["depth"].number()); }

// A run within another may itself wait for one of many.
std::vector<OneOf> places_of(const Json& link, const Json* parent) {
  std::vector<OneOf> places;
  if (parent && parent->has("children")) {
    const Json& child = link.has("waiter") ? link["waiter"] : link["pipeline"];
    places.push_back({"within " + (*parent)["pipeline"].text(),
                      child.text(),
                      (*parent)["children"].number(),
                      children_told});
  }
  if (link.has("holders")) {
    places.push_back({fmt::format("{} {}", link["name"].text(), link["waiter"].text()),
                      link["holder"].text(),
                      link["holders"].number(),
                      holders_told});
  }
  return places;
}

class Links {
 public:
  Links(const Output& output, const std::string& asker, std::size_t room)
      : output_(output), asker_(asker), room_(room) {}

  std::vector<Told> take(const Json::Array& chain) {
    for (const Json& link : chain) take(link);
    close([](const Many&) { return true; });
    return std::move(page_);
  }

 private:
  void take(const Json& link) {
    const std::size_t depth = depth_of(link);
    if (hidden_ && depth > *hidden_) return;
    hidden_.reset();
    parents_.resize(depth);
    const std::vector<OneOf> places = places_of(link, depth > 0 ? parents_.back() : nullptr);
    close([&](const Many& many) {
      return many.depth > depth ||
             (many.depth == depth &&
              std::ranges::find(places, many.last.what, &OneOf::what) == places.end());
    });
    for (const OneOf& place : places) {
      if (is_hidden(place, depth)) {
        hidden_ = depth;
        parents_.push_back(nullptr);
        return;
      }
    }
    parents_.push_back(&link);
    page_.push_back(told_of(output_, link, asker_, room_));
  }

  bool is_hidden(const OneOf& place, std::size_t depth) {
    const auto same = [&](const Many& many) {
      return many.depth == depth && many.last.what == place.what;
    };
    auto found = std::ranges::find_if(many_, same);
    if (found == many_.end()) {
      found = many_.insert(many_.end(), {{place.what, "", place.all, place.most}, depth, 0, false});
    }
    if (found->last.who != place.who) {
      found->last.who = place.who;
      found->is_hidden = found->told == place.most;
      if (!found->is_hidden) ++found->told;
    }
    return found->is_hidden;
  }

  // The innermost first.
  template <class Over>
  void close(Over is_over) {
    while (!many_.empty() && is_over(many_.back())) {
      const Many& many = many_.back();
      const std::string indent(2 + 2 * many.depth, ' ');
      if (const std::int64_t left = many.last.all - many.told; left > 0) {
        page_.push_back({{{fmt::format("{}… and {} more", indent, left)}}, indent, {}, left});
      }
      many_.pop_back();
    }
  }

  const Output& output_;
  const std::string& asker_;
  std::size_t room_;  // for each
  std::vector<Told> page_;
  std::vector<const Json*> parents_;  // by depth
  std::vector<Many> many_;
  std::optional<std::size_t> hidden_;  // what is deeper than this is behind one that is not told
};

}  // namespace

std::vector<Words> links_in_words(const Output& output,
                                  const Json::Array& chain,
                                  const std::string& asker,
                                  std::size_t room) {
  std::vector<Told> page = Links(output, asker, any_rows).take(chain);
  if (those_that_fit(page, room) < page.size()) {
    // One that says much leaves room for those behind it, or for what a program said.
    page = Links(output, asker, room / 2).take(chain);
  }
  return fit_together(std::move(page), room);
}

}  // namespace reeve::cli
