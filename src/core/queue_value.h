#pragma once

#include "base/boxed.h"
#include "base/bytes.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/lease.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Queues as a value: what is kept of them, their items and those who wait. What they do:
// core/queue.h.
//
// An item must be small: a million of them live here. What every item has stands in the
// item, what few have (a claim, a past) in a box beside it, its data in a block of bytes.
namespace reeve::queue {

// A queue's number, so that an item need not carry its name.
using QueueNo = std::uint32_t;

enum class OnExhaust : std::uint8_t { Dead, Escalate, Pause };

struct Config {
  Duration visibility_timeout = std::chrono::minutes{5};
  std::uint32_t max_attempts = 3;                    // 0: no limit
  Duration backoff_first = std::chrono::seconds{1};  // 0: none
  Duration backoff_max = std::chrono::minutes{5};
  OnExhaust on_exhaust = OnExhaust::Dead;
  std::optional<QueueName> dead_letter;
  std::uint32_t keep_completed = 1000;  // of both at least limits::completed_kept of a last batch
  Duration keep_completed_for = std::chrono::hours{24};
  std::optional<Duration> keep_dead_for;  // none: until redriven or dropped

  bool operator==(const Config&) const = default;
};

// Where every item that ever was in the queue is, or went. At every moment
//   pushed + moved_in = pending + processing + completed + dead + dropped + forgotten + moved_out
// where `pending` includes the delayed ones.
struct Counts {
  std::uint64_t pushed = 0;
  std::uint64_t moved_in = 0;
  std::uint64_t pending = 0;
  std::uint64_t delayed = 0;
  std::uint64_t processing = 0;
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  std::uint64_t dropped = 0;
  std::uint64_t forgotten = 0;
  std::uint64_t moved_out = 0;

  bool operator==(const Counts&) const = default;
};

struct Queue {
  QueueName name;
  Config config;
  bool paused = false;
  std::optional<Time> paused_until;  // beanstalkd's pause-tube
  ItemId paused_by = {};             // the exhausted item whose decision will resume it
  std::uint32_t takers = 0;          // in its line
  std::optional<Time> unserved;      // since when its line goes on with the next tick
  Counts counts;
  std::uint32_t purges = 0;  // of what is pending, that go on with the next tick

  bool operator==(const Queue&) const = default;
};

enum class ItemState : std::uint8_t { Pending, Processing, Completed, Dead };

// Whether the process behind a claim is being ended, and why.
enum class Ending : std::uint8_t { No, Silent, Disconnected };

// A claim: who has the item, and until when nobody else does. Without `visibility` the
// holder is a pipeline, which the daemon itself keeps.
struct Claim {
  Holder holder;
  Boxed<HolderMeta> meta;
  Token token;
  Time taken_at;
  Time last_sign;  // the lease counts from here: core/lease
  std::optional<Duration> visibility;
  std::optional<Time> due;     // its key in Table::due; early if leases_from moved since
  Ending ending = Ending::No;  // then its token is refused

  bool operator==(const Claim&) const = default;
};

inline Lease lease_of(const Claim& claim) {
  return {claim.token, claim.taken_at, claim.last_sign, claim.visibility, std::nullopt};
}

// What only some items have.
struct Rest {
  std::optional<Claim> claim;          // Processing; Completed: the claim that completed it
  std::optional<Time> not_before;      // Pending, delayed: not in the ready order yet
  std::optional<Time> ended_at;        // Completed, Dead
  std::optional<Duration> visibility;  // the item's own, instead of the queue's
  std::string dedupe_key;
  std::string last_error;
  std::string reason;               // Dead
  std::optional<QueueName> origin;  // in a dead-letter queue: where it came from
  // Completed, Dead: the order of ending. Pending among dead letters: of its death, until it is
  // tried there.
  std::uint64_t ended = 0;
  // Pending, and came while its queue was being purged: the last number that had been given by
  // then. A purge that was asked for before leaves it where it is.
  std::uint64_t came_after = 0;

  bool operator==(const Rest&) const = default;
};

struct Item {
  QueueNo queue = 0;
  std::int32_t priority = 0;
  Time created_at;
  std::uint32_t attempts = 0;
  ItemState state = ItemState::Pending;
  bool json = true;  // how the data came: JSON text, or plain bytes
  Bytes data;
  Boxed<Rest> rest;

  bool operator==(const Item&) const = default;
};
static_assert(sizeof(Item) == 40, "a million of them live in the state");

// Higher priority first, then the lower number: the order of taking.
struct ReadyKey {
  QueueNo queue = 0;
  std::uint32_t below_top = 0;  // priority, turned round so that the first key is the next item
  ItemId item;

  auto operator<=>(const ReadyKey&) const = default;
};

// What time does to an item: its delay or its claim ends. (Ended ones are forgotten in the order
// in which they ended.)
enum class Wait : std::uint8_t { Delay, Claim };

struct DueKey {
  QueueNo queue = 0;
  Wait wait = Wait::Delay;
  Time due;
  ItemId item;

  auto operator<=>(const DueKey&) const = default;
};

// The oldest first.
struct EndedKey {
  QueueNo queue = 0;
  std::uint64_t order = 0;
  ItemId item;

  auto operator<=>(const EndedKey&) const = default;
};

// A pending item that is not at home: `origin` says where that is.
struct GuestKey {
  QueueNo queue = 0;
  ItemId item;

  auto operator<=>(const GuestKey&) const = default;
};

struct DedupeKey {
  QueueNo queue = 0;
  std::string key;

  auto operator<=>(const DedupeKey&) const = default;
};

// Somebody who waits for an item of any of these queues.
struct Taker {
  Holder holder;
  Boxed<HolderMeta> meta;
  std::vector<QueueNo> queues;
  std::uint32_t max = 1;
  SessionId session = {};
  Time since;
  std::optional<Time> until;

  bool operator==(const Taker&) const = default;
};

struct TakerPlace {
  QueueNo queue = 0;
  WaiterId waiter;

  auto operator<=>(const TakerPlace&) const = default;
};

struct Table {
  PersistentMap<QueueName, QueueNo> names;
  PersistentMap<QueueNo, Queue> queues;
  PersistentMap<ItemId, Item> items;
  PersistentSet<ReadyKey> ready;
  PersistentSet<DueKey> due;
  PersistentSet<EndedKey> completed;
  PersistentSet<EndedKey> dead;
  PersistentSet<GuestKey> guests;
  PersistentMap<DedupeKey, ItemId> dedupe;
  PersistentMap<WaiterId, Taker> takers;
  PersistentSet<TakerPlace> lines;
  PersistentMap<ProjectNo, std::uint32_t> queues_of;  // how many
  std::uint32_t last_queue = 0;
  std::uint64_t last_ended = 0;
  std::uint64_t bytes = 0;          // of all items, as `weight_of` counts them
  PersistentSet<DedupeKey> listed;  // what its source had when asked last, and was pushed once
  // What it had then and could not be pushed, by the first bytes of its id: that was told.
  PersistentSet<DedupeKey> refused;

  bool operator==(const Table&) const = default;
};

// What an item weighs in the state: its texts, and a share for its places in the indexes.
std::uint64_t weight_of(const Item& item);

// Whether `more` bytes of new work are too many: the state is full at nine tenths of its limit.
constexpr bool is_full(std::uint64_t bytes, std::uint64_t more, std::uint64_t limit) {
  const std::uint64_t most = limit / 10 * 9;
  return bytes > most || more > most - bytes;
}

// How long an item rests after this many attempts: see above.
Duration backoff_of(const Config& config, ItemId item, std::uint32_t attempts);

}  // namespace reeve::queue
