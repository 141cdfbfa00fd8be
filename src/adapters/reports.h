#pragma once

#include "core/agent.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/outcome.h"
#include "engine/ports.h"

#include <variant>

// What hands have to tell the engine, taken by whoever owns both.
namespace reeve::adapters {

struct EffectDone {
  EffectId effect;
  Outcome outcome;
};
struct EffectObserved {
  EffectId effect;
  engine::Observation observation;
};
struct ProcessEnded {
  Process process;
};

// An agent said something: it is at work. `progress`: it published a value, or committed.
struct AgentActive {
  WorkId work;
  agent::Source source = agent::Source::Log;
  bool progress = false;
};
// Nothing of an agent's session is left.
struct AgentGone {
  WorkId work;
  Outcome outcome;
};
// The child of a dispatch is there; it has said something.
struct ChildStarted {
  DispatchId dispatch;
  Process process;
};
struct ChildAlive {
  DispatchId dispatch;
};

using Report = std::variant<EffectDone,
                            EffectObserved,
                            ProcessEnded,
                            AgentActive,
                            AgentGone,
                            ChildStarted,
                            ChildAlive>;

}  // namespace reeve::adapters
