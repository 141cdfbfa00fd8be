#include "cli/commands/status_parts.h"

#include "cli/commands/agents.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace reeve::cli {

namespace {

using enum Table::Align;

std::string locks_table(const Output& output, const Json::Array& locks, std::size_t width) {
  Table table({{"LOCK", Left, true},
               {"STATE"},
               {"HOLDER", Left, true},
               {"SINCE"},
               {"WAITING", Left, true}});
  for (const Json& lock : locks) {
    const std::string state = lock["state"].text();
    std::string line;
    for (const Json& waiter : lock["waiters"].items()) {
      if (!line.empty()) line += ", ";
      line += printable(waiter["holder"].text());
    }
    table.add({printable(lock["name"].text()),
               {state, state == "held" ? Style::Good : Style::Bad},
               printable(lock.has("label")
                             ? fmt::format("{} ({})", lock["holder"].text(), lock["label"].text())
                             : lock["holder"].text()),
               output.moment(lock["acquired_at"]),
               line.empty() ? "-" : fmt::format("{}: {}", lock["waiting"].text(), line)});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string sems_table(const Output& output, const Json::Array& sems, std::size_t width) {
  Table table({{"SEMAPHORE", Left, true}, {"USE"}, {"", Right}, {"WAITING", Right}});
  for (const Json& sem : sems) {
    const double capacity =
        static_cast<double>(std::max<std::int64_t>(1, sem["capacity"].number()));
    table.add({printable(sem["name"].text()),
               usage_bar(static_cast<double>(sem["in_use"].number()) / capacity, 20),
               fmt::format("{} of {}", sem["in_use"].text(), sem["capacity"].text()),
               sem["waiting"].text()});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string queues_table(const Output& output, const Json::Array& queues, std::size_t width) {
  Table table({{"QUEUE", Left, true},
               {"PENDING", Right},
               {"DELAYED", Right},
               {"RUNNING", Right},
               {"DEAD", Right},
               {"OLDEST", Right},
               {"STATE"}});
  for (const Json& queue : queues) {
    const bool dead = queue["dead"].number() > 0;
    table.add({printable(queue["name"].text()),
               with_commas(queue["pending"].number()),
               with_commas(queue["delayed"].number()),
               with_commas(queue["processing"].number()),
               {with_commas(queue["dead"].number()), dead ? Style::Bad : Style::Plain},
               queue.has("oldest_pending_age_ms")
                   ? rough_duration(queue["oldest_pending_age_ms"].number())
                   : "-",
               {queue["paused"].truth() ? "paused" : "", Style::Warn}});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string workers_table(const Output& output, const Json::Array& workers, std::size_t width) {
  Table table({{"WORKER", Left, true},
               {"STATE"},
               {"ACTIVE", Right},
               {"QUEUE", Left, true},
               {"PENDING", Right},
               {"DEAD", Right}});
  for (const Json& worker : workers) {
    const std::string state = worker["state"].text();
    const bool dead = worker["dead"].number() > 0;
    table.add({printable(worker["name"].text()),
               {state, state == "started" ? Style::Good : Style::Warn},
               fmt::format("{} of {}", worker["active"].text(), worker["concurrency"].text()),
               printable(worker["queue"].text()),
               with_commas(worker["pending"].number()),
               {with_commas(worker["dead"].number()), dead ? Style::Bad : Style::Plain}});
  }
  return table.empty() ? "" : table.write(width, output);
}

std::string crons_table(const Output& output, const Json::Array& crons, std::size_t width) {
  Table table({{"CRON", Left, true}, {"SCHEDULE"}, {"NEXT"}, {"LAST"}, {"RUNS"}});
  for (const Json& cron : crons) {
    table.add({printable(cron["name"].text()),
               cron["schedule"].text(),
               output.moment(cron["next"]),
               last_of_cron(output, cron),
               runs_of_cron(cron)});
  }
  return table.empty() ? "" : table.write(width, output);
}

// All of it in one line: `reeve task list` and `reeve locks list` tell more.
std::string board_table(const Output& output, const Json::Array& boards, std::size_t width) {
  Table table({{"BOARD"},
               {"OPEN", Right},
               {"IN PROGRESS", Right},
               {"RUNNERS", Right},
               {"WAITING", Right},
               {"EXPIRED", Right}});
  for (const Json& board : boards) {
    const bool over = board["expired"].number() > 0;
    table.add({"tasks",
               with_commas(board["open"].number()),
               with_commas(board["in_progress"].number()),
               with_commas(board["runners"].number()),
               with_commas(board["waiting"].number()),
               {with_commas(board["expired"].number()), over ? Style::Bad : Style::Plain}});
  }
  return table.empty() ? "" : table.write(width, output);
}

Rank rank_of_board(const Json& board) {
  if (board["expired"].number() > 0) return Rank::NeedsSomebody;
  if (board["in_progress"].number() > 0) return Rank::Moves;
  return board["open"].number() > 0 ? Rank::Idle : Rank::Hidden;
}

Rank rank_of_run(const Json& run) {
  return run["state"].text() == "running" ? Rank::Moves : Rank::NeedsSomebody;
}

// One that works, or has yet to begin, or is on its way out, goes on by itself.
Rank rank_of_agent(const Json& agent) {
  const std::string state = agent["state"].text();
  const bool moves =
      state == "pending" || state == "running" || state == "working" || state == "ending";
  return moves && !agent.has("blocked_on") ? Rank::Moves : Rank::NeedsSomebody;
}

Rank rank_of_worker(const Json& worker) {
  const std::string state = worker["state"].text();
  if (state == "stopped") return Rank::Hidden;
  if (state != "started" || worker["dead"].number() > 0) return Rank::NeedsSomebody;
  return worker["active"].number() > 0 ? Rank::Moves : Rank::Idle;
}

Rank rank_of_cron(const Json& cron) {
  if (!cron["running"].items().empty()) return Rank::Moves;
  return cron["state"].text() == "enabled" ? Rank::Idle : Rank::Hidden;
}

Rank rank_of_lock(const Json& lock) {
  const std::string state = lock["state"].text();
  if (lock["waiting"].number() > 0) return Rank::NeedsSomebody;
  if (state == "free") return Rank::Hidden;
  return state == "held" ? Rank::Moves : Rank::NeedsSomebody;
}

Rank rank_of_sem(const Json& sem) {
  const bool full = sem["in_use"].number() >= sem["capacity"].number();
  if (full || sem["waiting"].number() > 0) return Rank::NeedsSomebody;
  return sem["in_use"].number() > 0 ? Rank::Moves : Rank::Idle;
}

Rank rank_of_queue(const Json& queue) {
  if (queue["dead"].number() > 0 || queue["paused"].truth()) return Rank::NeedsSomebody;
  return queue["processing"].number() > 0 ? Rank::Moves : Rank::Idle;
}

}  // namespace

std::string board_line(const Json& board) {
  if (board["open"].number() == 0) return "";
  std::string line = fmt::format("board: {} open, {} in progress",
                                 with_commas(board["open"].number()),
                                 with_commas(board["in_progress"].number()));
  if (board["waiting"].number() > 0) line += fmt::format(", {} waiting", board["waiting"].text());
  if (board["expired"].number() > 0) line += fmt::format(", {} expired", board["expired"].text());
  return line;
}

std::string runs_of_cron(const Json& cron) {
  const auto& running = cron["running"].items();
  if (running.empty()) return "-";
  const std::string& first = running.front().text();
  const std::string what = first.starts_with("pipe-") ? first : "a program";
  return running.size() == 1 ? what : fmt::format("{} (+{})", what, running.size() - 1);
}

Table::Cell last_of_cron(const Output& output, const Json& cron) {
  if (!cron.has("ended")) return output.moment(cron["last"]);
  const Json& end = cron["ended"];
  const std::string ending = end["ending"].text();
  const std::string exit = end["exit_code"].number() > 0
                               ? fmt::format(" (exit {})", end["exit_code"].text())
                               : std::string();
  return {fmt::format("{}{} {}", ending, exit, output.moment(end["at"])),
          ending == "failed" ? Style::Bad : Style::Plain};
}

std::vector<Part> status_parts(const Output& output, const Snapshot& seen, std::size_t width) {
  const auto in = [&](auto table) {
    return [&output, width, table](const Json::Array& rows) { return table(output, rows, width); };
  };
  const auto unlisted = [&](std::string_view field) { return seen.status[field].number(); };
  Part runs{.noun = "run",
            .command = "reeve pipeline list --active",
            .table = in(&pipeline_verbs::table)};
  runs.take(seen.pipelines, rank_of_run);
  Part agents{
      .noun = "agent", .command = "reeve agent list --state active", .table = in(&agents_table)};
  agents.take(seen.agents, rank_of_agent);
  Part workers{.noun = "worker",
               .command = "reeve worker list",
               .table = in(&workers_table),
               .unlisted = unlisted("workers_more")};
  workers.take(seen.status["workers"].items(), rank_of_worker);
  Part crons{.noun = "cron",
             .command = "reeve cron list",
             .table = in(&crons_table),
             .unlisted = unlisted("crons_more")};
  crons.take(seen.status["crons"].items(), rank_of_cron);
  Part locks{.noun = "lock", .command = "reeve lock list", .table = in(&locks_table)};
  locks.take(seen.locks, rank_of_lock);
  if (seen.has_more_locks) {
    const Json& counts = seen.status["locks"];
    locks.unlisted = counts["held"].number() + counts["stale"].number() - std::ssize(locks.rows);
  }
  Part semaphores{.noun = "semaphore", .command = "reeve sem list", .table = in(&sems_table)};
  semaphores.take(seen.semaphores, rank_of_sem);
  if (seen.has_more_semaphores) {
    semaphores.unlisted = seen.status["semaphores"]["count"].number() - std::ssize(seen.semaphores);
  }
  Part queues{.noun = "queue",
              .command = "reeve queue stats",
              .table = in(&queues_table),
              .unlisted = seen.is_whole ? 0 : unlisted("queues_more")};
  queues.take(seen.queues, rank_of_queue);
  Part board{.noun = "board", .command = "reeve task list", .table = in(&board_table)};
  if (seen.status.has("board")) board.take({seen.status["board"]}, rank_of_board);
  std::vector<Part> parts{std::move(runs),
                          std::move(agents),
                          std::move(workers),
                          std::move(crons),
                          std::move(locks),
                          std::move(semaphores),
                          std::move(queues),
                          std::move(board)};
  for (Part& part : parts) part.unlisted = std::max<std::int64_t>(0, part.unlisted);
  return parts;
}

}  // namespace reeve::cli
