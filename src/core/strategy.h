#pragma once

#include "base/time.h"
#include "core/definition.h"
#include "core/id.h"
#include "core/outcome.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Several ways to do one thing, tried in order. Before the first the place to come back to is
// noted (`checkpoint`); an approach that fails in a way it expected (`fallback_on`) is rolled
// back and the next one tried.
//
//     Ready ──▶ Checkpointing ──▶ Trying(0) ──▶ RollingBack(0) ──▶ Trying(1) ──▶ ...
//
//     | in             | done        | failed                                      |
//     |----------------|-------------|---------------------------------------------|
//     | Checkpointing  | Trying(0)   | Failed                                      |
//     | Trying(n)      | Succeeded   | n is the last: Exhausted                    |
//     |                |             | not as `fallback_on` has it: Failed         |
//     |                |             | else RollingBack(n), or Trying(n+1) at once |
//     | RollingBack(n) | Trying(n+1) | Failed, fatal                               |
//
// An attempt of which nobody knows how it ended (the machine died) ends as Unclear: what then
// is for the phase's `on_unknown` to say. The last approach and one that failed unexpectedly are
// not rolled back: what they left is what somebody will want to look at.
//
// A Strategy is a value that lives in the phase that runs it. It knows neither pipelines nor
// effects: each verb says what is to be run next, and the phase hands back how that ended. The
// definition is the one of the set to which the pipeline is pinned, the same at every call.
namespace reeve {
struct EventName;
}

namespace reeve::strategy {

// ── States, and with them how it can end ──

struct Ready {
  bool operator==(const Ready&) const = default;
};

struct Checkpointing {
  bool operator==(const Checkpointing&) const = default;
};

struct Trying {
  std::uint32_t approach = 0;  // an index into the definition's approaches

  bool operator==(const Trying&) const = default;
};

struct RollingBack {
  std::uint32_t approach = 0;
  std::string error;  // why: told with the fallback

  bool operator==(const RollingBack&) const = default;
};

struct Succeeded {
  std::uint32_t approach = 0;
  std::string output;

  bool operator==(const Succeeded&) const = default;
};

// The last approach failed too: the definition's `on_exhaust` comes next.
struct Exhausted {
  std::string error;

  bool operator==(const Exhausted&) const = default;
};

// The checkpoint failed, or an approach in a way it did not expect. Fatal: a rollback failed, so
// nobody knows what the place looks like, and a retry needs force.
struct Failed {
  std::string error;
  bool fatal = false;

  bool operator==(const Failed&) const = default;
};

struct Unclear {
  std::string error;

  bool operator==(const Unclear&) const = default;
};

struct Strategy {
  std::variant<Ready, Checkpointing, Trying, RollingBack, Succeeded, Exhausted, Failed, Unclear>
      state;
  std::string checkpoint;  // {checkpoint}: what its command printed, without the last newline

  bool operator==(const Strategy&) const = default;
};

bool is_over(const Strategy& strategy);

// ── What is to be done next ──

// Nobody waits for what was handed in.
struct Nothing {
  bool operator==(const Nothing&) const = default;
};

struct RunCheckpoint {
  std::string text;  // Shell text

  bool operator==(const RunCheckpoint&) const = default;
};

using Action = std::variant<definition::RunShell, definition::RunMerge, definition::RunAgent>;

// With {checkpoint}, and LC_ALL=C.UTF-8, so that `fallback_on` reads the same everywhere.
struct RunApproach {
  std::uint32_t approach = 0;
  std::string name;
  Action action;
  std::optional<Duration> timeout;

  bool operator==(const RunApproach&) const = default;
};

struct RunRollback {
  std::uint32_t approach = 0;
  std::string text;  // Shell text, with {checkpoint}

  bool operator==(const RunRollback&) const = default;
};

using Next = std::variant<Nothing,
                          RunCheckpoint,
                          RunApproach,
                          RunRollback,
                          Succeeded,
                          Exhausted,
                          Failed,
                          Unclear>;

// ── What is announced ──

struct WasTried {
  std::string approach;

  bool operator==(const WasTried&) const = default;
};

struct FellBack {
  std::string from;
  std::string to;
  std::string error;

  bool operator==(const FellBack&) const = default;
};

struct WasExhausted {
  std::string error;

  bool operator==(const WasExhausted&) const = default;
};

// strategy:attempt, strategy:fallback, strategy:exhausted
using Fact = std::variant<WasTried, FellBack, WasExhausted>;

// A fact, and whose: the phase that runs the strategy fills this in. `strategy:merge:exhausted`
// is the subject's name in an event, the phase its detail.
struct Event {
  PipelineId pipeline;
  std::string phase;
  std::string strategy;
  Fact what;

  bool operator==(const Event&) const = default;
};

EventName name_of(const Event& event);

// ── The verbs ──

struct [[nodiscard]] Step {
  Strategy strategy;
  Next next;
  std::vector<Fact> facts = {};  // in order

  bool operator==(const Step&) const = default;
};

Step start(const definition::Strategy& definition);

// What was to be run ended like this. A strategy that is over stays as it is.
Step finished(Strategy strategy, const definition::Strategy& definition, const Outcome& outcome);

// Whether a failure of this approach is one that it expected. Without `fallback_on`, every one
// is. A pattern is a substring, case ignored, of the last 64 KiB of the output or of what the
// adapter said; `/.../` is a regular expression (core/pattern). `any` matches all; `timeout` an
// attempt that reached its limit, of which only these two words speak: what it printed before it
// was ended is not why it failed.
bool falls_back(const definition::Approach& approach, const Outcome& outcome);

// ── Of outcomes ──

// Done, exit code 0 (or none at all: a merge, an agent), no signal, within its limit.
bool has_succeeded(const Outcome& outcome);

// Why not, in one line: what the adapter said, else `timed out`, `signal 9`, `exit code 1`, with
// the last line of the output after it.
std::string error_of(const Outcome& outcome);

}  // namespace reeve::strategy
