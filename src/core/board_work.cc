#include "base/match.h"
#include "core/board_detail.h"
#include "core/names.h"

#include <utility>

// Starting, finishing and keeping: what runners say.
namespace reeve::board {

// ── Working ──

namespace {

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

// Also of somebody who is no runner, and may be nameless.
std::optional<reeve::Reply> mistake_in_name(const RunnerName& who) {
  if (who.name.empty() || is_good_name(who.name)) return std::nullopt;
  return refused(Why::BadName, who.name);
}

// What another had, and too long, is ended or given back by this one: the other is told.
void lose_to(Turn& turn, BoardTaskId id, const RunnerName& runner) {
  const std::optional<Tenure> lock = find(turn, id)->lock;
  if (lock && lock->runner != runner) lose(turn, lock->runner);
}

// Everything that starts, or waits to.
reeve::Reply get(Turn& turn,
                 const RunnerName& runner,
                 const Wanted& wanted,
                 const std::optional<Wait>& wait) {
  if (const auto mistake = mistake_in(turn, runner)) return {*mistake};
  const Verdict verdict = look_for(turn, runner, wanted, turn.now());
  const reeve::Reply reply = wait ? wait_in_line(turn, runner, wanted, verdict, *wait)
                                  : act(turn, runner, wanted, verdict, turn.now());
  serve_after(turn, runner, reply, turn.now());
  return reply;
}

}  // namespace

reeve::Reply on_task(Turn& turn, BoardTaskId id, const Start& command) {
  return get(turn, command.runner, ThisTask{id}, command.wait);
}

reeve::Reply on(Turn& turn, const Next& command) {
  if (command.next.section && !find(turn, *command.next.section)) {
    return refused(Why::NotFound, command.next.section->name);
  }
  // In a section that is named there is but one order; who waits there does not stand before those
  // who take all sections in theirs.
  NextTask next = command.next;
  if (next.section) next.in_order = false;
  settle(turn, command.runner.project);
  return get(turn, command.runner, next, command.wait);
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const Finish& command) {
  if (const auto mistake = mistake_in_name(command.runner)) return *mistake;
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
  lose_to(turn, id, command.runner);
  set_status(turn, id, command.status);
  turn.emit(project, WasFinished{id, command.status, command.runner.name, said(command.note)});
  after_release(turn, id, section);
  serve_any(turn, project, section, turn.now());
  return {Ok{}};
}

reeve::Reply on_task(Turn& turn, BoardTaskId id, const PutBack& command) {
  if (const auto mistake = mistake_in_name(command.runner)) return *mistake;
  if (const auto answer = objection(turn, id, command.runner, command.token)) return *answer;
  const BoardTask& task = *find(turn, id);
  if (task.status == Status::Pending) return {Ok{}};
  const std::optional<SectionName> section = task.section;
  const ProjectNo project = task.project;
  if (section && !find(turn, *section)) make_section(turn, *section);
  if (section) extend_section(turn, *section, command.runner);
  lose_to(turn, id, command.runner);
  set_status(turn, id, Status::Pending);
  turn.emit(project, WasReleased{id, command.runner.name});
  after_release(turn, id, section);
  serve_any(turn, project, section, turn.now());
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
  serve(turn, command.section, turn.now());
  serve_any(turn, command.section.project, command.section, turn.now());
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
  const Time last = extend_task(turn, id);
  if (section) extend_section(turn, *section, command.runner);
  return {Extended{id, last}};
}

reeve::Reply on(Turn& turn, const RunnerHeartbeat& command) {
  if (const auto mistake = mistake_in(turn, command.runner)) return {*mistake};
  settle(turn, command.runner.project);
  see(turn, command.runner);
  Alive alive;
  alive.taken = std::exchange(turn.change().board.runners.edit(command.runner)->taken, 0);
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
        if (good) extend_task(turn, task);
      }
    }
  }
  return {alive};
}

}  // namespace reeve::board
