#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/decision.h"
#include "core/definition.h"
#include "core/finished.h"
#include "core/guard.h"
#include "core/id.h"
#include "core/pipeline_value.h"
#include "core/strategy.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// A pipeline is work in phases, one after the other. What people see of it is its state:
//
//             unmet dependency
//     Init ──────────────────────▶ Blocked{reason} ◀───────────────────┐
//      │                              │ unblocked                      │ has to wait
//      │ start                        ▼                                │
//      └───────────────────────▶ Running{phase, attempt} ──────────────┘
//                                  ▲  │  │  └─ complete ──▶ the next phase, or Done
//                      retry:      │  │  └──── cancel ────▶ Cancelled (from all but the ends)
//                      attempt + 1 │  └─────── failed for good
//                                  │                 ▼
//                                  └─────────── Failed{phase}
//
// That table is pure (core/pipeline_transition.h). What it does not say is how one phase goes;
// that is its course, and here is all of it:
//
//     Entering ─▶ Preparing ─▶ Guarding(Pre) ─▶ Acquiring ──────▶ Acting ─▶ Guarding(Post) ─▶ next
//                 workspace         ▲               │ took waiting   ▲
//                                   │               ▼                │
//                                   └─────── Guarding(Again) ────────┘
//                      no longer passes:     with the locks held     still passes
//                      the locks go back
//
//     from any of these, when it is cut short (cancel, a timeout, max_hold, a jump, a pause):
//
//     ──▶ Leaving ── all that still runs was observed to have ended ──▶ what it was cut short for
//
// Four rules hold everywhere.
//
//   - Nothing is given up before its end was observed. Locks and slots are held by the pipeline
//     itself, and released on every way out of a phase, after the outcome of its last effect.
//   - Every entry into a phase, and every attempt, has a number (`entry`) that grows. Outcomes,
//     grants, answers and wakes say which one they are for; another one's is dropped.
//   - Pipelines do not call each other back. What one has to tell another (a child its parent,
//     a dependency those who wait for it) is noted, and the other attends to it with the next
//     tick. So no chain of pipelines, however long, runs in one step.
//   - A failure asks a person, and the pipeline is Blocked{Decision} meanwhile: unless the runbook
//     says otherwise, no work is thrown away because nobody was there.
namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}  // namespace reeve

namespace reeve::pipeline {

// ── All of them ──

struct Checkpoint {
  std::string phase;
  std::string message;
  Time at;

  bool operator==(const Checkpoint&) const = default;
};

struct CheckpointKey {
  PipelineId pipeline;
  std::uint64_t number = 0;

  auto operator<=>(const CheckpointKey&) const = default;
};

struct OutputKey {
  PipelineId pipeline;
  std::string phase;
  std::string key;

  auto operator<=>(const OutputKey&) const = default;
};

struct ChildKey {
  PipelineId parent;
  std::uint32_t index = 0;

  auto operator<=>(const ChildKey&) const = default;
};

struct Awaited {
  PipelineId dependency;
  PipelineId dependant;

  auto operator<=>(const Awaited&) const = default;
};

struct Table {
  PersistentMap<PipelineId, Pipeline> pipelines;
  PersistentMap<CheckpointKey, Checkpoint> checkpoints;  // the last 1,000 of each
  PersistentMap<OutputKey, std::string> outputs;
  PersistentMap<ChildKey, PipelineId> children;  // those that are open
  PersistentSet<Awaited> awaited;
  Finished<PipelineId> ended;
  std::uint64_t open = 0;

  bool operator==(const Table&) const = default;
};

// ── What can be asked ──

// With the project's current runbooks.
struct Start {
  std::string name;
  definition::Map inputs;
  definition::Map environment;

  bool operator==(const Start&) const = default;
};

struct Cancel {
  PipelineId pipeline;

  bool operator==(const Cancel&) const = default;
};

// A failed one goes back to the phase it failed in; one whose phase failed, and that waits for an
// answer about that or for a backoff, does not wait any longer.
struct Retry {
  PipelineId pipeline;
  bool force = false;

  bool operator==(const Retry&) const = default;
};

// A failed or a paused one goes on from another phase.
struct ResumeFrom {
  PipelineId pipeline;
  std::string phase;
  bool force = false;

  bool operator==(const ResumeFrom&) const = default;
};

// An open one leaves what it does, observed, and goes to this phase; a paused one stays paused.
struct Transition {
  PipelineId pipeline;
  std::string phase;

  bool operator==(const Transition&) const = default;
};

// Does not wait for its dependencies, its backoff or its pause; checks its guard at once. A lock
// must be had and a question answered: refused.
struct Unblock {
  PipelineId pipeline;

  bool operator==(const Unblock&) const = default;
};

struct AddCheckpoint {
  PipelineId pipeline;
  std::string message;

  bool operator==(const AddCheckpoint&) const = default;
};

// A phase whose action has begun runs to its end; one that has not is withdrawn.
struct Pause {
  PipelineId pipeline;

  bool operator==(const Pause&) const = default;
};

struct Continue {
  PipelineId pipeline;

  bool operator==(const Continue&) const = default;
};

// `reeve done [--error TEXT]` from inside a step: counts when the step has ended.
struct Finish {
  PipelineId pipeline;
  std::optional<std::string> error;
  std::string phase = {};                     // whose word it is; empty: of whatever runs
  std::optional<std::uint32_t> attempt = {};  // that of another one is refused

  bool operator==(const Finish&) const = default;
};

// A workspace outlives its pipeline, for what is in it may not be anywhere else. This removes that
// of one that is over; `force`: also with changes in it that nobody committed. The answer says that
// it was begun, the event what became of it. Who then retries the pipeline gets a new one.
struct RemoveWorkspace {
  PipelineId pipeline;
  bool force = false;

  bool operator==(const RemoveWorkspace&) const = default;
};

using Command = std::variant<Start,
                             Cancel,
                             Retry,
                             ResumeFrom,
                             Transition,
                             Unblock,
                             AddCheckpoint,
                             Pause,
                             Continue,
                             Finish,
                             RemoveWorkspace>;

struct Started {
  PipelineId pipeline;

  bool operator==(const Started&) const = default;
};

using Reply = std::variant<Started>;

// ── What is announced ──

struct WasStarted {
  PipelineId pipeline;
  std::string name;

  bool operator==(const WasStarted&) const = default;
};

struct EnteredPhase {
  PipelineId pipeline;
  std::string name;
  std::string phase;

  bool operator==(const EnteredPhase&) const = default;
};

struct FailedPhase {
  PipelineId pipeline;
  std::string phase;
  std::uint32_t attempt = 1;
  std::string error;

  bool operator==(const FailedPhase&) const = default;
};

struct WasBlocked {
  PipelineId pipeline;
  std::string phase;
  Reason reason = Reason::Dependency;

  bool operator==(const WasBlocked&) const = default;
};

struct WasUnblocked {
  PipelineId pipeline;
  std::string phase;

  bool operator==(const WasUnblocked&) const = default;
};

struct WasRetried {
  PipelineId pipeline;
  std::string phase;
  std::uint32_t attempt = 1;

  bool operator==(const WasRetried&) const = default;
};

struct WasCompleted {
  PipelineId pipeline;
  std::string name;

  bool operator==(const WasCompleted&) const = default;
};

struct HasFailed {
  PipelineId pipeline;
  std::string name;
  std::string phase;
  std::string error;

  bool operator==(const HasFailed&) const = default;
};

struct WasCancelled {
  PipelineId pipeline;
  std::string name;

  bool operator==(const WasCancelled&) const = default;
};

struct MadeCheckpoint {
  PipelineId pipeline;
  std::string phase;
  std::string message;

  bool operator==(const MadeCheckpoint&) const = default;
};

struct WorkspaceRemoved {
  PipelineId pipeline;
  std::string path;

  bool operator==(const WorkspaceRemoved&) const = default;
};

// It could not be removed.
struct WorkspaceKept {
  PipelineId pipeline;
  std::string path;
  std::string error;

  bool operator==(const WorkspaceKept&) const = default;
};

// pipeline:started, :phase, :phase_failed, :blocked, :unblocked, :retry, :complete, :failed,
// :cancelled, :checkpoint, :workspace_removed, :workspace_kept; the guards' and strategies' own
using Event = std::variant<WasStarted,
                           EnteredPhase,
                           FailedPhase,
                           WasBlocked,
                           WasUnblocked,
                           WasRetried,
                           WasCompleted,
                           HasFailed,
                           WasCancelled,
                           MadeCheckpoint,
                           guard::Event,
                           strategy::Event,
                           WorkspaceRemoved,
                           WorkspaceKept>;

// ── Timers, and where outcomes go ──

// Attend: something was noted for it, or it had no room in the step before.
enum class Timer : std::uint8_t { Attend, Backoff, Guard, Timeout, MaxHold, Forget };

struct Due {
  PipelineId pipeline;
  Timer timer = Timer::Attend;

  auto operator<=>(const Due&) const = default;
};

// Of the pipeline's own work, or of a Kill of it.
struct Address {
  PipelineId pipeline;
  std::uint64_t entry = 0;
  bool kill = false;

  bool operator==(const Address&) const = default;
};

// ── The verbs ──

// Starts the pipeline `name` of the set, which it pins. A missing input, an unknown name or a
// dependency that does not exist is a refusal, and nothing was started.
std::variant<PipelineId, Refused> begin(Turn& turn, const Begin& begin);

// Ends the process tree, runs on_cancel, releases everything. A terminal one stays as it is; one
// that is in its on_cancel leaves that too.
void cancel(Turn& turn, PipelineId pipeline);

// The agent of this entry into a phase ended, and the end of its process was observed. `told`: a
// person failed it, and that is final.
void agent_ended(Turn& turn,
                 PipelineId pipeline,
                 std::uint64_t entry,
                 WorkId work,
                 const Outcome& outcome,
                 bool told);

// What runs in this entry into a phase asks somebody (an agent, `reeve ask`), or no longer does:
// the pipeline is Blocked{Decision} meanwhile, and keeps what it holds.
void question_opened(Turn& turn, PipelineId pipeline, std::uint64_t entry);
void question_closed(Turn& turn, PipelineId pipeline, std::uint64_t entry);

// What somebody said in answer to a question of this entry: {phase.answer}.
void answered(Turn& turn, PipelineId pipeline, std::uint64_t entry, const std::string& text);

// Whether a phase is what holds this lock or slot; `BeingLeft`: and is about to give it back.
enum class Hold : std::uint8_t { No, Yes, BeingLeft };
Hold hold_of(const State& state, const LockName& lock, const Holder& holder);
Hold hold_of(const Turn& turn, const LockName& lock, const Holder& holder);
Hold hold_of(const Turn& turn, const SemaphoreName& slot, const Holder& holder);

// The pipelines within which this holder runs, if it is one: its parent, the parent of that, ...
std::vector<Holder> outer_of(const Turn& turn, const Holder& holder);

// Somebody wants it back by force: the phase is ended first, observed, and then gives it back.
void end_for_lock(Turn& turn, const LockName& lock, const Holder& holder);
void decided(Turn& turn, const decision::PhaseOwner& owner, const decision::Answer& answer);
void decided(Turn& turn, const decision::GuardOwner& owner, const decision::Answer& answer);

// What became of the locks and slots that a phase asked for: granted, waiting, not to be had.
// `entry` says which entry into which phase. A grant for another one is given back.
void asked(Turn& turn, PipelineId pipeline, std::uint64_t entry, const reeve::Reply& reply);
void wake_guard(Turn& turn, PipelineId pipeline, std::uint64_t entry, const std::string& guard);
void checkpoint(Turn& turn, PipelineId pipeline, const std::string& message);

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome);
EventName name_of(const Event& event);

}  // namespace reeve::pipeline
