#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/cron_schedule.h"
#include "core/id.h"
#include "core/lock.h"
#include "core/queue.h"
#include "core/semaphore.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// What a project's runbooks define, as plain values. The loader reads the files, finds every
// mistake, and submits the whole set with its hash: definitions are inputs, so a replay needs
// no files. A set is kept while it is current or while a pipeline, a worker or a cron that
// started with it is still there; a running pipeline keeps the text it began with.
//
// Texts with placeholders: those that a shell runs had theirs turned into "${...}" by the
// loader (`Shell text`); all others are interpolated here (core/interpolate).
namespace reeve {
class Turn;
struct Reply;
}  // namespace reeve
namespace reeve::event_bus {
struct Subscription;
}

namespace reeve::definition {

using Map = std::vector<std::pair<std::string, std::string>>;

struct Retry {
  std::uint32_t max = 0;
  Duration delay{0};

  bool operator==(const Retry&) const = default;
};

// ── Guard (core/guard) ──

enum class OnTimeout : std::uint8_t { Escalate, Block, Fail };

struct Poll {
  std::uint32_t max = 0;
  Duration interval{10'000};

  bool operator==(const Poll&) const = default;
};

struct Guard {
  std::string condition = {};  // Shell text
  std::optional<Poll> retry = {};
  std::optional<Duration> timeout = {};
  OnTimeout on_timeout = OnTimeout::Escalate;
  std::vector<std::string> wake_on = {};

  bool operator==(const Guard&) const = default;
};

// ── Strategy (core/strategy) ──

enum class MergeKind : std::uint8_t { FastForward, Rebase, Squash, Merge };

struct RunShell {
  std::string text;

  bool operator==(const RunShell&) const = default;
};

struct RunMerge {
  MergeKind kind = MergeKind::FastForward;
  std::string branch;  // empty: {branch}
  std::string into;

  bool operator==(const RunMerge&) const = default;
};

struct RunAgent {
  std::string agent;

  bool operator==(const RunAgent&) const = default;
};

// A pattern of `fallback_on`: a substring, case ignored, or between slashes a regular
// expression; `any` and `timeout` are reserved words.
struct Approach {
  std::string name;
  std::variant<RunShell, RunMerge, RunAgent> action;
  std::optional<Duration> timeout;
  std::string rollback;  // Shell text; empty: none
  std::vector<std::string> fallback_on;

  bool operator==(const Approach&) const = default;
};

struct Fail {
  bool operator==(const Fail&) const = default;
};

struct AskSomebody {
  bool operator==(const AskSomebody&) const = default;
};

struct GoTo {
  std::string phase;

  bool operator==(const GoTo&) const = default;
};

using OnFail = std::variant<AskSomebody, Fail, GoTo>;

struct Strategy {
  std::string checkpoint;  // Shell text; empty: none
  std::vector<Approach> approaches;
  OnFail on_exhaust;

  bool operator==(const Strategy&) const = default;
};

// ── Agent (core/task) ──

struct DoNudge {
  std::uint32_t times = 1;

  bool operator==(const DoNudge&) const = default;
};

struct DoRestart {
  std::uint32_t times = 1;

  bool operator==(const DoRestart&) const = default;
};

struct DoEscalate {
  bool operator==(const DoEscalate&) const = default;
};

struct DoDone {
  bool operator==(const DoDone&) const = default;
};

struct DoFail {
  bool operator==(const DoFail&) const = default;
};

using Response = std::variant<DoNudge, DoRestart, DoEscalate, DoDone, DoFail>;

struct Agent {
  std::string kind = "generic";
  std::string command;  // Shell text
  bool session = true;  // in tmux; else run to completion
  std::string prompt;
  std::string prompt_file;
  std::string cwd;
  Map env;
  Duration idle_timeout{180'000};
  std::optional<Duration> progress_timeout;
  std::optional<Duration> timeout;
  std::vector<Response> on_idle;
  Response on_exit = DoDone{};
  Response on_error = DoEscalate{};
  Response on_permission = DoEscalate{};
  std::optional<Duration> checkpoint_every;
  std::string checkpoint_run;  // Shell text
  // `on_error = "escalate"` was written: somebody is asked at once. Else the end of a session that
  // failed is that of its phase, which has its own `retry` and `on_fail`.
  bool asks_on_error = false;

  bool operator==(const Agent&) const = default;
};

// ── Pipeline (core/pipeline) ──

enum class Join : std::uint8_t { All, Any, FirstFailure };
enum class OnUnknown : std::uint8_t { Ask, Retry, Fail };

struct RunStrategy {
  std::string strategy;

  bool operator==(const RunStrategy&) const = default;
};

struct RunPipeline {
  std::string pipeline;
  Map inputs;

  bool operator==(const RunPipeline&) const = default;
};

struct RunParallel {
  std::vector<std::string> pipelines;
  Join join = Join::All;

  bool operator==(const RunParallel&) const = default;
};

// Fans out over the values of a JSON array, at most `max` at a time. The loader cannot know the
// values: the array is read when the phase begins (core/pipeline_children).
struct RunForEach {
  std::string values;
  std::string pipeline;
  std::uint32_t max = 8;
  Join join = Join::All;

  bool operator==(const RunForEach&) const = default;
};

using Action = std::variant<RunShell, RunAgent, RunStrategy, RunPipeline, RunParallel, RunForEach>;

struct SlotUse {
  std::string name;
  std::uint32_t weight = 1;

  bool operator==(const SlotUse&) const = default;
};

struct Phase {
  std::string name;
  Action action;
  std::vector<std::string> pre;  // guards
  std::vector<std::string> post;
  std::vector<std::string> locks;
  std::vector<SlotUse> slots;
  std::optional<Duration> timeout;
  Retry retry;
  std::optional<OnFail> on_fail;  // absent: the pipeline's
  OnUnknown on_unknown = OnUnknown::Ask;
  std::string next;   // empty: the following phase
  bool ends = false;  // `next` was given: an on_fail target with one is recovery
  std::uint32_t max_visits = 5;
  std::string cwd;
  Map env;
  bool strict = false;

  bool operator==(const Phase&) const = default;
};

struct Workspace {
  bool git = false;
  std::string branch;
  std::string base;
  std::string folder;

  bool operator==(const Workspace&) const = default;
};

struct Pipeline {
  std::vector<std::string> inputs;
  Map defaults;
  std::optional<Workspace> workspace;
  std::vector<Phase> phases;
  OnFail on_fail = AskSomebody{};
  std::string on_cancel;           // a phase; empty: none
  std::vector<std::string> after;  // pipelines, with placeholders
  std::vector<std::string> pass_env;
  std::vector<std::string> secret;

  bool operator==(const Pipeline&) const = default;
};

// ── Workers, crons, the rest ──

struct Worker {
  std::string queue;
  std::string pipeline;
  std::uint32_t concurrency = 1;
  std::vector<std::string> wake_on;

  bool operator==(const Worker&) const = default;
};

// An outside source of a queue's items, polled.
struct Source {
  std::string command;  // Shell text
  Duration poll{30'000};
  std::string take =
      {};  // Shell text: says there that an item is taken; empty: nothing need be said

  bool operator==(const Source&) const = default;
};

struct Hook {
  std::string pattern;
  std::string text;  // Shell text

  bool operator==(const Hook&) const = default;
};

struct Notifications {
  std::vector<std::string> on;
  std::string command;

  bool operator==(const Notifications&) const = default;
};

// Everything of one project. By name, in order, so that equal sets are equal values.
struct Set {
  std::string hash;
  PersistentMap<std::string, Pipeline> pipelines;
  PersistentMap<std::string, Guard> guards;
  PersistentMap<std::string, Strategy> strategies;
  PersistentMap<std::string, Agent> agents;
  PersistentMap<std::string, Worker> workers;
  PersistentMap<std::string, cron::Definition> crons;
  PersistentMap<std::string, lock::Config> locks;
  PersistentMap<std::string, semaphore::Config> semaphores;
  PersistentMap<std::string, queue::Config> queues;
  PersistentMap<std::string, Source> sources;
  std::vector<Hook> hooks;
  Notifications notifications;
  std::string root;  // the project's folder

  bool operator==(const Set&) const = default;
};

// A set of one project by its hash.
struct SetKey {
  ProjectNo project;
  std::string hash;

  auto operator<=>(const SetKey&) const = default;
};

struct Kept {
  Boxed<Set> set;
  std::uint64_t pins = 0;  // pipelines, workers and crons that started with it

  bool operator==(const Kept&) const = default;
};

struct Table {
  PersistentMap<SetKey, Kept> sets;
  PersistentMap<ProjectNo, std::string> current;

  bool operator==(const Table&) const = default;
};

// The project's runbooks are these now: locks, semaphores and queues take their definitions,
// hooks and notifications subscribe instead of those of the set before, and what starts from here
// on starts with them. Semaphores and queues that are no longer defined stay, with all that is in
// them, until somebody removes them. The same hash again changes nothing.
//
// The loader has found the users' mistakes; what it cannot have let through (a bad name, a
// pattern that is none, dead letters in a circle) is refused here, and nothing has changed.
struct Load {
  ProjectNo project;
  Boxed<Set> set;

  bool operator==(const Load&) const = default;
};

using Command = std::variant<Load>;

reeve::Reply apply(Turn& turn, const Command& command);

// The set in force, or none. Good while the table is not changed.
const Set* current(const Table& table, ProjectNo project);
const Set* find(const Table& table, const SetKey& key);

// What a set of this project subscribes: its hooks and notifications.
std::vector<event_bus::Subscription> subscriptions_of(ProjectNo project, const Set& set);

// Whoever starts with a set keeps it until he lets it go. A set that is not there is nobody's.
void pin(Turn& turn, const SetKey& key);
void unpin(Turn& turn, const SetKey& key);

}  // namespace reeve::definition
