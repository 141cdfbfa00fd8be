#include "adapters/history/rows.h"
#include "base/match.h"
#include "codec/text_forms.h"

#include <fmt/format.h>

// The board: tasks and sections, who has them now (task_locks, section_locks) and who ever had.
namespace reeve::history {
namespace {

const char* word_for(board::Status status) {
  switch (status) {
    case board::Status::Pending:
      return "pending";
    case board::Status::InProgress:
      return "in_progress";
    case board::Status::Review:
      return "review";
    case board::Status::Completed:
      return "completed";
    case board::Status::Failed:
      return "failed";
    case board::Status::Skipped:
      return "skipped";
  }
  return "";
}

std::string text_of(std::int64_t wall) { return codec::format_wall(wall).value_or(""); }

}  // namespace

// A section's name is its project's own.
std::string Rows::section_id(const SectionName& section) const {
  return fmt::format("{}/{}", project_, section.name);
}

void Rows::release_task(BoardTaskId task, const char* how) {
  const std::string id = to_text(task);
  run("DELETE FROM task_locks WHERE task_id = ?", id);
  run("UPDATE task_locks_history SET released_ms = ?, how = ? "
      "WHERE task_id = ? AND released_ms IS NULL",
      at_,
      how,
      id);
}

void Rows::release_section(const SectionName& section, const char* how) {
  const std::string id = section_id(section);
  run("DELETE FROM section_locks WHERE section_id = ?", id);
  run("UPDATE section_locks_history SET released_ms = ?, how = ? "
      "WHERE section_id = ? AND released_ms IS NULL",
      at_,
      how,
      id);
}

void Rows::add(const board::Event& event) {
  const auto start = [&](BoardTaskId task, const board::RunnerName& runner, Time expires) {
    const std::string id = to_text(task);
    const std::int64_t until = wall(expires);
    run("INSERT OR REPLACE INTO task_locks (task_id, runner_id, acquired_at, expires_at, "
        "heartbeat_at) VALUES (?1, ?2, ?3, ?4, ?3)",
        id,
        runner.name,
        text_of(at_),
        text_of(until));
    run("INSERT INTO task_locks_history (task_id, runner_id, acquired_ms, expires_ms, "
        "heartbeat_ms) VALUES (?1, ?2, ?3, ?4, ?3)",
        id,
        runner.name,
        at_,
        until);
    run("UPDATE tasks SET status = 'in_progress', runner = ?, starts = starts + 1, "
        "started_ms = coalesce(started_ms, ?), ended_ms = NULL WHERE id = ?",
        runner.name,
        at_,
        id);
  };
  const auto back = [&](BoardTaskId task, const char* how) {
    release_task(task, how);
    run("UPDATE tasks SET status = 'pending', ended_ms = NULL WHERE id = ?", to_text(task));
  };
  match(
      event,
      [&](const board::WasAdded& it) {
        run("INSERT OR IGNORE INTO tasks (id, project, title, section, status, added_ms) "
            "VALUES (?, ?, ?, ?, 'pending', ?)",
            to_text(it.task),
            project_,
            it.title,
            it.section ? std::optional<std::string>(it.section->name) : std::nullopt,
            at_);
      },
      [&](const board::SectionAdded& it) {
        run("INSERT INTO sections (id, project, name, added_ms) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET added_ms = excluded.added_ms, removed_ms = NULL",
            section_id(it.section),
            project_,
            it.section.name,
            at_);
      },
      [&](const board::WasStarted& it) { start(it.task, it.runner, it.expires_at); },
      [&](const board::WasClaimed& it) {
        release_task(it.task, "claimed");
        start(it.task, it.runner, it.expires_at);
      },
      [&](const board::WasFinished& it) {
        release_task(it.task, "finished");
        run("UPDATE tasks SET status = ?, ended_ms = ? WHERE id = ?",
            word_for(it.status),
            at_,
            to_text(it.task));
      },
      [&](const board::WasReleased& it) { back(it.task, "released"); },
      // Nobody else has it yet: until somebody does it stands there, over.
      [](const board::HasExpired&) {},
      [](const board::SectionExpired&) {},
      [&](const board::SectionTaken& it) {
        release_section(it.section, "claimed");
        const std::string id = section_id(it.section);
        const std::int64_t until = wall(it.expires_at);
        run("INSERT OR REPLACE INTO section_locks (section_id, runner_id, acquired_at, "
            "expires_at) VALUES (?, ?, ?, ?)",
            id,
            it.runner.name,
            text_of(at_),
            text_of(until));
        run("INSERT INTO section_locks_history (section_id, runner_id, acquired_ms, expires_ms) "
            "VALUES (?, ?, ?, ?)",
            id,
            it.runner.name,
            at_,
            until);
      },
      [&](const board::SectionReleased& it) { release_section(it.section, "released"); },
      [&](const board::IsWaiting& it) {
        const bool is_section = std::holds_alternative<SectionName>(it.line);
        run("INSERT OR IGNORE INTO lock_waits (waiter, kind, project, name, holder, began_ms) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            it.waiter.value,
            is_section ? "section" : "task",
            project_,
            is_section ? std::get<SectionName>(it.line).name
                       : to_text(std::get<BoardTaskId>(it.line)),
            it.runner.name,
            at_);
      },
      [&](const board::WasForced& it) {
        match(
            it.what,
            [&](const BoardTaskId& task) { back(task, "forced"); },
            [&](const SectionName& section) { release_section(section, "forced"); });
      },
      [](const board::WasNoted&) {},
      [&](const board::TaskRemoved& it) {
        release_task(it.task, "removed");
        run("UPDATE tasks SET status = 'removed', ended_ms = ? WHERE id = ?",
            at_,
            to_text(it.task));
      },
      [&](const board::SectionRemoved& it) {
        release_section(it.section, "removed");
        run("UPDATE sections SET removed_ms = ? WHERE id = ?", at_, section_id(it.section));
      },
      [&](const board::WasExtended& it) {
        const std::string id = to_text(it.task);
        const std::int64_t until = wall(it.expires_at);
        run("UPDATE task_locks SET expires_at = ?, heartbeat_at = ? WHERE task_id = ?",
            text_of(until),
            text_of(at_),
            id);
        run("UPDATE task_locks_history SET expires_ms = ?, heartbeat_ms = ? "
            "WHERE task_id = ? AND released_ms IS NULL",
            until,
            at_,
            id);
      },
      [&](const board::SectionExtended& it) {
        const std::string id = section_id(it.section);
        const std::int64_t until = wall(it.expires_at);
        run("UPDATE section_locks SET expires_at = ? WHERE section_id = ?", text_of(until), id);
        run("UPDATE section_locks_history SET expires_ms = ? "
            "WHERE section_id = ? AND released_ms IS NULL",
            until,
            id);
      },
      [&](const board::StoppedWaiting& it) { end_wait(it.waiter, it.left); });
}

}  // namespace reeve::history
