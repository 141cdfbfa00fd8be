#pragma once

#include "adapters/history/file.h"
#include "core/event.h"
#include "core/state.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// What the tests of history share: a folder of their own, events of a made-up past, and questions
// to the file.
namespace reeve::history {

using namespace std::chrono_literals;

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "reeve-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& name = "history.db") const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// A second a sequence, from 2030 on; engine time began with it.
inline constexpr std::int64_t first_wall = 1'893'456'000'000;

inline Put put(std::uint64_t sequence, std::uint32_t index, EventBody body) {
  const Duration since = sequence * 1s;
  const Wall at{Duration{first_wall} + since};
  return {{sequence, index, at, default_project, std::move(body)}, {Time{since}, at}};
}

inline Put acquired(std::uint64_t sequence, std::uint32_t index = 0, std::string who = "ana") {
  return put(sequence,
             index,
             lock::WasAcquired{{default_project, "main"},
                               {default_project, std::move(who)},
                               Token{100 * sequence + index}});
}

// The rows of an answer, each with its columns between bars.
inline std::vector<std::string> rows(const std::string& path, const std::string& sql) {
  std::vector<std::string> told;
  Result<Database> database = Database::open(path, Database::For::Read);
  if (!database) return {"cannot be opened: " + database.error().message};
  Result<Statement> statement = Statement::prepare(*database, sql);
  if (!statement) return {statement.error().message};
  while (true) {
    const Result<bool> row = statement->next();
    if (!row || !*row) return told;
    std::string line;
    for (int i = 0; i < statement->columns(); ++i) {
      if (i > 0) line += '|';
      line += statement->is_null(i) ? std::string("-") : std::string(statement->text(i));
    }
    told.push_back(line);
  }
}

using Lines = std::vector<std::string>;

}  // namespace reeve::history
