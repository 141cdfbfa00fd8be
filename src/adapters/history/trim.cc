#include "adapters/history/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

// What is forgotten: the oldest events first, a few at a time, and then what ended before the
// oldest that is left. What has not ended stays.
namespace reeve::history {
namespace {

// Of a transaction: some milliseconds.
constexpr std::uint64_t rows_at_once = 2000;
constexpr int pages_at_once = 256;

struct Ended {
  std::string_view table;
  std::string_view key;
  std::string_view column;
};
constexpr std::array<Ended, 10> ended{{{"pipelines", "id", "ended_ms"},
                                       {"queue_items", "id", "ended_ms"},
                                       {"item_attempts", "claim", "ended_ms"},
                                       {"lock_holds", "token", "released_ms"},
                                       {"lock_waits", "(waiter, name)", "ended_ms"},
                                       {"tasks", "id", "ended_ms"},
                                       {"sections", "id", "removed_ms"},
                                       {"task_locks_history", "rowid", "released_ms"},
                                       {"section_locks_history", "rowid", "released_ms"},
                                       {"decisions", "id", "closed_ms"}}};

}  // namespace

// How many were forgotten.
Result<std::uint64_t> File::forget_events(const Settings& settings, std::int64_t oldest) {
  const Result<std::int64_t> bytes = database_.number(
      "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, "
      "pragma_freelist_count, pragma_page_size");
  if (!bytes) return fail(bytes.error());
  const bool too_large =
      settings.most_bytes > 0 && static_cast<std::uint64_t>(*bytes) > settings.most_bytes;
  const bool too_many = settings.most_events > 0 && place_.events > settings.most_events;
  std::uint64_t beyond = too_many ? place_.events - settings.most_events : 0;
  if (too_large) {
    // As many as would be too much if all were alike, and one more: the next look sees the rest.
    const auto all = static_cast<double>(*bytes);
    const double share = (all - static_cast<double>(settings.most_bytes)) / all;
    const auto events = static_cast<double>(place_.events) * share;
    beyond = std::max(beyond, static_cast<std::uint64_t>(events) + 1);
  }
  const std::string which =
      too_large || too_many
          ? fmt::format("SELECT seq, idx FROM events ORDER BY seq, idx LIMIT {}",
                        std::min(rows_at_once, beyond))
          : fmt::format(
                "SELECT seq, idx FROM (SELECT seq, idx, at_ms FROM events ORDER BY seq, "
                "idx LIMIT {}) WHERE at_ms < {}",
                rows_at_once,
                oldest);
  const Result<void> done =
      database_.run(fmt::format("DELETE FROM events WHERE (seq, idx) IN ({})", which));
  if (!done) return fail(done.error());
  const auto forgotten = static_cast<std::uint64_t>(database_.changes());
  next_.events -= std::min(next_.events, forgotten);
  return forgotten;
}

Result<bool> File::trim(const Settings& settings, Wall now) {
  if (in_transaction_) return false;
  const std::int64_t oldest = settings.keep > Duration{0}
                                  ? (now - settings.keep).time_since_epoch().count()
                                  : std::numeric_limits<std::int64_t>::min();
  if (auto began = begin(); !began) return fail(began.error());
  const Result<std::uint64_t> forgotten = forget_events(settings, oldest);
  if (!forgotten) return fail(forgotten.error());
  // All else ended before the first event that is left.
  const Result<std::int64_t> first =
      *forgotten > 0 ? database_.number("SELECT at_ms FROM events ORDER BY seq, idx LIMIT 1")
                     : oldest;
  if (!first) return fail(first.error());
  const Result<bool> rest = forget_before(Wall(Duration(std::max(oldest, *first))));
  if (!rest) return fail(rest.error());
  if (auto written = write_place(); !written) return fail(written.error());

  const Result<std::int64_t> free =
      database_.number("SELECT freelist_count FROM pragma_freelist_count");
  if (!free) return fail(free.error());
  if (*free > pages_at_once) {
    const Result<void> done =
        database_.run(fmt::format("PRAGMA incremental_vacuum({})", pages_at_once));
    if (!done) return fail(done.error());
  }
  return *forgotten > 0 || *rest || *free > 2L * pages_at_once;
}

Result<bool> File::forget_before(Wall cutoff) {
  cutoff_ = std::max(cutoff_, cutoff);
  const std::int64_t before = cutoff_.time_since_epoch().count();
  if (before <= 0) return false;
  bool more = false;
  for (const auto& [table, key, column] : ended) {
    if (table == "pipelines") {
      const Result<void> phases = database_.run(fmt::format(
          "DELETE FROM phases WHERE pipeline IN (SELECT id FROM pipelines WHERE ended_ms < {} "
          "LIMIT {})",
          before,
          rows_at_once));
      if (!phases) return fail(phases.error());
    }
    const std::string columns(key.starts_with("(") ? key.substr(1, key.size() - 2) : key);
    const Result<void> done = database_.run(
        fmt::format("DELETE FROM {} WHERE {} IN (SELECT {} FROM {} WHERE {} < {} LIMIT {})",
                    table,
                    key,
                    columns,
                    table,
                    column,
                    before,
                    rows_at_once));
    if (!done) return fail(done.error());
    more = more || static_cast<std::uint64_t>(database_.changes()) == rows_at_once;
  }
  return more;
}

}  // namespace reeve::history
