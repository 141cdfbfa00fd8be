#include "api/board.h"
#include "api/errors.h"
#include "api/limits.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

// The tasks of the board: what there is to do, and whoever does it.
namespace reeve::api {
namespace {

constexpr std::string_view statuses = "pending, in_progress, review, completed, failed or skipped";

// ── Changes ──

void add(Asking& ask) {
  board::Add command;
  command.title = ask.params.need_text("title");
  ask.kept.name = command.title;
  if (const auto section = ask.params.text("section")) {
    command.section = ask.scoped<SectionName>(*section);
  }
  using Numbers = std::numeric_limits<std::int32_t>;
  command.priority = static_cast<std::int32_t>(
      ask.params.integer("priority", Numbers::min(), Numbers::max()).value_or(0));
  command.note = ask.params.text("note").value_or("");
  ask.submit_and_look("task", std::move(command), tell_board);
}

void start(Asking& ask, std::string_view text) {
  board::Start command;
  command.runner = need_runner(ask);
  command.wait = wait_on_board(ask);
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto task = task_asked(ask, text);
  if (!task) return;
  command.task = *task;
  ask.submit_and_look("task", std::move(command), tell_board);
}

// An empty name is nobody in particular.
board::RunnerName maybe_runner(Asking& ask) {
  return ask.scoped<board::RunnerName>(ask.params.text("runner").value_or(""));
}

void put_back(Asking& ask, std::string_view text) {
  board::PutBack command;
  command.runner = maybe_runner(ask);
  command.token = ask.token();
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto task = task_asked(ask, text);
  if (!task) return;
  command.task = *task;
  ask.submit_and_look("task", std::move(command), tell_board);
}

void finish(Asking& ask, std::string_view text, board::Status status) {
  board::Finish command;
  command.runner = maybe_runner(ask);
  command.token = ask.token();
  command.status = status;
  command.note = ask.params.text("note").value_or("");
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto task = task_asked(ask, text);
  if (!task) return;
  command.task = *task;
  ask.submit_and_look("task", std::move(command), tell_board);
}

void update(Asking& ask) {
  const std::string text(ask.params.need_text("id"));
  const auto status = status_named(ask.params.need_text("status"));
  if (!status) {
    ask.params.refuse("status", fmt::format("must be {}", statuses));
    return ask.answer([](Tell&) {});
  }
  switch (*status) {
    case board::Status::InProgress:
      return start(ask, text);
    case board::Status::Pending:
      return put_back(ask, text);
    case board::Status::Review:
    case board::Status::Completed:
    case board::Status::Failed:
    case board::Status::Skipped:
      return finish(ask, text, *status);
  }
}

void next(Asking& ask) {
  board::Next command;
  command.runner = need_runner(ask);
  const auto section = ask.params.text("section");
  if (section) {
    command.next.section = ask.scoped<SectionName>(*section);
    ask.kept.name = *section;
  }
  command.next.start = ask.params.flag("start");
  command.next.in_order = ask.params.flag("in_order");
  if (section && command.next.in_order) {
    ask.params.refuse("in_order", "is about all sections; a section was named");
  }
  command.wait = wait_on_board(ask);
  ask.submit_and_look(section ? "section" : "task", std::move(command), tell_board);
}

void note(Asking& ask) {
  const std::string text(ask.params.need_text("id"));
  board::AddNote command;
  command.text = ask.params.need_text("text");
  command.by = ask.params.text("by").value_or("");
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto task = task_asked(ask, text);
  if (!task) return;
  command.task = *task;
  ask.submit_and_look("task", std::move(command), tell_board);
}

void remove(Asking& ask) {
  const std::string text(ask.params.need_text("id"));
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto task = task_asked(ask, text);
  if (!task) return;
  ask.submit_and_look("task", board::RemoveTask{*task}, tell_board);
}

void heartbeat(Asking& ask) {
  const std::string text(ask.params.need_text("id"));
  board::Heartbeat command;
  command.runner = need_runner(ask);
  command.token = ask.token();
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto task = task_asked(ask, text);
  if (!task) return;
  command.task = *task;
  ask.submit_and_look("task", std::move(command), tell_board);
}

// ── Questions ──

// One that was removed is known by the tasks that ended in it.
bool is_known(const State& state, const SectionName& section) {
  if (state.board.sections.contains(section)) return true;
  return std::ranges::any_of(state.board.tasks,
                             [&](const auto& entry) { return entry.second.section == section; });
}

// kept: name `status` and the section with a blank between them, second where to begin, number
// the limit, flag only open ones.
void show_tasks(Tell& tell, const State& state) {
  const std::string_view name = tell.kept().name;
  const std::size_t blank = name.find(' ');
  const std::optional<board::Status> status = status_named(name.substr(0, blank));
  const std::string_view section = name.substr(blank + 1);
  const auto wanted = name_written<SectionName>(section, tell.project());
  if (!section.empty() && !is_known(state, wanted)) {
    return tell_not_found(tell, "section", section);
  }
  const auto after = parse_id<BoardTaskId>(tell.kept().second).value_or(BoardTaskId{});
  auto left = tell.kept().number;
  tell.result().key("tasks").begin_array();
  std::string last;
  std::string more;
  for (auto at = state.board.tasks.upper_bound(after); at != state.board.tasks.end(); ++at) {
    const auto& [id, task] = *at;
    if (!is_seen(task, tell.project())) continue;
    if (status && task.status != *status) continue;
    if (tell.kept().flag && !board::is_open(task.status)) continue;
    if (!section.empty() && task.section != wanted) continue;
    if (left-- == 0 || tell.size() > limits::list_bytes) {
      more = last;
      break;
    }
    last = to_text(id);
    tell.json.begin_object();
    show_board_task(tell, state, id, task, true);
    tell.json.end_object();
  }
  tell.json.end_array();
  if (!more.empty()) tell.json.field("next", more);
}

void list(Asking& ask) {
  const std::string_view status = ask.params.text("status").value_or("");
  if (!status.empty() && !status_named(status)) {
    ask.params.refuse("status", fmt::format("must be {}", statuses));
  }
  ask.kept.name = fmt::format("{} {}", status, ask.params.text("section").value_or(""));
  ask.kept.flag = ask.params.flag("open");
  const std::string_view after = ask.params.text("after").value_or("");
  if (!after.empty() && !parse_id<BoardTaskId>(after)) {
    ask.params.refuse("after", "must be what `next` of the page before was");
  }
  ask.kept.second = after;
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limits::list_default));
  ask.look(show_tasks);
}

void show_one(Tell& tell, const State& state) {
  const auto id = task_or_tell(tell, state, tell.kept().name);
  if (!id) return;
  tell.result();
  show_board_task(tell, state, *id, *state.board.tasks.find(*id), false);
}

void show(Asking& ask) {
  ask.kept.name = ask.params.need_text("id");
  ask.look(show_one);
}

constexpr Named methods[] = {
    {"task.add", add},
    {"task.list", list},
    {"task.show", show},
    {"task.update", update},
    {"task.next", next},
    {"task.note", note},
    {"task.remove", remove},
    {"task.heartbeat", heartbeat},
};

}  // namespace

std::span<const Named> task_methods() { return methods; }

}  // namespace reeve::api
