#pragma once

#include "core/grant_testing.h"

#include <string>

namespace reeve::testing {

// More than one step may touch falls due at once, after `duration` and before anything else that
// falls due then or later: a step that comes late settles some of it, and a machine that promises
// the same answer with and without a tick has to look for itself.
inline void much_falls_due_in(World& world, Duration duration) {
  for (std::size_t i = 0; i < 2 * limits::touched_a_step; ++i) {
    const lock::Acquire command{{lock_named("due" + std::to_string(i))}, ana, {}, duration, {}, {}};
    const Request request{default_project, {}, true, {}, Command{lock::Command{command}}};
    world.state = apply(std::move(world.state), request, world.stamp).state;
  }
}

}  // namespace reeve::testing
