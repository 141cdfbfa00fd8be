#pragma once

#include "base/time.h"
#include "core/answer.h"
#include "core/board_value.h"
#include "core/id.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What can be asked of a board, what is answered, and what is told of it. What it does:
// core/board.h.
namespace reeve::board {

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

}  // namespace reeve::board
