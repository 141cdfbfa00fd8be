#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/id.h"
#include "core/lease.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// A board of tasks that many runners (people, scripts, agents) share without stepping on each
// other. A task may belong to a section. Whoever starts a task takes the lock of its section and
// the lock of the task in one step; in a section works one runner at a time.
//
//               start                    completed, review, failed, skipped
//     pending ─────────▶ in_progress ──────────────────────────────────────▶ finished
//        ▲                │  │  ▲                                               │
//        └────────────────┘  └──┘ claimed: the lock was over, by anybody, once   │
//        │ let go, forced, cleaned up                                           │
//        └──────────────────────────────────────────────────────────────────────┘
//                                        reopened
//
// In progress means locked. A lock is a lease (core/lease.h) that its runner's heartbeats extend;
// one that is over has been lost: its runner is told so, and the first who asks gets it with a new
// token. A section stays with its runner until no open task (pending or in progress) of it is
// left, or the runner lets go of it, or its lease is over; and that is not while a task in it is
// held, so no second runner can come in.
//
// Who has to wait stands in a line, of the section or of the task without one: first come, first
// served. A waiter whose task was finished by another is told so.
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}  // namespace reeve

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

// ── What can be asked ──

// By id, or by title if only one open task (or, none being open, only one at all) has it.
using TaskRef = std::variant<BoardTaskId, std::string>;

struct SetLocking {
  ProjectNo project;
  Locking locking;

  bool operator==(const SetLocking&) const = default;
};

struct AddSection {
  SectionName section;

  bool operator==(const AddSection&) const = default;
};

// Only one without open tasks.
struct RemoveSection {
  SectionName section;

  bool operator==(const RemoveSection&) const = default;
};

// A section that does not exist is made.
struct Add {
  std::string title;
  std::optional<SectionName> section;
  std::int32_t priority = 0;
  std::string note;

  bool operator==(const Add&) const = default;
};

struct AddNote {
  TaskRef task;
  std::string by;
  std::string text;

  bool operator==(const AddNote&) const = default;
};

struct RemoveTask {
  TaskRef task;

  bool operator==(const RemoveTask&) const = default;
};

// Without `wait` the answer comes at once; with it, after at most that long, or the project's
// wait_timeout if that is none.
struct Wait {
  std::optional<Duration> at_most;

  bool operator==(const Wait&) const = default;
};

// status = in_progress
struct Start {
  TaskRef task;
  RunnerName runner;
  std::optional<Wait> wait;

  bool operator==(const Start&) const = default;
};

// status = completed, review, failed or skipped. A task that nobody has may be finished by
// anybody, one in review too.
struct Finish {
  TaskRef task;
  RunnerName runner;  // an empty name: nobody in particular
  std::optional<Token> token;
  Status status = Status::Completed;
  std::string note;

  bool operator==(const Finish&) const = default;
};

// status = pending: the runner lets go of it, or a finished one is reopened.
struct PutBack {
  TaskRef task;
  RunnerName runner;
  std::optional<Token> token;

  bool operator==(const PutBack&) const = default;
};

// The section is free for others. Not while the runner holds a task in it.
struct LetGo {
  SectionName section;
  RunnerName runner;

  bool operator==(const LetGo&) const = default;
};

// Extends the task's lock and that of its section.
struct Heartbeat {
  TaskRef task;
  RunnerName runner;
  std::optional<Token> token;

  bool operator==(const Heartbeat&) const = default;
};

// Extends all that the runner holds; the name is enough.
struct RunnerHeartbeat {
  RunnerName runner;

  bool operator==(const RunnerHeartbeat&) const = default;
};

// The first task the runner may start: of a section it has, then of the sections in their order,
// passing over those that another has, then of none. In order: of the earliest section that has
// open tasks, be it another's.
struct Next {
  RunnerName runner;
  NextTask next;
  std::optional<Wait> wait;

  bool operator==(const Next&) const = default;
};

// A section's with all the tasks held in it.
struct ForceRelease {
  std::variant<TaskRef, SectionName> what;
  std::string by;
  std::string reason;

  bool operator==(const ForceRelease&) const = default;
};

// Frees every lock that is over. (At most 256 a request; the answer says if there are more.)
struct Cleanup {
  ProjectNo project;
  bool dry_run = false;

  bool operator==(const Cleanup&) const = default;
};

// Only one that holds nothing.
struct ForgetRunner {
  RunnerName runner;

  bool operator==(const ForgetRunner&) const = default;
};

using Command = std::variant<SetLocking,
                             AddSection,
                             RemoveSection,
                             Add,
                             AddNote,
                             RemoveTask,
                             Start,
                             Finish,
                             PutBack,
                             LetGo,
                             Heartbeat,
                             RunnerHeartbeat,
                             Next,
                             ForceRelease,
                             Cleanup,
                             ForgetRunner>;

// ── What is answered ──

struct Added {
  BoardTaskId task;

  bool operator==(const Added&) const = default;
};

struct Started {
  BoardTaskId task;
  Token token;
  Time expires_at;
  std::optional<Token> section_token;
  std::optional<RunnerName> claimed_from;  // its lock was over
  bool took_task = false;                  // else it was the runner's already
  bool took_section = false;

  bool operator==(const Started&) const = default;
};

struct TaskLocked {
  BoardTaskId task;
  RunnerName locked_by;
  Time expires_at;

  bool operator==(const TaskLocked&) const = default;
};

struct SectionLocked {
  SectionName section;
  RunnerName locked_by;
  Time expires_at;

  bool operator==(const SectionLocked&) const = default;
};

// Nothing was changed: the task has ended.
struct TaskFinished {
  BoardTaskId task;
  Status status = Status::Completed;

  bool operator==(const TaskFinished&) const = default;
};

// The runner's lock was over, or its token is old; who has it now, if anybody.
struct Lost {
  std::optional<RunnerName> current;

  bool operator==(const Lost&) const = default;
};

struct Extended {
  BoardTaskId task;
  Time expires_at;

  bool operator==(const Extended&) const = default;
};

// What the heartbeat of a runner extended; what it still has that was over already; and how many of
// its locks others claimed or freed since its last one.
struct Alive {
  std::uint64_t tasks = 0;
  std::uint64_t sections = 0;
  std::uint64_t lost = 0;
  std::uint64_t taken = 0;

  bool operator==(const Alive&) const = default;
};

// `task next` without `start`.
struct Found {
  BoardTaskId task;

  bool operator==(const Found&) const = default;
};

// There is no task to start. `open`: there are some, but others have them.
struct Nothing {
  bool open = false;

  bool operator==(const Nothing&) const = default;
};

struct CleanedUp {
  std::vector<std::variant<BoardTaskId, SectionName>> locks;
  bool more = false;

  bool operator==(const CleanedUp&) const = default;
};

// A wait that its client ended.
struct WaitEnded {
  Left left = Left::Cancelled;

  bool operator==(const WaitEnded&) const = default;
};

using Reply = std::variant<Added,
                           Started,
                           TaskLocked,
                           SectionLocked,
                           TaskFinished,
                           Lost,
                           Extended,
                           Alive,
                           Found,
                           Nothing,
                           CleanedUp,
                           WaitEnded>;

// ── Facts ──

struct WasAdded {
  BoardTaskId task;
  std::string title;
  std::optional<SectionName> section;
  std::int32_t priority = 0;
  std::optional<std::string> note = {};

  bool operator==(const WasAdded&) const = default;
};

struct SectionAdded {
  SectionName section;

  bool operator==(const SectionAdded&) const = default;
};

struct WasStarted {
  BoardTaskId task;
  RunnerName runner;
  Token token;
  Time expires_at = {};
  std::optional<Token> section_token = {};

  bool operator==(const WasStarted&) const = default;
};

// The lock was over: `from` has lost it.
struct WasClaimed {
  BoardTaskId task;
  RunnerName from;
  RunnerName runner;
  Token token;
  Time expires_at = {};
  std::optional<Token> section_token = {};

  bool operator==(const WasClaimed&) const = default;
};

struct WasFinished {
  BoardTaskId task;
  Status status = Status::Completed;
  std::string by;
  std::optional<std::string> note = {};

  bool operator==(const WasFinished&) const = default;
};

// Pending again.
struct WasReleased {
  BoardTaskId task;
  std::string by;

  bool operator==(const WasReleased&) const = default;
};

struct HasExpired {
  BoardTaskId task;
  RunnerName runner;

  bool operator==(const HasExpired&) const = default;
};

struct SectionExpired {
  SectionName section;
  RunnerName runner;

  bool operator==(const SectionExpired&) const = default;
};

struct SectionTaken {
  SectionName section;
  RunnerName runner;
  Token token = {};
  Time expires_at = {};

  bool operator==(const SectionTaken&) const = default;
};

struct SectionReleased {
  SectionName section;
  RunnerName runner;

  bool operator==(const SectionReleased&) const = default;
};

struct IsWaiting {
  RunnerName runner;
  Line line;
  WaiterId waiter = {};

  bool operator==(const IsWaiting&) const = default;
};

// Every wait that was told of ends with this. Without `left` it led to a task; Unfit: there is
// nothing left to wait for, or its runner holds as much as it may.
struct StoppedWaiting {
  RunnerName runner;
  Line line;
  WaiterId waiter = {};
  std::optional<Left> left = {};

  bool operator==(const StoppedWaiting&) const = default;
};

struct WasForced {
  std::variant<BoardTaskId, SectionName> what;
  RunnerName from;
  std::string by;
  std::string reason;

  bool operator==(const WasForced&) const = default;
};

struct WasNoted {
  BoardTaskId task;
  std::string by;
  std::string text;

  bool operator==(const WasNoted&) const = default;
};

struct TaskRemoved {
  BoardTaskId task;
  std::string title;

  bool operator==(const TaskRemoved&) const = default;
};

struct SectionRemoved {
  SectionName section;

  bool operator==(const SectionRemoved&) const = default;
};

// The lock is good for longer than it was: a sign of life of its runner.
struct WasExtended {
  BoardTaskId task;
  RunnerName runner;
  Time expires_at;

  bool operator==(const WasExtended&) const = default;
};

struct SectionExtended {
  SectionName section;
  RunnerName runner;
  Time expires_at;

  bool operator==(const SectionExtended&) const = default;
};

// board:added, :section_added, :started, :claimed, :finished, :released, :expired,
// :section_expired, :section_locked, :section_released, :waiting, :forced, :noted, :removed,
// :section_removed, :extended, :section_extended, :stopped_waiting
using Event = std::variant<WasAdded,
                           SectionAdded,
                           WasStarted,
                           WasClaimed,
                           WasFinished,
                           WasReleased,
                           HasExpired,
                           SectionExpired,
                           SectionTaken,
                           SectionReleased,
                           IsWaiting,
                           WasForced,
                           WasNoted,
                           TaskRemoved,
                           SectionRemoved,
                           WasExtended,
                           SectionExtended,
                           StoppedWaiting>;

// The first thing that time does on this project's board.
struct Due {
  ProjectNo project;

  auto operator<=>(const Due&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);

// A runner that waits gives up; or is there again, and its line goes on.
void leave(Turn& turn, WaiterId waiter, Left left);
void came_back(Turn& turn, WaiterId waiter);

// The answer found nobody: what was new in it, task and section, goes to the next.
void take_back(Turn& turn, const Started& started);

EventName name_of(const Event& event);

// Until when a section is its runner's: as long as its lease is good, or a task in it is held.
// None if nobody has it.
std::optional<Time> section_limit(const Table& table, const SectionName& name, Time leases_from);

}  // namespace reeve::board
