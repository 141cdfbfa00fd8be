#include "api/board.h"
#include "api/errors.h"
#include "api/ids.h"
#include "base/match.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

namespace reeve::api {
namespace {

std::string title_of(const State& state, BoardTaskId id) {
  const board::BoardTask* task = state.board.tasks.find(id);
  return task ? task->title : to_text(id);
}

void tell_task(Tell& tell, BoardTaskId id) {
  const board::BoardTask* task = tell.state().board.tasks.find(id);
  tell.result();
  if (task) show_board_task(tell, tell.state(), id, *task, true);
}

// What is new with a lock is told by itself: it is what whoever started must keep.
void tell_started(Tell& tell, const board::Started& started) {
  tell_task(tell, started.task);
  tell.json.field("outcome",
                  started.claimed_from ? "claimed"
                  : started.took_task  ? "started"
                                       : "extended");
  if (started.claimed_from) {
    show_runner_name(
        tell, tell.state(), *started.claimed_from, "claimed_from", "claimed_from_project");
  }
  if (started.section_token) {
    tell.json.field("section_token", started.section_token->value);
    tell.json.field("took_section", started.took_section);
  }
}

void locked_by(Tell& tell, const board::RunnerName& runner) {
  show_runner_name(tell, tell.state(), runner, "lockedBy", "lockedByProject");
}

void tell_lost(Tell& tell, const board::Lost& lost) {
  const Kept& kept = tell.kept();
  const std::string thing =
      kept.second.empty()
          ? fmt::format("section {}", quoted(kept.name))
          : fmt::format("task {}",
                        quoted(title_of(tell.state(), *parse_id<BoardTaskId>(kept.second))));
  const std::string now =
      lost.current
          ? fmt::format("runner {} has it", runner_in_words(tell, tell.state(), *lost.current))
          : "nobody has it";
  JsonWriter& json =
      tell.error(code::lost,
                 fmt::format("the lock of {} is lost: {}; see `reeve locks show {}`",
                             thing,
                             now,
                             codec::shell_word(kept.second.empty() ? kept.name : kept.second)));
  if (kept.second.empty()) {
    json.field("sectionId", kept.name);
  } else {
    json.field("taskId", kept.second);
  }
  if (lost.current) locked_by(tell, *lost.current);
}

void tell_cleaned(Tell& tell, const board::CleanedUp& cleaned) {
  JsonWriter& json = tell.result().key("locks").begin_array();
  for (const auto& what : cleaned.locks) {
    json.begin_object();
    match(
        what,
        [&](const BoardTaskId& id) {
          json.field("type", "task").key("id").plain(to_text(id));
          json.field("title", title_of(tell.state(), id));
        },
        [&](const SectionName& name) {
          json.field("type", "section").field("id", tell.name(name));
        });
    json.end_object();
  }
  json.end_array().field("more", cleaned.more).field("dry_run", tell.kept().flag);
}

void tell_answer(Tell& tell, const board::Reply& reply) {
  match(
      reply,
      [&](const board::Added& added) { tell_task(tell, added.task); },
      [&](const board::Started& started) { tell_started(tell, started); },
      [&](const board::TaskLocked& locked) {
        tell.error(code::task_locked, "Task is locked by another runner")
            .field("taskId", to_text(locked.task));
        locked_by(tell, locked.locked_by);
        tell.moment("expiresAt", locked.expires_at);
      },
      [&](const board::SectionLocked& locked) {
        tell.error(code::section_locked, "Section is locked by another runner")
            .field("sectionId", tell.name(locked.section));
        locked_by(tell, locked.locked_by);
        tell.moment("expiresAt", locked.expires_at);
      },
      [&](const board::TaskFinished& finished) {
        tell.error(code::task_finished,
                   fmt::format("task {} is {} already, so nothing was changed; `reeve task update "
                               "{} --status pending` reopens it",
                               quoted(title_of(tell.state(), finished.task)),
                               text_of(finished.status),
                               to_text(finished.task)))
            .field("taskId", to_text(finished.task))
            .field("status", text_of(finished.status));
      },
      [&](const board::Lost& lost) { tell_lost(tell, lost); },
      [&](const board::Extended& extended) {
        tell.result().key("id").plain(to_text(extended.task));
        tell.moment("expires_at", extended.expires_at);
      },
      [&](const board::Alive& alive) {
        tell.result().field("name", tell.kept().name).field("tasks", alive.tasks);
        tell.json.field("sections", alive.sections)
            .field("lost", alive.lost)
            .field("taken", alive.taken);
      },
      [&](const board::Found& found) { tell_task(tell, found.task); },
      [&](const board::Nothing& nothing) {
        tell.result().key("id").null().field("open", nothing.open);
      },
      [&](const board::CleanedUp& cleaned) { tell_cleaned(tell, cleaned); },
      [&](const board::WaitEnded& ended) {
        if (ended.left != Left::TimedOut) return tell_cancelled(tell);
        tell.error(code::timed_out, "the wait is over, and nothing was taken");
      });
}

}  // namespace

void tell_board(Tell& tell, const Reply& reply) {
  if (const auto* of_board = std::get_if<board::Reply>(&reply.value)) {
    return tell_answer(tell, *of_board);
  }
  // Done, and the task says how it stands now.
  const auto id = parse_id<BoardTaskId>(tell.kept().second);
  if (id && tell.state().board.tasks.contains(*id)) return tell_task(tell, *id);
  tell.result().field("id", tell.kept().second.empty() ? tell.kept().name : tell.kept().second);
}

// ── Which task is meant ──

namespace {

// The tasks that have this title, and those of them that are open.
struct Titled {
  std::size_t count = 0;
  std::size_t opens = 0;
  std::optional<BoardTaskId> any;
  std::optional<BoardTaskId> open;

  // None: there is none, or more than one.
  std::optional<BoardTaskId> only() const {
    if (opens == 1) return open;
    return count == 1 ? any : std::nullopt;
  }
};

// Those added by `project` that somebody of `asker` sees.
void add_titled(Titled& titled,
                const State& state,
                ProjectNo project,
                const std::string& title,
                ProjectNo asker) {
  const PersistentSet<board::TitleKey>& titles = state.board.titles;
  for (auto at = titles.lower_bound({project, title, {}});
       at != titles.end() && at->project == project && at->title == title;
       ++at) {
    const board::BoardTask& task = *state.board.tasks.find(at->task);
    if (!is_seen(task, asker)) continue;
    ++titled.count;
    titled.any = at->task;
    if (!board::is_open(task.status)) continue;
    ++titled.opens;
    titled.open = at->task;
  }
}

void tell_ambiguous(Tell& tell, const MeantTask& meant, std::string_view text) {
  if (meant.same_title) return tell_same_title(tell, text);
  tell.error(code::ambiguous,
             fmt::format("{} is the beginning of more than one id; write more of it", quoted(text)))
      .field("name", text);
}

}  // namespace

MeantTask task_meant(const State& state, ProjectNo project, std::string_view text) {
  const std::string whole(text);
  if (const auto id = parse_id<BoardTaskId>(text); id && state.board.tasks.contains(*id)) {
    return {*id, id};
  }
  Titled own;
  add_titled(own, state, project, whole, project);
  if (own.count > 0) return {whole, own.only(), false, !own.only()};
  // The core looks only among the project's own, so it is given the id of another's.
  Titled others;
  for (const auto& [other, unused] : state.board.projects) {
    if (other != project) add_titled(others, state, other, whole, project);
  }
  if (const auto id = others.only()) return {*id, id};
  if (others.count > 0) return {whole, std::nullopt, true, true};
  if (const auto id = parse_id<BoardTaskId>(text)) return {*id, std::nullopt};  // it is gone
  const Meant<BoardTaskId> meant = id_meant<BoardTaskId>(state.board.tasks, text);
  if (meant.ambiguous) return {whole, std::nullopt, true};
  if (meant.id) return {meant.id, meant.id};
  return {whole, std::nullopt};
}

std::optional<board::TaskRef> task_asked(Asking& ask, std::string_view text) {
  const MeantTask meant = task_meant(ask.state(), ask.project(), text);
  ask.kept.name = text;
  if (meant.id) ask.kept.second = to_text(*meant.id);
  if (!meant.ambiguous) return meant.ref;
  const std::string written(text);
  ask.answer([&](Tell& tell) { tell_ambiguous(tell, meant, written); });
  return std::nullopt;
}

// Those that have ended may be meant, too.
void tell_same_title(Tell& tell, std::string_view title) {
  tell.error(code::ambiguous,
             fmt::format("more than one task is called {}; say its id, see `reeve task list --all`",
                         quoted(title)))
      .field("name", title);
}

std::optional<BoardTaskId> task_or_tell(Tell& tell, const State& state, std::string_view text) {
  const MeantTask meant = task_meant(state, tell.project(), text);
  if (meant.id) return meant.id;
  if (meant.ambiguous || meant.same_title) {
    tell_ambiguous(tell, meant, text);
  } else {
    tell_not_found(tell, "task", text);
  }
  return std::nullopt;
}

board::RunnerName need_runner(Asking& ask, std::string_view field) {
  return ask.scoped<board::RunnerName>(ask.params.need_text(field));
}

std::optional<board::Wait> wait_on_board(Asking& ask) {
  const std::optional<Duration> wait = ask.wait();
  if (!wait) return std::nullopt;
  if (*wait == Duration::max()) return board::Wait{};
  return board::Wait{wait};
}

}  // namespace reeve::api
