#pragma once

#include "base/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

// As much of SQLite as history needs, with failures as values.
namespace reeve::history {

class Database {
 public:
  // Read: must exist, and is never changed. Write: made if it is not there.
  enum class For : std::uint8_t { Read, Write };
  static Result<Database> open(const std::string& path, For what);

  // Any number of statements, without answers.
  Result<void> run(const std::string& sql);
  // The first column of the first row; 0 if there is none.
  Result<std::int64_t> number(const std::string& sql);
  std::int64_t changes() const;

  // What SQLite said last, with the file's name: Corrupt for what is no database or damaged, Full
  // for a disk without room, BadRequest for a statement that is wrong, else Io.
  Error error() const;

  sqlite3* raw() const { return database_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

// One statement, used again and again. Parameters are bound in their order:
//
//     insert.bind(seq).bind(name).bind(nullptr);
//     if (auto done = insert.run(); !done) ...
class Statement {
 public:
  Statement() = default;
  static Result<Statement> prepare(Database& database, std::string_view sql);

  // A text is only looked at: it outlives the run.
  Statement& bind(std::int64_t number);
  Statement& bind(std::uint64_t number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(std::uint32_t number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(std::int32_t number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(std::string_view text);
  Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind(std::nullptr_t none);
  template <class T>
  Statement& bind(const std::optional<T>& maybe) {
    return maybe ? bind(*maybe) : bind(nullptr);
  }

  // To its end, and ready to be bound again.
  Result<void> run();
  // The next row: false at the end, and ready to be bound again.
  Result<bool> next();
  void reset();

  std::int64_t number(int column) const;
  std::string_view text(int column) const;  // until the next row
  bool is_null(int column) const;
  int columns() const;

  sqlite3_stmt* raw() const { return statement_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Error error() const;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

// Of the code that a call of SQLite returned.
Error sqlite_error(sqlite3* database, int code, std::string_view where);

}  // namespace reeve::history
