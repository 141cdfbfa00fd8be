#include "core/board.h"

#include "base/match.h"
#include "core/board_detail.h"
#include "core/names.h"

#include <algorithm>

namespace reeve::board {
namespace {

constexpr std::size_t kTitleBytes = 1000;
constexpr std::size_t kNotes = 100;
constexpr std::uint64_t kRunners = 10'000;   // a project
constexpr std::size_t kHeldByARunner = 256;  // so that one heartbeat is one step

// A free runner name, or why not.
std::optional<Refused> mistake_in(const Turn& turn, const RunnerName& runner) {
  if (!is_good_name(runner.name)) return Refused{Why::BadName, runner.name};
  const Project* project = turn.state().board.projects.find(runner.project);
  if (project && project->runners >= kRunners && !turn.state().board.runners.contains(runner)) {
    return Refused{Why::OverLimit, "runners"};
  }
  return std::nullopt;
}

std::size_t count_held(const Turn& turn, const RunnerName& runner) {
  const PersistentSet<HeldKey>& held = turn.state().board.held;
  std::size_t count = 0;
  for (auto at = held.lower_bound({runner, {}}); at != held.end() && (*at).runner == runner; ++at) {
    ++count;
  }
  return count;
}

void add_note(Turn& turn, BoardTaskId id, const std::string& by, const std::string& text) {
  if (text.empty() || find(turn, id)->notes.size() >= kNotes) return;
  edit(turn, id).notes.push_back({turn.now(), by, std::string(cut(text))});
}

void make_section(Turn& turn, const SectionName& name) {
  Section section;
  section.order = ++edit(turn, name.project).last_section;
  Table& table = turn.change().board;
  table.sections.set(name, section);
  table.section_order.insert({name.project, section.order, name.name});
  turn.emit(name.project, SectionAdded{name});
}

bool may_add_section(const Turn& turn) {
  return turn.state().board.sections.size() < limits::names_a_project;
}

// The task that is meant, once time has done to its board what it does.
std::variant<BoardTaskId, Refused> settled(Turn& turn, const TaskRef& ref) {
  settle(turn, turn.project());
  const std::variant<BoardTaskId, Refused> found = resolve(turn, ref);
  const BoardTaskId* id = std::get_if<BoardTaskId>(&found);
  if (!id || find(turn, *id)->project == turn.project()) return found;
  settle(turn, find(turn, *id)->project);
  return resolve(turn, *id);
}

// What follows when a task has ended or gone back: its section may be free, and others wait.
void after_release(Turn& turn, BoardTaskId id, const std::optional<SectionName>& section) {
  tell_waiters(turn, id);
  release_if_done(turn, section);
  serve(turn, section ? Line{*section} : Line{id});
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
  if (!may_add_section(turn)) return refused(Why::OverLimit, "sections");
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
  if (command.title.empty() || command.title.size() > kTitleBytes) {
    return refused(Why::BadValue, "title");
  }
  if (command.section && !is_good_name(command.section->name)) {
    return refused(Why::BadName, command.section->name);
  }
  const Project* board = turn.state().board.projects.find(project);
  if (board && board->open >= limits::names_a_project) return refused(Why::OverLimit, "tasks");
  const bool new_section = command.section && !find(turn, *command.section);
  if (new_section && !may_add_section(turn)) return refused(Why::OverLimit, "sections");

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
  if (task.section) ++edit(turn, *task.section).open;
  ++edit(turn, project).open;
  add_note(turn, id, "", command.note);
  turn.emit(project, WasAdded{id, task.title, task.section});
  serve_in_order(turn, project);
  return {Added{id}};
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const AddNote& command) {
  if (command.text.empty()) return refused(Why::BadValue, "text");
  if (find(turn, id)->notes.size() >= kNotes) return refused(Why::OverLimit, "notes");
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
  forget(turn, id);
  turn.emit(task.project, TaskRemoved{id, task.title});
  after_release(turn, id, task.section);
  return {Ok{}};
}

// ── Working ──

// Everything that starts, or waits to.
reeve::Reply get(Turn& turn,
                 const RunnerName& runner,
                 const Wanted& wanted,
                 const std::optional<Wait>& wait) {
  if (const auto mistake = mistake_in(turn, runner)) return {*mistake};
  if (count_held(turn, runner) >= kHeldByARunner) return refused(Why::OverLimit, "held");
  const Verdict verdict = look_for(turn, runner, wanted);
  if (wait) return wait_in_line(turn, runner, wanted, verdict, *wait);
  return act(turn, runner, wanted, verdict);
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const Start& command) {
  return get(turn, command.runner, ThisTask{id}, command.wait);
}

reeve::Reply on(Turn& turn, const Next& command) {
  if (command.next.section && !find(turn, *command.next.section)) {
    return refused(Why::NotFound, command.next.section->name);
  }
  settle(turn, command.runner.project);
  return get(turn, command.runner, command.next, command.wait);
}

// Whether `runner` may speak for the task; the answer if not. Who lost his lock but to nobody may
// still end what he began.
std::optional<reeve::Reply> objection(const Turn& turn,
                                      BoardTaskId id,
                                      const RunnerName& runner,
                                      const std::optional<Token>& token) {
  const BoardTask& task = *find(turn, id);
  const std::optional<RunnerName> current =
      task.lock ? std::optional(task.lock->runner) : std::nullopt;
  if (token && (!task.lock || task.lock->lease.token != *token)) return {{Lost{current}}};
  if (task.lock && task.lock->runner != runner && is_good(turn, *task.lock)) {
    const Time last = limit_of(task.lock->lease, turn.leases_from()).value_or(Time::max());
    return {{TaskLocked{id, task.lock->runner, last}}};
  }
  return std::nullopt;
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const Finish& command) {
  if (is_open(command.status)) return refused(Why::BadValue, "status");
  const BoardTask& task = *find(turn, id);
  // Before the token: who lost the task learns that it has ended.
  if (!is_open(task.status) && task.status != Status::Review) {
    return {TaskFinished{id, task.status}};
  }
  if (const auto answer = objection(turn, id, command.runner, command.token)) return *answer;
  if (task.status == command.status) return {TaskFinished{id, task.status}};

  const ProjectNo project = task.project;
  const std::optional<SectionName> section = task.section;
  if (turn.state().board.runners.contains(command.runner)) see(turn, command.runner);
  if (section) extend_section(turn, *section, command.runner);
  add_note(turn, id, command.runner.name, command.note);
  set_status(turn, id, command.status);
  turn.emit(project, WasFinished{id, command.status, command.runner.name});
  after_release(turn, id, section);
  return {Ok{}};
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const PutBack& command) {
  if (const auto answer = objection(turn, id, command.runner, command.token)) return *answer;
  const BoardTask& task = *find(turn, id);
  if (task.status == Status::Pending) return {Ok{}};
  const std::optional<SectionName> section = task.section;
  const ProjectNo project = task.project;
  if (section && !find(turn, *section)) make_section(turn, *section);
  if (section) extend_section(turn, *section, command.runner);
  set_status(turn, id, Status::Pending);
  turn.emit(project, WasReleased{id, command.runner.name});
  after_release(turn, id, section);
  serve_in_order(turn, project);
  return {Ok{}};
}

reeve::Reply on(Turn& turn, const LetGo& command) {
  settle(turn, command.section.project);
  const Section* section = find(turn, command.section);
  if (!section) return refused(Why::NotFound, command.section.name);
  if (!section->lock) return {Ok{}};
  if (section->lock->runner != command.runner) return {Lost{section->lock->runner}};
  const PersistentSet<InSectionKey>& held = turn.state().board.held_in_section;
  for (auto at = held.lower_bound({command.section, {}});
       at != held.end() && (*at).section == command.section;
       ++at) {
    const Tenure& lock = *find(turn, (*at).task)->lock;
    if (lock.runner == command.runner && is_good(turn, lock)) {
      return refused(Why::NotAllowed, "it holds " + to_text((*at).task));
    }
  }
  unlock(turn, command.section);
  turn.emit(command.section.project, SectionReleased{command.section, command.runner});
  serve(turn, command.section);
  return {Ok{}};
}

// ── Keeping ──

reeve::Reply on_task(Turn& turn, BoardTaskId id, const Heartbeat& command) {
  const BoardTask& task = *find(turn, id);
  if (!task.lock) return {Lost{}};
  const Tenure& lock = *task.lock;
  const bool is_old = command.token && *command.token != lock.lease.token;
  if (lock.runner != command.runner || is_old) return {Lost{lock.runner}};
  if (!is_good(turn, lock)) return {Lost{}};
  const std::optional<SectionName> section = task.section;
  see(turn, command.runner);
  Lease& lease = edit(turn, id).lock->lease;
  lease.last_sign = turn.now();
  const Time last = limit_of(lease, turn.leases_from()).value_or(Time::max());
  if (section) extend_section(turn, *section, command.runner);
  return {Extended{id, last}};
}

reeve::Reply on(Turn& turn, const RunnerHeartbeat& command) {
  if (const auto mistake = mistake_in(turn, command.runner)) return {*mistake};
  settle(turn, command.runner.project);
  see(turn, command.runner);
  Alive alive;
  const PersistentSet<HeldKey> held = turn.state().board.held;  // a copy, to walk along
  // Sections first, while the tasks in them still say what is good.
  for (const bool sections : {true, false}) {
    for (auto at = held.lower_bound({command.runner, {}});
         at != held.end() && (*at).runner == command.runner;
         ++at) {
      if (const SectionName* section = std::get_if<SectionName>(&(*at).what)) {
        if (!sections) continue;
        const Time last = *section_limit(turn.state().board, *section, turn.leases_from());
        ++(turn.now() <= last ? alive.sections : alive.lost);
        extend_section(turn, *section, command.runner);
      } else if (!sections) {
        const BoardTaskId task = std::get<BoardTaskId>((*at).what);
        const bool good = is_good(turn, *find(turn, task)->lock);
        ++(good ? alive.tasks : alive.lost);
        if (good) edit(turn, task).lock->lease.last_sign = turn.now();
      }
    }
  }
  return {alive};
}

// ── Setting right ──

void force_task(Turn& turn, BoardTaskId id, const ForceRelease& command) {
  const ProjectNo project = find(turn, id)->project;
  const RunnerName from = find(turn, id)->lock->runner;
  set_status(turn, id, Status::Pending);
  turn.emit(project,
            WasForced{id, from, std::string(cut(command.by)), std::string(cut(command.reason))});
}

reeve::Reply force_section(Turn& turn, const SectionName& name, const ForceRelease& command) {
  settle(turn, name.project);
  const Section* section = find(turn, name);
  if (!section) return refused(Why::NotFound, name.name);
  if (!section->lock) return {Ok{}};
  const RunnerName from = section->lock->runner;
  const PersistentSet<InSectionKey> held = turn.state().board.held_in_section;
  for (auto at = held.lower_bound({name, {}}); at != held.end() && (*at).section == name; ++at) {
    if (find(turn, (*at).task)->lock->runner == from) force_task(turn, (*at).task, command);
  }
  unlock(turn, name);
  turn.emit(name.project,
            WasForced{name, from, std::string(cut(command.by)), std::string(cut(command.reason))});
  serve(turn, name);
  return {Ok{}};
}

reeve::Reply on(Turn& turn, const ForceRelease& command) {
  return match(
      command.what,
      [&](const TaskRef& ref) -> reeve::Reply {
        return match(
            settled(turn, ref),
            [](const Refused& why) -> reeve::Reply { return {why}; },
            [&](const BoardTaskId& id) -> reeve::Reply {
              if (!find(turn, id)->lock) return {Ok{}};
              force_task(turn, id, command);
              serve(turn, line_of(id, *find(turn, id)));
              serve_in_order(turn, find(turn, id)->project);
              return {Ok{}};
            });
      },
      [&](const SectionName& name) { return force_section(turn, name, command); });
}

reeve::Reply on(Turn& turn, const Cleanup& command) {
  settle(turn, command.project);
  CleanedUp cleaned;
  const PersistentSet<HeldKey> held = turn.state().board.held;
  const HeldKey from{{command.project, ""}, {}};
  for (auto at = held.lower_bound(from); at != held.end(); ++at) {
    if ((*at).runner.project != command.project) break;
    const bool is_over =
        match((*at).what,
              [&](const BoardTaskId& id) { return !is_good(turn, *find(turn, id)->lock); },
              [&](const SectionName& name) { return find(turn, name)->lock->expired; });
    if (!is_over) continue;
    if (cleaned.locks.size() >= limits::touched_a_step) {
      cleaned.more = true;
      break;
    }
    cleaned.locks.push_back((*at).what);
  }
  if (command.dry_run) return {cleaned};
  for (const auto& lock : cleaned.locks) {
    match(
        lock,
        [&](const BoardTaskId& id) {
          const std::string by = find(turn, id)->lock->runner.name;
          set_status(turn, id, Status::Pending);
          turn.emit(find(turn, id)->project, WasReleased{id, by});
        },
        [&](const SectionName& name) {
          const RunnerName runner = find(turn, name)->lock->runner;
          unlock(turn, name);
          turn.emit(name.project, SectionReleased{name, runner});
        });
  }
  return {cleaned};
}

reeve::Reply on(Turn& turn, const ForgetRunner& command) {
  const Runner* runner = turn.state().board.runners.find(command.runner);
  if (!runner) return refused(Why::NotFound, command.runner.name);
  if (count_held(turn, command.runner) > 0) return refused(Why::NotAllowed, "it holds something");
  expect_no_more(turn, {command.runner.project, runner->due, RunnerSilence{command.runner}});
  turn.change().board.runners.erase(command.runner);
  --edit(turn, command.runner.project).runners;
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

const BoardTask* find(const Turn& turn, BoardTaskId task) {
  return turn.state().board.tasks.find(task);
}

const Section* find(const Turn& turn, const SectionName& section) {
  return turn.state().board.sections.find(section);
}

BoardTask& edit(Turn& turn, BoardTaskId task) { return *turn.change().board.tasks.edit(task); }

Section& edit(Turn& turn, const SectionName& section) {
  return *turn.change().board.sections.edit(section);
}

Project& edit(Turn& turn, ProjectNo project) {
  return turn.change().board.projects.edit_or_insert(project);
}

Locking locking_of(const Turn& turn, ProjectNo project) {
  const Project* board = turn.state().board.projects.find(project);
  return board ? board->locking : Locking{};
}

SectionName place_of(const BoardTask& task) {
  return task.section.value_or(SectionName{task.project, ""});
}

ReadyKey ready_key(BoardTaskId id, const BoardTask& task) {
  const std::int64_t below = std::int64_t{INT32_MAX} - task.priority;
  return {place_of(task), static_cast<std::uint32_t>(below), id};
}

std::variant<BoardTaskId, Refused> resolve(const Turn& turn, const TaskRef& ref) {
  return match(
      ref,
      [&](const BoardTaskId& id) -> std::variant<BoardTaskId, Refused> {
        if (!find(turn, id)) return Refused{Why::NotFound, to_text(id)};
        return id;
      },
      [&](const std::string& title) -> std::variant<BoardTaskId, Refused> {
        const PersistentSet<TitleKey>& titles = turn.state().board.titles;
        std::optional<BoardTaskId> open;
        std::optional<BoardTaskId> any;
        std::size_t count = 0;
        for (auto at = titles.lower_bound({turn.project(), title, {}});
             at != titles.end() && (*at).project == turn.project() && (*at).title == title;
             ++at) {
          ++count;
          any = (*at).task;
          if (!is_open(find(turn, *any)->status)) continue;
          if (open) return Refused{Why::Ambiguous, title};
          open = any;
        }
        if (open) return *open;
        if (count > 1) return Refused{Why::Ambiguous, title};
        if (!any) return Refused{Why::NotFound, title};
        return *any;
      });
}

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
      [&](const SectionRemoved& it) { return section(it.section, "section_removed"); });
}

}  // namespace reeve::board
