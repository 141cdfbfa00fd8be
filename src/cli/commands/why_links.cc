#include "cli/commands/why_links.h"

#include "cli/commands/board.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace reeve::cli {

namespace {

constexpr std::size_t lines_shown = 12;

std::string since(const Output& output, const Json& moment) {
  const std::string text = output.moment(moment);
  return text == "now" ? "since just now" : fmt::format("since {}", text);
}

// One line of it, under its mark also where it takes several.
void tell_line(Output& output, const std::string& text, const std::string& indent) {
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
  output.line(margin + words);
}

// The last lines of what a program said.
void tell_output(Output& output, std::string_view text, const std::string& indent) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, newline));
    text.remove_prefix(std::min(text.size(), newline + 1));
  }
  const std::size_t first = lines.size() > lines_shown ? lines.size() - lines_shown : 0;
  for (std::size_t i = first; i < lines.size(); ++i) {
    tell_line(output, printable(lines[i]), indent);
  }
}

// A run by its id, and what it runs if that is known.
std::string named(const Json& id, const Json& name) {
  const std::string called = printable(name.text());
  return called.empty() ? id.text() : fmt::format("{} ({})", id.text(), called);
}

// One of those that are waited for: indented by how far behind others it is.
void tell_link(Output& output, const Json& link, const std::string& asker) {
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
  output.sentence(indent + line, indent.size() + 4);
  if (link.has("detail")) {
    output.sentence(
        indent + "  " + printable(link["detail"].text()), indent.size() + 2, Style::Dim);
  }
  tell_output(output, link["output"].text(), indent);
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
    tell_link(output_, link, asker_);
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
        output_.line(fmt::format("{}… and {} more", indent, many.last.all - many.told));
      }
      many_.pop_back();
    }
  }

  Output& output_;
  std::string asker_;
  std::vector<const Json*> parents_;  // by depth
  std::vector<Many> many_;
  std::optional<std::size_t> hidden_;  // what is deeper than this is behind one that is not told
};

}  // namespace

void tell_links(Output& output, const Json::Array& chain, const std::string& asker) {
  Links(output, asker).tell(chain);
}

}  // namespace reeve::cli
