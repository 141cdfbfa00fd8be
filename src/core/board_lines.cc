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
      [](const Nothing& nothing) -> Answer { return nothing.open ? Left::TimedOut : Left::Unfit; },
      [](const HandsFull&) -> Answer { return Left::Unfit; },
      [](const Removed&) -> Answer { return Left::Unfit; });
}

// Whether all who have what is open will do: any task of any section, whichever is free first. In
// order that is so where no section has one; else it is its own runner who has what comes first.
bool wants_any(const Turn& turn, const RunnerName& runner, const Wanted& wanted) {
  const NextTask* next = std::get_if<NextTask>(&wanted);
  if (!next || next->section) return false;
  return !next->in_order || !has_open_section(turn, runner);
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
        if (!nothing.open || !wants_any(turn, runner, wanted)) return std::nullopt;
        return line_of_any(runner.project);
      },
      [](const HandsFull&) -> std::optional<Line> { return std::nullopt; },
      [](const Removed&) -> std::optional<Line> { return std::nullopt; });
}

void finish_wait(Turn& turn, WaiterId id, const Verdict& verdict, Time when) {
  const Waiter waiter = *find_waiter(turn, id);
  remove(turn, id, left_with(verdict));
  const reeve::Reply reply = act(turn, waiter.runner, waiter.wanted, verdict, when);
  turn.answer(id, reply);
  serve_after(turn, waiter.runner, reply, when);
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
  finish_wait(turn, id, verdict, when);
  return true;
}

// Nobody who stands before it could have what it would be given: its runner has that already.
bool waits_for_its_own(const Turn& turn, const Waiter& waiter, Time when) {
  if (const BoardTaskId* id = std::get_if<BoardTaskId>(&waiter.line)) {
    const BoardTask* task = find(turn, *id);
    return task && task->lock && task->lock->runner == waiter.runner &&
           is_good(turn, *task->lock, when);
  }
  const std::optional<SectionName> line = section_of(waiter.line);
  if (line && has_section(turn, *line, waiter.runner, when)) return true;
  const Verdict verdict = look_for(turn, waiter.runner, waiter.wanted, when);
  const CanStart* can = std::get_if<CanStart>(&verdict);
  const HandsFull* full = std::get_if<HandsFull>(&verdict);
  if (!can && !full) return false;
  const std::optional<SectionName>& section = find(turn, can ? can->task : full->task)->section;
  return section && has_section(turn, *section, waiter.runner, when);
}

// A wait ends with what could be had up to then, and not at that moment. Nothing is given to
// somebody who is not there to take it.
void end_wait(Turn& turn, WaiterId id) {
  const Waiter waiter = *find_waiter(turn, id);
  const Time last = waiter.until - Duration{1};
  const Verdict verdict = look_for(turn, waiter.runner, waiter.wanted, last);
  if (session::is_here(turn, waiter.session)) return finish_wait(turn, id, verdict, last);
  remove(turn, id, Left::TimedOut);
  turn.answer(id, {WaitEnded{Left::TimedOut}});
}

std::optional<WaiterId> first_in_order(const Turn& turn, ProjectNo project) {
  const PersistentSet<OrderWaiter>& waiters = turn.state().board.order_waiters;
  const auto first = waiters.lower_bound({project, {}});
  if (first == waiters.end() || (*first).project != project) return std::nullopt;
  return (*first).waiter;
}

// In the line of those who take any it is its first who is given something. One behind him who has
// to wait for a section by now belongs in the line of that.
bool is_behind_others_of_any(const Turn& turn, WaiterId id, Time when) {
  const Waiter& waiter = *find_waiter(turn, id);
  if (waiter.line != Line{line_of_any(waiter.runner.project)}) return false;
  if (head_of(turn, waiter.line) == id) return false;
  const Verdict verdict = look_for(turn, waiter.runner, waiter.wanted, when);
  return !line_for(turn, waiter.runner, waiter.wanted, verdict);
}

// Those who take the sections in order, wherever they stand.
void serve_in_order(Turn& turn, ProjectNo project, Time when) {
  while (const std::optional<WaiterId> first = first_in_order(turn, project)) {
    const WaiterId head = *first;
    if (!turn.may_touch()) {
      // Whoever serves that line serves these too.
      return expect(turn, {project, when, ServeLine{line_of_any(project)}});
    }
    turn.touch();
    if (find_waiter(turn, head)->until <= when) {
      end_wait(turn, head);
      continue;
    }
    // Its turn comes when it is back (came_back), or goes to the next when it is not.
    if (!session::is_here(turn, find_waiter(turn, head)->session)) return;
    if (is_behind_others_of_any(turn, head, when)) return;
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

reeve::Reply wait_in_line(Turn& turn,
                          const RunnerName& runner,
                          const Wanted& wanted,
                          const Verdict& verdict,
                          const Wait& wait) {
  const std::optional<Line> line = line_for(turn, runner, wanted, verdict);
  if (!line) return act(turn, runner, wanted, verdict, turn.now());
  if (count_held(turn, runner) >= most_held) return refused(Why::OverLimit, "held");
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
      return expect(turn, {project_of(turn, line), when, ServeLine{line}});
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
  }
}

void serve_runner(Turn& turn, const RunnerName& runner, WaiterId after, Time when) {
  while (true) {
    const PersistentSet<RunnerWaiter>& waiters = turn.state().board.runner_waiters;
    const auto next = waiters.upper_bound({runner, after});
    if (next == waiters.end() || (*next).runner != runner) return;
    if (!turn.may_touch()) {
      return expect(turn, {runner.project, when, ServeRunner{runner, after}});
    }
    after = (*next).waiter;
    turn.touch();
    const Waiter& waiter = *find_waiter(turn, after);
    // One that is over is told by its own deadline, one that is away when it comes back.
    if (waiter.until <= when || !session::is_here(turn, waiter.session)) continue;
    if (waits_for_its_own(turn, waiter, when)) try_to_serve(turn, after, when);
  }
}

void serve_after(Turn& turn, const RunnerName& runner, const reeve::Reply& given, Time when) {
  const Reply* reply = std::get_if<Reply>(&given.value);
  const Started* started = reply ? std::get_if<Started>(reply) : nullptr;
  if (!started) return;
  const bool is_new = started->section_token ? started->took_section : started->took_task;
  if (is_new) serve_runner(turn, runner, {}, when);
}

// The first of them can start whatever is free, but for what somebody in order waits for: he stands
// in the line of a section, and that need not be the one that is free now. Of a section that
// somebody has it is that runner who can, wherever it stands.
void serve_any(Turn& turn, ProjectNo project, const std::optional<SectionName>& where, Time when) {
  const auto head = [&](ProjectNo one) { return first_in_order(turn, one); };
  for (const ProjectNo one : concerned(turn, project, where, head)) {
    serve_in_order(turn, one, when);
  }
  const Section* section = where ? find(turn, *where) : nullptr;
  // A copy of the name: where it stands may change.
  if (section && section->lock) serve_runner(turn, RunnerName(section->lock->runner), {}, when);
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
  // What it stood for may be another project's: a task has but one id in all of them.
  const ProjectNo project = project_of(turn, waiter.line);
  const std::optional<SectionName> section = section_of(waiter.line);
  serve_any(turn, project, section, waiter.until);
}

bool end_waits(Turn& turn, const Line& line, Time when) {
  while (const std::optional<WaiterId> head = head_of(turn, line)) {
    if (find_waiter(turn, *head)->until > when) return true;
    if (!turn.may_touch()) return false;
    turn.touch();
    end_wait(turn, *head);
  }
  return true;
}

void leave(Turn& turn, WaiterId id, Left left) {
  const Waiter* waiter = find_waiter(turn, id);
  if (!waiter) return;
  const Line line = waiter->line;
  const ProjectNo project = project_of(turn, line);
  remove(turn, id, left);
  turn.answer(id, {WaitEnded{left}});
  serve(turn, line, turn.now());
  serve_any(turn, project, section_of(line), turn.now());
}

void came_back(Turn& turn, WaiterId id) {
  const Waiter* waiter = find_waiter(turn, id);
  if (!waiter) return;
  const Line line = waiter->line;
  const ProjectNo project = project_of(turn, line);
  if (!turn.may_touch()) {
    const ServeRunner rest{waiter->runner, {id.value - 1}};
    const DueKey look{rest.runner.project, turn.now(), rest};
    const DueKey first{look.project, look.due, ServeRunner{rest.runner, {}}};
    // One that begins before it looks at it, too: each of a thousand need not look at all behind
    // it.
    const auto before = turn.state().board.due.lower_bound(first);
    if (before == turn.state().board.due.end() || look < *before) expect(turn, look);
    return expect(turn, {project, turn.now(), ServeLine{line}});
  }
  serve(turn, line, turn.now());
  // What its runner got meanwhile is there for it, wherever it stands.
  const Waiter* still = find_waiter(turn, id);
  if (still && waits_for_its_own(turn, *still, turn.now())) try_to_serve(turn, id, turn.now());
  // What was kept for it, and it did not take.
  serve_any(turn, project, section_of(line), turn.now());
}

// Only what was new: the task may have been the runner's before, and so the section. A section in
// which he has begun something else meanwhile stays his, and so does a task that he was told of
// elsewhere.
void take_back(Turn& turn, const Started& started) {
  if (const BoardTask* before = find(turn, started.task)) settle(turn, before->project);
  const BoardTask* task = find(turn, started.task);
  if (!task || !task->lock || task->lock->lease.token != started.token) return;
  if (!started.took_task || task->lock->lease.confirmed) return;
  const RunnerName runner = task->lock->runner;
  const std::optional<SectionName> section = task->section;
  on_task(turn, started.task, PutBack{started.task, runner, started.token});
  if (!section || !started.took_section) return;
  const Section* held = find(turn, *section);
  if (!held || !held->lock || held->lock->lease.token != started.section_token) return;
  on(turn, LetGo{*section, runner});
}

}  // namespace reeve::board
