#pragma once

#include "cli/history.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

// What `reeve stats` counts, asked of history.
namespace reeve::cli::stats {

// Of how many, and how long: in ms.
struct Times {
  std::int64_t count = 0;
  std::int64_t p50 = 0;
  std::int64_t p99 = 0;
  std::int64_t most = 0;
};

struct QueueLine {
  std::string name;
  std::int64_t pushed = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;  // attempts that did not succeed
  std::int64_t dead = 0;
  Times wait;  // from the push to the first take
  Times work;  // of an attempt
};

struct LockLine {
  std::string kind;
  std::string name;
  Times hold;
  Times wait;
};

struct PipelineLine {
  std::string name;
  std::int64_t runs = 0;  // that ended
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t cancelled = 0;
  Times time;
};

// Tasks of the board that were finished, by how; one that was reopened counts by its last end.
struct BoardLine {
  std::string status;
  std::int64_t tasks = 0;
  Times time;  // from its first start
};

struct FailureLine {
  std::int64_t count = 0;
  std::string what;
  std::string cause;
};

struct WaitLine {
  std::int64_t waited = 0;
  std::string kind;
  std::string name;
  std::string who;
  std::string since;
};

// A part of the time, for the plot.
struct Bucket {
  std::int64_t pushed = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t tasks_completed = 0;
  std::int64_t tasks_review = 0;
  std::int64_t tasks_failed = 0;
  std::int64_t tasks_skipped = 0;
  std::optional<std::int64_t> wait_p50 = {};
  std::optional<std::int64_t> wait_p99 = {};
};

struct Stats {
  std::string project;
  std::int64_t from = 0;  // ms since 1970
  std::int64_t until = 0;
  std::vector<QueueLine> queues = {};
  std::vector<LockLine> locks = {};
  std::vector<PipelineLine> pipelines = {};
  std::vector<BoardLine> board = {};
  std::vector<FailureLine> failures = {};
  std::vector<WaitLine> waits = {};
  std::vector<Bucket> buckets = {};
  Json gaps = {};  // what history misses of it

  double minutes() const { return static_cast<double>(until - from) / 60'000.0; }
  double hours() const { return minutes() / 60; }
  double days() const { return hours() / 24; }
};

inline constexpr std::size_t buckets = 60;

std::expected<Stats, Failure> gather(Context& context,
                                     const std::string& path,
                                     const std::string& project,
                                     std::int64_t from,
                                     std::int64_t until);

}  // namespace reeve::cli::stats
