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

// Of a screen of 24, with what stands above and below.
constexpr std::size_t rows_of_page = 20;

std::string since(const Output& output, const Json& moment) {
  const std::string text = output.moment(moment);
  return text == "now" ? "since just now" : fmt::format("since {}", text);
}

// Into a pipe nothing is broken or cut; but what is told is what a usual screen has room for.
std::size_t page_width() {
  const std::size_t width = Output::out_width();
  return width > 0 ? width : 80;
}

// Rows of the screen that this text takes: its lines are broken where they are too long.
std::size_t rows_of(std::string_view text) {
  const std::size_t width = page_width();
  std::size_t rows = 0;
  for (;;) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    rows += std::max<std::size_t>((display_width(text.substr(0, newline)) + width - 1) / width, 1);
    if (newline == text.size()) return rows;
    text.remove_prefix(newline + 1);
  }
}

// One line of what a program said, under its mark also where it takes several.
std::string marked(const std::string& text, const std::string& indent) {
  const std::string mark = indent + "  | ";
  const std::size_t before = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t width = Output::out_width();
  std::string words = text.substr(before);
  if (width > 2 * (mark.size() + before)) words = wrapped(words, width - mark.size() - before, 0);
  const std::string margin = mark + std::string(before, ' ');
  for (std::size_t at = 0; (at = words.find('\n', at)) != std::string::npos;) {
    words.insert(at + 1, margin);
    at += margin.size() + 1;
  }
  return margin + words;
}

// The lines of what a program said, as they are shown.
std::vector<std::string> marked_lines(std::string_view text, const std::string& indent) {
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    lines.push_back(marked(printable(line), indent));
  }
  return lines;
}

// The last of them that have room; what is before is `…`, and so is the end of one that is cut.
std::vector<std::string> last_lines(std::vector<std::string> lines,
                                    const std::string& indent,
                                    std::size_t room) {
  std::size_t used = 0;
  std::size_t first = lines.size();
  while (first > 0 && used + rows_of(lines[first - 1]) <= room) used += rows_of(lines[--first]);
  if (first == 0) return lines;
  if (room == 0) return {};
  // The sign of what is left out has a row, too.
  while (first < lines.size() && used + 1 > room) used -= rows_of(lines[first++]);
  std::vector<std::string> shown{indent + "  | …"};
  if (first == lines.size()) {
    std::string last = lines.back();
    last.resize(std::min(last.find('\n'), last.size()));
    last = fitted(last + (last == lines.back() ? "" : " …"), page_width());
    if (room == 1) return {last};
    shown.push_back(last);
  }
  shown.insert(shown.end(),
               std::make_move_iterator(lines.begin() + static_cast<std::ptrdiff_t>(first)),
               std::make_move_iterator(lines.end()));
  return shown;
}

// A run by its id, and what it runs if that is known.
std::string named(const Json& id, const Json& name) {
  const std::string called = printable(name.text());
  return called.empty() ? id.text() : fmt::format("{} ({})", id.text(), called);
}

struct Sentence {
  std::string text;
  std::size_t indent = 0;
  Style style = Style::Plain;
};

std::size_t rows_of(const Sentence& sentence) {
  const std::size_t width = page_width();
  const std::size_t room = width > sentence.indent ? width - sentence.indent : width;
  return rows_of(wrapped(sentence.text, room, sentence.indent));
}

// What is told of one that is waited for.
struct Told {
  std::vector<Sentence> sentences;
  std::string indent;
  std::vector<std::string> output;
  bool is_one = true;  // and not how many more there are
};

std::size_t rows_of(const Told& told) {
  std::size_t rows = 0;
  for (const Sentence& each : told.sentences) rows += rows_of(each);
  return rows;
}

// One of those that are waited for: indented by how far behind others it is.
Told told_of(const Output& output, const Json& link, const std::string& asker) {
  const std::string indent(2 + 2 * static_cast<std::size_t>(link["depth"].number()), ' ');
  std::string line;
  if (link.has("waiter") && link["waiter"].text() != asker) {
    line = fmt::format("{} waits for ", named(link["waiter"], link["waiter_name"]));
  }
  line += fmt::format("{} {}", link["kind"].text(), printable(link["name"].text()));
  if (link.has("pipeline") && link["pipeline"].text() != asker) {
    line += fmt::format(" of {}", named(link["pipeline"], link["pipeline_name"]));
  }
  if (link.has("holder")) {
    line += fmt::format(" held by {}", board::runner_in_words(link, "holder"));
  }
  if (link.has("label")) line += fmt::format(" ({})", printable(link["label"].text()));
  if (link.has("since")) line += " " + since(output, link["since"]);
  if (link.has("pid")) line += fmt::format(", process {}", link["pid"].text());
  Told told{{{indent + line, indent.size() + 4}}, indent, {}};
  if (link.has("detail")) {
    told.sentences.push_back(
        {indent + "  " + Output::brief(printable(link["detail"].text()), indent.size() + 2),
         indent.size() + 2,
         Style::Dim});
  }
  told.output = marked_lines(link["output"].text(), indent);
  return told;
}

// ── One screen ──

// How many rows each output may take, so that all together have no more than `room`: what a short
// one leaves over is for the long ones.
std::vector<std::size_t> shared_out(std::size_t room, const std::vector<Told>& page) {
  std::vector<std::size_t> wanted(page.size());
  for (std::size_t i = 0; i < page.size(); ++i) {
    for (const std::string& line : page[i].output) wanted[i] += rows_of(line);
  }
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

// Who is waited for comes first, and what programs said has the rest.
void tell_page(Output& output, std::vector<Told> page) {
  std::size_t used = 0;
  std::size_t shown = 0;
  while (shown < page.size() && used + rows_of(page[shown]) <= rows_of_page) {
    used += rows_of(page[shown++]);
  }
  std::ptrdiff_t left = 0;
  if (shown < page.size()) {
    shown = std::max<std::size_t>(shown, 2) - 1;  // a row for how many are left out
    left = std::count_if(page.begin() + static_cast<std::ptrdiff_t>(shown),
                         page.end(),
                         [](const Told& told) { return told.is_one; });
    page.resize(shown);
    used = rows_of_page;
  }
  const std::vector<std::size_t> rooms = shared_out(rows_of_page - used, page);
  for (std::size_t i = 0; i < page.size(); ++i) {
    for (const Sentence& each : page[i].sentences) {
      output.sentence(each.text, each.indent, each.style);
    }
    for (const std::string& line :
         last_lines(std::move(page[i].output), page[i].indent, rooms[i])) {
      output.line(line);
    }
  }
  if (left > 0) output.line(fmt::format("  … and {} more; `--json` has them", left));
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
  Links(Output& output, std::string asker) : output_(output), asker_(std::move(asker)) {}

  void tell(const Json::Array& chain) {
    for (const Json& link : chain) tell(link);
    close([](const Many&) { return true; });
    tell_page(output_, std::move(page_));
  }

 private:
  void tell(const Json& link) {
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
    page_.push_back(told_of(output_, link, asker_));
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
      if (many.last.all > many.told) {
        page_.push_back(
            {{{fmt::format("{}… and {} more", indent, many.last.all - many.told), indent.size()}},
             indent,
             {},
             false});
      }
      many_.pop_back();
    }
  }

  Output& output_;
  std::string asker_;
  std::vector<Told> page_;
  std::vector<const Json*> parents_;  // by depth
  std::vector<Many> many_;
  std::optional<std::size_t> hidden_;  // what is deeper than this is behind one that is not told
};

}  // namespace

void tell_links(Output& output, const Json::Array& chain, const std::string& asker) {
  Links(output, asker).tell(chain);
}

}  // namespace reeve::cli
