#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/cron_schedule.h"
#include "core/definition.h"
#include "core/id.h"
#include "core/pipeline.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// A cron runs something again and again: at the times of a calendar, or at an interval. When is
// core/cron_schedule; here is what happens then.
//
//                  it is time                      is the last run still going?
//     Enabled ───────────────────▶ no ──▶ run
//      ▲   │                       yes ─▶ skip | buffer_one, buffer_all: run when it has ended
//      │   │ disable                      | cancel_other: end it, then run | allow: run beside it
//      │   ▼
//     Disabled: nothing fires; what runs goes on, what was buffered is forgotten
//
// The last instant is kept, and nothing fires at or before it again, wherever the clock is set,
// while the cron stays enabled by one schedule. Whoever enables it anew, after `disable` or with
// another schedule, begins from now: so one that fired by a clock that was wrong can be set right.
// The calendar goes by the wall; an interval counts elapsed time, so it goes by the engine's
// clock and a wall that is set forward or back means nothing to it. Both are kept of every
// instant, and each schedule looks at its own.
//
// Instants that are found late are of two kinds. The latest one is on time if it is at most a
// minute old. All others were missed (the daemon was away, the machine slept, the clock was set
// forward): `catch_up` says whether none of them, the latest, or all within `window` are run.
namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}  // namespace reeve

namespace reeve::cron {

inline constexpr Duration on_time = std::chrono::minutes{1};

// A pipeline, or a program in the outbox.
using Run = std::variant<PipelineId, EffectId>;

// What is run and when, the set of definitions it comes from, and the caller's environment.
struct Plan {
  definition::SetKey set;
  Boxed<Definition> definition;
  definition::Map environment;

  bool operator==(const Plan&) const = default;
};

// How the run that ended last did, for whoever looks: a program leaves nothing else.
struct LastEnd {
  Run run;
  Wall at;
  pipeline::Ending ending = pipeline::Ending::Done;
  std::optional<int> exit_code = {};  // of a program

  bool operator==(const LastEnd&) const = default;
};

struct Cron {
  bool enabled = false;
  Plan plan;
  Stamp anchor;  // when it was enabled: an interval counts from here
  Stamp last;    // nothing fires at or before this until it is enabled anew
  PersistentSet<Run> running;
  std::uint64_t buffered = 0;                     // runs that wait for the end of another
  bool cancelling = false;                        // all that run are to be told to end
  bool starting = false;                          // only within a step: a pipeline is being begun
  std::optional<definition::SetKey> pinned = {};  // while it is enabled, or a run waits
  std::optional<LastEnd> ended = {};
  std::optional<Run> told = {};  // of the running ones, those up to this one were told to end

  bool operator==(const Cron&) const = default;
};

struct Table {
  PersistentMap<CronName, Cron> crons;

  bool operator==(const Table&) const = default;
};

// ── What can be asked ──

// From now on it fires by this plan. What was missed while it was disabled stays missed.
struct Enable {
  CronName name;
  Plan plan;

  bool operator==(const Enable&) const = default;
};

struct Disable {
  CronName name;

  bool operator==(const Disable&) const = default;
};

// Once more, now, whatever the schedule says; `overlap` is obeyed. One that is not enabled runs
// by the plan that comes with the request.
struct RunNow {
  CronName name;
  std::optional<Plan> plan;

  bool operator==(const RunNow&) const = default;
};

using Command = std::variant<Enable, Disable, RunNow>;

// ── What is answered ──

struct Enabled {
  std::optional<Wall> next;

  bool operator==(const Enabled&) const = default;
};

struct Fired {
  Run run;

  bool operator==(const Fired&) const = default;
};

// It waits for the end of what runs now.
struct Buffered {
  std::uint64_t waiting = 0;

  bool operator==(const Buffered&) const = default;
};

// It was not run, because another run has not ended.
struct Skipped {
  bool operator==(const Skipped&) const = default;
};

using Reply = std::variant<Enabled, Fired, Buffered, Skipped>;

// ── Facts ──

struct WasEnabled {
  CronName cron;
  std::optional<Wall> next;

  bool operator==(const WasEnabled&) const = default;
};

struct WasDisabled {
  CronName cron;

  bool operator==(const WasDisabled&) const = default;
};

// `instant`: when it was time; for a run by hand or from the buffer, when it began.
struct HasFired {
  CronName cron;
  Wall instant;
  Run run;

  bool operator==(const HasFired&) const = default;
};

struct WasSkipped {
  CronName cron;
  Wall instant;

  bool operator==(const WasSkipped&) const = default;
};

struct WasBuffered {
  CronName cron;
  Wall instant;
  std::uint64_t waiting = 0;

  bool operator==(const WasBuffered&) const = default;
};

// All instants from `first` to `last` came too late to be run.
struct WasMissed {
  CronName cron;
  Wall first;
  Wall last;

  bool operator==(const WasMissed&) const = default;
};

struct CancelledOther {
  CronName cron;
  Run run;

  bool operator==(const CancelledOther&) const = default;
};

// It was time, but there was nothing to run: the pipeline could not begin.
struct WasRefused {
  CronName cron;
  Refused refused;

  bool operator==(const WasRefused&) const = default;
};

struct HasEnded {
  CronName cron;
  Run run;
  pipeline::Ending ending = pipeline::Ending::Done;
  std::optional<int> exit_code = {};  // of a program

  bool operator==(const HasEnded&) const = default;
};

// cron:enabled, :disabled, :fired, :skipped, :buffered, :missed, :cancelled_other, :refused, :ended
using Event = std::variant<WasEnabled,
                           WasDisabled,
                           HasFired,
                           WasSkipped,
                           WasBuffered,
                           WasMissed,
                           CancelledOther,
                           WasRefused,
                           HasEnded>;

// The next instant. Of a calendar on the wall's clock, of an interval on the engine's; also on
// the engine's if buffered runs had no room in one step.
struct Due {
  CronName cron;

  auto operator<=>(const Due&) const = default;
};

// Where the outcome of its program goes.
struct Address {
  CronName cron;

  bool operator==(const Address&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome);

// A pipeline that this cron started ended; what was buffered may begin.
void pipeline_ended(Turn& turn, const CronName& cron, PipelineId pipeline, pipeline::Ending ending);

// One that had failed goes on: it runs again.
void pipeline_reopened(Turn& turn, const CronName& cron, PipelineId pipeline);
EventName name_of(const Event& event);

// ── Pure looks at one cron ──

// The next `count` (at most 1,000) instants, as the wall would show them: `reeve cron next`.
std::vector<Wall> next_fires(const Cron& cron, Stamp now, std::size_t count);

// The first instant after `last`, told by both clocks as they are related now.
std::optional<Stamp> instant_after(const Cron& cron, Stamp last, Stamp now);

// What is to be done about the instants up to now: the first part of it. None: all is done.
struct Finding {
  std::optional<std::pair<Wall, Wall>> missed;  // the first and the last of them
  std::optional<Stamp> fire;
  Stamp last;  // up to here it is done then

  bool operator==(const Finding&) const = default;
};
std::optional<Finding> look(const Cron& cron, Stamp now);

}  // namespace reeve::cron
