#include "adapters/history/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace reeve::history {
namespace {

constexpr int busy_ms = 5000;

Error::Code code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Error::Code::Corrupt;
    case SQLITE_FULL:
      return Error::Code::Full;
    case SQLITE_CANTOPEN:
      return Error::Code::NotFound;
    case SQLITE_INTERRUPT:
      return Error::Code::Timeout;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error::Code::Conflict;
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
    case SQLITE_RANGE:
      return Error::Code::BadRequest;
    default:
      return Error::Code::Io;
  }
}

}  // namespace

Error sqlite_error(sqlite3* database, int code, std::string_view where) {
  const char* says = database ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  return {code_of(code), fmt::format("{}: {}", where, says)};
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& path, For what) {
  Database opened(path);
  const int how =
      what == For::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  // One thread at a time: the mutexes of SQLite are not needed. A link is not followed.
  const int code = sqlite3_open_v2(
      path.c_str(), &raw, how | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
  opened.database_.reset(raw);
  if (code != SQLITE_OK) return fail(sqlite_error(raw, code, path));
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, busy_ms);
  // The file may be anybody's: what it says of itself is not trusted.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return opened;
}

Error Database::error() const { return sqlite_error(raw(), sqlite3_errcode(raw()), path_); }

Result<void> Database::run(const std::string& sql) {
  const int code = sqlite3_exec(raw(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(sqlite_error(raw(), code, path_));
  return {};
}

Result<std::int64_t> Database::number(const std::string& sql) {
  Result<Statement> statement = Statement::prepare(*this, sql);
  if (!statement) return fail(statement.error());
  const Result<bool> row = statement->next();
  if (!row) return fail(row.error());
  return *row ? statement->number(0) : 0;
}

std::int64_t Database::changes() const { return sqlite3_changes64(raw()); }

// ── Statements ──

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<Statement> Statement::prepare(Database& database, std::string_view sql) {
  Statement statement;
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(database.raw(),
                                      sql.data(),
                                      static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT,
                                      &raw,
                                      nullptr);
  statement.statement_.reset(raw);
  if (code != SQLITE_OK) return fail(sqlite_error(database.raw(), code, database.path()));
  return statement;
}

Statement& Statement::bind(std::int64_t number) {
  sqlite3_bind_int64(raw(), ++bound_, number);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  // An empty view may have no address, and that would be a NULL.
  const char* begin = text.empty() ? "" : text.data();
  sqlite3_bind_text64(raw(), ++bound_, begin, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(std::nullptr_t) {
  sqlite3_bind_null(raw(), ++bound_);
  return *this;
}

Error Statement::error() const {
  sqlite3* const database = sqlite3_db_handle(raw());
  const char* const file = sqlite3_db_filename(database, nullptr);
  return sqlite_error(database, sqlite3_errcode(database), file ? file : "history");
}

Result<void> Statement::run() {
  const int code = sqlite3_step(raw());
  const bool done = code == SQLITE_DONE || code == SQLITE_ROW;
  Result<void> result;
  if (!done) result = fail(error());
  reset();
  return result;
}

Result<bool> Statement::next() {
  const int code = sqlite3_step(raw());
  if (code == SQLITE_ROW) return true;
  Result<bool> result = false;
  if (code != SQLITE_DONE) result = fail(error());
  reset();
  return result;
}

void Statement::reset() {
  sqlite3_reset(raw());
  bound_ = 0;
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(raw(), column); }

std::string_view Statement::text(int column) const {
  const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(raw(), column));
  if (!begin) return {};
  return {begin, static_cast<std::size_t>(sqlite3_column_bytes(raw(), column))};
}

int Statement::columns() const { return sqlite3_column_count(raw()); }

bool Statement::is_null(int column) const {
  return sqlite3_column_type(raw(), column) == SQLITE_NULL;
}

}  // namespace reeve::history
