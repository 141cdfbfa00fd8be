#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/id.h"
#include "core/lease.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// Boards as a value: tasks, sections, runners and those who wait. What they do: core/board.h.
namespace reeve::board {

using RunnerName = Scoped<struct RunnerKind>;

enum class Status : std::uint8_t { Pending, InProgress, Review, Completed, Failed, Skipped };

inline bool is_open(Status status) {
  return status == Status::Pending || status == Status::InProgress;
}

// Somebody's time with a task or a section.
struct Tenure {
  RunnerName runner;
  Lease lease;
  Time due;              // when it is looked at; not after the lease's end
  bool expired = false;  // it is over, and that was announced

  bool operator==(const Tenure&) const = default;
};

struct Note {
  Time at;
  std::string by;  // a runner, or nobody
  std::string text;

  bool operator==(const Note&) const = default;
};

struct BoardTask {
  ProjectNo project;
  std::string title;
  std::optional<SectionName> section;
  Status status = Status::Pending;
  std::int32_t priority = 0;
  std::vector<Note> notes;  // at most 100
  Time created_at;
  std::optional<Time> ended_at;
  std::optional<Tenure> lock;

  bool operator==(const BoardTask&) const = default;
};

struct Section {
  std::uint64_t order = 0;
  std::uint64_t open = 0;  // tasks
  std::optional<Tenure> lock;

  bool operator==(const Section&) const = default;
};

struct Runner {
  Time last_seen;
  Time due;
  std::uint64_t taken = 0;  // locks that others claimed or freed, which it was not told of yet

  bool operator==(const Runner&) const = default;
};

// How long locks are good, and how long one waits for them unless the request says otherwise.
struct Locking {
  Duration task_timeout = std::chrono::minutes{60};
  Duration section_timeout = std::chrono::minutes{120};
  Duration wait_timeout = std::chrono::minutes{30};

  bool operator==(const Locking&) const = default;
};

struct Project {
  Locking locking;
  std::uint64_t open = 0;
  std::uint64_t finished = 0;
  std::uint64_t runners = 0;
  std::uint64_t last_section = 0;

  bool operator==(const Project&) const = default;
};

// What stands in one line: the tasks of a section, or one task without a section.
using Line = std::variant<SectionName, BoardTaskId>;

// A given task; or the first of a section; or the first of the earliest section that has any.
struct ThisTask {
  BoardTaskId task;

  bool operator==(const ThisTask&) const = default;
};

struct NextTask {
  std::optional<SectionName> section;
  bool in_order = false;
  bool start = false;  // else it is only named

  bool operator==(const NextTask&) const = default;
};

using Wanted = std::variant<ThisTask, NextTask>;

struct Waiter {
  RunnerName runner;
  Wanted wanted;
  Line line;
  SessionId session = {};
  Time since;
  Time until;

  bool operator==(const Waiter&) const = default;
};

// ── Indexes ──

// Tasks that nobody has, in the order of taking: the higher priority first, then the older.
struct ReadyKey {
  SectionName place;  // without a section: the project's, with an empty name
  std::uint32_t below_top = 0;
  BoardTaskId task;

  auto operator<=>(const ReadyKey&) const = default;
};

struct SectionPlace {
  ProjectNo project;
  std::uint64_t order = 0;
  std::string name;

  auto operator<=>(const SectionPlace&) const = default;
};

struct TitleKey {
  ProjectNo project;
  std::string title;
  BoardTaskId task;

  auto operator<=>(const TitleKey&) const = default;
};

// What a runner holds, also when its time is over but nobody else has it.
struct HeldKey {
  RunnerName runner;
  std::variant<BoardTaskId, SectionName> what;

  auto operator<=>(const HeldKey&) const = default;
};

struct InSectionKey {
  SectionName section;
  BoardTaskId task;

  auto operator<=>(const InSectionKey&) const = default;
};

struct EndedKey {
  ProjectNo project;
  Time ended_at;
  BoardTaskId task;

  auto operator<=>(const EndedKey&) const = default;
};

struct LinePlace {
  Line line;
  WaiterId waiter;

  auto operator<=>(const LinePlace&) const = default;
};

struct TaskWaiter {
  BoardTaskId task;
  WaiterId waiter;

  auto operator<=>(const TaskWaiter&) const = default;
};

struct RunnerWaiter {
  RunnerName runner;
  WaiterId waiter;

  auto operator<=>(const RunnerWaiter&) const = default;
};

struct OrderWaiter {
  ProjectNo project;
  WaiterId waiter;

  auto operator<=>(const OrderWaiter&) const = default;
};

// What time does on the board of one project.
struct TaskLease {
  BoardTaskId task;
  auto operator<=>(const TaskLease&) const = default;
};
struct SectionLease {
  SectionName section;
  auto operator<=>(const SectionLease&) const = default;
};
struct WaitEnd {
  WaiterId waiter;
  auto operator<=>(const WaitEnd&) const = default;
};
struct RunnerSilence {
  RunnerName runner;
  auto operator<=>(const RunnerSilence&) const = default;
};
struct Forget {
  BoardTaskId task;
  auto operator<=>(const Forget&) const = default;
};
// A line that one step could not serve to its end, or whose head is away.
struct ServeLine {
  Line line;
  auto operator<=>(const ServeLine&) const = default;
};
// Waiters for a task that ended, more than one step may tell.
struct TellWaiters {
  BoardTaskId task;
  auto operator<=>(const TellWaiters&) const = default;
};
// What a runner has, of which more of its own waits can have something than one step could look at:
// those behind this one are still to be asked.
struct ServeRunner {
  RunnerName runner;
  WaiterId after;
  auto operator<=>(const ServeRunner&) const = default;
};

struct DueKey {
  ProjectNo project;
  Time due;
  std::variant<TaskLease,
               SectionLease,
               WaitEnd,
               RunnerSilence,
               Forget,
               ServeLine,
               TellWaiters,
               ServeRunner>
      what;

  auto operator<=>(const DueKey&) const = default;
};

struct Table {
  PersistentMap<ProjectNo, Project> projects;
  PersistentMap<BoardTaskId, BoardTask> tasks;
  PersistentMap<SectionName, Section> sections;
  PersistentMap<RunnerName, Runner> runners;
  PersistentMap<WaiterId, Waiter> waiters;
  PersistentSet<SectionPlace> section_order;
  PersistentSet<SectionPlace> open_sections;  // those with open tasks
  PersistentSet<TitleKey> titles;
  PersistentSet<ReadyKey> ready;
  PersistentSet<HeldKey> held;
  PersistentSet<InSectionKey> held_in_section;
  PersistentSet<EndedKey> ended;
  PersistentSet<LinePlace> lines;
  PersistentSet<TaskWaiter> task_waiters;
  PersistentSet<RunnerWaiter> runner_waiters;
  PersistentSet<OrderWaiter> order_waiters;
  PersistentSet<DueKey> due;

  bool operator==(const Table&) const = default;
};

}  // namespace reeve::board
