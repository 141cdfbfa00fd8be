#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/agent.h"
#include "core/answer.h"
#include "core/decision.h"
#include "core/definition.h"
#include "core/finished.h"
#include "core/id.h"
#include "core/outcome.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

// A task is one unit of work by an agent.
//
//               started              idle, no progress, dead, errored
//     Pending ──────────▶ Running ───────────────────────────────────▶ Stuck
//        ▲                 │  ▲                 activity                 │ │
//        │                 │  └──────────────────────────────────────────┘ │
//        │ restart         ▼                                               │
//        ├──────────────── │ ◀────────────────────────────────────────────┘
//        └─────────────────┤
//                          ▼
//                        Done{Success | Failed | Cancelled}, from everywhere, for ever
//
// That is the verdict on the work. What is there to be seen of it, a session or a process, is
// its *body*, and has a life of its own:
//
//     None ──▶ Starting ──▶ Live ──▶ Ending ──▶ None
//                                       └────▶ Unseen: it cannot be seen dead; somebody is asked
//
// So has a checkpoint that is being made when its task is ended.
//
// A task that is done still ends its body, and whoever began it is told when the end was
// observed. A restart is Pending with a body that is being ended: kill, observed, then spawn.
// Each spawn is an attempt with an id of its own, the first one the task's; what an older
// attempt says is dropped.
//
// Idle time and what follows from it are in core/task_step.h.
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}  // namespace reeve

namespace reeve::task {

// A phase (or an approach of its strategy) wants an agent to do something. The end comes as
// pipeline::agent_ended, once the end of its session or process was observed.
struct Begin {
  PipelineId pipeline = {};  // 0: started by itself (`run = { agent = ... }`)
  std::uint64_t entry = 0;
  ProjectNo project;
  std::string name;  // of the agent in the definitions
  definition::Agent agent;
  std::string prompt;  // interpolated
  std::string workspace;
  definition::Map variables;
  definition::Map environment = {};

  bool operator==(const Begin&) const = default;
};

// ── States ──

struct Pending {
  bool operator==(const Pending&) const = default;
};

struct Running {
  Time started_at;

  bool operator==(const Running&) const = default;
};

enum class Reason : std::uint8_t {
  NoHeartbeat,  // no sign of life for `idle_timeout`
  NoProgress,   // alive, but nothing new for `progress_timeout`
  SessionDead,  // observed gone
  Errored,      // it says that it failed
};

struct Stuck {
  Time since;
  Reason reason = Reason::NoHeartbeat;
  Time started_at;

  bool operator==(const Stuck&) const = default;
};

struct Success {
  std::string output;

  bool operator==(const Success&) const = default;
};

enum class How : std::uint8_t { Error, TimedOut, Unknown, Told };  // Told: a person said so

struct Failed {
  std::string error;
  How how = How::Error;

  bool operator==(const Failed&) const = default;
};

struct Cancelled {
  bool operator==(const Cancelled&) const = default;
};

using Result = std::variant<Success, Failed, Cancelled>;

struct Done {
  Result result;
  Time at;

  bool operator==(const Done&) const = default;
};

enum class Body : std::uint8_t { None, Starting, Live, Ending, Unseen };

struct Task {
  WorkId id;
  Boxed<Begin> begun;
  WorkId attempt;  // the last one; 0: none yet
  std::variant<Pending, Running, Stuck, Done> state;

  Body body = Body::None;
  EffectId run;   // the spawn of the attempt
  EffectId kill;  // while Ending

  agent::AgentState seen;
  std::optional<Time> first_started = {};  // of all attempts: `timeout` counts from here
  Time last_sign = Time::min();
  Time last_progress = Time::min();
  Time cooldown_until = Time::min();       // rate-limited: idle time starts then
  Time responded_at = Time::min();         // the last nudge, or question to a person
  std::optional<Time> overdue_since = {};  // seen idle for too long once; twice is a verdict

  std::uint32_t nudges = 0;                   // of this attempt
  std::uint32_t restarts = 0;                 // of the task; those by hand cost nothing
  std::optional<decision::Cause> asked = {};  // somebody was, and it has not moved since

  std::optional<Time> checkpoint_at = {};
  bool checkpointing = false;
  std::uint64_t messages = 0;        // sent by hand, for their ids
  std::string word = {};             // what a person said with `restart`, for the next attempt
  Outcome last = {};                 // what the body said that is gone, until that was reported
  std::optional<Time> over_at = {};  // when its end was reported
  EffectId checkpoint = {};          // while `checkpointing`
  EffectId checkpoint_kill = {};     // while it is being ended
  bool checkpoint_unseen = false;    // it cannot be seen dead; somebody is asked

  bool operator==(const Task&) const = default;
};

// ── Table ──

struct Attempt {
  WorkId work;      // the task
  WorkId previous;  // the attempt before; 0: none

  bool operator==(const Attempt&) const = default;
};

struct PipelineKey {
  PipelineId pipeline;
  WorkId work;

  auto operator<=>(const PipelineKey&) const = default;
};

struct Table {
  PersistentMap<WorkId, Task> tasks;
  PersistentMap<WorkId, Attempt> attempts;  // of all tasks that are there
  PersistentSet<PipelineKey> of_pipeline;
  Finished<WorkId> ended;

  bool operator==(const Table&) const = default;
};

// ── Commands ──
// What an agent says carries the id of its attempt, and another attempt's word is dropped. What
// people and pipelines say may carry the id of any attempt.

// Starts an agent of the project's definitions by itself.
struct Run {
  std::string agent;
  std::string prompt;  // empty: the definition's
  std::string workspace;
  definition::Map variables;
  definition::Map environment = {};  // of the caller, by the allow-list

  bool operator==(const Run&) const = default;
};

struct Heartbeat {
  WorkId work;

  bool operator==(const Heartbeat&) const = default;
};

// What an adapter saw; `progress`: a checkpoint, a commit, an output value.
struct Observed {
  WorkId work;
  agent::AgentState seen;
  bool progress = false;

  bool operator==(const Observed&) const = default;
};

// Nothing of its session is left. `outcome`: what it published, and said last.
struct SessionGone {
  WorkId work;
  Outcome outcome = {};

  bool operator==(const SessionGone&) const = default;
};

// `reeve done [--error TEXT]`, from inside.
struct Report {
  WorkId work;
  std::optional<std::string> error;
  std::string output;

  bool operator==(const Report&) const = default;
};

struct Nudge {
  WorkId work;
  std::string text;

  bool operator==(const Nudge&) const = default;
};

struct SendText {
  WorkId work;
  std::string message_id;  // empty: one is made
  std::string text;

  bool operator==(const SendText&) const = default;
};

struct Restart {
  WorkId work;

  bool operator==(const Restart&) const = default;
};

// Ends it, as cancelled.
struct Kill {
  WorkId work;

  bool operator==(const Kill&) const = default;
};

using Command =
    std::variant<Run, Heartbeat, Observed, SessionGone, Report, Nudge, SendText, Restart, Kill>;

// ── Replies ──

struct Begun {
  WorkId work;

  bool operator==(const Begun&) const = default;
};

// To a heartbeat. `over`: the work was cancelled, or is done otherwise. `paused`: its pipeline is,
// and nothing follows on this until somebody lets it go on.
struct Beat {
  bool over = false;
  std::optional<Time> expires_at = {};  // when the next one is due
  bool paused = false;

  bool operator==(const Beat&) const = default;
};

// The attempt that spoke is not the present one. 0: the next one has not begun yet.
struct Superseded {
  WorkId current;

  bool operator==(const Superseded&) const = default;
};

// It was over before, and stays as it is.
struct AlreadyDone {
  bool operator==(const AlreadyDone&) const = default;
};

using Reply = std::variant<Begun, Beat, Superseded, AlreadyDone>;

// ── Events: task:started, stuck, recovered, nudged, restarting, complete, failed, cancelled,
//    unreached, heartbeat; the subject is the task ──

struct WasStarted {
  WorkId work;
  WorkId attempt;
  std::string agent;

  bool operator==(const WasStarted&) const = default;
};

struct WasStuck {
  WorkId work;
  Reason reason = Reason::NoHeartbeat;

  bool operator==(const WasStuck&) const = default;
};

struct WasRecovered {
  WorkId work;

  bool operator==(const WasRecovered&) const = default;
};

struct WasNudged {
  WorkId work;
  bool by_hand = false;

  bool operator==(const WasNudged&) const = default;
};

struct WasRestarting {
  WorkId work;
  bool by_hand = false;

  bool operator==(const WasRestarting&) const = default;
};

struct WasCompleted {
  WorkId work;

  bool operator==(const WasCompleted&) const = default;
};

struct WasFailed {
  WorkId work;
  std::string error;

  bool operator==(const WasFailed&) const = default;
};

struct WasCancelled {
  WorkId work;

  bool operator==(const WasCancelled&) const = default;
};

// A nudge or a message may not have arrived; it is not sent again.
struct WasUnreached {
  WorkId work;
  std::string error;

  bool operator==(const WasUnreached&) const = default;
};

// It said itself that it is alive. Leases are kept alive without an event: they are many, and what
// matters of them is that they stop.
struct HasBeaten {
  WorkId work;

  bool operator==(const HasBeaten&) const = default;
};

using Event = std::variant<WasStarted,
                           WasStuck,
                           WasRecovered,
                           WasNudged,
                           WasRestarting,
                           WasCompleted,
                           WasFailed,
                           WasCancelled,
                           WasUnreached,
                           HasBeaten>;

// A task is to be looked at; or, without one, the oldest of a project are to be forgotten.
struct Due {
  WorkId work = {};
  ProjectNo project = {};

  auto operator<=>(const Due&) const = default;
};

enum class Part : std::uint8_t { Spawn, Kill, Nudge, Send, Checkpoint, EndCheckpoint };

// Where the outcome of an effect goes.
struct Address {
  WorkId work;
  WorkId attempt;
  Part part = Part::Spawn;

  bool operator==(const Address&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome);
void decided(Turn& turn, WorkId work, const decision::Answer& answer);

WorkId begin(Turn& turn, const Begin& begin);
void cancel(Turn& turn, WorkId work);

// A checkpoint was made of what it works on.
void progressed(Turn& turn, WorkId work);

EventName name_of(const Event& event);

}  // namespace reeve::task
