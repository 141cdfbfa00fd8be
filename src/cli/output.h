#pragma once

#include "cli/exit_code.h"
#include "cli/json.h"

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What people and scripts see. Data goes to stdout, everything else to stderr. Colour only on a
// terminal, never with NO_COLOR or TERM=dumb unless asked for, and never as the only sign.
//
// stdout is gathered and written at the end (streams flush a line at a time). If it cannot be
// written the exit code says so; if its reader has gone, the process ends as `head` expects.
namespace reeve::cli {

// Something did not work: a code for programs, a sentence for people, what a program may want to
// know.
struct Failure {
  std::string code;
  std::string message;
  Json details = {};
};

using Answer = std::expected<Json, Failure>;

enum class Style : std::uint8_t { Plain, Dim, Bold, Good, Warn, Bad };

enum class When : std::uint8_t { Auto, Always, Never };

// What the words of a command say of it; what they leave open is as usual.
struct Look {
  bool json = false;
  bool quiet = false;
  std::optional<bool> iso = {};
  std::optional<When> color = {};
};

// What a user wants whenever nothing is said.
struct Usual {
  bool iso = false;
  When color = When::Auto;
};

class Output {
 public:
  Output() = default;

  Look look;
  std::string command;  // for the envelope
  // Asked once, and only where it makes a difference: it reads a file.
  std::function<Usual()> usual = {};

  bool iso() const;
  When color() const;

  // Whether a person looks at it.
  static bool out_is_terminal();
  static bool err_is_terminal();
  // Cells of a line of stdout; 0: not a terminal, as long as it takes.
  static std::size_t out_width();
  static std::size_t err_width();
  static std::size_t out_height();  // its lines

  // The text in its style, for stdout.
  std::string styled(Style style, std::string_view text) const;
  std::string styled_err(Style style, std::string_view text) const;

  void out(std::string_view text) { out_ += text; }
  void line(std::string_view text);
  // The same, broken between words where a terminal would break it within one; what follows is
  // indented.
  void sentence(std::string_view text, std::size_t indent = 2, Style style = Style::Plain);
  // The lines of such a sentence, without the end of the last one.
  static std::string in_lines(std::string_view text, std::size_t indent);
  // What happened to something, told in passing: some lines at most, wherever it goes, for a
  // program may have said anything. `margin`: how far from the left it stands, of so many cells.
  static std::string brief(std::string_view text,
                           std::size_t margin,
                           std::size_t width = out_width());
  // Some lines of a terminal at most; elsewhere all of it.
  static std::string on_screen(std::string_view text, std::size_t margin);
  // At once.
  void err(std::string_view text) const;
  void note(std::string_view line) const;

  // A moment of the protocol as the user wants to see it. Empty: a dash.
  std::string moment(const Json& at) const;

  // The end of a command. Each gives the exit code, after everything was written.
  int succeed(const Json& data);  // the envelope
  int fail(const Failure& failure);
  int done(Exit exit = Exit::Ok);
  // Writes what was gathered; false if that failed.
  bool flush();

 private:
  // Broken between words where a terminal would break it within one.
  static std::string for_terminal(std::string_view sentence);

  const Usual& as_usual() const;

  std::string out_;
  bool broken_ = false;
  mutable std::optional<Usual> usual_ = {};
};

// Milliseconds since 1970, by the wall.
std::int64_t wall_now();
// Milliseconds of a clock that nobody sets.
std::int64_t steady_now();

// Columns that fit. Without a terminal nothing is cut.
class Table {
 public:
  enum class Align : std::uint8_t { Left, Right };
  struct Column {
    std::string_view heading;
    Align align = Align::Left;
    bool may_shrink = false;
  };
  struct Cell {
    Cell(std::string words, Style look = Style::Plain)  // NOLINT(google-explicit-constructor)
        : text(std::move(words)), style(look) {}
    Cell(const char* words) : text(words) {}  // NOLINT(google-explicit-constructor)
    std::string text;
    Style style = Style::Plain;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }

  // With its heading, every line ended by a newline. Width 0: unbounded.
  std::string write(std::size_t width, const Output& output) const;

 private:
  // Which columns are shown: all, as long as they fit.
  std::vector<std::size_t> shown(std::size_t width) const;
  std::vector<std::size_t> widths(const std::vector<std::size_t>& shown, std::size_t width) const;
  std::size_t widest(std::size_t column) const;
  bool says_nothing(std::size_t column) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace reeve::cli
