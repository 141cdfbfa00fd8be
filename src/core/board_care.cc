#include "base/match.h"
#include "core/board_detail.h"
#include "core/names.h"

// Setting right what others left: what people say.
namespace reeve::board {

// ── Setting right ──

namespace {

void force_task(Turn& turn, BoardTaskId id, const ForceRelease& command) {
  const ProjectNo project = find(turn, id)->project;
  const RunnerName from = find(turn, id)->lock->runner;
  set_status(turn, id, Status::Pending);
  lose(turn, from);
  turn.emit(project,
            WasForced{id, from, std::string(cut(command.by)), std::string(cut(command.reason))});
}

// All who may want a task that was freed.
void serve_all(Turn& turn, BoardTaskId id) {
  const BoardTask task = *find(turn, id);
  serve(turn, line_of(id, task), turn.now());
  serve_any(turn, task.project, task.section, turn.now());
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
  lose(turn, from);
  turn.emit(name.project,
            WasForced{name, from, std::string(cut(command.by)), std::string(cut(command.reason))});
  serve(turn, name, turn.now());
  serve_any(turn, name.project, name, turn.now());
  return {Ok{}};
}

}  // namespace

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
              serve_all(turn, id);
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
              [&](const SectionName& name) {
                return !has_section(turn, name, (*at).runner, turn.now());
              });
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
          const RunnerName runner = find(turn, id)->lock->runner;
          set_status(turn, id, Status::Pending);
          lose(turn, runner);
          turn.emit(find(turn, id)->project, WasReleased{id, runner.name});
        },
        [&](const SectionName& name) {
          const RunnerName runner = find(turn, name)->lock->runner;
          const bool is_known = find(turn, name)->lock->expired;
          if (!is_known) turn.emit(name.project, SectionExpired{name, runner});
          unlock(turn, name);
          lose(turn, runner);
          turn.emit(name.project, SectionReleased{name, runner});
        });
  }
  // One that was over only just now may have a line that nobody has looked at yet.
  for (const auto& lock : cleaned.locks) {
    match(
        lock,
        [&](const BoardTaskId& id) { serve_all(turn, id); },
        [&](const SectionName& name) {
          serve(turn, name, turn.now());
          serve_any(turn, name.project, name, turn.now());
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

}  // namespace reeve::board
