#include "base/match.h"
#include "cli/cli.h"
#include "cli/commands/groups.h"
#include "cli/history.h"
#include "cli/signals.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <span>

// `reeve sql`: any question to history, answered as a table, as CSV or as JSON.
namespace reeve::cli {

namespace {

constexpr std::size_t rows_a_flush = 500;

std::string text_of_value(const SqlValue& value, std::string_view nothing) {
  return match(
      value,
      [&](std::monostate) { return std::string(nothing); },
      [](std::int64_t number) { return fmt::format("{}", number); },
      [](double number) { return fmt::format("{}", number); },
      [](const std::string& text) { return text; },
      [&](const tools::Blob&) { return json_of_value(value).text(); });
}

// RFC 4180.
std::string csv_of(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

// A sink for rows in one of the shapes.
class Answered {
 public:
  enum class Shape : std::uint8_t { Table, Csv, Json, Bare };

  Answered(Output& output, Shape shape) : output_(output), shape_(shape) {}

  void columns(std::span<const std::string> names) {
    names_.assign(names.begin(), names.end());
    are_numbers_.assign(names.size(), true);
    if (shape_ == Shape::Json) make_unique();
    if (shape_ != Shape::Csv) return;
    std::string line;
    for (const std::string& name : names) line += (line.empty() ? "" : ",") + csv_of(name);
    output_.line(line);
  }

  void row(std::span<const SqlValue> values) {
    ++count_;
    switch (shape_) {
      case Shape::Table:
        return add(values);
      case Shape::Csv:
        return tell(
            values, ",", [](const SqlValue& value) { return csv_of(text_of_value(value, "")); });
      case Shape::Bare:
        return tell(values, "\t", [](const SqlValue& value) {
          return printable(text_of_value(value, ""));
        });
      case Shape::Json: {
        Json object = Json::object();
        for (std::size_t i = 0; i < values.size(); ++i) {
          object.set(names_[i], json_of_value(values[i]));
        }
        rows_.push_back(std::move(object));
        return;
      }
    }
  }

  int end() {
    if (shape_ == Shape::Json) {
      Json names = Json::array();
      for (const std::string& name : names_) names.push(name);
      return output_.succeed(
          json_of({{"columns", names}, {"rows", Json(std::move(rows_))}, {"count", count_}}));
    }
    if (shape_ == Shape::Table && !names_.empty()) write_table();
    return output_.done();
  }

 private:
  // An object has one value a name: the second `a` is `a:1`.
  void make_unique() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string name = names_[i];
      const auto before = names_.begin() + static_cast<std::ptrdiff_t>(i);
      for (int n = 1; std::find(names_.begin(), before, names_[i]) != before; ++n) {
        names_[i] = fmt::format("{}:{}", name, n);
      }
    }
  }

  template <class Show>
  void tell(std::span<const SqlValue> values, std::string_view between, const Show& show) {
    std::string line;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) line += between;
      line += show(values[i]);
    }
    output_.line(line);
    if (count_ % rows_a_flush == 0) output_.flush();
  }

  void add(std::span<const SqlValue> values) {
    std::vector<Table::Cell> cells;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_text = std::holds_alternative<std::string>(values[i]) ||
                           std::holds_alternative<tools::Blob>(values[i]);
      if (is_text) are_numbers_[i] = false;
      cells.emplace_back(printable(text_of_value(values[i], "-")));
    }
    cells_.push_back(std::move(cells));
  }

  // All columns are shown, whatever they hold: the widest give way. What does not fit even so is
  // wider than the terminal, and nothing is left out.
  void write_table() {
    std::vector<Table::Column> columns;
    std::size_t least = 0;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const bool number = are_numbers_[i] && !cells_.empty();
      columns.push_back({names_[i], number ? Table::Align::Right : Table::Align::Left, !number});
      std::size_t widest = display_width(names_[i]);
      for (const auto& row : cells_) widest = std::max(widest, display_width(row[i].text));
      least += 2 + (number ? widest
                           : std::min(widest, std::max<std::size_t>(8, display_width(names_[i]))));
    }
    const std::size_t width = Output::out_width();
    Table table(columns);
    for (auto& row : cells_) table.add(std::move(row));
    output_.out(table.write(least > width + 2 ? 0 : width, output_));
  }

  Output& output_;
  Shape shape_;
  std::vector<std::string> names_;
  std::vector<bool> are_numbers_;
  std::vector<std::vector<Table::Cell>> cells_;
  Json::Array rows_;
  std::uint64_t count_ = 0;
};

// The tables with their columns, one a line or as data.
int tell_schema(Context& context, const std::string& path) {
  const auto rows = ask_history(
      context,
      path,
      "SELECT m.name AS name, p.name AS column, p.type AS type FROM sqlite_schema AS m, "
      "pragma_table_xinfo(m.name) AS p WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' "
      "ORDER BY m.name, p.cid");
  if (!rows) return context.fail(rows.error());
  Json tables = Json::array();
  std::vector<std::pair<std::string, std::string>> lines;
  Json::Array columns;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Json& row = (*rows)[i];
    const std::string& name = row["name"].text();
    if (lines.empty() || lines.back().first != name) lines.emplace_back(name, "");
    std::string& line = lines.back().second;
    line += (line.empty() ? "" : ", ") + row["column"].text();
    columns.push_back(json_of({{"name", row["column"]}, {"type", row["type"]}}));
    const bool is_last = i + 1 == rows->size() || (*rows)[i + 1]["name"].text() != name;
    if (!is_last) continue;
    tables.push(json_of({{"name", name}, {"columns", Json(std::exchange(columns, {}))}}));
  }
  if (context.json()) return context.output.succeed(json_of({{"path", path}, {"tables", tables}}));
  for (const auto& [name, names] : lines) {
    if (context.quiet()) {
      context.output.line(name);
      continue;
    }
    context.output.sentence(fmt::format("{}  {}", context.output.styled(Style::Bold, name), names),
                            4);
  }
  return context.output.done();
}

}  // namespace

int sql_command(Context& context, const Parsed& parsed) {
  if (parsed.words.empty() && !parsed.has("schema")) {
    return context.misuse("sql wants a statement, as in `reeve sql \"SELECT * FROM events\"`");
  }
  if (parsed.has("csv") && context.json()) return context.misuse("--csv or --json, not both");
  const auto path = synced_history(context);
  if (!path) return context.fail(path.error());
  if (parsed.has("schema")) return tell_schema(context, *path);
  std::string sql = parsed.words[0];
  if (sql == "-") sql.assign(std::istreambuf_iterator<char>(std::cin), {});
  using Shape = Answered::Shape;
  Answered answered(context.output,
                    context.json()      ? Shape::Json
                    : parsed.has("csv") ? Shape::Csv
                    : context.quiet()   ? Shape::Bare
                                        : Shape::Table);
  const Signals signals{SIGINT, SIGTERM};
  const tools::HistoryAsk ask{
      .path = *path, .sql = std::move(sql), .stopped = [&] { return signals.next().has_value(); }};
  const Result<void> asked = context.parts->history(
      ask,
      {.columns = [&](std::span<const std::string> names) { answered.columns(names); },
       .row = [&](std::span<const SqlValue> row) { answered.row(row); }});
  if (!asked) return context.fail(failure_of_history(asked.error()));
  return answered.end();
}

}  // namespace reeve::cli
