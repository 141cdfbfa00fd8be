#pragma once

#include "base/time.h"
#include "core/event.h"
#include "core/grant.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/outcome.h"
#include "core/step.h"
#include "core/timer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// What the core asks to be done, as data: it can be compared, journaled and printed.
//
// *Inner* effects are one machine's words to another. The root `apply` carries them out in
// the same step, and they never leave it. *Outer* ones are work for the outside: they get an
// id and stand in the outbox, part of the state, until their outcome comes back as an input
// that echoes the id.
namespace reeve {

// ── Inner ──

struct Emit {
  ProjectNo project;
  EventBody event;

  bool operator==(const Emit&) const = default;
};

// Locks, and with them slots if the request names any: all or none.
struct AcquireLock {
  grant::Request request;

  bool operator==(const AcquireLock&) const = default;
};

struct AcquireSemaphore {
  grant::Request request;

  bool operator==(const AcquireSemaphore&) const = default;
};

struct ReleaseLock {
  LockName name;
  Holder holder;

  bool operator==(const ReleaseLock&) const = default;
};

struct ReleaseSemaphore {
  SemaphoreName name;
  Holder holder;

  bool operator==(const ReleaseSemaphore&) const = default;
};

// What this pipeline waits for in a phase that it has left, it no longer does.
struct StopWaiting {
  Holder holder;

  bool operator==(const StopWaiting&) const = default;
};

// An item whose attempts are used up goes to the dead-letter queue, id and history with it.
struct DeadLetter {
  QueueName to;
  ItemId item;

  bool operator==(const DeadLetter&) const = default;
};

struct WakeWorker {
  WorkerName worker;

  bool operator==(const WakeWorker&) const = default;
};

struct WakeGuard {
  PipelineId pipeline;
  std::uint64_t entry = 0;
  std::string guard;

  bool operator==(const WakeGuard&) const = default;
};

struct Checkpoint {
  PipelineId pipeline;
  std::string message;

  bool operator==(const Checkpoint&) const = default;
};

struct SetTimer {
  Subject subject;
  Time due;

  bool operator==(const SetTimer&) const = default;
};

struct CancelTimer {
  Subject subject;

  bool operator==(const CancelTimer&) const = default;
};

using Inner = std::variant<Emit,
                           AcquireLock,
                           AcquireSemaphore,
                           ReleaseLock,
                           ReleaseSemaphore,
                           StopWaiting,
                           DeadLetter,
                           WakeWorker,
                           WakeGuard,
                           Checkpoint,
                           SetTimer,
                           CancelTimer>;

// ── Outer ──

using Variables = std::vector<std::pair<std::string, std::string>>;

// A shell program under custody. `text` has its placeholders turned into "${...}" by the
// loader; the values travel in the environment and never enter the program text.
struct Shell {
  std::string text;
  Variables variables;
  std::string directory;
  std::optional<Duration> timeout;
  PipelineId pipeline = {};
  std::string label;  // `merge#2`: for logs
  bool strict = false;
  Variables environment = {};  // later ones over earlier ones

  bool operator==(const Shell&) const = default;
};

// An agent in a session (tmux), or run to completion.
struct Spawn {
  WorkId work;
  std::string agent;
  std::string command;
  std::string prompt;
  std::string workspace;
  Variables variables;
  bool session = true;
  std::optional<Duration> timeout;
  Variables environment = {};
  std::string kind = {};         // claude, codex, ..., generic: how it is started and watched
  std::string prompt_file = {};  // instead of a prompt, relative to the workspace

  bool operator==(const Spawn&) const = default;
};

struct Send {
  WorkId work;
  std::string message_id;
  std::string text;

  bool operator==(const Send&) const = default;
};

// The whole tree: TERM, the grace, KILL, and observed dead. Failed: it could not be seen dead.
struct Kill {
  std::variant<WorkId, EffectId, Process> target;  // an agent, a run, a process that holds a lease
  Duration grace{5000};

  bool operator==(const Kill&) const = default;
};

struct Nudge {
  WorkId work;
  std::string text;

  bool operator==(const Nudge&) const = default;
};

struct WorktreeAdd {
  PipelineId pipeline;
  std::string branch;  // empty: a plain folder
  std::string base;
  std::string path;  // empty: the adapter chooses, and says so in the outcome's values: `path`

  bool operator==(const WorktreeAdd&) const = default;
};

struct WorktreeRemove {
  PipelineId pipeline;
  std::string path;
  bool force = false;

  bool operator==(const WorktreeRemove&) const = default;
};

enum class MergeStrategy : std::uint8_t { FastForward, Rebase, Squash, Merge };

struct Merge {
  PipelineId pipeline;
  std::string branch;
  std::string into;
  MergeStrategy strategy = MergeStrategy::FastForward;
  std::optional<Duration> timeout;

  bool operator==(const Merge&) const = default;
};

struct Notify {
  std::string title;
  std::string message;
  bool sound = false;
  std::string command;       // empty: the desktop
  std::vector<Event> about;  // what it tells of; at most one

  bool operator==(const Notify&) const = default;
};

// Asks an outside source for its items; takes one of them there.
struct PollQueue {
  QueueName queue;
  std::string command;

  bool operator==(const PollQueue&) const = default;
};

struct TakeQueueItem {
  QueueName queue;
  std::string command;
  std::string outside_id;

  bool operator==(const TakeQueueItem&) const = default;
};

using Outer = std::variant<Shell,
                           Spawn,
                           Send,
                           Kill,
                           Nudge,
                           WorktreeAdd,
                           WorktreeRemove,
                           Merge,
                           Notify,
                           PollQueue,
                           TakeQueueItem>;

// Whom the outcome is for.
struct ToNobody {
  bool operator==(const ToNobody&) const = default;
};

struct ToCustody {
  Process process;

  bool operator==(const ToCustody&) const = default;
};

using Address = std::variant<ToNobody,
                             ToCustody,
                             task::Address,
                             pipeline::Address,
                             dispatch::Address,
                             worker::Address,
                             cron::Address,
                             mailbox::Address>;

struct Outgoing {
  Outer what;
  Address to;

  bool operator==(const Outgoing&) const = default;
};

struct Effect {
  std::variant<Inner, Outgoing> value;

  bool operator==(const Effect&) const = default;
};

}  // namespace reeve
