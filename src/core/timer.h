#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/board.h"
#include "core/cron.h"
#include "core/custody.h"
#include "core/decision.h"
#include "core/dispatch.h"
#include "core/grant.h"
#include "core/key.h"
#include "core/lock.h"
#include "core/mailbox.h"
#include "core/pipeline.h"
#include "core/queue.h"
#include "core/semaphore.h"
#include "core/session.h"
#include "core/task.h"
#include "core/worker.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>

// Deadlines live in the state, in order. A subject has at most one; setting it again moves it.
// When it is due a tick tells the subject, which looks at itself and decides: a timer is a
// reason to look, never a verdict. There are two indexes, one a clock: leases, delays and
// timeouts run on engine time alone, crons on the wall.
namespace reeve {

using Subject = std::variant<lock::Due,
                             semaphore::Due,
                             grant::Due,
                             custody::Due,
                             session::Due,
                             key::Due,
                             queue::Due,
                             queue::TakerDue,
                             queue::PauseDue,
                             task::Due,
                             pipeline::Due,
                             dispatch::Due,
                             worker::Due,
                             cron::Due,
                             board::Due,
                             decision::Due,
                             mailbox::Due>;

template <class Clock>
struct DeadlineKey {
  Clock due;
  std::uint64_t order = 0;  // of two due at once, the one that was set first

  auto operator<=>(const DeadlineKey&) const = default;
};

struct Timers {
  PersistentMap<DeadlineKey<Time>, Subject> engine;
  PersistentMap<DeadlineKey<Wall>, Subject> wall;
  PersistentMap<Subject, DeadlineKey<Time>> armed;
  PersistentMap<Subject, DeadlineKey<Wall>> wall_armed;
  std::uint64_t last_order = 0;

  bool operator==(const Timers&) const = default;
};

// Sets, moves or (none) clears the subject's deadline.
void arm(Timers& timers, const Subject& subject, std::optional<Time> due);
void arm_wall(Timers& timers, const Subject& subject, std::optional<Wall> due);

std::optional<Time> deadline_of(const Timers& timers, const Subject& subject);
std::optional<Wall> wall_deadline_of(const Timers& timers, const Subject& subject);

}  // namespace reeve
