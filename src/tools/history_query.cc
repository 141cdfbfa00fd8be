#include "tools/history_query.h"

#include "adapters/history/schema.h"
#include "adapters/history/sqlite.h"
#include "base/match.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace reeve::tools {
namespace {

// Steps of SQLite's machine between two looks: about a millisecond.
constexpr int steps_between_looks = 20'000;

// Those that tell of tables and change nothing.
constexpr std::array<std::string_view, 9> harmless_pragmas{"table_info",
                                                           "table_xinfo",
                                                           "table_list",
                                                           "index_list",
                                                           "index_info",
                                                           "index_xinfo",
                                                           "page_count",
                                                           "page_size",
                                                           "user_version"};

struct Guard {
  bool refused = false;
};

int authorize(void* guard,
              int action,
              const char* first,
              const char* second,
              const char* /*database*/,
              const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      if (std::string_view(second ? second : "") != "load_extension") return SQLITE_OK;
      break;
    case SQLITE_PRAGMA:
      // With a value some of them set it: those that have one here only look at a table.
      if (std::ranges::find(harmless_pragmas, std::string_view(first ? first : "")) !=
              harmless_pragmas.end() &&
          (std::string_view(first) != "user_version" || second == nullptr)) {
        return SQLITE_OK;
      }
      break;
    default:
      break;
  }
  static_cast<Guard*>(guard)->refused = true;
  return SQLITE_DENY;
}

int look_up(void* stopped) {
  return (*static_cast<const std::function<bool()>*>(stopped))() ? 1 : 0;
}

std::unexpected<Error> only_reads() {
  return fail(Error::Code::BadRequest,
              "history can only be read: SELECT, WITH and EXPLAIN are understood, one statement at "
              "a time; `reeve sql --schema` shows the tables");
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

void fill_in(sqlite3_stmt* statement, std::span<const SqlValue> parameters) {
  int at = 0;
  for (const SqlValue& parameter : parameters) {
    ++at;
    match(
        parameter,
        [&](std::monostate) { sqlite3_bind_null(statement, at); },
        [&](std::int64_t number) { sqlite3_bind_int64(statement, at, number); },
        [&](double number) { sqlite3_bind_double(statement, at, number); },
        [&](const std::string& text) {
          sqlite3_bind_text64(statement, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
        },
        [&](const Blob& blob) {
          sqlite3_bind_blob64(statement, at, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC);
        });
  }
}

SqlValue value_at(sqlite3_stmt* statement, int column) {
  const auto bytes = [&](const void* begin) {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
    return begin ? std::string(static_cast<const char*>(begin), size) : std::string();
  };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
      return bytes(sqlite3_column_text(statement, column));
    case SQLITE_BLOB:
      return Blob{bytes(sqlite3_column_blob(statement, column))};
    default:
      return std::monostate{};
  }
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

Result<Prepared> prepare(history::Database& database, const std::string& sql, Guard& guard) {
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int code =
      sqlite3_prepare_v2(database.raw(), sql.c_str(), static_cast<int>(sql.size()), &raw, &tail);
  Prepared statement(raw);
  if (guard.refused) return only_reads();
  if (code != SQLITE_OK) return fail(history::sqlite_error(database.raw(), code, "history"));
  if (!raw) return fail(Error::Code::BadRequest, "there is no statement to run");
  if (tail && !is_blank(tail)) return only_reads();
  if (sqlite3_stmt_readonly(raw) == 0) return only_reads();
  return statement;
}

}  // namespace

Result<void> history_query(const HistoryAsk& ask, const RowSink& sink) {
  Result<history::Database> database =
      history::Database::open(ask.path, history::Database::For::Read);
  if (!database) return fail(database.error());
  if (auto good = history::check_schema(*database); !good) return good;
  if (auto set = database->run("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY"); !set)
    return set;
  if (ask.stopped) {
    sqlite3_progress_handler(database->raw(),
                             steps_between_looks,
                             look_up,
                             const_cast<std::function<bool()>*>(&ask.stopped));
  }
  Guard guard;
  if (!ask.ours) sqlite3_set_authorizer(database->raw(), authorize, &guard);
  Result<Prepared> prepared = prepare(*database, ask.sql, guard);
  if (!prepared) return fail(prepared.error());
  sqlite3_stmt* const statement = prepared->get();
  fill_in(statement, ask.parameters);
  const int count = sqlite3_column_count(statement);
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) names.emplace_back(sqlite3_column_name(statement, i));
  sink.columns(names);
  std::vector<SqlValue> row(static_cast<std::size_t>(count));
  while (true) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW) return fail(history::sqlite_error(database->raw(), code, "history"));
    for (int i = 0; i < count; ++i) row[static_cast<std::size_t>(i)] = value_at(statement, i);
    sink.row(row);
    if (ask.stopped && ask.stopped()) return fail(Error::Code::Timeout, "stopped");
  }
}

}  // namespace reeve::tools
