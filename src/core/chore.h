#pragma once

#include "base/persistent_map.h"
#include "core/effect.h"
#include "core/grant.h"
#include "core/id.h"
#include "core/lock.h"
#include "core/queue.h"

#include <cstdint>
#include <variant>
#include <vector>

// What concerns more than one step may touch is kept here and goes on, a part a tick, in the
// order in which it came; clients are served in between.
namespace reeve {

struct EndSession {
  SessionId session;

  bool operator==(const EndSession&) const = default;
};

// Inner effects that a step had no room for.
struct CarryOn {
  std::vector<Inner> effects;
  std::vector<Event> events;  // still to be routed

  bool operator==(const CarryOn&) const = default;
};

using Chore = std::variant<EndSession,
                           CarryOn,
                           lock::CleanupRest,
                           queue::RedriveAll,
                           queue::PurgeAll,
                           grant::CirclesAt>;

struct Chores {
  PersistentMap<std::uint64_t, Chore> waiting;
  std::uint64_t last = 0;

  bool operator==(const Chores&) const = default;
};

}  // namespace reeve
