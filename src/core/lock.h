#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/custody.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/lease.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// A lock has at most one holder. The holder keeps it by heartbeating; one that has been
// silent for longer than its timeout, or has stayed past max_hold, is stale and has lost
// the lock: its token is refused from that millisecond on, whether or not anybody noticed.
//
//              acquire                 silence, max_hold
//     Free ───────────────▶ Held ──────────────────────────▶ Stale
//      ▲                     │ ▲ heartbeat, acquire again       │
//      │     release         │ └─ by the holder                 │ somebody asks or waits
//      ├─────────────────────┘                                  │
//      │                     ┌──────────────────────────────────┘
//      │                     ▼
//      │  the first in line is the holder now (Reclaimed), with a new token
//      │
//      │                 ┌─ a holder that names a process goes here instead:
//      └──── Ending ◀────┘  its tree is being ended, and nothing is given on
//            observed gone  before that was observed
//
// Who waits stands in a line; lines, requests for several names and slots at once, and
// everything about who is next are core/grant. Here is what happens to one lock.
namespace reeve {
class Turn;
struct State;
struct EventName;
struct Reply;
}  // namespace reeve
namespace reeve::decision {
struct Answer;
}
namespace reeve::grant {
struct LockWant;
struct Request;
struct Given;
}  // namespace reeve::grant

namespace reeve::lock {

// A lock's definition in a runbook. A request may say otherwise for its own grant.
struct Config {
  std::optional<Duration> heartbeat_timeout;
  std::optional<Duration> max_hold;
  bool escalate_stale = false;

  bool operator==(const Config&) const = default;
};

// Somebody's time with the lock.
struct Tenure {
  Holder holder;
  Boxed<HolderMeta> meta;
  Lease lease;

  bool operator==(const Tenure&) const = default;
};

struct Free {
  Time since;

  bool operator==(const Free&) const = default;
};

struct Held {
  Tenure tenure;

  bool operator==(const Held&) const = default;
};

// Announced as stale; nobody has asked for it since.
struct Stale {
  Tenure tenure;
  Time since;

  bool operator==(const Stale&) const = default;
};

// Its holder's process is being ended. The token is refused already.
struct Ending {
  Tenure tenure;
  Time since;
  custody::Cause cause;

  bool operator==(const Ending&) const = default;
};

struct Lock {
  std::variant<Free, Held, Stale, Ending> state;
  std::uint32_t waiting = 0;  // how many stand in its line

  bool operator==(const Lock&) const = default;
};

struct Table {
  PersistentMap<LockName, Lock> locks;
  PersistentMap<LockName, Config> defined;
  PersistentSet<LockName> stale;                   // those in Stale
  PersistentMap<ProjectNo, std::uint64_t> counts;  // of a project

  bool operator==(const Table&) const = default;
};

// Everything a client can say about locks. `wait`: none = do not wait; Duration::max() = as
// long as it takes.
struct Acquire {
  std::vector<LockName> names;
  Holder holder;
  Boxed<HolderMeta> meta;
  std::optional<Duration> timeout;
  std::optional<Duration> max_hold;
  std::optional<Duration> wait;

  bool operator==(const Acquire&) const = default;
};

// Without a token the holder's name is enough, unless the holder is bound to a session.
struct Release {
  LockName name;
  Holder holder;
  std::optional<Token> token;

  bool operator==(const Release&) const = default;
};

struct Heartbeat {
  LockName name;
  Holder holder;
  Token token;

  bool operator==(const Heartbeat&) const = default;
};

// What a protected resource asks before it accepts a write.
struct Check {
  LockName name;
  Token token;

  bool operator==(const Check&) const = default;
};

// `now` skips the wait for the end of the holder's process, and the event says so.
struct ForceRelease {
  LockName name;
  std::string by;
  std::string reason;
  bool now = false;

  bool operator==(const ForceRelease&) const = default;
};

// Frees every stale lock that names no process, of one project or (0) of all.
struct Cleanup {
  ProjectNo project;

  bool operator==(const Cleanup&) const = default;
};

using Command = std::variant<Acquire, Release, Heartbeat, Check, ForceRelease, Cleanup>;

// Answers. (Those of Acquire are core/grant's.)
struct Released {
  bool operator==(const Released&) const = default;
};

struct NotOwner {
  Holder holder;

  bool operator==(const NotOwner&) const = default;
};

struct AlreadyFree {
  bool operator==(const AlreadyFree&) const = default;
};

struct Alive {
  std::optional<Time> expires_at;

  bool operator==(const Alive&) const = default;
};

struct Lost {
  std::optional<Holder> current;

  bool operator==(const Lost&) const = default;
};

struct Valid {
  bool operator==(const Valid&) const = default;
};

struct Superseded {
  std::optional<Token> current;

  bool operator==(const Superseded&) const = default;
};

struct Cleaned {
  std::vector<LockName> names;

  bool operator==(const Cleaned&) const = default;
};

using Reply =
    std::variant<Released, NotOwner, AlreadyFree, Alive, Lost, Valid, Superseded, Cleaned>;

// A Cleanup that had more to do than one step may: goes on with the next tick, and is answered
// at its end.
struct CleanupRest {
  WaiterId waiter;
  ProjectNo project;
  std::vector<LockName> names;

  bool operator==(const CleanupRest&) const = default;
};

// Facts.
struct WasAcquired {
  LockName name;
  Holder holder;
  Token token;

  bool operator==(const WasAcquired&) const = default;
};

struct WasReclaimed {
  LockName name;
  Holder previous;
  Holder holder;
  Token token;

  bool operator==(const WasReclaimed&) const = default;
};

// `ended`: not by the holder's word but because its session or its process is gone.
struct WasReleased {
  LockName name;
  Holder holder;
  Token token;
  bool ended = false;

  bool operator==(const WasReleased&) const = default;
};

struct WentStale {
  LockName name;
  Holder holder;
  Token token;

  bool operator==(const WentStale&) const = default;
};

struct IsEnding {
  LockName name;
  Holder holder;
  Token token;
  custody::Cause cause;

  bool operator==(const IsEnding&) const = default;
};

// `now`: it was given on without waiting for the end of the process it names.
struct WasForced {
  LockName name;
  Holder holder;
  Token token;
  std::string by;
  std::string reason;
  bool now = false;

  bool operator==(const WasForced&) const = default;
};

// lock:acquired, lock:reclaimed, lock:released, lock:stale, lock:ending, lock:forced
using Event = std::variant<WasAcquired, WasReclaimed, WasReleased, WentStale, IsEnding, WasForced>;

// The timer of a lock: staleness of its holder, or the day after which a free one is forgotten.
struct Due {
  LockName name;

  auto operator<=>(const Due&) const = default;
};

const Tenure* tenure_of(const Lock& lock);

// The tenure that still counts at `now`: held, and its lease not over.
const Tenure* live_tenure(const Lock& lock, Time leases_from, Time now);

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
EventName name_of(const Event& event);

// If the lease of its holder is over, makes it so, as of the moment it was: announced, ending or
// handed to the first in line. Every verb begins with this, so no answer depends on whether a tick
// came first.
void settle(Turn& turn, const LockName& name);

// The answer to the decision that a stale lock opened (`on_stale = "escalate"`).
void decided(Turn& turn, const LockName& name, const decision::Answer& answer);

// Asks somebody about a stale lock.
void escalate(Turn& turn, const LockName& name);

// The process behind the lease is gone: so is the lease.
void lease_gone(Turn& turn, const LockName& name);

// The session its holder is bound to ended: freed, or, if a process is named, that is ended
// first. (A disconnect does not prove that the process is gone.)
void session_gone(Turn& turn, const LockName& name, SessionId session);

// The holder goes on over another connection: a lease that is bound goes with him. Whether it did.
bool move_to_session(Turn& turn, const LockName& name, Token token, SessionId session);

bool go_on(Turn& turn, CleanupRest& rest);  // true when it is done

// For core/grant. Whether `holder` could have it if there were no line: free, stale, or its own.
bool is_open_to(const State& state, const LockName& name, const Holder& holder, Time now);

// The holder of `request` has it now, or has it still; it was open to him.
grant::Given take(Turn& turn, const grant::LockWant& want, const grant::Request& request);

// What `settle` does but for serving the line; whether there was anything to do.
bool expire(Turn& turn, const LockName& name);

// A sign of life from its holder, whose lease is good.
Lease refresh(Turn& turn, const LockName& name);

// Nobody holds it any more; whoever calls this says why, and serves the line.
void vacate(Turn& turn, const LockName& name);

// It is held, or stale, and names a process, which is to be ended first.
void end_process(Turn& turn, const LockName& name, custody::Cause cause);

// Somebody stands in its line, or no longer does.
void join_line(Turn& turn, const LockName& name);
void leave_line(Turn& turn, const LockName& name);

}  // namespace reeve::lock
