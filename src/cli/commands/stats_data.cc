#include "cli/commands/stats_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace reeve::cli::stats {
namespace {

// Of the last so long (?1, in ms since 1970) and of one project (?2) and what is shared.
constexpr std::string_view ours = "project IN (?2, '//')";

class Asker {
 public:
  Asker(Context& context, const std::string& path, std::string project, std::int64_t from)
      : context_(context), path_(path), parameters_{from, std::move(project)} {}

  template <class Each>
  void ask(const std::string& sql, const Each& each) {
    if (failure) return;
    const auto rows = ask_history(context_, path_, sql, parameters_);
    if (!rows) {
      failure = rows.error();
      return;
    }
    for (const Json& row : *rows) each(row);
  }

  // `values`: a SELECT of `name` and `v`. The least value that so many hundredths do not exceed.
  template <class Each>
  void times(const std::string& values, const Each& each) {
    ask(fmt::format("WITH d AS ({}), r AS (SELECT name, v, row_number() OVER (PARTITION BY name "
                    "ORDER BY v) AS n, count(*) OVER (PARTITION BY name) AS c FROM d) "
                    "SELECT name, max(c) AS c, min(CASE WHEN n >= c * 0.5 THEN v END) AS p50, "
                    "min(CASE WHEN n >= c * 0.99 THEN v END) AS p99, max(v) AS most FROM r "
                    "GROUP BY name ORDER BY name",
                    values),
        [&](const Json& row) {
          each(row["name"].text(),
               Times{row["c"].number(),
                     row["p50"].number(),
                     row["p99"].number(),
                     row["most"].number()});
        });
  }

  std::optional<Failure> failure;

 private:
  Context& context_;
  const std::string& path_;
  std::vector<SqlValue> parameters_;
};

void gather_queues(Asker& asker, Stats& stats) {
  std::map<std::string, QueueLine> lines;
  asker.ask(fmt::format("SELECT queue, count(*) AS pushed FROM queue_items WHERE pushed_ms >= ?1 "
                        "AND {} GROUP BY queue",
                        ours),
            [&](const Json& row) { lines[row["queue"].text()].pushed = row["pushed"].number(); });
  asker.ask(fmt::format("SELECT queue, sum(outcome = 'completed') AS completed, sum(outcome IN "
                        "('failed', 'timed_out', 'dead')) AS failed, sum(outcome = 'dead') AS dead "
                        "FROM item_attempts WHERE ended_ms >= ?1 AND {} GROUP BY queue",
                        ours),
            [&](const Json& row) {
              QueueLine& line = lines[row["queue"].text()];
              line.completed = row["completed"].number();
              line.failed = row["failed"].number();
              line.dead = row["dead"].number();
            });
  asker.times(fmt::format("SELECT queue AS name, taken_ms - pushed_ms AS v FROM queue_items "
                          "WHERE taken_ms >= ?1 AND {}",
                          ours),
              [&](const std::string& name, const Times& times) { lines[name].wait = times; });
  asker.times(fmt::format("SELECT queue AS name, ended_ms - taken_ms AS v FROM item_attempts "
                          "WHERE ended_ms >= ?1 AND {}",
                          ours),
              [&](const std::string& name, const Times& times) { lines[name].work = times; });
  for (auto& [name, line] : lines) {
    line.name = name;
    stats.queues.push_back(std::move(line));
  }
}

void gather_locks(Asker& asker, Stats& stats) {
  std::map<std::pair<std::string, std::string>, LockLine> lines;
  // The kind comes first, so that it can be told from the name.
  const auto key = [](const std::string& text) {
    const std::size_t space = text.find(' ');
    return std::pair(text.substr(0, space), text.substr(space + 1));
  };
  asker.times(fmt::format("SELECT kind || ' ' || name AS name, released_ms - acquired_ms AS v FROM "
                          "lock_holds WHERE released_ms >= ?1 AND {}",
                          ours),
              [&](const std::string& name, const Times& times) { lines[key(name)].hold = times; });
  // Of tasks together: each is held once or twice.
  asker.times(fmt::format("SELECT 'task (all)' AS name, released_ms - h.acquired_ms AS v FROM "
                          "task_locks_history h JOIN tasks ON tasks.id = h.task_id WHERE "
                          "released_ms >= ?1 AND {}",
                          ours),
              [&](const std::string& name, const Times& times) { lines[key(name)].hold = times; });
  asker.times(fmt::format("SELECT 'section ' || sections.name AS name, released_ms - acquired_ms "
                          "AS v FROM section_locks_history h JOIN sections ON sections.id = "
                          "h.section_id WHERE released_ms >= ?1 AND {}",
                          ours),
              [&](const std::string& name, const Times& times) { lines[key(name)].hold = times; });
  asker.times(fmt::format("SELECT CASE WHEN kind = 'task' OR name = '' THEN 'task (all)' ELSE "
                          "coalesce(kind, 'lock') || ' ' || name END AS name, ended_ms - "
                          "began_ms AS v FROM lock_waits WHERE ended_ms >= ?1 AND {}",
                          ours),
              [&](const std::string& name, const Times& times) { lines[key(name)].wait = times; });
  for (auto& [which, line] : lines) {
    line.kind = which.first;
    line.name = which.second;
    stats.locks.push_back(std::move(line));
  }
}

void gather_pipelines(Asker& asker, Stats& stats) {
  std::map<std::string, PipelineLine> lines;
  asker.ask(fmt::format("SELECT name, count(*) AS runs, sum(state = 'done') AS done, sum(state = "
                        "'failed') AS failed, sum(state = 'cancelled') AS cancelled FROM pipelines "
                        "WHERE ended_ms >= ?1 AND {} GROUP BY name",
                        ours),
            [&](const Json& row) {
              lines[row["name"].text()] = {.name = row["name"].text(),
                                           .runs = row["runs"].number(),
                                           .done = row["done"].number(),
                                           .failed = row["failed"].number(),
                                           .cancelled = row["cancelled"].number(),
                                           .time = {}};
            });
  asker.times(fmt::format("SELECT name, ended_ms - started_ms AS v FROM pipelines WHERE "
                          "ended_ms >= ?1 AND started_ms IS NOT NULL AND {}",
                          ours),
              [&](const std::string& name, const Times& times) { lines[name].time = times; });
  for (auto& [name, line] : lines) stats.pipelines.push_back(std::move(line));
}

constexpr std::string_view finished = "('completed', 'review', 'failed', 'skipped')";

void gather_board(Asker& asker, Stats& stats) {
  asker.ask(
      fmt::format("SELECT status, count(*) AS c FROM tasks WHERE ended_ms >= ?1 AND status IN "
                  "{} AND {} GROUP BY status ORDER BY status",
                  finished,
                  ours),
      [&](const Json& row) {
        stats.board.push_back({row["status"].text(), row["c"].number(), {}});
      });
  asker.times(fmt::format("SELECT status AS name, ended_ms - started_ms AS v FROM tasks WHERE "
                          "ended_ms >= ?1 AND started_ms IS NOT NULL AND status IN {} AND {}",
                          finished,
                          ours),
              [&](const std::string& status, const Times& times) {
                const auto line = std::ranges::find(stats.board, status, &BoardLine::status);
                if (line != stats.board.end()) line->time = times;
              });
}

void gather_failures(Asker& asker, Stats& stats) {
  asker.ask(
      fmt::format(
          "SELECT count(*) AS c, what, cause FROM ("
          "SELECT 'queue ' || queue AS what, coalesce(error, outcome) AS cause FROM item_attempts "
          "WHERE ended_ms >= ?1 AND outcome IN ('failed', 'timed_out', 'dead') AND {0} "
          "UNION ALL SELECT 'pipeline ' || name || ', ' || p.phase, coalesce(p.error, 'failed') "
          "FROM phases p JOIN pipelines ON pipelines.id = p.pipeline WHERE p.ended_ms >= ?1 AND "
          "p.outcome = 'failed' AND {0} "
          "UNION ALL SELECT kind || ' ' || name, CASE how WHEN 'forced' THEN 'forced: ' || "
          "coalesce(reason, '') WHEN 'ended' THEN 'its session or process ended' ELSE 'its holder "
          "fell silent' END FROM lock_holds WHERE released_ms >= ?1 AND how IN ('forced', "
          "'reclaimed', 'stale', 'ended') AND {0} "
          "UNION ALL SELECT 'task ' || title, 'failed' FROM tasks WHERE ended_ms >= ?1 AND status "
          "= "
          "'failed' AND {0} "
          "UNION ALL SELECT 'task ' || title, CASE how WHEN 'forced' THEN 'forced' ELSE 'its "
          "runner "
          "fell silent' END FROM task_locks_history h JOIN tasks ON tasks.id = h.task_id WHERE "
          "released_ms >= ?1 AND how IN ('forced', 'claimed') AND {0} "
          "UNION ALL SELECT coalesce(kind, 'lock') || ' ' || name, 'wait ' || replace(outcome, "
          "'_', ' ') FROM lock_waits WHERE ended_ms >= ?1 AND outcome NOT IN ('granted', 'left', "
          "'cancelled') AND NOT (outcome = 'refused' AND coalesce(kind, '') IN ('section', "
          "'task')) "
          "AND {0}) GROUP BY what, cause ORDER BY c DESC, what, cause LIMIT 20",
          ours),
      [&](const Json& row) {
        stats.failures.push_back({row["c"].number(), row["what"].text(), row["cause"].text()});
      });
}

// No thing more than three times: else the slowest would have all the lines.
void gather_waits(Asker& asker, Stats& stats) {
  asker.ask(
      fmt::format(
          "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY kind, name ORDER BY waited "
          "DESC) "
          "AS n FROM (SELECT ended_ms - began_ms AS waited, CASE WHEN name = '' THEN 'task' ELSE "
          "coalesce(kind, 'lock') END AS kind, CASE WHEN name = '' THEN '(next)' ELSE name END AS "
          "name, holder AS who, began_at AS since FROM lock_waits WHERE ended_ms >= ?1 AND {0} "
          "UNION ALL SELECT taken_ms - pushed_ms, 'queue', queue, id, pushed_at FROM queue_items "
          "WHERE taken_ms >= ?1 AND {0} "
          "UNION ALL SELECT blocked_ms, 'pipeline', pipelines.name || ', ' || p.phase, "
          "pipelines.id, "
          "entered_at FROM phases p JOIN pipelines ON pipelines.id = p.pipeline WHERE "
          "p.entered_ms >= ?1 AND blocked_ms > 0 AND {0})) WHERE n <= 3 ORDER BY waited DESC LIMIT "
          "10",
          ours),
      [&](const Json& row) {
        stats.waits.push_back({row["waited"].number(),
                               row["kind"].text(),
                               row["name"].text(),
                               row["who"].text(),
                               row["since"].text()});
      });
}

void gather_buckets(Asker& asker, Stats& stats) {
  stats.buckets.resize(buckets);
  const std::int64_t length =
      std::max<std::int64_t>(1, (stats.until - stats.from) / static_cast<std::int64_t>(buckets));
  const auto at = [&](const std::string& number) -> Bucket& {
    const auto index = static_cast<std::size_t>(std::strtoll(number.c_str(), nullptr, 10));
    return stats.buckets[std::min(index, buckets - 1)];
  };
  const auto count = [&](std::string_view column,
                         std::string_view from,
                         std::int64_t Bucket::* field) {
    asker.ask(fmt::format("SELECT ({0} - ?1) / {1} AS b, count(*) AS c FROM {2} AND {0} >= ?1 AND "
                          "{3} GROUP BY b",
                          column,
                          length,
                          from,
                          ours),
              [&](const Json& row) { at(row["b"].text()).*field += row["c"].number(); });
  };
  count("pushed_ms", "queue_items WHERE true", &Bucket::pushed);
  count("ended_ms", "item_attempts WHERE outcome = 'completed'", &Bucket::completed);
  count("ended_ms",
        "item_attempts WHERE outcome IN ('failed', 'timed_out', 'dead')",
        &Bucket::failed);
  count("ended_ms", "tasks WHERE status = 'completed'", &Bucket::tasks_completed);
  count("ended_ms", "tasks WHERE status = 'review'", &Bucket::tasks_review);
  count("ended_ms", "tasks WHERE status = 'failed'", &Bucket::tasks_failed);
  count("ended_ms", "tasks WHERE status = 'skipped'", &Bucket::tasks_skipped);
  asker.times(fmt::format("SELECT (taken_ms - ?1) / {0} AS name, taken_ms - pushed_ms AS v FROM "
                          "queue_items WHERE taken_ms >= ?1 AND {1} UNION ALL SELECT (ended_ms - "
                          "?1) / {0}, ended_ms - began_ms FROM lock_waits WHERE ended_ms >= ?1 AND "
                          "{1}",
                          length,
                          ours),
              [&](const std::string& name, const Times& times) {
                Bucket& bucket = at(name);
                bucket.wait_p50 = times.p50;
                bucket.wait_p99 = times.p99;
              });
}

}  // namespace

std::expected<Stats, Failure> gather(Context& context,
                                     const std::string& path,
                                     const std::string& project,
                                     std::int64_t from,
                                     std::int64_t until) {
  Stats stats{.project = project, .from = from, .until = until};
  Asker asker(context, path, project, from);
  gather_queues(asker, stats);
  gather_locks(asker, stats);
  gather_pipelines(asker, stats);
  gather_board(asker, stats);
  gather_failures(asker, stats);
  gather_waits(asker, stats);
  gather_buckets(asker, stats);
  if (asker.failure) return std::unexpected(*asker.failure);
  auto gaps = gaps_of_history(context, path, from);
  if (!gaps) return std::unexpected(gaps.error());
  stats.gaps = *std::move(gaps);
  return stats;
}

}  // namespace reeve::cli::stats
