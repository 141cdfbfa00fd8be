#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

// Questions to history.db, in SQL. They only read: the file is opened so, and whatever else a
// statement would do is refused before it begins. The daemon may write meanwhile; a question sees
// the file as it was when it began.
namespace reeve::tools {

struct Blob {
  std::string bytes;

  bool operator==(const Blob&) const = default;
};
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;

struct HistoryAsk {
  std::string path;
  std::string sql;                        // one statement
  std::vector<SqlValue> parameters = {};  // for its `?`, in order
  bool ours = false;                      // our own words: they need no guard
  std::function<bool()> stopped = {};     // looked at now and then: true ends it (Timeout)
};

// The columns come first, once, also if there is no row.
struct RowSink {
  std::function<void(std::span<const std::string> columns)> columns;
  std::function<void(std::span<const SqlValue> row)> row;
};

// NotFound: there is no such file. BadRequest: the statement is wrong, or would change something.
// Corrupt, Conflict: it is no history, or another version's. Timeout: it was stopped.
Result<void> history_query(const HistoryAsk& ask, const RowSink& sink);

}  // namespace reeve::tools
