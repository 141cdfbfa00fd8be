#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/definition.h"
#include "core/guard.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/strategy.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// One pipeline as a value: its state, which people see, and the course of the phase at hand. How
// they hang together: core/pipeline.h. How the state moves: core/pipeline_transition.h.
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
  bool asked = false;                // its check is to end, and cannot be seen dead

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
  std::optional<Word> word = {};  // of the shell program that runs

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
  std::optional<Guarding> guards = {};             // where it was, if a guard is what it failed by

  bool operator==(const Leaving&) const = default;
};

// It is over, and its workspace is being removed.
struct Clearing {
  EffectId effect;
  bool force = false;

  bool operator==(const Clearing&) const = default;
};

using Course =
    std::variant<Idle, Entering, Preparing, Guarding, Acquiring, Acting, Leaving, Clearing>;

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
  std::uint32_t questions = 0;  // open ones of what runs in this entry: its agent's, its step's
  bool paused = false;
  std::vector<PipelineId> after;
  std::string workspace;
  std::string branch;
  std::uint64_t checkpoints = 0;  // made so far
  Time created_at;
  Time phase_started_at;
  std::optional<Time> ended_at;
  PersistentMap<std::string, bool> left;  // phases that ended, the last time: whether well
  bool doubts_workspace = false;          // it may be gone

  bool operator==(const Pipeline&) const = default;
};

bool is_over(const Pipeline& pipeline);  // Done, Failed, Cancelled

// The phase it is in, waits for, or failed in; empty if there is none.
std::string phase_of(const Pipeline& pipeline);
std::uint32_t attempt_of(const Pipeline& pipeline);

// What holds the locks and slots of its phases.
Holder holder_of(const Pipeline& pipeline);

}  // namespace reeve::pipeline
