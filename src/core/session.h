#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/id.h"
#include "core/lease_ref.h"

#include <compare>
#include <optional>
#include <variant>

// A connection is a session. Holders, claims and waiting requests may be bound to one, and
// then its end frees them. A session enters the state with the first thing bound to it and
// leaves with the last, so a call that binds nothing costs no record.
//
//     bind        ┌──────┐  the daemon restarted  ┌──────────┐  10 s   ┌───────┐
//   ────────────▶ │ Here │ ─────────────────────▶ │ Awaited  │ ──────▶ │ ended │
//                 └──────┘ ◀───────────────────── └──────────┘         └───────┘
//                     │          it came back                              ▲
//                     └────────────────────────────────────────────────────┘
//                                        disconnected
//
// While it is awaited its places in line are kept, and a line waits for its head that long.
// A connection that cannot come back (beanstalkd) is ended at readiness.
namespace reeve {
class Turn;
struct State;
}  // namespace reeve

namespace reeve::session {

struct WaiterPlace {
  WaiterId waiter;

  auto operator<=>(const WaiterPlace&) const = default;
};

using Thing = std::variant<LeaseRef, WaiterPlace>;

struct Bound {
  SessionId session;
  Thing thing;

  auto operator<=>(const Bound&) const = default;
};

struct Session {
  bool can_return = true;
  std::optional<Time> awaited_until;
  bool ended = false;  // what is bound to it is being freed, a part a tick

  bool operator==(const Session&) const = default;
};

struct Table {
  PersistentMap<SessionId, Session> sessions;
  PersistentSet<Bound> bound;

  bool operator==(const Table&) const = default;
};

// Inputs of the engine.
struct Ended {
  SessionId session;

  bool operator==(const Ended&) const = default;
};

struct Returned {
  SessionId session;

  bool operator==(const Returned&) const = default;
};

struct Due {
  SessionId session;

  auto operator<=>(const Due&) const = default;
};

// Binding cannot fail: who would bind the first thing to one session too many asks before.
bool has_room(const State& state, SessionId session);
void bind(Turn& turn, SessionId session, Thing thing);
void unbind(Turn& turn, SessionId session, const Thing& thing);

// Whether an answer would find somebody: not bound at all, or the connection is there.
bool is_here(const State& state, SessionId session);
bool is_here(const Turn& turn, SessionId session);

// Frees what is bound, at most 256 things a step; the rest goes on with the next tick.
void end(Turn& turn, SessionId session);
bool go_on(Turn& turn, SessionId session);  // true when nothing is left
bool come_back(Turn& turn, SessionId session);

// The daemon is ready after a restart: everybody has ten seconds to come back. (Up to
// 10,000 sessions are marked; this is the one input that may touch so many.)
void await_all(Turn& turn);

void due(Turn& turn, const Due& due);

}  // namespace reeve::session
