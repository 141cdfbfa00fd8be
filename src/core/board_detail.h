#pragma once

#include "core/board.h"
#include "core/turn.h"

// What the parts of core/board share with each other and with nobody else.
namespace reeve::board {

inline constexpr std::size_t most_notes = 100;         // a task
inline constexpr std::uint64_t most_runners = 10'000;  // a project
// By a runner, tasks and sections together: one heartbeat is one step.
inline constexpr std::size_t most_held = 256;

// ── Looking, and small steps (board_kit.cc) ──

const BoardTask* find(const Turn& turn, BoardTaskId task);
const Section* find(const Turn& turn, const SectionName& section);
BoardTask& edit(Turn& turn, BoardTaskId task);
Section& edit(Turn& turn, const SectionName& section);
Project& edit(Turn& turn, ProjectNo project);
Locking locking_of(const Turn& turn, ProjectNo project);
std::variant<BoardTaskId, Refused> resolve(const Turn& turn, const TaskRef& ref);
SectionName place_of(const BoardTask& task);
ReadyKey ready_key(BoardTaskId id, const BoardTask& task);
bool is_good(const Turn& turn, const Tenure& tenure);
bool is_good(const Turn& turn, const Tenure& tenure, Time when);

// A good runner's name that there is room for, or why not.
std::optional<Refused> mistake_in(const Turn& turn, const RunnerName& runner);
std::size_t count_held(const Turn& turn, const RunnerName& runner);
void add_note(Turn& turn, BoardTaskId id, const std::string& by, const std::string& text);
std::optional<std::string> said(const std::string& text);  // none if that is nothing
void make_section(Turn& turn, const SectionName& name);

// The section has an open task more, or one less.
void count_open(Turn& turn, const SectionName& section, bool more);

// The task that is meant, once time has done to its board what it does.
std::variant<BoardTaskId, Refused> settled(Turn& turn, const TaskRef& ref);

// What follows when a task has ended or gone back: its section may be free, and others wait.
void after_release(Turn& turn, BoardTaskId id, const std::optional<SectionName>& section);

// ── The verbs of runners (board_work.cc) and of those who set right (board_care.cc) ──

reeve::Reply on_task(Turn& turn, BoardTaskId id, const Start& command);
reeve::Reply on_task(Turn& turn, BoardTaskId id, const Finish& command);
reeve::Reply on_task(Turn& turn, BoardTaskId id, const PutBack& command);
reeve::Reply on_task(Turn& turn, BoardTaskId id, const Heartbeat& command);
reeve::Reply on(Turn& turn, const Next& command);
reeve::Reply on(Turn& turn, const LetGo& command);
reeve::Reply on(Turn& turn, const RunnerHeartbeat& command);
reeve::Reply on(Turn& turn, const ForceRelease& command);
reeve::Reply on(Turn& turn, const Cleanup& command);
reeve::Reply on(Turn& turn, const ForgetRunner& command);

// ── Deadlines (board_due.cc) ──

void expect(Turn& turn, const DueKey& key);
void expect_no_more(Turn& turn, const DueKey& key);

// Does what time has done to the boards that a request of this project can see.
void settle(Turn& turn, ProjectNo project);

// ── Locks (board_locks.cc) ──

struct CanStart {
  BoardTaskId task;

  bool operator==(const CanStart&) const = default;
};
// It could, and would hold more than a runner may.
struct HandsFull {
  BoardTaskId task;

  bool operator==(const HandsFull&) const = default;
};
// It was, while somebody waited for it.
struct Removed {
  BoardTaskId task;

  bool operator==(const Removed&) const = default;
};
using Verdict =
    std::variant<CanStart, TaskLocked, SectionLocked, TaskFinished, Nothing, HandsFull, Removed>;

// As of `when`: what time does is done in its order, be it noticed late, and whoever is served
// because a lease is over must not get what was over only after his wait.
Verdict may_start(const Turn& turn, BoardTaskId task, const RunnerName& runner, Time when);

// A free lock is kept for the head of its line until that is served, also while it is away
// (core/session): from everybody else, also from whoever had it last.
const Waiter* awaited_head(const Turn& turn, const Line& line, const RunnerName& runner);

// Who, other than `runner`, has the section; none if it is free or the runner's.
std::optional<SectionLocked> held_by_another(const Turn& turn,
                                             const SectionName& section,
                                             const RunnerName& runner,
                                             Time when);

// Whether the section is the runner's, and not over.
bool has_section(const Turn& turn, const SectionName& section, const RunnerName& runner, Time when);

Started take(Turn& turn, BoardTaskId task, const RunnerName& runner, Time when);
void see(Turn& turn, const RunnerName& runner);
// Another has what was the runner's, or freed it: it is told with its next heartbeat.
void lose(Turn& turn, const RunnerName& runner);

// The lock of the task is over, and it is said. Nobody is served yet.
void mark_expired(Turn& turn, BoardTaskId task);
// The lock of a task, of a section, is no more. Nobody is served yet.
void unlock(Turn& turn, BoardTaskId task);
void unlock(Turn& turn, const SectionName& section);

// A sign of life of its runner: the lock of a task, which must be good, is so for longer. Until
// when.
Time extend_task(Turn& turn, BoardTaskId task);
// The same for the section, if the runner still has it.
void extend_section(Turn& turn, const SectionName& section, const RunnerName& runner);

// The status changes, and with it every index and count. The task is not locked any more unless
// it is in progress.
void set_status(Turn& turn, BoardTaskId task, Status status);

// A section without an open task is nobody's.
void release_if_done(Turn& turn, const std::optional<SectionName>& section);
void forget(Turn& turn, BoardTaskId task);

// ── Looking for a task (board_look.cc) ──

// Whether there is an open task in a section that the runner may work in.
bool has_open_section(const Turn& turn, const RunnerName& runner);

// What somebody who wants this can have; to whoever starts it, not more than a runner may hold.
Verdict look_for(const Turn& turn, const RunnerName& runner, const Wanted& wanted, Time when);
reeve::Reply act(
    Turn& turn, const RunnerName& runner, const Wanted& wanted, const Verdict& verdict, Time when);

// ── Lines (board_lines.cc) ──

Line line_of(BoardTaskId id, const BoardTask& task);
// Of those who wait for any task of the project; no section is called so.
Line line_of_any(ProjectNo project);
// All lines of those who may take any task that is free in this project, or `where` if that is a
// section.
std::vector<Line> lines_of_any(const Turn& turn,
                               ProjectNo project,
                               const std::optional<SectionName>& where);
reeve::Reply wait_in_line(Turn& turn,
                          const RunnerName& runner,
                          const Wanted& wanted,
                          const Verdict& verdict,
                          const Wait& wait);

// Gives what there was at `when` to those who waited then, in their order. What the step has no
// room for is expected as of the same moment, here and below: it comes before all that is due
// later.
void serve(Turn& turn, const Line& line, Time when);
// Something may have become free, at `where` if that is a section: those who take the sections in
// order, wherever they stand, and then those who wait for any task.
void serve_any(Turn& turn, ProjectNo project, const std::optional<SectionName>& where, Time when);
// What the runner has lets its other waits begin too, wherever they stand: those behind `after`.
void serve_runner(Turn& turn, const RunnerName& runner, WaiterId after, Time when);
// The same for whoever was just given a section, or a task without one.
void serve_after(Turn& turn, const RunnerName& runner, const reeve::Reply& given, Time when);
void tell_waiters(Turn& turn, BoardTaskId task);
void wait_is_over(Turn& turn, WaiterId waiter);

// A wait is over at its limit, also if what it waits for is in the same millisecond: whoever frees
// something by time ends the waits at the head of its line first. False: there are more of them
// than one step may end, and what is freed has to wait for the next.
bool end_waits(Turn& turn, const Line& line, Time when);

}  // namespace reeve::board
