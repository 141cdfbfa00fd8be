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

// As somebody of a project writes it.
std::string written(const SectionName& section) {
  return section.project == shared_project ? "//" + section.name : section.name;
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

// How long a lease is, its last sign of life says: until when that made it good. One that was
// announced to be over since, which says no such thing, gets no grace. What is read are the events,
// in their order, which a clock that was set does not change.
void Rows::give_grace() {
  run("UPDATE task_locks_history AS h SET expires_ms = max(expires_ms, coalesce((SELECT ?1 - at_ms "
      "+ 1000 * strftime('%s', json_extract(data, '$.expires_at')) + substr(json_extract(data, "
      "'$.expires_at'), 21, 3) FROM events WHERE subject = h.task_id AND kind IN ('board:started', "
      "'board:claimed', 'board:extended', 'board:expired') ORDER BY seq DESC, idx DESC LIMIT 1), "
      "0)) WHERE released_ms IS NULL AND task_id IN (SELECT task_id FROM task_locks)",
      at_);
  run("UPDATE task_locks AS t SET expires_at = coalesce((SELECT h.expires_at FROM "
      "task_locks_history h WHERE h.task_id = t.task_id AND h.released_ms IS NULL), expires_at)");
  run("UPDATE section_locks_history AS h SET expires_ms = max(expires_ms, coalesce((SELECT ?1 - "
      "at_ms + 1000 * strftime('%s', json_extract(data, '$.expires_at')) + "
      "substr(json_extract(data, '$.expires_at'), 21, 3) FROM events WHERE subject = CASE WHEN "
      "h.section_id LIKE '///%' THEN substr(h.section_id, 4) ELSE substr(h.section_id, 1 + "
      "instr(h.section_id, '/')) END AND project || '/' || subject = h.section_id AND kind IN "
      "('board:section_locked', 'board:section_extended', 'board:section_expired') ORDER BY seq "
      "DESC, idx DESC LIMIT 1), 0)) WHERE released_ms IS NULL AND section_id IN (SELECT section_id "
      "FROM section_locks)",
      at_);
  run("UPDATE section_locks AS s SET expires_at = coalesce((SELECT h.expires_at FROM "
      "section_locks_history h WHERE h.section_id = s.section_id AND h.released_ms IS NULL), "
      "expires_at)");
}

void Rows::add(const System& event) {
  switch (event.what) {
    case System::What::Ready:
    case System::What::Suspended:
    case System::What::Late:
      return give_grace();
    case System::What::ClockStepped:
      return;
  }
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
            it.section ? std::optional<std::string>(written(*it.section)) : std::nullopt,
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
        const SectionName* section = std::get_if<SectionName>(&it.line);
        // Who waits for whichever task is free first stands in a line without a name.
        const bool any_task = section && section->name.empty();
        run("INSERT OR IGNORE INTO lock_waits (waiter, kind, project, name, holder, began_ms) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            it.waiter.value,
            section && !any_task ? "section" : "task",
            project_,
            any_task  ? "(next)"
            : section ? section->name
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
