#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/decision.h"
#include "core/definition.h"
#include "core/finished.h"
#include "core/guard.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/step.h"
#include "core/strategy.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// A pipeline is work in phases, one after the other. What people see of it is its state:
//
//              start                       the last phase is complete
//     Init ──────────────▶ Running{phase} ────────────────────────────▶ Done
//      │    unmet      ▲  │   │  ▲    │
//      │  dependency   │  │   │  │    │ a phase failed, for good        retry
//      │               │  │   │  │    └────────────────────▶ Failed ────────────▶ Running
//      └──▶ Blocked ───┘  │   │  │                            {phase}   attempt + 1
//             ▲  unblock  │   │  │ complete: the next phase
//             └───────────┘   └──┘                 cancel, from anywhere but the ends
//                                                 ───────────────────────────▶ Cancelled
//
// That table is pure (`transition`). What it does not say is how one phase goes; that is its
// course, and here is all of it:
//
//     Entering ─▶ Preparing ─▶ Guarding(Pre) ─▶ Acquiring ─▶ Acting ─▶ Guarding(Post) ─▶ next
//                 workspace         ▲              │  ▲
//                                   │   took       ▼  │
//                                   └── waiting ── Guarding(Again), with the locks held:
//                                                  one that no longer passes gives them back
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
//   - A person is asked, and the pipeline Blocked{Decision}, never a pipeline lost: that is what
//     failing means unless the runbook says otherwise.
namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}  // namespace reeve

namespace reeve::pipeline {

// ── Who started it, and with what ──

// Who is told how it ended.
struct ByClient {
  bool operator==(const ByClient&) const = default;
};

struct ByWorker {
  WorkerName worker;
  ItemId item;
  Token claim;

  bool operator==(const ByWorker&) const = default;
};

struct ByCron {
  CronName cron;

  bool operator==(const ByCron&) const = default;
};

struct ByParent {
  PipelineId pipeline;
  std::uint64_t entry = 0;
  std::uint32_t index = 0;

  bool operator==(const ByParent&) const = default;
};

using Starter = std::variant<ByClient, ByWorker, ByCron, ByParent>;

enum class Ending : std::uint8_t { Done, Failed, Cancelled };

struct Begin {
  definition::SetKey set;
  std::string name;
  definition::Map inputs;
  definition::Map environment;  // of the caller, by the allow-list
  Starter starter;

  bool operator==(const Begin&) const = default;
};

// ── What people see ──

enum class Reason : std::uint8_t { Dependency, Guard, Lock, Semaphore, Decision, Paused, Backoff };

struct Init {
  bool operator==(const Init&) const = default;
};

struct Blocked {
  Reason reason = Reason::Dependency;
  std::string resume_phase;
  std::uint32_t attempt = 1;
  Time since;

  bool operator==(const Blocked&) const = default;
};

struct Running {
  std::string phase;
  std::uint32_t attempt = 1;

  bool operator==(const Running&) const = default;
};

struct Done {
  bool operator==(const Done&) const = default;
};

// Everything is recoverable but a failed rollback and a person's `fail`.
struct Failed {
  std::string phase;
  std::uint32_t attempt = 1;
  std::string error;
  bool recoverable = true;

  bool operator==(const Failed&) const = default;
};

struct Cancelled {
  bool operator==(const Cancelled&) const = default;
};

using Status = std::variant<Init, Blocked, Running, Done, Failed, Cancelled>;

// ── The course of a phase ──

// In no phase: waiting for a dependency, an answer, the end of a backoff or a pause; or ended.
struct Idle {
  bool operator==(const Idle&) const = default;
};

struct Entering {
  bool operator==(const Entering&) const = default;
};

struct Preparing {
  EffectId effect;

  bool operator==(const Preparing&) const = default;
};

enum class Which : std::uint8_t { Pre, Again, Post };

// The guards of a phase are checked one after the other. Those that passed are kept: they may
// be checked again.
struct Guarding {
  Which which = Which::Pre;
  std::uint32_t index = 0;
  std::vector<guard::Guard> guards;  // as far as they were started
  std::optional<EffectId> check;     // the one under way

  bool operator==(const Guarding&) const = default;
};

struct Acquiring {
  std::vector<guard::Guard> passed;  // the pre guards
  bool waited = false;

  bool operator==(const Acquiring&) const = default;
};

// `word`: the step said itself how it went (`reeve done`), and that counts.
struct Word {
  std::string error;  // empty: done

  bool operator==(const Word&) const = default;
};

struct ShellRun {
  EffectId effect;
  std::optional<Word> word;

  bool operator==(const ShellRun&) const = default;
};

struct AgentRun {
  WorkId work;

  bool operator==(const AgentRun&) const = default;
};

struct StrategyRun {
  std::string name;
  strategy::Strategy machine;
  std::variant<EffectId, WorkId> running;

  bool operator==(const StrategyRun&) const = default;
};

// Child pipelines: how many there are to be, and what became of those there were. Which ones
// are open stands in the table.
struct Children {
  std::uint32_t total = 0;
  Boxed<std::vector<std::string>> values;  // of for_each, one a child; never changed
  std::uint32_t next = 0;                  // the index of the next to start
  std::uint32_t open = 0;
  std::uint32_t done = 0;
  std::uint32_t failed = 0;  // or cancelled
  std::uint32_t at_once = 0;
  definition::Join join = definition::Join::All;
  std::string error;       // of the first that failed
  std::uint32_t told = 0;  // when they are being cancelled: those before this index were

  bool operator==(const Children&) const = default;
};

struct Acting {
  std::variant<ShellRun, AgentRun, StrategyRun, Children> what;

  bool operator==(const Acting&) const = default;
};

// Why a phase failed, as far as it matters for what comes next.
enum class Cause : std::uint8_t {
  Ordinary,
  Guard,      // a guard failed: what is asked is about the guard
  Unknown,    // nobody knows how it ended
  Exhausted,  // every approach of its strategy failed
  Circuit,    // entered too often
  Fatal,      // a rollback failed
  Told,       // a person said `fail`
};

struct Failure {
  std::string error;
  Cause cause = Cause::Ordinary;
  std::string output = {};  // the last of it, for whoever is asked

  bool operator==(const Failure&) const = default;
};

// What a phase is left for.
struct GoOn {  // its action is done
  bool operator==(const GoOn&) const = default;
};

struct FailWith {
  Failure failure;

  bool operator==(const FailWith&) const = default;
};

struct BeCancelled {
  bool operator==(const BeCancelled&) const = default;
};

struct BePaused {
  bool operator==(const BePaused&) const = default;
};

struct JumpTo {
  std::string phase;

  bool operator==(const JumpTo&) const = default;
};

using Exit = std::variant<GoOn, FailWith, BeCancelled, BePaused, JumpTo>;

struct Leaving {
  Exit exit;
  std::variant<EffectId, WorkId, Children> still;  // what has yet to be observed to end
  bool asked = false;                              // it could not be seen dead: somebody is asked

  bool operator==(const Leaving&) const = default;
};

using Course = std::variant<Idle, Entering, Preparing, Guarding, Acquiring, Acting, Leaving>;

// What the phase at hand holds. Asked for and not granted yet: listed, with `granted` false.
struct Holding {
  std::vector<LockName> locks;
  std::vector<SemaphoreName> slots;
  bool granted = false;
  Token fence;                // of its first lock: $REEVE_FENCE
  std::optional<Time> until;  // the first max_hold

  bool operator==(const Holding&) const = default;
};

// How the pipeline will end, whatever becomes of the phase at hand: that one is its cleanup.
struct Verdict {
  Ending ending = Ending::Failed;
  Failed failed;  // of Ending::Failed

  bool operator==(const Verdict&) const = default;
};

struct Pipeline {
  PipelineId id;
  ProjectNo project;
  Boxed<Begin> origin;      // inputs with their defaults
  std::uint32_t depth = 0;  // how many pipelines it runs within
  Status state;
  std::uint64_t entry = 0;
  std::uint32_t retries = 0;                         // of the phase at hand, by `retry`
  PersistentMap<std::string, std::uint32_t> visits;  // by phase, retries not counted
  Course course;
  Holding holding;
  std::optional<Failure> failure;  // of the phase at hand, while it waits for what comes next
  std::optional<Verdict> verdict;
  bool paused = false;
  std::vector<PipelineId> after;
  std::string workspace;
  std::string branch;
  std::uint64_t checkpoints = 0;  // made so far
  Time created_at;
  Time phase_started_at;
  std::optional<Time> ended_at;

  bool operator==(const Pipeline&) const = default;
};

bool is_over(const Pipeline& pipeline);  // Done, Failed, Cancelled

// The phase it is in, waits for, or failed in; empty if there is none.
std::string phase_of(const Pipeline& pipeline);
std::uint32_t attempt_of(const Pipeline& pipeline);

// ── The table of states ──

namespace move {

struct Start {
  std::string first;
  bool unmet = false;  // dependencies

  bool operator==(const Start&) const = default;
};

// Dropped unless it is about this phase and this attempt. Without `next` it was the last.
struct PhaseComplete {
  std::string phase;
  std::uint32_t attempt = 1;
  std::string next;

  bool operator==(const PhaseComplete&) const = default;
};

// Likewise. `as` is what it will have failed with: a cleanup ends with the failure before it.
struct PhaseFailed {
  std::string phase;
  std::uint32_t attempt = 1;
  Failed as;

  bool operator==(const PhaseFailed&) const = default;
};

struct Block {
  Reason reason = Reason::Guard;

  bool operator==(const Block&) const = default;
};

struct Unblock {
  bool operator==(const Unblock&) const = default;
};

struct Retry {
  bool force = false;

  bool operator==(const Retry&) const = default;
};

struct Jump {
  std::string phase;

  bool operator==(const Jump&) const = default;
};

struct Cancel {
  bool operator==(const Cancel&) const = default;
};

}  // namespace move

using Move = std::variant<move::Start,
                          move::PhaseComplete,
                          move::PhaseFailed,
                          move::Block,
                          move::Unblock,
                          move::Retry,
                          move::Jump,
                          move::Cancel>;

// Every pair of state and move that the table does not name is "no change" (outcome: false). The
// effects are what is announced. A move that enters a phase leaves its course at Entering.
Step<Pipeline, bool> transition(Pipeline pipeline, const Move& move, Time now);

// ── What comes after a failure ──

struct TryAgain {
  Duration delay{0};
  bool counted = true;

  bool operator==(const TryAgain&) const = default;
};

struct GiveUp {
  bool recoverable = true;

  bool operator==(const GiveUp&) const = default;
};

struct CleanUp {
  std::string phase;
  bool recoverable = true;

  bool operator==(const CleanUp&) const = default;
};

struct Recover {
  std::string phase;

  bool operator==(const Recover&) const = default;
};

struct AskFirst {
  bool operator==(const AskFirst&) const = default;
};

using Then = std::variant<TryAgain, AskFirst, Recover, CleanUp, GiveUp>;

// `retry` first, then `on_fail`; `on_unknown` and `on_exhaust` where they apply; a cleanup that
// fails changes nothing any more. `strategy`: the one that was exhausted.
Then after_failure(const Pipeline& pipeline,
                   const definition::Pipeline& definition,
                   const definition::Phase& phase,
                   const definition::Strategy* strategy,
                   const Failure& failure);

// The phase that follows, or null if it is the last: `next`, else the one written after it.
const definition::Phase* phase_named(const definition::Pipeline& definition,
                                     const std::string& name);
const definition::Phase* phase_after(const definition::Pipeline& definition,
                                     const definition::Phase& phase);

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

// A failed one goes back to the phase it failed in; one that waits for an answer or a backoff
// does not wait any longer.
struct Retry {
  PipelineId pipeline;
  bool force = false;

  bool operator==(const Retry&) const = default;
};

// A failed one goes on from another phase.
struct ResumeFrom {
  PipelineId pipeline;
  std::string phase;
  bool force = false;

  bool operator==(const ResumeFrom&) const = default;
};

// An open one leaves what it does, observed, and goes to this phase.
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

  bool operator==(const Finish&) const = default;
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
                             Finish>;

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

// pipeline:started, :phase, :phase_failed, :blocked, :unblocked, :retry, :complete, :failed,
// :cancelled, :checkpoint; the guards' and strategies' own
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
                           strategy::Event>;

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

// The agent of this entry into a phase ended, and the end of its process was observed.
void agent_ended(
    Turn& turn, PipelineId pipeline, std::uint64_t entry, WorkId work, const Outcome& outcome);
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

// What holds the locks and slots of its phases.
Holder holder_of(const Pipeline& pipeline);

}  // namespace reeve::pipeline
