#pragma once

#include "adapters/reports.h"
#include "core/turn.h"
#include "engine/engine.h"

namespace reeve::daemon {

// Says to the engine what its hands saw.
void tell(engine::Engine& engine, const adapters::Report& report, Stamp now);

}  // namespace reeve::daemon
