#pragma once

#include "base/boxed.h"
#include "base/bytes.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/lease.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Queues of items, highest priority first and, within a priority, in the order in which
// they were pushed. That order never changes: an item that was released, timed out or
// redriven has its old place again. (An item's number is its place: one counter makes both.)
//
//              push                 take                    complete
//     ──────────────────▶ Pending ───────▶ Processing ─────────────────▶ Completed
//                          ▲ ▲ ▲  release    │  │ │
//                          │ │ └─────────────┘  │ │
//                          │ │  fail, silence   │ │  fail, silence: attempts used up
//                          │ └──────────────────┘ └────────────────┐
//                          │    after the backoff                  ▼
//                          └───────────────────────────────────── Dead   (or pending in the
//                                        redrive                          dead-letter queue)
//
// Each take makes a fresh claim, a token; every later word about the item presents it, and
// an old one is refused. `attempts` counts takes. At `visible_at` a tick takes the item
// back from a holder that names no process, whether or not anybody asks. If it names one, the
// process is ended first (core/custody); the claim is `ending` meanwhile, and refused.
//
// A failed attempt, silence included, is followed by a backoff: `backoff_first` doubled with each
// attempt, at most `backoff_max`, less up to a fifth of it by a hash of item and attempt, so
// that items that failed together do not come back together. A silence failed at the moment it
// was over, whenever the tick came.
//
// The same claim may complete its item twice: whoever lost the first answer is told Ok again. For
// that a completed item stays for ten seconds, the last thousand of a queue, also in one that keeps
// fewer, or none.
//
// No answer depends on whether a tick came first: each verb begins by doing for queues what the
// next tick would do, in the same order and within the same bound.
//
// A dedupe key belongs to the pending or processing item of a queue that had it first. An item
// that comes back (redriven, dead-lettered) gets its key back if nobody has it; else it has none.
// What an outside source lists is pushed once, whatever became of it, until it is listed no more.
//
// An item must be small: a million of them live here. What every item has stands in the
// item, what few have (a claim, a past) in a box beside it, its data in a block of bytes.
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}  // namespace reeve
namespace reeve::decision {
struct Answer;
}

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
  std::uint64_t ended = 0;          // Completed, Dead: the order of ending

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

// ── Timers and chores ──

// The first thing that time does to an item of this queue. One thing a timer, so that what is due
// in several queues happens in the order in which it was due.
struct Due {
  QueueNo queue = 0;

  auto operator<=>(const Due&) const = default;
};

struct TakerDue {
  WaiterId waiter;

  auto operator<=>(const TakerDue&) const = default;
};

struct PauseDue {
  QueueNo queue = 0;

  auto operator<=>(const PauseDue&) const = default;
};

// A chore: what one step may not do at once (core/chore.h). `waiter` is answered at the end.
struct RedriveAll {
  enum class What : std::uint8_t { DeadAndGuests, Dead, Delayed };
  QueueNo queue = 0;
  What what = What::DeadAndGuests;
  std::uint64_t left = 0;  // at most so many: what came after it was asked for may stay
  std::uint64_t done = 0;
  WaiterId waiter;

  bool operator==(const RedriveAll&) const = default;
};

struct PurgeAll {
  QueueNo queue = 0;
  ItemState state = ItemState::Dead;
  std::uint64_t left = 0;
  std::uint64_t done = 0;
  WaiterId waiter;

  bool operator==(const PurgeAll&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);

// Does for queues what the next tick would do.
void settle(Turn& turn);

// What Create does, of a queue that was checked with others (core/definition): nothing is settled
// in between, nothing refused.
void define(Turn& turn, const QueueName& name, const Config& config);

// An outside source has these items now: id there, data. What it did not have before is pushed
// under its id, so many at a time; what was pushed is known for as long as the source has it, also
// when it is done, dead or dropped. One that is refused leaves the others alone, is announced once,
// and comes again. What is known already may come without data; if it is not known after all, it
// is left to the next poll.
void push_listed(Turn& turn,
                 const QueueName& queue,
                 const std::vector<std::pair<std::string, std::string>>& items);
void due(Turn& turn, const Due& due);
void due(Turn& turn, const TakerDue& due);
void due(Turn& turn, const PauseDue& due);
EventName name_of(const Event& event);

// Does a part of it, within the turn's budget; true when it is finished.
bool go_on(Turn& turn, RedriveAll& chore);
bool go_on(Turn& turn, PurgeAll& chore);

// The process behind the claim is gone: the attempt has failed, with what that is followed by. One
// that was ended for its silence has timed out; one that was ended because its connection was gone
// gives the item back, and the attempt is not counted.
void lease_gone(Turn& turn, ItemId item);

// The session its holder is bound to ended: given back alike, or, if a process is named, that is
// ended first. (A disconnect does not prove that the process is gone.)
void session_gone(Turn& turn, ItemId item, SessionId session);

// The holder goes on over another connection: a claim that is bound goes with him.
void move_to_session(Turn& turn, ItemId item, Token claim, SessionId session);

// Why there can be no queue like this, wherever its dead go; or nothing.
std::optional<Refused> mistake_in(const Config& config);

// A taker that waits gives up; its connection, which was awaited, is back.
void leave(Turn& turn, WaiterId taker, Left left);
void came_back(Turn& turn, WaiterId taker);

// The answer to the decision that an exhausted item opened: retry, dead or drop. If the item had
// paused its queue, that goes on.
void decided(Turn& turn, ItemId item, const decision::Answer& answer);

// Takes the next item for a pipeline, which holds it without a visibility timeout: its claim
// ends with the pipeline, in the same input.
std::optional<TakenItem> take_for_pipeline(Turn& turn,
                                           const QueueName& queue,
                                           const Holder& holder);

// Takes this item once more, for the pipeline that had it; not if somebody has it, or it is done.
std::optional<TakenItem> take_again_for_pipeline(Turn& turn, ItemId item, const Holder& holder);

// Carries a dead item to its dead-letter queue, which is made if need be.
void move_to(Turn& turn, ItemId item, const QueueName& to);

// The pipeline that had the item ended (core/worker).
void finish(Turn& turn, ItemId item, Token claim);
void fail(Turn& turn, ItemId item, Token claim, const std::string& error);
void give_back(Turn& turn, ItemId item, Token claim);

}  // namespace reeve::queue
