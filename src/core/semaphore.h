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
//                            │      silence, forced          ▲
//                            └──────────────▶ ending ────────┘   names one: observed first
//
// Asking again with the same or a smaller weight is a heartbeat; with a larger one it is an
// increase, which needs only the difference and goes ahead of the line (it is one of those
// that the line waits for: core/grant). Stale holders count as gone before anything is
// judged, all of them.
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}

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
  std::uint64_t in_use = 0;  // the sum of the weights

  bool operator==(const Semaphore&) const = default;
};

struct Table {
  PersistentMap<SemaphoreName, Semaphore> semaphores;
  PersistentMap<SlotKey, Slot> slots;
  PersistentSet<DueKey> due;  // leases by the moment they are over

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
using Event =
    std::variant<WasCreated, WasResized, WasAcquired, WasReleased, WentStale, WasRemoved>;

// The timer of a semaphore: the first of its leases to be over.
struct Due {
  SemaphoreName name;

  auto operator<=>(const Due&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
EventName name_of(const Event& event);

// Frees, or begins to end, every slot whose lease is over. Every verb begins with this.
void settle(Turn& turn, const SemaphoreName& name);

// The lease ended by itself: the process or the session behind it is gone.
void lease_gone(Turn& turn, const SlotKey& key);

}  // namespace reeve::semaphore
