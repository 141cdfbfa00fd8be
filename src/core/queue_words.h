#pragma once

#include "base/boxed.h"
#include "base/bytes.h"
#include "base/time.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/queue_value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What can be asked of queues, what is answered, and what is told of them. What they do:
// core/queue.h.
namespace reeve::queue {

// ── What can be asked ──

// Makes the queue, or gives it another configuration. Items keep the claims they have.
struct Create {
  QueueName name;
  Config config;

  bool operator==(const Create&) const = default;
};

struct NewItem {
  Bytes data;
  bool json = true;
  std::int32_t priority = 0;
  Duration delay{0};
  std::string dedupe_key;
  std::optional<Duration> visibility;

  bool operator==(const NewItem&) const = default;
};

struct Push {
  QueueName queue;
  std::vector<NewItem> items;

  bool operator==(const Push&) const = default;
};

// Up to `max` items, and 4 MiB, of any of these queues. A queue whose line waits for a taker that
// is away gives nothing to newcomers.
struct Take {
  std::vector<QueueName> queues;
  Holder holder;
  Boxed<HolderMeta> meta;
  std::uint32_t max = 1;
  std::optional<Duration> wait;

  bool operator==(const Take&) const = default;
};

// One item by its number (beanstalkd's reserve-job), whatever stands before it: also a delayed
// one, a dead one (its attempts begin anew), and one of a paused queue.
struct TakeOne {
  QueueName queue;
  ItemId item;
  Holder holder;
  Boxed<HolderMeta> meta;

  bool operator==(const TakeOne&) const = default;
};

struct ItemClaim {
  ItemId item;
  Token claim;

  bool operator==(const ItemClaim&) const = default;
};

struct Complete {
  QueueName queue;
  std::vector<ItemClaim> items;

  bool operator==(const Complete&) const = default;
};

struct Fail {
  QueueName queue;
  ItemClaim item;
  std::string error;
  std::optional<Duration> retry_after;

  bool operator==(const Fail&) const = default;
};

struct Extend {
  QueueName queue;
  ItemClaim item;
  std::optional<Duration> by;  // from now; none: the item's own visibility, else the queue's

  bool operator==(const Extend&) const = default;
};

// Gives it back. The attempt its take had counted is taken back too.
struct Release {
  QueueName queue;
  ItemClaim item;
  Duration delay{0};
  std::optional<std::int32_t> priority;

  bool operator==(const Release&) const = default;
};

// Dead by somebody's word (beanstalkd's bury). It stays here, also if there is a dead-letter queue.
struct Bury {
  QueueName queue;
  ItemClaim item;
  std::string reason;
  std::optional<std::int32_t> priority;

  bool operator==(const Bury&) const = default;
};

// Whatever is not being processed.
struct Drop {
  QueueName queue;
  ItemId item;

  bool operator==(const Drop&) const = default;
};

// Dead items are pending again with attempts 0; what has an origin, dead or pending, goes home.
// These items, or none of them if one of them cannot; or all, as a chore.
struct Redrive {
  QueueName queue;
  std::vector<ItemId> items;
  bool all = false;
  std::optional<std::uint64_t> first;  // at most so many dead ones, in the order of dying (kick)

  bool operator==(const Redrive&) const = default;
};

// Makes up to `count` delayed items ready now, the soonest first (kick of a tube without buried
// ones), or one (kick-job).
struct Hurry {
  QueueName queue;
  std::uint64_t count = 1;
  std::optional<ItemId> item;

  bool operator==(const Hurry&) const = default;
};

struct Pause {
  QueueName queue;
  std::optional<Duration> for_;

  bool operator==(const Pause&) const = default;
};

struct Resume {
  QueueName queue;

  bool operator==(const Resume&) const = default;
};

// Drops all pending, completed or dead items, as a chore.
struct Purge {
  QueueName queue;
  ItemState state = ItemState::Dead;

  bool operator==(const Purge&) const = default;
};

// Only an empty queue, or one of ended items, no more of them than one step may touch, that
// nobody waits for.
struct Remove {
  QueueName queue;

  bool operator==(const Remove&) const = default;
};

using Command = std::variant<Create,
                             Push,
                             Take,
                             TakeOne,
                             Complete,
                             Fail,
                             Extend,
                             Release,
                             Bury,
                             Drop,
                             Redrive,
                             Hurry,
                             Pause,
                             Resume,
                             Purge,
                             Remove>;

// ── What is answered ──

struct Pushed {
  std::vector<ItemId> ids;
  std::vector<bool> duplicate;  // beside each id: it was there already

  bool operator==(const Pushed&) const = default;
};

struct TakenItem {
  ItemId id;
  QueueName queue;
  Bytes data;
  bool json = true;
  std::int32_t priority = 0;
  std::uint32_t attempts = 0;
  Token claim;
  std::optional<Time> visible_at;

  bool operator==(const TakenItem&) const = default;
};

struct Taken {
  std::vector<TakenItem> items;  // empty: nothing there
  bool paused = false;           // empty, because every queue named is paused

  bool operator==(const Taken&) const = default;
};

// Beside each item asked about.
struct StaleClaim {
  ItemId item;
  std::optional<Holder> current;

  bool operator==(const StaleClaim&) const = default;
};

struct Settled {
  std::vector<std::variant<ItemId, StaleClaim>> items;

  bool operator==(const Settled&) const = default;
};

struct Extended {
  ItemId item;
  std::optional<Time> visible_at;
  bool paused = false;  // the queue: whoever works for it should not take more

  bool operator==(const Extended&) const = default;
};

struct Counted {
  std::uint64_t items = 0;

  bool operator==(const Counted&) const = default;
};

using Reply = std::variant<Pushed, Taken, Settled, StaleClaim, Extended, Counted>;

// ── Facts ──

struct WasPushed {
  QueueName queue;
  ItemId item;
  std::int32_t priority = 0;

  bool operator==(const WasPushed&) const = default;
};

struct WasTaken {
  QueueName queue;
  ItemId item;
  Holder holder;
  Token claim;
  std::uint32_t attempt = 0;

  bool operator==(const WasTaken&) const = default;
};

struct WasCompleted {
  QueueName queue;
  ItemId item;
  Token claim;

  bool operator==(const WasCompleted&) const = default;
};

// An attempt that ended without success; the item will be tried again.
struct HasFailed {
  QueueName queue;
  ItemId item;
  std::string error;
  Time retry_at;

  bool operator==(const HasFailed&) const = default;
};

struct TimedOut {
  QueueName queue;
  ItemId item;
  Holder holder;
  Token claim;

  bool operator==(const TimedOut&) const = default;
};

struct WasReleased {
  QueueName queue;
  ItemId item;
  Token claim;
  bool ended = false;  // its session or process is gone

  bool operator==(const WasReleased&) const = default;
};

// For good, or in the dead-letter queue.
struct HasDied {
  QueueName queue;
  ItemId item;
  std::string reason;
  std::optional<QueueName> moved_to;

  bool operator==(const HasDied&) const = default;
};

struct WasRedriven {
  QueueName queue;
  ItemId item;
  std::optional<QueueName> home;

  bool operator==(const WasRedriven&) const = default;
};

struct WasDropped {
  QueueName queue;
  ItemId item;

  bool operator==(const WasDropped&) const = default;
};

struct WasPaused {
  QueueName queue;

  bool operator==(const WasPaused&) const = default;
};

struct WasResumed {
  QueueName queue;

  bool operator==(const WasResumed&) const = default;
};

struct WasCreated {
  QueueName queue;

  bool operator==(const WasCreated&) const = default;
};

struct WasRemoved {
  QueueName queue;

  bool operator==(const WasRemoved&) const = default;
};

// What its source lists and cannot be pushed; told once while it is listed.
struct WasRefused {
  QueueName queue;
  std::string id;  // at the source, the first bytes of it
  std::string error;

  bool operator==(const WasRefused&) const = default;
};

// queue:push, :take, :complete, :fail, :timeout, :release, :dead, :redrive, :drop, :pause, :resume,
// :create, :remove, :refuse
using Event = std::variant<WasPushed,
                           WasTaken,
                           WasCompleted,
                           HasFailed,
                           TimedOut,
                           WasReleased,
                           HasDied,
                           WasRedriven,
                           WasDropped,
                           WasPaused,
                           WasResumed,
                           WasCreated,
                           WasRemoved,
                           WasRefused>;

}  // namespace reeve::queue
