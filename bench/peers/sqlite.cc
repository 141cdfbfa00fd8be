#include "bench/peers/measured.h"
#include "bench/peers/speaker.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace peers {
namespace {

using Clock = std::chrono::steady_clock;

void must(int code, sqlite3* db) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fmt::print(stderr, "sqlite: {}\n", sqlite3_errmsg(db));
  std::exit(1);
}

// A file, as a script would use it: one statement is one transaction, synced.
class Client {
 public:
  explicit Client(const std::string& file) {
    must(sqlite3_open(file.c_str(), &db_), db_);
    sqlite3_busy_timeout(db_, 60'000);
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE IF NOT EXISTS items(id INTEGER PRIMARY KEY, priority INT, state INT, "
        "visible_at INT, attempts INT, data TEXT);"
        "CREATE INDEX IF NOT EXISTS ready ON items(state, priority DESC, id);"
        "CREATE TABLE IF NOT EXISTS locks(name TEXT PRIMARY KEY, until INT)");
    push_ = prepare("INSERT INTO items(priority, state, attempts, data) VALUES (0, 0, 0, ?)");
    take_ = prepare(
        "UPDATE items SET state = 1, visible_at = unixepoch() + 300, attempts = attempts + 1 WHERE "
        "id = (SELECT id FROM items WHERE state = 0 ORDER BY priority DESC, id LIMIT 1) "
        "RETURNING id, data");
    complete_ = prepare("DELETE FROM items WHERE id = ? AND state = 1");
    acquire_ = prepare("INSERT OR IGNORE INTO locks(name, until) VALUES (?, unixepoch() + 60)");
    release_ = prepare("DELETE FROM locks WHERE name = ?");
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    for (sqlite3_stmt* one : {push_, take_, complete_, acquire_, release_}) sqlite3_finalize(one);
    sqlite3_close(db_);
  }

  void push(const std::string& data) { with_text(push_, data); }
  void cycle(const std::string& data) {
    push(data);
    const int found = sqlite3_step(take_);
    must(found, db_);
    const std::int64_t id = found == SQLITE_ROW ? sqlite3_column_int64(take_, 0) : 0;
    while (sqlite3_step(take_) == SQLITE_ROW) {
    }
    sqlite3_reset(take_);
    sqlite3_bind_int64(complete_, 1, id);
    finish(complete_);
  }
  void lock(const std::string& name) {
    with_text(acquire_, name);
    with_text(release_, name);
  }

 private:
  void run(const char* sql) { must(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), db_); }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    must(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr), db_);
    return statement;
  }
  void with_text(sqlite3_stmt* statement, const std::string& text) {
    sqlite3_bind_text(statement, 1, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    finish(statement);
  }
  void finish(sqlite3_stmt* statement) {
    must(sqlite3_step(statement), db_);
    sqlite3_reset(statement);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* push_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* complete_ = nullptr;
  sqlite3_stmt* acquire_ = nullptr;
  sqlite3_stmt* release_ = nullptr;
};

}  // namespace

Measured run_sqlite(const SqliteOptions& options) {
  {
    const Client first(options.file);
  }
  std::vector<Measured> parts(options.clients);
  std::vector<std::thread> threads;
  std::atomic<bool> stop = false;
  const Clock::time_point began = Clock::now();
  for (std::uint32_t number = 0; number < options.clients; ++number) {
    threads.emplace_back([&, number] {
      Client client(options.file);
      const std::string name = fmt::format("l{}", number);
      Measured& mine = parts[number];
      while (!stop) {
        const Clock::time_point before = Clock::now();
        if (options.workload == "push") client.push(options.payload);
        if (options.workload == "cycle") client.cycle(options.payload);
        if (options.workload == "lock") client.lock(name);
        mine.latencies.push_back(
            std::chrono::duration<float, std::micro>(Clock::now() - before).count());
        ++mine.operations;
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();

  Measured all;
  all.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  for (const Measured& part : parts) {
    all.operations += part.operations;
    all.latencies.insert(all.latencies.end(), part.latencies.begin(), part.latencies.end());
  }
  return all;
}

}  // namespace peers
