#pragma once

#include "adapters/reports.h"
#include "core/turn.h"
#include "engine/engine.h"

#include <optional>

namespace reeve::daemon {

// The effect of which this tells, if the engine will drop it: it is not known, or has its outcome
// already.
std::optional<EffectId> unwanted(const State& state, const adapters::Report& report);

// Says to the engine what its hands saw.
void tell(engine::Engine& engine, const adapters::Report& report, Stamp now);

}  // namespace reeve::daemon
