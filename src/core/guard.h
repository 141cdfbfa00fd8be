#pragma once

#include "base/time.h"
#include "core/definition.h"
#include "core/id.h"
#include "core/outcome.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// A phase waits until a shell condition holds. The condition is checked at once, then again at
// its interval, and at once whenever an event of `wake_on` happens.
//
//                      not yet, broken: again at the interval
//                     ┌──────────────────────────────────────┐
//     start           ▼          now >= next_check, a wake   │
//   ─────────▶ Checking ◀─────────────────────────────── Waiting
//                │    │                                      │
//        exit 0  │    │ polls used up, three broken          │ timeout, on_timeout = "fail"
//                ▼    └───────────────▶ Failed ◀─────────────┘
//              Passed                      ▲
//                ▲     answered: pass      │ answered: fail
//                └──────── asked ──────────┘  (timeout, on_timeout = "escalate")
//
// A check ends `Passed` (exit 0), `Broken` (126, 127, death by a signal, also as 129 and up, a
// failed start, an overrun limit) or `NotYet` (anything else). With `retry` the guard is polled
// `max` times after the first check, and has failed when that is used up, broken or not. Without,
// it is polled every 10 s for as long as it takes, and has failed after three broken checks in a
// row. A check by a wake counts for neither; a wake during a check causes one more after it, also
// after the last.
//
// `timeout` is the total wait. At it, announced once, `block` goes on as before, `fail` fails, and
// `escalate` asks somebody, when a check that was under way has been ended (core/guard_ending.h).
// While somebody is being asked the guard is still polled, but only the condition itself or the
// answer ends the wait. A check that passes in the same moment in which the time is up, or was up
// while the daemon was away, has passed.
//
// A Guard is a value that lives in the phase that waits. It knows neither pipelines nor effects:
// each verb says what to do next, and when to call `due` is `due_at`. The definition is the one of
// the set to which the pipeline is pinned, the same at every call. The subscription to `wake_on`
// has to be in force before the first check.
namespace reeve {
struct EventName;
}

namespace reeve::guard {

using namespace std::chrono_literals;

inline constexpr Duration check_limit = 60s;  // of one check: the timeout of its Shell
inline constexpr Duration default_interval = 10s;
inline constexpr std::uint32_t broken_limit = 3;

// ── One check ──

enum class Verdict : std::uint8_t { Passed, NotYet, Broken, Unknown };

// Unknown: the machine, or what had the custody of it, died in the middle of it. It is done again
// and does not count; but the second time in a row it is broken: perhaps it was the check itself.
Verdict classify(const Outcome& outcome);

// ── States ──

struct Waiting {
  Time next_check;

  bool operator==(const Waiting&) const = default;
};

struct Checking {
  bool counted = true;             // false: because of a wake
  bool again = false;              // a wake came meanwhile
  std::optional<Time> next_check;  // of one that is not counted: the poll it came before; none:
                                   // the polls are used up, and this is the last chance

  bool operator==(const Checking&) const = default;
};

struct Passed {
  bool operator==(const Passed&) const = default;
};

enum class Reason : std::uint8_t { UsedUp, Broken, TimedOut, Answered };

struct Failed {
  Reason reason = Reason::UsedUp;

  bool operator==(const Failed&) const = default;
};

struct Guard {
  std::variant<Waiting, Checking, Passed, Failed> state;
  Time started_at;
  std::uint64_t checks = 0;  // all that ended, for people
  std::uint32_t polls = 0;   // counted checks after the first
  std::uint32_t broken_in_a_row = 0;
  bool announced = false;       // guard:waiting was
  bool timed_out = false;       // the total wait is over, and that was announced
  bool asked = false;           // a decision is open about it
  bool by_word = false;         // a person said that it passes
  std::optional<Verdict> last;  // none: not checked yet, or the last check was cut short
  std::string last_output;      // for `why`

  bool operator==(const Guard&) const = default;
};

bool is_over(const Guard& guard);  // passed or failed

// When `due` has to be called; none: not at all. To be armed anew after every verb.
std::optional<Time> due_at(const Guard& guard, const definition::Guard& definition);

// ── What is to be done next ──

struct Nothing {
  bool operator==(const Nothing&) const = default;
};

// Run the condition, with `check_limit` as its timeout.
struct Check {
  bool operator==(const Check&) const = default;
};

// Open a decision (decision::Cause::GuardFailed). Its answer comes to `answered`; if the guard
// passes before, the decision is to be retired.
struct Ask {
  bool operator==(const Ask&) const = default;
};

using Next = std::variant<Nothing, Check, Ask, Passed, Failed>;

// ── What is announced ──

struct IsWaiting {
  bool operator==(const IsWaiting&) const = default;
};

struct HasPassed {
  std::uint64_t checks = 0;

  bool operator==(const HasPassed&) const = default;
};

struct HasFailed {
  Reason reason = Reason::UsedUp;

  bool operator==(const HasFailed&) const = default;
};

struct HasTimedOut {
  definition::OnTimeout then = definition::OnTimeout::Escalate;

  bool operator==(const HasTimedOut&) const = default;
};

// A check broke, and the one before had not.
struct IsBroken {
  std::string error;

  bool operator==(const IsBroken&) const = default;
};

// guard:waiting, guard:passed, guard:failed, guard:timeout, guard:broken
using Fact = std::variant<IsWaiting, HasPassed, HasFailed, HasTimedOut, IsBroken>;

// A fact, and whose: the phase that waits fills this in. `guard:tests_pass:passed` is the
// subject's name in an event, the phase its detail.
struct Event {
  PipelineId pipeline;
  std::string phase;
  std::string guard;
  Fact what;

  bool operator==(const Event&) const = default;
};

EventName name_of(const Event& event);

// ── The verbs ──

struct [[nodiscard]] Step {
  Guard guard;
  Next next;
  std::vector<Fact> facts = {};  // in order

  bool operator==(const Step&) const = default;
};

Step start(Time now);

// The check that was asked for last ended; an outcome of an earlier one is not to be handed in.
Step checked(Guard guard, const definition::Guard& definition, const Outcome& outcome, Time now);

// An event of `wake_on` happened.
Step wake(Guard guard, const definition::Guard& definition, Time now);

// Time has passed.
Step due(Guard guard, const definition::Guard& definition, Time now);

// One that has passed is checked once more, because the locks took waiting; if it no longer
// passes it waits again. This check is not counted; counts and the total wait begin anew. What a
// person let pass has passed.
Step again(Guard guard, const definition::Guard& definition, Time now);

// The word of somebody who was asked, about a guard that timed out or failed. `CheckAgain`
// begins anew: counts, and the total wait.
enum class Answer : std::uint8_t { CheckAgain, Pass, Fail };
Step answered(Guard guard, Answer answer, Time now);

// Why it failed, in words.
std::string text_of(Reason reason);

}  // namespace reeve::guard
