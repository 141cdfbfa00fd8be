#include "cli/output.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <sys/ioctl.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::int64_t ten_years = std::int64_t{10} * 365 * 24 * 3600 * 1000;

// All of it, or false.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string_view environment(const char* name) {
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool colored(When when, bool terminal) {
  if (when == When::Never || !environment("NO_COLOR").empty()) return false;
  if (environment("TERM") == "dumb") return false;
  return when == When::Always || (terminal && !environment("TERM").empty());
}

std::string_view escape(Style style) {
  switch (style) {
    case Style::Plain:
      return "";
    case Style::Dim:
      return "\x1b[2m";
    case Style::Bold:
      return "\x1b[1m";
    case Style::Good:
      return "\x1b[32m";
    case Style::Warn:
      return "\x1b[33m";
    case Style::Bad:
      return "\x1b[31m";
  }
  return "";
}

std::string in_style(Style style, std::string_view text, bool color) {
  if (!color || style == Style::Plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape(style), text);
}

std::size_t width_of(int descriptor) {
  winsize size{};
  if (::isatty(descriptor) == 0 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col == 0 ? 80 : size.ws_col;
}

// Its reader has gone: end as a program without a handler would.
[[noreturn]] void end_by_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  ::_exit(141);
}

}  // namespace

std::int64_t wall_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

std::int64_t steady_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

bool Output::out_is_terminal() { return ::isatty(STDOUT_FILENO) != 0; }
bool Output::err_is_terminal() {
  return ::isatty(STDERR_FILENO) != 0 && environment("TERM") != "dumb";
}
std::size_t Output::out_width() { return width_of(STDOUT_FILENO); }
std::size_t Output::err_width() { return width_of(STDERR_FILENO); }

std::size_t Output::out_height() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_row;
}

const Usual& Output::as_usual() const {
  if (!usual_) usual_ = usual ? usual() : Usual{};
  return *usual_;
}

bool Output::iso() const { return look.iso ? *look.iso : as_usual().iso; }
When Output::color() const { return look.color ? *look.color : as_usual().color; }

std::string Output::styled(Style style, std::string_view text) const {
  return in_style(style, text, colored(color(), out_is_terminal()));
}

std::string Output::styled_err(Style style, std::string_view text) const {
  return in_style(style, text, colored(color(), ::isatty(STDERR_FILENO) != 0));
}

void Output::line(std::string_view text) {
  out_ += text;
  out_ += '\n';
}

std::string Output::in_lines(std::string_view text, std::size_t indent) {
  const std::size_t width = out_width();
  const std::size_t before = std::min(text.find_first_not_of(' '), text.size());
  if (width <= 2 * indent + before) return std::string(text);
  // The first line begins where it does, the others further right: none is wider than the screen,
  // and each is as wide as it may be.
  const std::size_t furthest = std::max(before, indent);
  return std::string(before, ' ') +
         wrapped(text.substr(before), width - furthest, indent, furthest - before);
}

void Output::sentence(std::string_view text, std::size_t indent, Style style) {
  const std::string lines = in_lines(text, indent);
  const std::size_t before = std::min(lines.find_first_not_of(' '), lines.size());
  line(lines.substr(0, before) + styled(style, lines.substr(before)));
}

std::string Output::brief(std::string_view text, std::size_t margin, std::size_t width) {
  constexpr std::size_t most = 300;
  return in_brief(text, most, width > 2 * margin ? width - margin : width);
}

std::string Output::on_screen(std::string_view text, std::size_t margin) {
  const std::size_t width = out_width();
  return width > 2 * margin ? in_brief(text, 4 * (width - margin), width - margin)
                            : std::string(text);
}

void Output::err(std::string_view text) const { write_all(STDERR_FILENO, text); }

void Output::note(std::string_view line) const {
  err(fmt::format("reeve: {}\n", for_terminal(line)));
}

std::string Output::for_terminal(std::string_view sentence) {
  constexpr std::size_t before = 7;  // "reeve: "
  const std::size_t width = err_is_terminal() ? err_width() : 0;
  return width > 2 * before ? wrapped(sentence, width - before, before) : std::string(sentence);
}

std::string Output::moment(const Json& at) const {
  if (!at.is_string()) return "-";
  const auto moment = parse_moment(at.text());
  if (iso() || !moment) return at.text();
  // A lease that is kept by its process has no end that anybody waits for.
  return *moment - wall_now() > ten_years ? "never" : relative(*moment, wall_now());
}

bool Output::flush() {
  if (out_.empty()) return !broken_;
  const std::string text = std::exchange(out_, {});
  if (write_all(STDOUT_FILENO, text)) return true;
  if (errno == EPIPE) end_by_pipe();
  broken_ = true;
  note(fmt::format("cannot write the output: {}", errno == ENOSPC ? "no space left" : "it failed"));
  return false;
}

int Output::done(Exit exit) {
  if (!flush() && exit == Exit::Ok) exit = Exit::Failed;
  return static_cast<int>(exit);
}

int Output::succeed(const Json& data) {
  Json envelope = Json::object();
  envelope.set("success", true).set("command", command).set("data", data);
  line(envelope.write());
  return done();
}

int Output::fail(const Failure& failure) {
  const Exit exit = exit_of(failure.code);
  if (look.json) {
    Json error = Json::object();
    error.set("code", failure.code).set("message", failure.message);
    error.set("details", failure.details.is_object() ? failure.details : Json::object());
    Json envelope = Json::object();
    envelope.set("success", false).set("command", command).set("error", error);
    line(envelope.write());
    return done(exit);
  }
  const int code = done(exit);
  err(fmt::format(
      "{} {}\n", styled_err(Style::Bad, "reeve:"), for_terminal(printable(failure.message))));
  return code;
}

std::size_t Table::widest(std::size_t column) const {
  std::size_t cells = display_width(columns_[column].heading);
  for (const auto& row : rows_) {
    if (column < row.size()) cells = std::max(cells, display_width(row[column].text));
  }
  return cells;
}

bool Table::says_nothing(std::size_t column) const {
  return std::ranges::all_of(rows_, [&](const std::vector<Cell>& row) {
    return column >= row.size() || row[column].text.empty() || row[column].text == "-" ||
           row[column].text == "0";
  });
}

// Where not even the shortest names make room enough columns are left out: those first that say
// nothing, then from the right. What a line is about stays.
std::vector<std::size_t> Table::shown(std::size_t width) const {
  std::vector<std::size_t> all(columns_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  if (width == 0) return all;
  const auto least = [&] {
    std::size_t sum = 2 * (all.size() - 1);
    for (const std::size_t i : all) {
      const std::size_t heading = display_width(columns_[i].heading);
      sum += columns_[i].may_shrink ? std::min(widest(i), std::max<std::size_t>(heading, 8))
                                    : widest(i);
    }
    return sum;
  };
  while (all.size() > 1 && least() > width) {
    auto out =
        std::find_if(all.rbegin(), all.rend() - 1, [&](std::size_t i) { return says_nothing(i); });
    if (out == all.rend() - 1) out = all.rbegin();
    all.erase(std::next(out).base());
  }
  return all;
}

// The widest of the columns that may shrink gives way, cell by cell, until the line fits; none
// becomes narrower than its heading, or 8 cells.
std::vector<std::size_t> Table::widths(const std::vector<std::size_t>& shown,
                                       std::size_t width) const {
  std::vector<std::size_t> widths;
  widths.reserve(shown.size());
  for (const std::size_t column : shown) widths.push_back(widest(column));
  if (width == 0) return widths;
  const auto total = [&] {
    std::size_t sum = 2 * (widths.size() - 1);
    for (const std::size_t cells : widths) sum += cells;
    return sum;
  };
  // First what is left of a name stays readable; on a very small screen its heading has to do.
  for (const std::size_t readable : {std::size_t{8}, std::size_t{1}}) {
    while (total() > width) {
      std::size_t most = widths.size();
      for (std::size_t i = 0; i < widths.size(); ++i) {
        const Column& column = columns_[shown[i]];
        const std::size_t least = std::max(readable, display_width(column.heading));
        if (!column.may_shrink || widths[i] <= least) continue;
        if (most == widths.size() || widths[i] > widths[most]) most = i;
      }
      if (most == widths.size()) break;
      --widths[most];
    }
  }
  return widths;
}

std::string Table::write(std::size_t width, const Output& output) const {
  const std::vector<std::size_t> columns = shown(width);
  const std::vector<std::size_t> cells = widths(columns, width);
  std::string text;
  const auto write_row = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Cell cell = cell_at(columns[i]);
      const std::string shown = fitted(cell.text, cells[i]);
      const std::size_t used = display_width(shown);
      const std::string padding(cells[i] > used ? cells[i] - used : 0, ' ');
      const std::string styled = output.styled(cell.style, shown);
      if (i > 0) line += "  ";
      const bool right = columns_[columns[i]].align == Align::Right;
      line += right ? padding + styled : styled + padding;
    }
    while (line.ends_with(' ')) line.pop_back();
    text += line;
    text += '\n';
  };
  write_row([&](std::size_t i) { return Cell(std::string(columns_[i].heading), Style::Dim); });
  for (const auto& row : rows_) {
    write_row([&](std::size_t i) { return i < row.size() ? row[i] : Cell(""); });
  }
  return text;
}

}  // namespace reeve::cli
