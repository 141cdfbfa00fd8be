#pragma once

#include "core/apply.h"
#include "core/state.h"

#include <string>
#include <vector>

// What must be true of every state, and of every step, whatever the input was. Each noun has a
// `check` of its own in `<noun>_invariants.cc`; here they come together. Simulation and
// property tests call these after each step.
namespace reeve {

using Violations = std::vector<std::string>;

namespace lock {
void check(const State& state, Violations& violations);
}
namespace semaphore {
void check(const State& state, Violations& violations);
}
namespace grant {
void check(const State& state, Violations& violations);
}
namespace custody {
void check(const State& state, Violations& violations);
}
namespace session {
void check(const State& state, Violations& violations);
}
namespace queue {
void check(const State& state, Violations& violations);
}
namespace task {
void check(const State& state, Violations& violations);
}
namespace pipeline {
void check(const State& state, Violations& violations);
}
namespace dispatch {
void check(const State& state, Violations& violations);
}
namespace worker {
void check(const State& state, Violations& violations);
}
namespace cron {
void check(const State& state, Violations& violations);
}
namespace board {
void check(const State& state, Violations& violations);
}
namespace decision {
void check(const State& state, Violations& violations);
}
namespace mailbox {
void check(const State& state, Violations& violations);
}
namespace definition {
void check(const State& state, Violations& violations);
}
namespace key {
void check(const State& state, Violations& violations);
}

void check_timers(const State& state, Violations& violations);

// Every violation of a whole state, in words; empty is what it should be. Takes as long as the
// state is large.
Violations check_state(const State& state);

// Of a step from `before`: counters only grow, terminal things stay as they are, no item of a queue
// is lost or comes from nowhere, no semaphore lets in more than it holds, nothing is announced or
// asked for by an input that changed nothing.
Violations check_step(const State& before, const Applied& after);

}  // namespace reeve
