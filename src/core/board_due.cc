#include "base/match.h"
#include "core/board_detail.h"

#include <algorithm>

namespace reeve::board {
namespace {

void arm(Turn& turn, ProjectNo project) {
  const PersistentSet<DueKey>& due = turn.state().board.due;
  const auto first = due.lower_bound({project, Time::min(), {}});
  const bool is_ours = first != due.end() && (*first).project == project;
  turn.arm(Due{project}, is_ours ? std::optional((*first).due) : std::nullopt);
}

bool end_waits_for_any(Turn& turn,
                       ProjectNo project,
                       const std::optional<SectionName>& where,
                       Time when) {
  return std::ranges::all_of(lines_of_any(turn, project, where),
                             [&](const Line& line) { return end_waits(turn, line, when); });
}

// A lease that is over is announced once. With somebody in line it is claimed at once, else it
// stays visible until somebody asks. One whose limit was moved meanwhile is looked at again when
// that is over, also if it is by now: what happened in between comes first.
void look_at(Turn& turn, const TaskLease& what, Time when) {
  const Tenure& lock = *find(turn, what.task)->lock;
  bool told_all = true;
  if (*over_at(lock.lease, turn.leases_from()) <= when) {
    const BoardTask before = *find(turn, what.task);
    told_all = end_waits(turn, line_of(what.task, before), when) &&
               end_waits_for_any(turn, before.project, before.section, when);
  }
  const BoardTask& task = *find(turn, what.task);
  // It is another's by now, or was marked with its section.
  if (!task.lock || task.lock->expired || task.lock->due != when) return;
  if (!told_all) return expect(turn, {task.project, when, what});
  const Time over = *over_at(task.lock->lease, turn.leases_from());
  if (over > when) {
    const ProjectNo project = task.project;
    edit(turn, what.task).lock->due = over;
    return expect(turn, {project, over, what});
  }
  const ProjectNo project = task.project;
  const Line line = line_of(what.task, task);
  const std::optional<SectionName> section = task.section;
  mark_expired(turn, what.task);
  serve(turn, line, when);
  serve_any(turn, project, section, when);
}

void look_at(Turn& turn, const SectionLease& what, Time when) {
  const SectionName& name = what.section;
  bool told_all = true;
  if (when > *section_limit(turn.state().board, name, turn.leases_from())) {
    told_all = end_waits(turn, name, when) && end_waits_for_any(turn, name.project, name, when);
  }
  const std::optional<Tenure>& lock = find(turn, name)->lock;
  if (!lock || lock->due != when) return;
  if (!told_all) return expect(turn, {name.project, when, what});
  const Time limit = *section_limit(turn.state().board, name, turn.leases_from());
  if (when <= limit) {
    const Time over = saturating_add(limit, Duration{1});
    edit(turn, name).lock->due = over;
    return expect(turn, {name.project, over, what});
  }
  edit(turn, name).lock->expired = true;
  turn.emit(name.project, SectionExpired{name, find(turn, name)->lock->runner});
  serve(turn, name, when);
  serve_any(turn, name.project, name, when);
}

void look_at(Turn& turn, const RunnerSilence& what) {
  const RunnerName& name = what.runner;
  const Runner& runner = *turn.state().board.runners.find(name);
  Time forgotten_at = saturating_add(runner.last_seen, limits::finished_kept_for);
  const PersistentSet<HeldKey>& held = turn.state().board.held;
  const auto first = held.lower_bound({name, {}});
  const bool holds = first != held.end() && (*first).runner == name;
  if (holds) {
    forgotten_at = std::max(forgotten_at, saturating_add(turn.now(), limits::finished_kept_for));
  }
  if (holds || forgotten_at > turn.now()) {
    turn.change().board.runners.edit(name)->due = forgotten_at;
    return expect(turn, {name.project, forgotten_at, what});
  }
  turn.change().board.runners.erase(name);
  --edit(turn, name.project).runners;
}

// What time does next on this project's board, if it is due.
std::optional<DueKey> first_due(const Turn& turn, ProjectNo project) {
  const PersistentSet<DueKey>& due = turn.state().board.due;
  const auto first = due.lower_bound({project, Time::min(), {}});
  if (first == due.end() || (*first).project != project) return std::nullopt;
  if ((*first).due > turn.now()) return std::nullopt;
  return *first;
}

void look_at(Turn& turn, const DueKey& key) {
  turn.touch();
  turn.change().board.due.erase(key);
  match(
      key.what,
      [&](const TaskLease& what) { look_at(turn, what, key.due); },
      [&](const SectionLease& what) { look_at(turn, what, key.due); },
      [&](const WaitEnd& what) { wait_is_over(turn, what.waiter); },
      [&](const RunnerSilence& what) { look_at(turn, what); },
      [&](const Forget& what) { forget(turn, what.task); },
      [&](const ServeLine& what) {
        // That of any is served with those in order, and after them.
        if (what.line != Line{line_of_any(key.project)}) serve(turn, what.line, key.due);
        // Who was away has lost its place, and nobody else stands there.
        serve_any(turn, key.project, std::nullopt, key.due);
      },
      [&](const TellWaiters& what) { tell_waiters(turn, what.task); },
      [&](const ServeRunner& what) { serve_runner(turn, what.runner, what.after, key.due); });
}

void settle_one(Turn& turn, ProjectNo project) {
  while (turn.may_touch()) {
    const std::optional<DueKey> key = first_due(turn, project);
    if (!key) break;
    look_at(turn, *key);
  }
  arm(turn, project);
}

bool is_due_elsewhere_before(const Turn& turn, const DueKey& key) {
  for (const auto& [deadline, subject] : turn.state().timers.engine) {
    if (deadline.due >= key.due) break;
    if (subject != Subject{Due{key.project}}) return true;
  }
  return false;
}

}  // namespace

void expect(Turn& turn, const DueKey& key) {
  turn.change().board.due.insert(key);
  arm(turn, key.project);
}

void expect_no_more(Turn& turn, const DueKey& key) {
  if (!turn.state().board.due.contains(key)) return;
  turn.change().board.due.erase(key);
  arm(turn, key.project);
}

void settle(Turn& turn, ProjectNo project) {
  settle_one(turn, project);
  if (project != shared_project) settle_one(turn, shared_project);
}

// Those who share a section may be of several projects: what was due earlier on another's board
// comes first, however late the tick.
void due(Turn& turn, const Due& due) {
  while (turn.may_touch()) {
    const std::optional<DueKey> key = first_due(turn, due.project);
    if (!key || is_due_elsewhere_before(turn, *key)) break;
    look_at(turn, *key);
  }
  arm(turn, due.project);
}

}  // namespace reeve::board
