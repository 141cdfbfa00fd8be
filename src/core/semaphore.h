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
#include <variant>

// A semaphore has a capacity and holders with a weight each; the weights never add up to
// more than the capacity, but for a capacity that was lowered below what is in use: then
// nobody is evicted and nothing is given until enough has drained.
//
//     acquire, fits      ┌──────┐   silence              ┌────────┐
//   ───────────────────▶ │ slot │ ─────────────────────▶ │  gone  │   names no process
//                        └──────┘   release              └────────┘
//                            │      silence, disconnected    ▲
//                            └──────────────▶ ending ────────┘   names one: observed first
//
// Asking again with the same or a smaller weight is a heartbeat; with a larger one it is an
// increase, which needs only the difference and goes ahead of the line (it is one of those
// that the line waits for: core/grant). Stale holders count as gone before anything is
// judged, all of them.
namespace reeve {
class Turn;
struct State;
struct EventName;
struct Reply;
}  // namespace reeve
namespace reeve::grant {
struct SlotWant;
struct Request;
struct Given;
}  // namespace reeve::grant

namespace reeve::semaphore {

struct Config {
  std::uint32_t capacity = 0;
  std::optional<Duration> heartbeat_timeout;

  bool operator==(const Config&) const = default;
};

struct Slot {
  std::uint32_t weight = 0;
  Boxed<HolderMeta> meta;
  Lease lease;
  std::optional<custody::Cause> ending;  // its process is being ended; the token is refused
  std::optional<Time> due;               // its place in Table::due
  std::uint32_t told = 0;  // the weight that its holder, asking for what he had, heard that he has

  bool operator==(const Slot&) const = default;
};

struct SlotKey {
  SemaphoreName name;
  Holder holder;

  auto operator<=>(const SlotKey&) const = default;
};

struct DueKey {
  SemaphoreName name;
  Time due;
  Holder holder;

  auto operator<=>(const DueKey&) const = default;
};

struct Semaphore {
  Config config;
  std::uint64_t in_use = 0;   // the sum of the weights
  std::uint32_t waiting = 0;  // how many stand in its line

  bool operator==(const Semaphore&) const = default;
};

struct Table {
  PersistentMap<SemaphoreName, Semaphore> semaphores;
  PersistentMap<SlotKey, Slot> slots;
  PersistentSet<DueKey> due;  // when to look at each; not at those that are ending
  PersistentMap<ProjectNo, std::uint64_t> counts;  // of a project

  bool operator==(const Table&) const = default;
};

struct Create {
  SemaphoreName name;
  Config config;

  bool operator==(const Create&) const = default;
};

struct Resize {
  SemaphoreName name;
  std::uint32_t capacity = 0;

  bool operator==(const Resize&) const = default;
};

struct Acquire {
  SemaphoreName name;
  std::uint32_t weight = 1;
  Holder holder;
  Boxed<HolderMeta> meta;
  std::optional<Duration> timeout;
  std::optional<Duration> max_hold;
  std::optional<Duration> wait;

  bool operator==(const Acquire&) const = default;
};

struct Release {
  SemaphoreName name;
  Holder holder;
  std::optional<Token> token;

  bool operator==(const Release&) const = default;
};

struct Heartbeat {
  SemaphoreName name;
  Holder holder;
  Token token;

  bool operator==(const Heartbeat&) const = default;
};

struct Remove {
  SemaphoreName name;

  bool operator==(const Remove&) const = default;
};

using Command = std::variant<Create, Resize, Acquire, Release, Heartbeat, Remove>;

struct Released {
  bool operator==(const Released&) const = default;
};

struct NotHolder {
  bool operator==(const NotHolder&) const = default;
};

struct Alive {
  std::optional<Time> expires_at;

  bool operator==(const Alive&) const = default;
};

struct Lost {
  bool operator==(const Lost&) const = default;
};

using Reply = std::variant<Released, NotHolder, Alive, Lost>;

struct WasCreated {
  SemaphoreName name;
  std::uint32_t capacity = 0;

  bool operator==(const WasCreated&) const = default;
};

struct WasResized {
  SemaphoreName name;
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  bool operator==(const WasResized&) const = default;
};

struct WasAcquired {
  SemaphoreName name;
  Holder holder;
  std::uint32_t weight = 0;
  Token token;

  bool operator==(const WasAcquired&) const = default;
};

struct WasReleased {
  SemaphoreName name;
  Holder holder;
  std::uint32_t weight = 0;
  bool ended = false;

  bool operator==(const WasReleased&) const = default;
};

struct WentStale {
  SemaphoreName name;
  Holder holder;
  std::uint32_t weight = 0;

  bool operator==(const WentStale&) const = default;
};

struct WasRemoved {
  SemaphoreName name;

  bool operator==(const WasRemoved&) const = default;
};

// semaphore:created, :resized, :acquired, :released, :stale, :removed
using Event = std::variant<WasCreated, WasResized, WasAcquired, WasReleased, WentStale, WasRemoved>;

// The timer of a semaphore: the first of its leases to be over.
struct Due {
  SemaphoreName name;

  auto operator<=>(const Due&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
EventName name_of(const Event& event);

// Frees, or begins to end, every slot whose lease is over. Every verb begins with this: all of
// them count as gone before anything is judged, be they more than a step should touch.
void settle(Turn& turn, const SemaphoreName& name);

// The process behind the lease is gone: so is the lease.
void lease_gone(Turn& turn, const SlotKey& key);

// The session it was bound to ended: freed, or, if a process is named, that is ended first.
void session_gone(Turn& turn, const SlotKey& key);

// The holder goes on over another connection: a lease that is bound goes with him. Whether it did.
bool move_to_session(Turn& turn, const SlotKey& key, Token token, SessionId session);

// Why there can be no semaphore like this, or nothing.
std::optional<Refused> mistake_in(const Config& config);

// What is neither in use nor over a capacity that was lowered.
std::uint32_t available(const Semaphore& semaphore);

// For core/grant. Whether `holder` could have it if there were no line: he has it, or it fits.
bool is_open_to(const State& state, const grant::SlotWant& want, const Holder& holder, Time now);

// Whether he has a slot that he keeps for now.
bool has_slot(const State& state, const SemaphoreName& name, const Holder& holder);

// Whether he has as much already: that needs neither room nor a place in line.
bool has_already(const State& state, const grant::SlotWant& want, const Holder& holder, Time now);

// The holder of `request` has it now, or has it still; it was open to him.
grant::Given take(Turn& turn, const grant::SlotWant& want, const grant::Request& request);

// Undoes an increase, if the slot is still as it was given and its holder knows nothing of it.
// (That he is heard of says little: his token is the one he had before.)
void shrink(Turn& turn, const SlotKey& key, const grant::Given& given);

// What `settle` does but for serving the line; whether there was anything to do.
bool expire(Turn& turn, const SemaphoreName& name);

// A sign of life from its holder, whose lease is good.
Lease refresh(Turn& turn, const SlotKey& key);

// Nobody has it any more; whoever calls this says why, and serves the line.
void vacate(Turn& turn, const SlotKey& key);

// Somebody stands in its line, or no longer does.
void join_line(Turn& turn, const SemaphoreName& name);
void leave_line(Turn& turn, const SemaphoreName& name);

}  // namespace reeve::semaphore
