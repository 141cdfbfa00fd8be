#include "api/board.h"
#include "api/limits.h"
#include "base/match.h"
#include "core/lease.h"
#include "core/session.h"

#include <fmt/format.h>

#include <algorithm>

namespace reeve::api {
namespace {

constexpr std::string_view status_names[] = {
    "pending", "in_progress", "review", "completed", "failed", "skipped"};

void show_wait(Tell& tell, const State& state, WaiterId id) {
  const board::Waiter* waiter = state.board.waiters.find(id);
  if (!waiter) return;
  tell.json.begin_object();
  show_runner_name(tell, state, waiter->runner, "runner", "runner_project");
  if (const auto* wanted = std::get_if<board::ThisTask>(&waiter->wanted)) {
    tell.json.key("task").plain(to_text(wanted->task));
  }
  tell.moment("since", waiter->since);
  tell.moment("until", waiter->until);
  if (!session::is_here(state, waiter->session)) tell.json.field("away", true);
  tell.json.end_object();
}

std::size_t count_line(const State& state, const board::Line& line) {
  std::size_t count = 0;
  const PersistentSet<board::LinePlace>& lines = state.board.lines;
  for (auto at = lines.lower_bound({line, {}}); at != lines.end() && at->line == line; ++at) {
    ++count;
  }
  return count;
}

board::Line line_of(BoardTaskId id, const board::BoardTask& task) {
  if (task.section) return *task.section;
  return id;
}

// Who has it, since when, and until when.
void show_tenure(Tell& tell, const State& state, const LockedThing& what) {
  const board::Tenure* lock = tenure_of(state, what);
  if (!lock) return;
  JsonWriter& json = tell.json;
  show_runner_name(tell, state, lock->runner, "runner", "runner_project");
  json.field("token", lock->lease.token.value);
  tell.moment("acquired_at", lock->lease.acquired_at);
  tell.moment("heartbeat_at", lock->lease.last_sign);
  tell.moment("expires_at", limit_of(state, what));
  if (is_over(state, what, tell.now().now)) json.field("expired", true);
}

void show_task_in_section(Tell& tell, const State& state, BoardTaskId id) {
  const board::BoardTask* task = state.board.tasks.find(id);
  if (!task) return;
  tell.json.begin_object();
  show_board_task(tell, state, id, *task, true);
  tell.json.end_object();
}

// The open ones: those somebody has, and those in the order in which they are taken.
void show_tasks_of(Tell& tell, const State& state, const SectionName& name) {
  std::size_t shown = 0;
  tell.json.key("tasks").begin_array();
  const auto& held = state.board.held_in_section;
  for (auto at = held.lower_bound({name, {}}); at != held.end() && at->section == name; ++at) {
    if (++shown > limits::list_default) break;
    show_task_in_section(tell, state, at->task);
  }
  const auto& ready = state.board.ready;
  for (auto at = ready.lower_bound({name, 0, {}}); at != ready.end() && at->place == name; ++at) {
    const board::BoardTask* task = state.board.tasks.find(at->task);
    if (task && task->lock) continue;  // its lock is over, and it stands above
    if (++shown > limits::list_default) break;
    show_task_in_section(tell, state, at->task);
  }
  tell.json.end_array();
}

}  // namespace

std::string_view text_of(board::Status status) {
  return status_names[static_cast<std::size_t>(status)];
}

std::optional<board::Status> status_named(std::string_view text) {
  const auto* const found = std::ranges::find(status_names, text);
  if (found == std::end(status_names)) return std::nullopt;
  return static_cast<board::Status>(found - std::begin(status_names));
}

// ── Whose it is ──

bool is_seen(const board::BoardTask& task, ProjectNo project) {
  return task.project == project || (task.section && task.section->project == shared_project);
}

std::optional<std::string> other_project(const Tell& tell, const State& state, ProjectNo project) {
  if (project == tell.project() || project == shared_project) return std::nullopt;
  const project::Project* found = state.projects.projects.find(project);
  return found ? std::optional(found->name) : std::nullopt;
}

void show_runner_name(Tell& tell,
                      const State& state,
                      const board::RunnerName& name,
                      std::string_view field,
                      std::string_view project_field) {
  tell.json.field(field, tell.name(name));
  if (const auto project = other_project(tell, state, name.project)) {
    tell.json.field(project_field, *project);
  }
}

std::string runner_in_words(const Tell& tell, const State& state, const board::RunnerName& name) {
  const auto project = other_project(tell, state, name.project);
  return project ? fmt::format("{} of {}", tell.name(name), *project) : tell.name(name);
}

// ── Locks ──

const board::Tenure* tenure_of(const State& state, const LockedThing& what) {
  const auto lock_of = [](const auto* thing) {
    return thing && thing->lock ? &*thing->lock : nullptr;
  };
  return match(
      what,
      [&](const BoardTaskId& id) { return lock_of(state.board.tasks.find(id)); },
      [&](const SectionName& name) { return lock_of(state.board.sections.find(name)); });
}

std::optional<Time> limit_of(const State& state, const LockedThing& what) {
  const board::Tenure* lock = tenure_of(state, what);
  if (!lock) return std::nullopt;
  const std::optional<Time> own = reeve::limit_of(lock->lease, state.leases_from);
  const SectionName* section = std::get_if<SectionName>(&what);
  // The tasks that are held in it hold the section, too.
  if (!section || lock->expired) return own;
  return board::section_limit(state.board, *section, state.leases_from);
}

bool is_over(const State& state, const LockedThing& what, Time now) {
  const board::Tenure* lock = tenure_of(state, what);
  if (!lock) return false;
  const std::optional<Time> limit = limit_of(state, what);
  return lock->expired || (limit && now > *limit);
}

void show_board_line(Tell& tell, const State& state, const board::Line& line) {
  tell.json.key("waiters").begin_array();
  std::size_t shown = 0;
  const PersistentSet<board::LinePlace>& lines = state.board.lines;
  for (auto at = lines.lower_bound({line, {}}); at != lines.end() && at->line == line; ++at) {
    if (++shown > limits::waiters_shown) break;
    show_wait(tell, state, at->waiter);
  }
  tell.json.end_array().field("waiting", count_line(state, line));
}

void show_board_lock(Tell& tell, const State& state, const LockedThing& what) {
  JsonWriter& json = tell.json;
  match(
      what,
      [&](const BoardTaskId& id) {
        json.field("type", "task").key("id").plain(to_text(id));
        if (const board::BoardTask* task = state.board.tasks.find(id)) {
          json.field("title", task->title);
          if (task->section) json.field("section", tell.name(*task->section));
        }
      },
      [&](const SectionName& name) { json.field("type", "section").field("id", tell.name(name)); });
  const bool held = tenure_of(state, what) != nullptr;
  json.field("state", !held ? "free" : is_over(state, what, tell.now().now) ? "expired" : "held");
  show_tenure(tell, state, what);
}

// ── Tasks, sections, runners ──

void show_board_task(
    Tell& tell, const State& state, BoardTaskId id, const board::BoardTask& task, bool in_list) {
  JsonWriter& json = tell.json;
  json.key("id").plain(to_text(id)).field("title", task.title);
  json.key("section");
  if (task.section) {
    json.text(tell.name(*task.section));
  } else {
    json.null();
  }
  if (const auto project = other_project(tell, state, task.project)) {
    json.field("project", *project);
  }
  json.field("status", text_of(task.status)).field("priority", task.priority);
  tell.moment("created_at", task.created_at);
  tell.moment("ended_at", task.ended_at);
  show_tenure(tell, state, id);
  if (in_list) return;
  json.key("notes").begin_array();
  for (const board::Note& note : task.notes) {
    json.begin_object();
    tell.moment("at", note.at);
    if (!note.by.empty()) json.field("by", note.by);
    json.field("text", note.text).end_object();
  }
  json.end_array();
  show_board_line(tell, state, line_of(id, task));
}

void show_section(Tell& tell,
                  const State& state,
                  const SectionName& name,
                  const board::Section& section,
                  bool in_list) {
  tell.json.field("name", tell.name(name)).field("order", section.order);
  tell.json.field("open", section.open);
  show_tenure(tell, state, name);
  if (in_list) {
    tell.json.field("waiting", count_line(state, name));
    return;
  }
  show_board_line(tell, state, name);
  show_tasks_of(tell, state, name);
}

void show_runner(Tell& tell,
                 const State& state,
                 const board::RunnerName& name,
                 const board::Runner& runner,
                 bool in_list) {
  JsonWriter& json = tell.json;
  json.field("name", tell.name(name));
  tell.moment("last_seen", runner.last_seen);
  std::uint64_t tasks = 0;
  std::uint64_t sections = 0;
  std::vector<LockedThing> things;
  const PersistentSet<board::HeldKey>& held = state.board.held;
  for (auto at = held.lower_bound({name, {}}); at != held.end() && at->runner == name; ++at) {
    ++(std::holds_alternative<BoardTaskId>(at->what) ? tasks : sections);
    things.push_back(at->what);
  }
  json.field("tasks", tasks).field("sections", sections);
  std::uint64_t waiting = 0;
  const PersistentSet<board::RunnerWaiter>& waiters = state.board.runner_waiters;
  for (auto at = waiters.lower_bound({name, {}}); at != waiters.end() && at->runner == name; ++at) {
    ++waiting;
  }
  json.field("waiting", waiting);
  if (in_list) return;
  json.key("locks").begin_array();
  for (const LockedThing& thing : things) {
    json.begin_object();
    show_board_lock(tell, state, thing);
    json.end_object();
  }
  json.end_array();
}

void show_board(Tell& tell, const State& state) {
  const board::Project* project = state.board.projects.find(tell.project());
  std::uint64_t in_progress = 0;
  std::uint64_t expired = 0;
  std::uint64_t sections = 0;
  const PersistentSet<board::HeldKey>& held = state.board.held;
  for (auto at = held.lower_bound({{tell.project(), ""}, {}});
       at != held.end() && at->runner.project == tell.project();
       ++at) {
    const bool over = is_over(state, at->what, tell.now().now);
    expired += over ? 1U : 0U;
    ++(std::holds_alternative<BoardTaskId>(at->what) ? in_progress : sections);
  }
  JsonWriter& json = tell.json.key("board").begin_object();
  json.field("open", project ? project->open : 0).field("in_progress", in_progress);
  json.field("finished", project ? project->finished : 0).field("sections_held", sections);
  json.field("runners", project ? project->runners : 0).field("expired", expired);
  std::uint64_t waiting = 0;
  for (const auto& [id, waiter] : state.board.waiters) {
    waiting += waiter.runner.project == tell.project() ? 1U : 0U;
  }
  json.field("waiting", waiting).end_object();
}

}  // namespace reeve::api
