#pragma once

#include "base/time.h"
#include "core/definition.h"
#include "core/pipeline_value.h"
#include "core/step.h"

#include <cstdint>
#include <string>
#include <variant>

// The two pure tables of a pipeline: how its state moves, and what comes after a failure.
namespace reeve::pipeline {

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

// One that was paused before its phase began leaves it as if it had not come there.
void take_visit_back(Pipeline& pipeline);

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

}  // namespace reeve::pipeline
