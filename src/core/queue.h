#pragma once

#include "core/answer.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/queue_value.h"
#include "core/queue_words.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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
// next tick would do, in the same order and within the same bound. (Of more that is due in one
// moment than that, the rest comes with the ticks that follow, and counts from then.)
//
// A dedupe key belongs to the pending or processing item of a queue that had it first. An item
// that comes back (redriven, dead-lettered) gets its key back if nobody has it; else it has none.
// Only among dead letters it keeps one that another has there: at home it may be its own.
// What an outside source lists is pushed once, whatever became of it, until it is listed no more.
//
// What is kept of them: core/queue_value.h. What can be asked, and is told: core/queue_words.h.
namespace reeve {
class Turn;
struct EventName;
struct Reply;
}  // namespace reeve
namespace reeve::decision {
struct Answer;
}

namespace reeve::queue {

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
  ItemId guest = {};  // the last that was sent home; one whose home cannot be made stays

  bool operator==(const RedriveAll&) const = default;
};

// Drops what was there when it was asked for. What others take meanwhile is theirs, also when they
// give it back, and nothing that came later, or came back, goes in its place.
struct PurgeAll {
  QueueNo queue = 0;
  ItemState state = ItemState::Dead;
  std::uint64_t left = 0;
  std::uint64_t done = 0;
  WaiterId waiter;
  std::uint64_t last = 0;  // the last end there was: what ended since came later
  // Of pending ones it is as far as this: first those that are delayed, which may become ready.
  std::optional<DueKey> delayed = {};
  std::optional<ReadyKey> ready = {};

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
