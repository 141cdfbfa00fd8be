#include "cli/history.h"

#include "base/match.h"
#include "cli/cli.h"
#include "cli/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace reeve::cli {

Failure failure_of_history(const Error& error) {
  switch (error.code) {
    case Error::Code::BadRequest:
      return {"USAGE", error.message};
    case Error::Code::Timeout:
      return {"INTERRUPTED", "interrupted"};
    case Error::Code::NotFound:
      return {"NOT_FOUND", error.message};
    default:
      return {"FAILED", error.message};
  }
}

std::expected<std::string, Failure> synced_history(Context& context) {
  const Answer answer = context.client().ask("history.sync");
  if (!answer) return std::unexpected(answer.error());
  return (*answer)["path"].text();
}

std::expected<std::string, Failure> project_name(Context& context) {
  const auto greeting = context.client().greet();
  if (!greeting) return std::unexpected(greeting.error());
  return (*greeting)["project"].text();
}

// Its moment is when history went on: all that is missing was before it.
std::expected<Json, Failure> gaps_of_history(Context& context,
                                             const std::string& path,
                                             std::int64_t since) {
  const auto gaps = ask_history(context,
                                path,
                                "SELECT from_seq, to_seq, at FROM gaps WHERE at_ms >= ? "
                                "ORDER BY from_seq",
                                {since});
  if (!gaps) return std::unexpected(gaps.error());
  return Json(*gaps);
}

void note_gaps(const Context& context, const Json& gaps) {
  constexpr std::size_t most = 3;
  const Json::Array& all = gaps.items();
  if (all.empty() || context.quiet()) return;
  std::string told;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    told += fmt::format(
        "{}{} to {}", i == 0 ? "" : ", ", all[i]["from_seq"].text(), all[i]["to_seq"].text());
  }
  if (all.size() > most) {
    told += fmt::format(" and {} more; see `reeve sql 'SELECT * FROM gaps'`", all.size() - most);
  }
  context.output.note(fmt::format("history does not have the sequences {}", told));
}

Json json_of_value(const SqlValue& value) {
  return match(
      value,
      [](std::monostate) { return Json(); },
      [](std::int64_t number) { return Json(number); },
      [](double number) {
        return std::isfinite(number) ? Json::raw(fmt::format("{}", number)) : Json();
      },
      [](const std::string& text) { return Json(text); },
      [](const tools::Blob& blob) {
        std::string digits;
        for (const char byte : blob.bytes) {
          digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
        }
        return Json(digits);
      });
}

std::expected<std::vector<Json>, Failure> ask_history(Context& context,
                                                      const std::string& path,
                                                      std::string sql,
                                                      std::vector<SqlValue> parameters) {
  const Signals signals{SIGINT, SIGTERM};
  std::vector<std::string> columns;
  std::vector<Json> rows;
  tools::HistoryAsk ask{
      .path = path, .sql = std::move(sql), .parameters = std::move(parameters), .ours = true};
  ask.stopped = [&] { return signals.next().has_value(); };
  const tools::RowSink sink{
      .columns =
          [&](std::span<const std::string> names) { columns.assign(names.begin(), names.end()); },
      .row =
          [&](std::span<const SqlValue> row) {
            Json object = Json::object();
            for (std::size_t i = 0; i < row.size(); ++i) {
              if (std::holds_alternative<std::monostate>(row[i])) continue;
              object.set(columns[i], json_of_value(row[i]));
            }
            rows.push_back(std::move(object));
          }};
  const Result<void> asked = context.parts->history(ask, sink);
  if (!asked) return std::unexpected(failure_of_history(asked.error()));
  return rows;
}

Json event_of_row(const Json& row) {
  Json event = json_of({{"seq", row["seq"]},
                        {"index", row["idx"]},
                        {"at", row["at"]},
                        {"project", row["project"]},
                        {"name", row["kind"]}});
  if (!row["subject"].text().empty()) event.set("subject", row["subject"]);
  event.set("data", parse_json(row["data"].text()).value_or(Json::object()));
  return event;
}

namespace {

struct Kept {
  std::string_view prefix;
  std::string_view kind;
  const char* sql;  // of the one, or two, that begin so
};

// What has an id, and how much of it is kept.
constexpr Kept kept[] = {
    {"pipe-",
     "pipeline",
     "SELECT id, name, state, phase, error, project, started_at, ended_at FROM pipelines "
     "WHERE id >= ?1 AND id < ?1 || 'zzzzzzzzzzzz' LIMIT 2"},
    {"item-",
     "item",
     "SELECT id, queue, state, priority, attempts, error AS last_error, project, pushed_at AS "
     "created_at, ended_at FROM queue_items WHERE id >= ?1 AND id < ?1 || 'zzzzzzzzzzzz' LIMIT 2"},
    {"ask-",
     "decision",
     "SELECT id, state, cause, question, choice, answer, answered_by, project, opened_at, "
     "closed_at FROM decisions WHERE id >= ?1 AND id < ?1 || 'zzzzzzzzzzzz' LIMIT 2"},
    {"task-",
     "task",
     "SELECT id, title, section, status, runner, project, added_at AS created_at, started_at, "
     "ended_at FROM tasks WHERE id >= ?1 AND id < ?1 || 'zzzzzzzzzzzz' LIMIT 2"},
    // Agents have no table: what was said of one last is how it ended.
    {"work-",
     "agent",
     "SELECT subject AS id, substr(kind, 6) AS state, json_extract(data, '$.error') AS error, "
     "project, max(seq) AS last_seq, at AS ended_at FROM events WHERE subject >= ?1 AND subject < "
     "?1 || 'zzzzzzzzzzzz' AND kind IN ('task:complete', 'task:failed', 'task:cancelled') "
     "GROUP BY subject LIMIT 2"},
};

}  // namespace

std::optional<Json> show_from_history(Context& context, const std::string& id) {
  for (const Kept& each : kept) {
    if (!id.starts_with(each.prefix)) continue;
    const auto path = synced_history(context);
    if (!path) return std::nullopt;
    const auto rows = ask_history(context, *path, each.sql, {id});
    // Of several that begin so none is meant more than another.
    if (!rows || rows->size() != 1) return std::nullopt;
    Json told = json_of({{"kind", each.kind}});
    for (const auto& [name, value] : rows->front().members()) told.set(name, value);
    if (each.kind == "pipeline") {
      const auto phases = ask_history(context,
                                      *path,
                                      "SELECT phase AS name, attempt, outcome AS state, error, "
                                      "blocked_ms, entered_at AS started_at, ended_at FROM phases "
                                      "WHERE pipeline = ? ORDER BY number",
                                      {rows->front()["id"].text()});
      if (phases) told.set("phases", Json(*phases));
    }
    told.set("from", "history");
    return told;
  }
  return std::nullopt;
}

}  // namespace reeve::cli
