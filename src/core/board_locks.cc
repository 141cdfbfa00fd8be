#include "base/match.h"
#include "core/board_detail.h"
#include "core/names.h"

#include <algorithm>

namespace reeve::board {
namespace {

Time limit(const Turn& turn, const Tenure& tenure) {
  return limit_of(tenure.lease, turn.leases_from()).value_or(Time::max());
}

Tenure tenure_for(Turn& turn, const RunnerName& runner, Duration timeout) {
  Tenure tenure;
  tenure.runner = runner;
  tenure.lease = {turn.next_token(), turn.now(), turn.now(), timeout, std::nullopt};
  tenure.due = *over_at(tenure.lease, turn.leases_from());
  return tenure;
}

// Of the runner that has it.
void sign_of_life(Turn& turn, const SectionName& name) {
  const Tenure before = *find(turn, name)->lock;
  Tenure& lock = *edit(turn, name).lock;
  lock.lease.last_sign = turn.now();
  lock.lease.confirmed = true;
  const Time last = limit(turn, lock);
  if (last > limit(turn, before)) {
    turn.emit(name.project, SectionExtended{name, before.runner, last});
  }
}

// The runner has the section now, under the lease it had or a new one; whether it is new.
bool take_section(Turn& turn, const SectionName& name, const RunnerName& runner, Time when) {
  const Section& section = *find(turn, name);
  if (has_section(turn, name, runner, when)) {
    sign_of_life(turn, name);
    return false;
  }
  if (section.lock) {
    const Tenure before = *section.lock;
    // Over at this very moment: its own timer is one of those that come next.
    if (!before.expired) turn.emit(name.project, SectionExpired{name, before.runner});
    if (before.runner != runner) lose(turn, before.runner);
    unlock(turn, name);
  }
  // What is shared is no project's, and nobody could set for how long it is kept.
  const ProjectNo says = name.project == shared_project ? runner.project : name.project;
  const Tenure tenure = tenure_for(turn, runner, locking_of(turn, says).section_timeout);
  edit(turn, name).lock = tenure;
  turn.change().board.held.insert({runner, name});
  expect(turn, {name.project, tenure.due, SectionLease{name}});
  turn.emit(name.project, SectionTaken{name, runner, tenure.lease.token, limit(turn, tenure)});
  return true;
}

// At the latest then it is given to whoever it is kept for, or to the next.
Time kept_at_most(const Turn& turn, const Waiter& head, Time when) {
  const session::Session* away = turn.state().sessions.sessions.find(head.session);
  if (!away || !away->awaited_until) return when;
  return std::max(when, std::min(*away->awaited_until, head.until));
}

// A section that was held by its tasks alone may be over sooner without this one.
void look_sooner(Turn& turn, const SectionName& name) {
  const std::optional<Time> limit = section_limit(turn.state().board, name, turn.leases_from());
  if (!limit) return;
  const Time over = saturating_add(*limit, Duration{1});
  const Tenure& lock = *find(turn, name)->lock;
  if (lock.expired || over >= lock.due) return;
  expect_no_more(turn, {name.project, lock.due, SectionLease{name}});
  edit(turn, name).lock->due = over;
  expect(turn, {name.project, over, SectionLease{name}});
}

}  // namespace

bool is_good(const Turn& turn, const Tenure& tenure) { return is_good(turn, tenure, turn.now()); }

bool is_good(const Turn& turn, const Tenure& tenure, Time when) {
  return !tenure.expired && !is_over(tenure.lease, turn.leases_from(), when);
}

std::optional<Time> section_limit(const Table& table, const SectionName& name, Time leases_from) {
  const Section* section = table.sections.find(name);
  if (!section || !section->lock) return std::nullopt;
  if (section->lock->expired) return Time::min();
  Time last = limit_of(section->lock->lease, leases_from).value_or(Time::max());
  for (auto at = table.held_in_section.lower_bound({name, {}});
       at != table.held_in_section.end() && (*at).section == name;
       ++at) {
    const Tenure& lock = *table.tasks.find((*at).task)->lock;
    // A task that was lost, be it by an earlier runner of the section, does not hold it.
    if (lock.expired || lock.runner != section->lock->runner) continue;
    last = std::max(last, limit_of(lock.lease, leases_from).value_or(Time::max()));
  }
  return last;
}

bool has_section(const Turn& turn, const SectionName& name, const RunnerName& runner, Time when) {
  const Section* section = find(turn, name);
  return section && section->lock && section->lock->runner == runner &&
         when <= *section_limit(turn.state().board, name, turn.leases_from());
}

const Waiter* awaited_head(const Turn& turn, const Line& line, const RunnerName& runner) {
  const PersistentSet<LinePlace>& lines = turn.state().board.lines;
  const auto first = lines.lower_bound({line, {}});
  if (first == lines.end() || (*first).line != line) return nullptr;
  const Waiter& head = *turn.state().board.waiters.find((*first).waiter);
  // One that is here is served at once, unless the step had no room for it: the next will. Of those
  // who take any task, whoever is here may have looked in vain.
  const bool is_of_any = line == line_of_any(head.runner.project);
  const bool is_kept =
      head.runner != runner && (!is_of_any || !session::is_here(turn, head.session));
  return is_kept ? &head : nullptr;
}

std::optional<SectionLocked> held_by_another(const Turn& turn,
                                             const SectionName& name,
                                             const RunnerName& runner,
                                             Time when) {
  const Section* section = find(turn, name);
  if (section && section->lock) {
    const Time last = *section_limit(turn.state().board, name, turn.leases_from());
    if (when <= last) {
      if (section->lock->runner == runner) return std::nullopt;
      return SectionLocked{name, section->lock->runner, last};
    }
  }
  if (const Waiter* head = awaited_head(turn, name, runner)) {
    return SectionLocked{name, head->runner, kept_at_most(turn, *head, when)};
  }
  return std::nullopt;
}

Verdict may_start(const Turn& turn, BoardTaskId id, const RunnerName& runner, Time when) {
  const BoardTask* const found = find(turn, id);
  if (!found) return Removed{id};  // and its waiter is still to be told (tell_waiters)
  const BoardTask& task = *found;
  if (!is_open(task.status)) return TaskFinished{id, task.status};
  if (task.lock && is_good(turn, *task.lock, when)) {
    if (task.lock->runner == runner) return CanStart{id};
    return TaskLocked{id, task.lock->runner, limit(turn, *task.lock)};
  }
  if (task.section) {
    if (const auto locked = held_by_another(turn, *task.section, runner, when)) return *locked;
  } else if (const Waiter* head = awaited_head(turn, id, runner)) {
    return TaskLocked{id, head->runner, kept_at_most(turn, *head, when)};
  }
  return CanStart{id};
}

Started take(Turn& turn, BoardTaskId id, const RunnerName& runner, Time when) {
  see(turn, runner);
  Started started;
  started.task = id;
  if (const std::optional<SectionName> section = find(turn, id)->section) {
    started.took_section = take_section(turn, *section, runner, when);
    started.section_token = find(turn, *section)->lock->lease.token;
  }
  const std::optional<Tenure> before = find(turn, id)->lock;
  if (before && before->runner == runner && is_good(turn, *before, when)) {
    started.token = before->lease.token;
    started.expires_at = extend_task(turn, id);
    return started;
  }

  started.took_task = true;
  const ProjectNo project = find(turn, id)->project;
  if (before) {
    if (!before->expired) turn.emit(project, HasExpired{id, before->runner});
    unlock(turn, id);
  }
  const Tenure tenure = tenure_for(turn, runner, locking_of(turn, project).task_timeout);
  Table& table = turn.change().board;
  table.ready.erase(ready_key(id, *table.tasks.find(id)));
  BoardTask& task = edit(turn, id);
  task.status = Status::InProgress;
  task.lock = tenure;
  table.held.insert({runner, id});
  if (task.section) table.held_in_section.insert({*task.section, id});
  expect(turn, {project, tenure.due, TaskLease{id}});
  started.token = tenure.lease.token;
  started.expires_at = limit(turn, tenure);
  if (before) {
    started.claimed_from = before->runner;
    if (before->runner != runner) lose(turn, before->runner);
    turn.emit(
        project,
        WasClaimed{
            id, before->runner, runner, started.token, started.expires_at, started.section_token});
  } else {
    turn.emit(project,
              WasStarted{id, runner, started.token, started.expires_at, started.section_token});
  }
  return started;
}

void see(Turn& turn, const RunnerName& name) {
  const bool is_new = !turn.state().board.runners.contains(name);
  Runner& runner = turn.change().board.runners.edit_or_insert(name);
  runner.last_seen = turn.now();
  if (!is_new) return;
  runner.due = saturating_add(turn.now(), limits::finished_kept_for);
  const Time due = runner.due;
  ++edit(turn, name.project).runners;
  expect(turn, {name.project, due, RunnerSilence{name}});
}

void lose(Turn& turn, const RunnerName& name) {
  if (Runner* runner = turn.change().board.runners.edit(name)) ++runner->taken;
}

void unlock(Turn& turn, BoardTaskId id) {
  const BoardTask& task = *find(turn, id);
  if (!task.lock) return;
  const Tenure lock = *task.lock;
  const std::optional<SectionName> section = task.section;
  expect_no_more(turn, {task.project, lock.due, TaskLease{id}});
  Table& table = turn.change().board;
  table.held.erase({lock.runner, id});
  if (section) table.held_in_section.erase({*section, id});
  edit(turn, id).lock.reset();
  if (section) look_sooner(turn, *section);
}

void mark_expired(Turn& turn, BoardTaskId id) {
  const BoardTask& task = *find(turn, id);
  const ProjectNo project = task.project;
  const Tenure lock = *task.lock;
  expect_no_more(turn, {project, lock.due, TaskLease{id}});
  turn.change().board.ready.insert(ready_key(id, task));
  edit(turn, id).lock->expired = true;
  turn.emit(project, HasExpired{id, lock.runner});
}

// What its runner still has in it is over, be it that nobody has said so yet: a later start of the
// daemon, from which leases count anew, must not make it good again beside the next one's.
void unlock(Turn& turn, const SectionName& name) {
  const Section& section = *find(turn, name);
  if (!section.lock) return;
  const Tenure lock = *section.lock;
  const PersistentSet<InSectionKey> held = turn.state().board.held_in_section;
  for (auto at = held.lower_bound({name, {}}); at != held.end() && (*at).section == name; ++at) {
    const Tenure& task = *find(turn, (*at).task)->lock;
    if (task.runner != lock.runner || task.expired) continue;
    turn.touch();
    mark_expired(turn, (*at).task);
  }
  expect_no_more(turn, {name.project, lock.due, SectionLease{name}});
  turn.change().board.held.erase({lock.runner, name});
  edit(turn, name).lock.reset();
}

void set_status(Turn& turn, BoardTaskId id, Status status) {
  if (status != Status::InProgress) unlock(turn, id);
  Table& table = turn.change().board;
  BoardTask& task = edit(turn, id);
  const bool was_open = is_open(task.status);
  const bool opens = is_open(status);
  task.status = status;
  const ReadyKey key = ready_key(id, task);
  const std::optional<SectionName> section = task.section;
  const ProjectNo project = task.project;
  if (was_open && !opens) {
    task.ended_at = turn.now();
    table.ready.erase(key);
    if (section) count_open(turn, *section, false);
    --edit(turn, project).open;
    ++edit(turn, project).finished;
    table.ended.insert({project, turn.now(), id});
    expect(turn, {project, saturating_add(turn.now(), limits::finished_kept_for), Forget{id}});
    if (table.projects.find(project)->finished > limits::finished_kept) {
      auto oldest = table.ended.lower_bound({project, Time::min(), {}});
      if (oldest->task == id) ++oldest;
      return forget(turn, BoardTaskId(oldest->task));
    }
  } else if (!was_open && opens) {
    const Time ended_at = *std::exchange(task.ended_at, std::nullopt);
    table.ended.erase({project, ended_at, id});
    expect_no_more(turn,
                   {project, saturating_add(ended_at, limits::finished_kept_for), Forget{id}});
    if (section) count_open(turn, *section, true);
    ++edit(turn, project).open;
    --edit(turn, project).finished;
  }
  if (status == Status::Pending) table.ready.insert(key);
}

Time extend_task(Turn& turn, BoardTaskId id) {
  const Tenure before = *find(turn, id)->lock;
  Tenure& lock = *edit(turn, id).lock;
  lock.lease.last_sign = turn.now();
  lock.lease.confirmed = true;
  const Time last = limit(turn, lock);
  const bool is_longer = last > limit(turn, before);
  if (is_longer) turn.emit(find(turn, id)->project, WasExtended{id, before.runner, last});
  return last;
}

void extend_section(Turn& turn, const SectionName& name, const RunnerName& runner) {
  if (has_section(turn, name, runner, turn.now())) sign_of_life(turn, name);
}

void release_if_done(Turn& turn, const std::optional<SectionName>& name) {
  if (!name) return;
  const Section* section = find(turn, *name);
  if (!section || !section->lock || section->open > 0) return;
  const RunnerName runner = section->lock->runner;
  unlock(turn, *name);
  turn.emit(name->project, SectionReleased{*name, runner});
}

void forget(Turn& turn, BoardTaskId id) {
  const BoardTask task = *find(turn, id);
  unlock(turn, id);
  Table& table = turn.change().board;
  table.titles.erase({task.project, task.title, id});
  table.ready.erase(ready_key(id, task));
  if (task.ended_at) {
    table.ended.erase({task.project, *task.ended_at, id});
    expect_no_more(
        turn,
        {task.project, saturating_add(*task.ended_at, limits::finished_kept_for), Forget{id}});
    --edit(turn, task.project).finished;
  } else {
    if (task.section) count_open(turn, *task.section, false);
    --edit(turn, task.project).open;
  }
  table.tasks.erase(id);
}

}  // namespace reeve::board
