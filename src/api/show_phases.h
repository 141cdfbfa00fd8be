#pragma once

#include "api/tell.h"
#include "core/pipeline.h"
#include "core/state.h"

// How far a run has come, phase by phase.
namespace reeve::api {

// `"phases":[{"name","state","visits"}…]`: of the phase it is in its own state, of the others how
// they ended the last time, `done` or `failed`, or `left` if something else led away from it.
void show_phases(Tell& tell, const State& state, const pipeline::Pipeline& pipeline);

}  // namespace reeve::api
