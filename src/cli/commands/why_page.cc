#include "cli/commands/why_page.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace reeve::cli {

Words in_lines(std::string_view text, std::size_t indent, Style style) {
  return {Output::in_lines(text, indent), style};
}

std::size_t rows_of_screen() {
  constexpr std::size_t least = 12;
  const std::size_t height = Output::out_height();
  return height == 0 ? any_rows : std::max(height, least) - 1;
}

std::size_t page_width() {
  const std::size_t width = Output::out_width();
  return width > 0 ? width : 80;
}

std::size_t rows_of(std::string_view text) { return rows_on_screen(text, page_width()); }

std::size_t rows_of(const std::vector<Words>& page) {
  std::size_t rows = 0;
  for (const Words& words : page) rows += rows_of(words.text);
  return rows;
}

std::vector<Words> cut(std::vector<Words> page, std::size_t room) {
  if (rows_of(page) <= room) return page;
  while (page.size() > 1 && rows_of(page) > room) page.pop_back();
  std::string& last = page.back().text;
  while (rows_of(page) > room && last.find('\n') != std::string::npos)
    last.resize(last.rfind('\n'));
  const std::size_t line = last.rfind('\n') + 1;  // its beginning
  const std::size_t rows = std::max<std::size_t>(std::min(rows_of(last.substr(line)), room), 1);
  // Of wide characters one may leave the last cell of a row free.
  last = last.substr(0, line) + fitted(last.substr(line) + " …", rows * (page_width() - 1));
  return page;
}

std::string in_short(std::string_view text, std::size_t margin, std::size_t most) {
  return in_brief(Output::brief(printable(text), margin), most);
}

std::string since(const Output& output, const Json& moment) {
  const std::string text = output.moment(moment);
  return text == "now" ? "since just now" : fmt::format("since {}", text);
}

namespace {

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

}  // namespace

std::vector<std::string> marked_lines(std::string_view text, const std::string& indent) {
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    lines.push_back(marked(printable(line), indent));
  }
  return lines;
}

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
    if (last != lines.back()) last += " …";
    if (room == 1 && lines.size() > 1) last.insert(indent.size() + 4, "… ");
    last = fitted(last, page_width());
    if (room == 1 || lines.size() == 1) return {last};
    shown.push_back(last);
  }
  shown.insert(shown.end(),
               std::make_move_iterator(lines.begin() + static_cast<std::ptrdiff_t>(first)),
               std::make_move_iterator(lines.end()));
  return shown;
}

void tell(Output& output, const std::vector<Words>& page) {
  for (const auto& [text, style] : page) {
    const std::size_t before = std::min(text.find_first_not_of(' '), text.size());
    output.line(text.substr(0, before) + output.styled(style, text.substr(before)));
  }
}

}  // namespace reeve::cli
