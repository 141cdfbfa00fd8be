#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/lease_ref.h"
#include "core/outcome.h"

#include <compare>
#include <optional>
#include <string>
#include <variant>

// Time alone takes nothing from the living. A lease whose holder names a process of this
// host ends in two steps: its tree is ended (TERM, 5 s, KILL), and only when that end was
// observed is the lease given on. What cannot be seen dead within 30 s opens a decision.
//
//     lease over, max_hold, force-release, cancel        observed gone
//   ──────────────────────────────────────────▶ Ending ────────────────▶ leases given on
//                                                  │
//                                                  │ 30 s, still there
//                                                  ▼
//                                   decision: look again · release anyway
//
// A process that ends by itself, and is observed to, frees what it held at once.
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}  // namespace reeve
namespace reeve::decision {
struct Answer;
}

namespace reeve::custody {

enum class Cause { Silent, MaxHold, Forced, Cancelled };

struct Held {
  Process process;
  LeaseRef lease;

  auto operator<=>(const Held&) const = default;
};

struct Ending {
  Time since;
  Cause cause;
  EffectId kill;
  std::optional<DecisionId> decision;  // somebody was asked, and has not answered
  bool gone = false;                   // what it held is being given on, a part a tick

  bool operator==(const Ending&) const = default;
};

struct Table {
  PersistentSet<Held> held;  // by process, so that its end finds all of it
  PersistentMap<Process, Ending> endings;

  bool operator==(const Table&) const = default;
};

// An adapter saw that nothing of this process, or group, is left.
struct ProcessGone {
  Process process;

  bool operator==(const ProcessGone&) const = default;
};

struct WasAsked {
  Process process;

  bool operator==(const WasAsked&) const = default;
};

// `blindly`: nobody saw it; somebody decided to go on without.
struct WasObservedGone {
  Process process;
  bool blindly = false;

  bool operator==(const WasObservedGone&) const = default;
};

// process:unobserved, process:gone
using Event = std::variant<WasAsked, WasObservedGone>;

// 30 s to be seen dead; or now, to go on with what it held.
struct Due {
  Process process;

  auto operator<=>(const Due&) const = default;
};

// From now on `process` is known to hold `lease`; from now on it is not.
void keep(Turn& turn, const Process& process, LeaseRef lease);
void let_go(Turn& turn, const Process& process, const LeaseRef& lease);

// Who asks anew for what he has says anew which process it is to end with; who names none leaves
// that as it was. What is known of the holder from now on.
Boxed<HolderMeta> follow(Turn& turn,
                         Boxed<HolderMeta> known,
                         const Boxed<HolderMeta>& said,
                         const LeaseRef& lease);

// The tree of `process` is to be ended. Asking again while it is being ended changes nothing.
void end(Turn& turn, const Process& process, Cause cause);

// Its end was observed, or somebody decided to go on without (`blindly`): all it held ends.
void gone(Turn& turn, const Process& process, bool blindly);

// Nobody knows how it ended: it is done again.
void kill_finished(Turn& turn, const Process& process, Ended ended);
void decided(Turn& turn, const Process& process, const decision::Answer& answer);
void due(Turn& turn, const Due& due);

EventName name_of(const Event& event);

}  // namespace reeve::custody
