#include "base/match.h"
#include "core/board_detail.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace reeve::board {
namespace {

const Waiter* find_waiter(const Turn& turn, WaiterId waiter) {
  return turn.state().board.waiters.find(waiter);
}

ProjectNo project_of(const Turn& turn, const Line& line) {
  return match(
      line,
      [](const SectionName& section) { return section.project; },
      [&](const BoardTaskId& id) {
        const BoardTask* task = find(turn, id);
        return task ? task->project : shared_project;
      });
}

std::optional<WaiterId> head_of(const Turn& turn, const Line& line) {
  const PersistentSet<LinePlace>& lines = turn.state().board.lines;
  const auto first = lines.lower_bound({line, {}});
  if (first == lines.end() || (*first).line != line) return std::nullopt;
  return (*first).waiter;
}

// Out of every line, and told of: whatever follows from it comes after.
void remove(Turn& turn, WaiterId id, std::optional<Left> left) {
  const Waiter waiter = *find_waiter(turn, id);
  Table& table = turn.change().board;
  table.lines.erase({waiter.line, id});
  table.runner_waiters.erase({waiter.runner, id});
  match(
      waiter.wanted,
      [&](const ThisTask& wanted) { table.task_waiters.erase({wanted.task, id}); },
      [&](const NextTask& wanted) {
        if (wanted.in_order) table.order_waiters.erase({waiter.runner.project, id});
      });
  table.waiters.erase(id);
  expect_no_more(turn, {waiter.runner.project, waiter.until, WaitEnd{id}});
  if (waiter.session) session::unbind(turn, waiter.session, session::WaiterPlace{id});
  turn.emit(waiter.runner.project, StoppedWaiting{waiter.runner, waiter.line, id, left});
}

// How a wait ends to which this is said at last.
std::optional<Left> left_with(const Verdict& verdict) {
  using Answer = std::optional<Left>;
  return match(
      verdict,
      [](const CanStart&) -> Answer { return std::nullopt; },
      [](const TaskLocked&) -> Answer { return Left::TimedOut; },
      [](const SectionLocked&) -> Answer { return Left::TimedOut; },
      [](const TaskFinished&) -> Answer { return Left::Unfit; },
      [](const Nothing& nothing) -> Answer { return nothing.open ? Left::TimedOut : Left::Unfit; });
}

// Any task of any section, whichever is free first.
bool wants_any(const Wanted& wanted) {
  const NextTask* next = std::get_if<NextTask>(&wanted);
  return next && !next->section && !next->in_order;
}

// The section in whose line one stands, if it is one.
std::optional<SectionName> section_of(const Line& line) {
  const SectionName* section = std::get_if<SectionName>(&line);
  if (!section || section->name.empty()) return std::nullopt;
  return *section;
}

// Whose runners may take what is free there, of those for whom `head` knows somebody that waits:
// who has waited for longest comes first. What is shared is for the runners of every project.
template <class Head>
std::vector<ProjectNo> concerned(const Turn& turn,
                                 ProjectNo project,
                                 const std::optional<SectionName>& where,
                                 const Head& head) {
  const bool is_shared = project == shared_project || (where && where->project == shared_project);
  if (!is_shared) return {project};
  std::vector<std::pair<WaiterId, ProjectNo>> heads;
  for (const auto& [number, one] : turn.state().projects.projects) {
    if (const std::optional<WaiterId> first = head(number)) heads.emplace_back(*first, number);
  }
  std::ranges::sort(heads);
  std::vector<ProjectNo> projects;
  projects.reserve(heads.size());
  for (const auto& [waiter, number] : heads) projects.push_back(number);
  return projects;
}

// In whose line one stands who was given this verdict; none if there is nothing to wait for.
std::optional<Line> line_for(const Turn& turn,
                             const RunnerName& runner,
                             const Wanted& wanted,
                             const Verdict& verdict) {
  return match(
      verdict,
      [](const CanStart&) -> std::optional<Line> { return std::nullopt; },
      [&](const TaskLocked& locked) -> std::optional<Line> {
        return line_of(locked.task, *find(turn, locked.task));
      },
      [](const SectionLocked& locked) -> std::optional<Line> { return locked.section; },
      [](const TaskFinished&) -> std::optional<Line> { return std::nullopt; },
      [&](const Nothing& nothing) -> std::optional<Line> {
        if (!nothing.open || !wants_any(wanted)) return std::nullopt;
        return line_of_any(runner.project);
      });
}

// Whether the waiter has its answer. One whose way is barred elsewhere now stands there.
bool try_to_serve(Turn& turn, WaiterId id, Time when) {
  const Waiter waiter = *find_waiter(turn, id);
  const Verdict verdict = look_for(turn, waiter.runner, waiter.wanted, when);
  if (const auto line = line_for(turn, waiter.runner, waiter.wanted, verdict)) {
    if (*line == waiter.line) return false;
    Table& table = turn.change().board;
    table.lines.erase({waiter.line, id});
    table.lines.insert({*line, id});
    table.waiters.edit(id)->line = *line;
    return true;
  }
  remove(turn, id, left_with(verdict));
  turn.answer(id, act(turn, waiter.runner, waiter.wanted, verdict, when));
  return true;
}

// Who has just got in may have asked for more than one task of the section.
void serve_runner(Turn& turn, const RunnerName& runner, const Line& line, Time when) {
  WaiterId after;
  while (turn.may_touch()) {
    const PersistentSet<RunnerWaiter>& waiters = turn.state().board.runner_waiters;
    const auto next = waiters.upper_bound({runner, after});
    if (next == waiters.end() || (*next).runner != runner) return;
    after = (*next).waiter;
    turn.touch();
    const Waiter& waiter = *find_waiter(turn, after);
    if (waiter.line != line || waiter.until <= when) continue;
    if (session::is_here(turn, waiter.session)) try_to_serve(turn, after, when);
  }
}

// A wait ends with what could be had up to then, and not at that moment. Nothing is given to
// somebody who is not there to take it.
void end_wait(Turn& turn, WaiterId id) {
  const Waiter waiter = *find_waiter(turn, id);
  const Time last = waiter.until - Duration{1};
  const Verdict verdict = look_for(turn, waiter.runner, waiter.wanted, last);
  const bool is_here = session::is_here(turn, waiter.session);
  remove(turn, id, is_here ? left_with(verdict) : Left::TimedOut);
  turn.answer(id,
              is_here ? act(turn, waiter.runner, waiter.wanted, verdict, last)
                      : reeve::Reply{WaitEnded{Left::TimedOut}});
}

// The first ready task of a place: with a section, only if no other has it.
std::optional<BoardTaskId> first_ready(const Turn& turn, const SectionName& place) {
  const PersistentSet<ReadyKey>& ready = turn.state().board.ready;
  const auto first = ready.lower_bound({place, 0, {}});
  if (first == ready.end() || (*first).place != place) return std::nullopt;
  return (*first).task;
}

Verdict next_of_section(const Turn& turn,
                        const RunnerName& runner,
                        const SectionName& name,
                        Time when) {
  const Section* section = find(turn, name);
  if (!section || section->open == 0) return Nothing{};
  if (const auto locked = held_by_another(turn, name, runner, when)) return *locked;
  if (const auto task = first_ready(turn, name)) return CanStart{*task};
  return Nothing{true};
}

std::optional<BoardTaskId> of_own_sections(const Turn& turn, const RunnerName& runner) {
  const PersistentSet<HeldKey>& held = turn.state().board.held;
  for (auto at = held.lower_bound({runner, SectionName{}});
       at != held.end() && (*at).runner == runner;
       ++at) {
    const SectionName* section = std::get_if<SectionName>(&(*at).what);
    if (!section) continue;
    if (const auto task = first_ready(turn, *section)) return task;
  }
  return std::nullopt;
}

// The sections of its own project come first, then those that are shared.
Verdict next_of_all(const Turn& turn, const RunnerName& runner, bool in_order, Time when) {
  const Table& table = turn.state().board;
  if (const auto task = of_own_sections(turn, runner)) return CanStart{*task};
  bool open = false;
  for (const ProjectNo project : {runner.project, shared_project}) {
    for (auto at = table.open_sections.lower_bound({project, 0, {}});
         at != table.open_sections.end() && (*at).project == project;
         ++at) {
      const Verdict verdict = next_of_section(turn, runner, {project, (*at).name}, when);
      if (std::holds_alternative<CanStart>(verdict)) return verdict;
      const Nothing* nothing = std::get_if<Nothing>(&verdict);
      if (nothing && !nothing->open) continue;
      if (in_order) return verdict;
      open = true;
    }
  }
  if (const auto task = first_ready(turn, {runner.project, ""})) return CanStart{*task};
  const Project* project = table.projects.find(runner.project);
  return Nothing{open || (project && project->open > 0)};
}

std::optional<WaiterId> first_in_order(const Turn& turn, ProjectNo project) {
  const PersistentSet<OrderWaiter>& waiters = turn.state().board.order_waiters;
  const auto first = waiters.lower_bound({project, {}});
  if (first == waiters.end() || (*first).project != project) return std::nullopt;
  return (*first).waiter;
}

void serve_in_order_of(Turn& turn, ProjectNo project, Time when) {
  while (turn.may_touch()) {
    const std::optional<WaiterId> first = first_in_order(turn, project);
    if (!first) return;
    const WaiterId head = *first;
    turn.touch();
    if (find_waiter(turn, head)->until <= when) {
      end_wait(turn, head);
      continue;
    }
    // Its turn comes when it is back (came_back), or goes to the next when it is not.
    if (!session::is_here(turn, find_waiter(turn, head)->session)) return;
    try_to_serve(turn, head, when);
    if (find_waiter(turn, head)) return;
  }
}

}  // namespace

Line line_of(BoardTaskId id, const BoardTask& task) {
  if (task.section) return *task.section;
  return id;
}

Line line_of_any(ProjectNo project) { return SectionName{project, ""}; }

std::vector<Line> lines_of_any(const Turn& turn,
                               ProjectNo project,
                               const std::optional<SectionName>& where) {
  const auto head = [&](ProjectNo one) { return head_of(turn, line_of_any(one)); };
  std::vector<Line> lines;
  for (const ProjectNo one : concerned(turn, project, where, head)) {
    lines.push_back(line_of_any(one));
  }
  return lines;
}

Verdict look_for(const Turn& turn, const RunnerName& runner, const Wanted& wanted, Time when) {
  return match(
      wanted,
      [&](const ThisTask& it) { return may_start(turn, it.task, runner, when); },
      [&](const NextTask& it) {
        return it.section ? next_of_section(turn, runner, *it.section, when)
                          : next_of_all(turn, runner, it.in_order, when);
      });
}

reeve::Reply act(
    Turn& turn, const RunnerName& runner, const Wanted& wanted, const Verdict& verdict, Time when) {
  return match(
      verdict,
      [&](const CanStart& can) -> reeve::Reply {
        const NextTask* next = std::get_if<NextTask>(&wanted);
        if (next && !next->start) return {Found{can.task}};
        return {take(turn, can.task, runner, when)};
      },
      [](const TaskLocked& locked) -> reeve::Reply { return {locked}; },
      [](const SectionLocked& locked) -> reeve::Reply { return {locked}; },
      [](const TaskFinished& finished) -> reeve::Reply { return {finished}; },
      [](const Nothing& nothing) -> reeve::Reply { return {nothing}; });
}

reeve::Reply wait_in_line(Turn& turn,
                          const RunnerName& runner,
                          const Wanted& wanted,
                          const Verdict& verdict,
                          const Wait& wait) {
  const std::optional<Line> line = line_for(turn, runner, wanted, verdict);
  if (!line) return act(turn, runner, wanted, verdict, turn.now());
  if (turn.state().board.waiters.size() >= limits::waiters_a_line) {
    return refused(Why::OverLimit, "waiters");
  }
  if (!session::has_room(turn.state(), turn.session())) {
    return refused(Why::OverLimit, "sessions");
  }
  see(turn, runner);
  const WaiterId id = turn.next_id<WaiterId>();
  const Duration at_most = std::max(
      Duration::zero(), wait.at_most.value_or(locking_of(turn, runner.project).wait_timeout));
  const Waiter waiter{
      runner, wanted, *line, turn.session(), turn.now(), saturating_add(turn.now(), at_most)};
  Table& table = turn.change().board;
  table.waiters.set(id, waiter);
  table.lines.insert({*line, id});
  table.runner_waiters.insert({runner, id});
  match(
      wanted,
      [&](const ThisTask& it) { table.task_waiters.insert({it.task, id}); },
      [&](const NextTask& it) {
        if (it.in_order) table.order_waiters.insert({runner.project, id});
      });
  expect(turn, {runner.project, waiter.until, WaitEnd{id}});
  if (waiter.session) session::bind(turn, waiter.session, session::WaiterPlace{id});
  turn.emit(runner.project, IsWaiting{runner, *line, id});
  return {Waiting{id}};
}

void serve(Turn& turn, const Line& line, Time when) {
  while (const std::optional<WaiterId> head = head_of(turn, line)) {
    const Waiter waiter = *find_waiter(turn, *head);
    if (!turn.may_touch()) {
      return expect(turn, {project_of(turn, line), turn.now(), ServeLine{line}});
    }
    turn.touch();
    // Nobody has told it yet.
    if (waiter.until <= when) {
      end_wait(turn, *head);
      continue;
    }
    // A line waits for its head to come back after a restart, but not for longer than that.
    if (!session::is_here(turn, waiter.session)) {
      const Time later = saturating_add(turn.now(), limits::session_return);
      return expect(turn, {project_of(turn, line), later, ServeLine{line}});
    }
    if (!try_to_serve(turn, *head, when)) return;
    serve_runner(turn, waiter.runner, line, when);
  }
}

// There is something new to start: those who take the sections in order may want it.
void serve_in_order(Turn& turn,
                    ProjectNo project,
                    const std::optional<SectionName>& where,
                    Time when) {
  const auto head = [&](ProjectNo one) { return first_in_order(turn, one); };
  for (const ProjectNo one : concerned(turn, project, where, head)) {
    serve_in_order_of(turn, one, when);
  }
}

// The first of them can start whatever is free. Of a section that somebody has it is that runner
// who can, wherever it stands.
void serve_any(Turn& turn, ProjectNo project, const std::optional<SectionName>& where, Time when) {
  const Section* section = where ? find(turn, *where) : nullptr;
  if (section && section->lock) {
    const RunnerName runner = section->lock->runner;
    serve_runner(turn, runner, line_of_any(runner.project), when);
  }
  for (const Line& line : lines_of_any(turn, project, where)) serve(turn, line, when);
}

// The task has ended, or is gone.
void tell_waiters(Turn& turn, BoardTaskId id) {
  const BoardTask* task = find(turn, id);
  if (task && is_open(task->status)) return;
  const ProjectNo project = task ? task->project : shared_project;
  while (true) {
    const PersistentSet<TaskWaiter>& waiters = turn.state().board.task_waiters;
    const auto first = waiters.lower_bound({id, {}});
    if (first == waiters.end() || (*first).task != id) return;
    const WaiterId waiter = (*first).waiter;
    if (!turn.may_touch()) return expect(turn, {project, turn.now(), TellWaiters{id}});
    turn.touch();
    remove(turn, waiter, Left::Unfit);
    turn.answer(waiter,
                task ? reeve::Reply{TaskFinished{id, find(turn, id)->status}}
                     : refused(Why::NotFound, to_text(id)));
  }
}

void wait_is_over(Turn& turn, WaiterId id) {
  const Waiter waiter = *find_waiter(turn, id);
  end_wait(turn, id);
  serve(turn, waiter.line, waiter.until);
  const std::optional<SectionName> section = section_of(waiter.line);
  serve_in_order(turn, waiter.runner.project, section, waiter.until);
  serve_any(turn, waiter.runner.project, section, waiter.until);
}

void end_waits(Turn& turn, const Line& line, Time when) {
  while (const std::optional<WaiterId> head = head_of(turn, line)) {
    if (!turn.may_touch() || find_waiter(turn, *head)->until > when) return;
    turn.touch();
    end_wait(turn, *head);
  }
}

void leave(Turn& turn, WaiterId id, Left left) {
  const Waiter* waiter = find_waiter(turn, id);
  if (!waiter) return;
  const Line line = waiter->line;
  const ProjectNo project = waiter->runner.project;
  remove(turn, id, left);
  turn.answer(id, {WaitEnded{left}});
  serve(turn, line, turn.now());
  serve_in_order(turn, project, section_of(line), turn.now());
  serve_any(turn, project, section_of(line), turn.now());
}

void came_back(Turn& turn, WaiterId id) {
  const Waiter* waiter = find_waiter(turn, id);
  if (!waiter) return;
  const Line line = waiter->line;
  const ProjectNo project = waiter->runner.project;
  serve(turn, line, turn.now());
  serve_in_order(turn, project, section_of(line), turn.now());
}

// Only what was new: the task may have been the runner's before, and so the section. A section in
// which he has begun something else meanwhile stays his.
void take_back(Turn& turn, const Started& started) {
  if (const BoardTask* before = find(turn, started.task)) settle(turn, before->project);
  const BoardTask* task = find(turn, started.task);
  if (!task || !task->lock || task->lock->lease.token != started.token) return;
  if (!started.took_task) return;
  const RunnerName runner = task->lock->runner;
  const std::optional<SectionName> section = task->section;
  on_task(turn, started.task, PutBack{started.task, runner, started.token});
  if (!section || !started.took_section) return;
  const Section* held = find(turn, *section);
  if (!held || !held->lock || held->lock->lease.token != started.section_token) return;
  on(turn, LetGo{*section, runner});
}

}  // namespace reeve::board
