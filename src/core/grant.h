#pragma once

#include "base/boxed.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/lease.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

// Who gets what, and who is next.
//
// A request asks for any number of locks and slots, all or none. It is granted at once if
// everything it asks for is free, or its own already, and nobody who came before waits for
// any of it; else it is told who is in the way, or, if it wants to wait, stands in the line
// of every name it asked for. Nothing is held meanwhile. Lines are first come, first served:
//
//     lock main     held by ana       line:  bo {main, docs} · cy {main}
//     lock docs     free              line:  bo {main, docs} · di {docs}
//
// Here `docs` is free and di does not get it, for bo came first. One exception, or fairness
// itself would deadlock: a request goes ahead of those who wait, directly or through others,
// for its own holder, or for one it runs within. (Were di the holder of main, it would get docs.)
// Those behind somebody in a line wait for him, and so for whomever he waits for. And the other
// way round: whoever waits for others elsewhere lets them go ahead if they can, lest he come to
// hold what they need; if that cannot be avoided, his other wait ends with WouldDeadlock.
// Who has a slot and wants a larger one goes ahead of all who have none.
//
// A line moves by release, by staleness (a tick), by force, by the end of a session or a
// process, when somebody in it gives up, and when a new wait or a new holder gives somebody in
// it the right to go ahead. It never polls. Of a line only the head is looked at, and those who
// may pass it: the head waits for them, so core/wait_graph finds them without walking the line.
namespace reeve {
class Turn;
struct State;
struct EventName;
struct Reply;
}  // namespace reeve

namespace reeve::grant {

struct LockWant {
  LockName name;
  std::optional<Duration> timeout;  // absent: the lock's definition, else the default
  std::optional<Duration> max_hold;

  bool operator==(const LockWant&) const = default;
};

struct SlotWant {
  SemaphoreName name;
  std::uint32_t weight = 1;
  std::optional<Duration> timeout;
  std::optional<Duration> max_hold;

  bool operator==(const SlotWant&) const = default;
};

// Whom to tell. A client that waits is answered under its waiter's number; a phase of a
// pipeline is told by an inner effect, and holds without heartbeat: the daemon does not
// fall silent.
struct ToClient {
  bool operator==(const ToClient&) const = default;
};

struct ToPhase {
  PipelineId pipeline;
  std::uint64_t entry = 0;  // which entry into which phase: a late grant finds no taker

  bool operator==(const ToPhase&) const = default;
};

using Origin = std::variant<ToClient, ToPhase>;

struct Request {
  Holder holder;
  Boxed<HolderMeta> meta;
  std::vector<LockWant> locks;
  std::vector<SlotWant> slots;
  Origin origin;
  SessionId session = {};        // whose connection waits for the answer
  std::optional<Duration> wait;  // none: do not wait; max: as long as it takes

  bool operator==(const Request&) const = default;
};

struct Waiter {
  Request request;
  Time since;
  std::optional<Time> until;

  bool operator==(const Waiter&) const = default;
};

// A wait ends at its limit, whether or not a tick has noticed.
inline bool is_over(const Waiter& waiter, Time now) { return waiter.until && now >= *waiter.until; }

struct LockPlace {
  LockName name;
  WaiterId waiter;

  auto operator<=>(const LockPlace&) const = default;
};

// Who has a slot and waits for a larger one stands before those who have none. One that is being
// taken from its holder is none.
struct SlotPlace {
  SemaphoreName name;
  bool newcomer = false;
  WaiterId waiter;

  auto operator<=>(const SlotPlace&) const = default;
};

// A wait counts for its holder, and for all within which that one runs.
struct WaitOf {
  Holder holder;
  WaiterId waiter;

  auto operator<=>(const WaitOf&) const = default;
};

struct Table {
  PersistentMap<WaiterId, Waiter> waiters;
  PersistentSet<LockPlace> lock_lines;
  PersistentSet<SlotPlace> slot_lines;
  PersistentSet<WaitOf> waits;

  bool operator==(const Table&) const = default;
};

struct Given {
  std::string name;
  Token token;
  std::optional<Time> expires_at;
  std::uint32_t weight = 0;        // of a slot; 0 for a lock
  std::optional<Holder> previous;  // whom it was reclaimed from
  ProjectNo project = {};
  std::optional<std::uint32_t> had;  // it was the holder's already; of a slot, with this weight

  bool operator==(const Given&) const = default;
};

enum class How { Acquired, Extended, Reclaimed };

struct Granted {
  How how = How::Acquired;  // Extended: all of it was the holder's already
  Holder holder;
  std::vector<Given> given;  // locks first, in the order asked for, then slots

  bool operator==(const Granted&) const = default;
};

// In the way, for a lock: its holder, or with a line and no holder the first in line. `ahead` are
// those in line before the asker; who would not be its last is told of 256 at most (limits.h,
// touched_a_step), there may be more. So it is with Full.
struct Busy {
  LockName name;
  Holder holder;
  Time since;
  std::optional<Time> expires_at;
  std::uint64_t ahead = 0;

  bool operator==(const Busy&) const = default;
};

struct Full {
  SemaphoreName name;
  std::uint32_t available = 0;
  std::uint32_t capacity = 0;
  std::uint64_t ahead = 0;

  bool operator==(const Full&) const = default;
};

// The holders in the order in which each waits for the next; the last waits for the first.
struct WouldDeadlock {
  std::vector<Holder> cycle;

  bool operator==(const WouldDeadlock&) const = default;
};

// The wait ended without a grant.
struct NotGranted {
  Left left = Left::TimedOut;
  std::variant<Busy, Full> in_the_way;

  bool operator==(const NotGranted&) const = default;
};

using Reply = std::variant<Granted, Busy, Full, WouldDeadlock, NotGranted>;

struct BeganWaiting {
  WaiterId waiter;
  Holder holder;
  std::vector<std::string> names;

  bool operator==(const BeganWaiting&) const = default;
};

struct StoppedWaiting {
  WaiterId waiter;
  Holder holder;
  Left left = Left::TimedOut;

  bool operator==(const StoppedWaiting&) const = default;
};

// wait:began, wait:ended
using Event = std::variant<BeganWaiting, StoppedWaiting>;

// A chore: the capacity was lowered, and the waits may be in circles.
struct CirclesAt {
  SemaphoreName name;

  bool operator==(const CirclesAt&) const = default;
};

// The timer of a waiter: its own limit, or now if it is owed another look.
struct Due {
  WaiterId waiter;

  auto operator<=>(const Due&) const = default;
};

// Judges a request: grants it, says why not, or gives it a place in its lines.
reeve::Reply ask(Turn& turn, Request request);

// What is due of locks, slots and waits, in its order and as of its moment, as a tick would do it
// and no more than a tick may. What ends without having been asked to (a process, a session, an
// answer) is heard before what is due; but whoever waits for it may want other things, too, that
// were over long before.
void settle_due(Turn& turn);

// Serves the line of a name that may have become free.
void serve(Turn& turn, const LockName& name);
void serve(Turn& turn, const SemaphoreName& name);

// The same, and whoever waits for more than there now can ever be is told so and leaves. If it was
// lowered, so does whoever waits in a circle that this has closed: nobody in it could move.
void capacity_changed(Turn& turn, const SemaphoreName& name, bool lowered);

// Circles that there was no room to look for. Whether all are gone.
bool go_on(Turn& turn, const CirclesAt& rest);

// The holder has got a slot, or has it no longer: his waits for this semaphore are increases from
// now on, or no longer, and stand where such a one stands. Whom that lets go ahead is looked at
// with the next tick; the line is still to be served.
void slot_changed(Turn& turn, const SemaphoreName& name, const Holder& holder);

// The same for a lock that is no longer the holder's: his waits that name it stand in its line now.
void lock_lost(Turn& turn, const LockName& name, const Holder& holder);

// Takes a waiter out of its lines; a client among them is answered.
void leave(Turn& turn, WaiterId waiter, Left left);

// The place of a wait that goes on over another connection; a holder that is bound moves with it.
void move_to_session(Turn& turn, WaiterId waiter, SessionId session);

// Something that concerns this holder changed elsewhere (its connection is back or another one, its
// lease is good again): what it waits for, and what those wait for who are in its way, is tried
// again; and a wait of its own that is in a circle by that ends with WouldDeadlock.
void retry(Turn& turn, const Holder& holder);

// What becomes of a request at `now`: to be granted, to wait, or not to be had at all. `self` is
// its own place if it has one. Everything it asks for exists.
enum class Verdict { Grant, Wait, Never };
Verdict judge(const State& state, const Request& request, std::optional<WaiterId> self, Time now);

// The waits that count for this holder, in the order in which they began.
std::vector<WaiterId> waits_of(const Table& table, const Holder& holder);

// The holders within which this one runs, the nearest first.
std::span<const Holder> within_of(const Request& request);

// The answer found nobody: what it gave, and had not been the holder's before, goes to the next,
// unless the holder has been heard of since: he knows of it by another way.
void take_back(Turn& turn, const Granted& granted);

void due(Turn& turn, const Due& due);

EventName name_of(const Event& event);

}  // namespace reeve::grant
