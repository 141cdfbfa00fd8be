#include "core/board.h"

#include "base/match.h"
#include "core/board_detail.h"
#include "core/names.h"

#include <algorithm>

namespace reeve::board {
namespace {

bool may_add(const Turn& turn, const SectionName& section) {
  return may_name_another(turn.state().board.sections, section.project);
}

// ── Sections and tasks ──

reeve::Reply on(Turn& turn, const SetLocking& command) {
  const Locking& locking = command.locking;
  if (locking.task_timeout <= Duration::zero()) return refused(Why::BadValue, "task_timeout");
  if (locking.section_timeout <= Duration::zero()) return refused(Why::BadValue, "section_timeout");
  if (locking.wait_timeout < Duration::zero()) return refused(Why::BadValue, "wait_timeout");
  if (locking_of(turn, command.project) != locking) edit(turn, command.project).locking = locking;
  return {Ok{}};
}

reeve::Reply on(Turn& turn, const AddSection& command) {
  if (!is_good_name(command.section.name)) return refused(Why::BadName, command.section.name);
  if (find(turn, command.section)) return refused(Why::Exists, command.section.name);
  if (!may_add(turn, command.section)) return refused(Why::OverLimit, "sections");
  make_section(turn, command.section);
  return {Ok{}};
}

reeve::Reply on(Turn& turn, const RemoveSection& command) {
  const SectionName& name = command.section;
  settle(turn, name.project);
  const Section* section = find(turn, name);
  if (!section) return refused(Why::NotFound, name.name);
  if (section->lock) {
    const Time last = *section_limit(turn.state().board, name, turn.leases_from());
    if (turn.now() <= last) return {SectionLocked{name, section->lock->runner, last}};
  }
  if (section->open > 0) return refused(Why::NotAllowed, "it has open tasks");
  Table& table = turn.change().board;
  table.section_order.erase({name.project, table.sections.find(name)->order, name.name});
  table.sections.erase(name);
  turn.emit(name.project, SectionRemoved{name});
  return {Ok{}};
}

reeve::Reply on(Turn& turn, const Add& command) {
  const ProjectNo project = turn.project();
  const bool says_nothing = command.title.find_first_not_of(" \t\r\n") == std::string::npos;
  if (says_nothing || command.title.size() > limits::title_bytes) {
    return refused(Why::BadValue, "title");
  }
  if (command.section && !is_good_name(command.section->name)) {
    return refused(Why::BadName, command.section->name);
  }
  const Project* board = turn.state().board.projects.find(project);
  if (board && board->open >= limits::names_a_project) return refused(Why::OverLimit, "tasks");
  const bool new_section = command.section && !find(turn, *command.section);
  if (new_section && !may_add(turn, *command.section)) return refused(Why::OverLimit, "sections");

  settle(turn, project);
  if (new_section) make_section(turn, *command.section);
  const BoardTaskId id = turn.next_id<BoardTaskId>();
  BoardTask task;
  task.project = project;
  task.title = command.title;
  task.section = command.section;
  task.priority = command.priority;
  task.created_at = turn.now();
  Table& table = turn.change().board;
  table.tasks.set(id, task);
  table.titles.insert({project, task.title, id});
  table.ready.insert(ready_key(id, task));
  if (task.section) count_open(turn, *task.section, true);
  ++edit(turn, project).open;
  add_note(turn, id, "", command.note);
  turn.emit(project, WasAdded{id, task.title, task.section, task.priority, said(command.note)});
  serve_any(turn, project, task.section, turn.now());
  return {Added{id}};
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const AddNote& command) {
  if (command.text.empty()) return refused(Why::BadValue, "text");
  if (find(turn, id)->notes.size() >= most_notes) return refused(Why::OverLimit, "notes");
  add_note(turn, id, std::string(cut(command.by)), command.text);
  turn.emit(find(turn, id)->project,
            WasNoted{id, std::string(cut(command.by)), std::string(cut(command.text))});
  return {Ok{}};
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const RemoveTask&) {
  const BoardTask task = *find(turn, id);
  if (task.lock && is_good(turn, *task.lock)) {
    const Time last = limit_of(task.lock->lease, turn.leases_from()).value_or(Time::max());
    return {TaskLocked{id, task.lock->runner, last}};
  }
  if (task.lock) lose(turn, task.lock->runner);
  forget(turn, id);
  turn.emit(task.project, TaskRemoved{id, task.title});
  after_release(turn, id, task.section);
  serve_any(turn, task.project, task.section, turn.now());
  return {Ok{}};
}

// A command about one task, which has to be found first.
template <class About>
  requires requires(const About& command) { TaskRef{command.task}; }
reeve::Reply on(Turn& turn, const About& command) {
  return match(
      settled(turn, command.task),
      [](const Refused& why) -> reeve::Reply { return {why}; },
      [&](const BoardTaskId& id) { return on_task(turn, id, command); });
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return std::visit([&](const auto& one) { return on(turn, one); }, command);
}

EventName name_of(const Event& event) {
  const auto task = [](BoardTaskId id, const char* verb) {
    return EventName{"board", to_text(id), verb};
  };
  const auto section = [](const SectionName& name, const char* verb) {
    return EventName{"board", name.name, verb};
  };
  return match(
      event,
      [&](const WasAdded& it) { return task(it.task, "added"); },
      [&](const SectionAdded& it) { return section(it.section, "section_added"); },
      [&](const WasStarted& it) { return task(it.task, "started"); },
      [&](const WasClaimed& it) { return task(it.task, "claimed"); },
      [&](const WasFinished& it) { return task(it.task, "finished"); },
      [&](const WasReleased& it) { return task(it.task, "released"); },
      [&](const HasExpired& it) { return task(it.task, "expired"); },
      [&](const SectionExpired& it) { return section(it.section, "section_expired"); },
      [&](const SectionTaken& it) { return section(it.section, "section_locked"); },
      [&](const SectionReleased& it) { return section(it.section, "section_released"); },
      [&](const IsWaiting& it) { return EventName{"board", it.runner.name, "waiting"}; },
      [&](const WasForced& it) {
        return match(
            it.what,
            [&](const BoardTaskId& id) { return task(id, "forced"); },
            [&](const SectionName& name) { return section(name, "forced"); });
      },
      [&](const WasNoted& it) { return task(it.task, "noted"); },
      [&](const TaskRemoved& it) { return task(it.task, "removed"); },
      [&](const SectionRemoved& it) { return section(it.section, "section_removed"); },
      [&](const WasExtended& it) { return task(it.task, "extended"); },
      [&](const SectionExtended& it) { return section(it.section, "section_extended"); },
      [&](const StoppedWaiting& it) {
        return EventName{"board", it.runner.name, "stopped_waiting"};
      });
}

}  // namespace reeve::board
