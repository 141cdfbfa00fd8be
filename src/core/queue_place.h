#pragma once

#include "core/queue.h"
#include "core/turn.h"

#include <optional>
#include <string>
#include <string_view>

// What the verbs of core/queue are made of; nobody else needs it.
//
// An item stands in the indexes and counts that its state says, and it is moved in one way only:
// taken out of all of them, changed, put where it now belongs. So a verb says what an item
// becomes, and here is the one place that knows what follows from it: order, deadlines, counts,
// keys, sessions and processes.
namespace reeve::queue {

// ── Queues ──

std::optional<QueueNo> find(const Turn& turn, const QueueName& name);
const Queue& get(const Turn& turn, QueueNo no);

// Whether a queue of this name is there or can be made; then, the queue, made if it is not there.
std::optional<Refused> check_name(const Turn& turn, const QueueName& name);
QueueNo obtain(Turn& turn, const QueueName& name);

void pause_queue(Turn& turn, QueueNo no, std::optional<Time> until, ItemId by);
void resume_queue(Turn& turn, QueueNo no);

// ── Items ──

const Rest& rest_of(const Item& item);

// The item, if it is in this queue.
const Item* find(const Turn& turn, QueueNo no, ItemId id);

void lift(Turn& turn, ItemId id, Item& item);
void place(Turn& turn, ItemId id, Item& item);

// It has become pending in its queue, or is so no more: whether a purge there came first.
void note_coming(Turn& turn, Item& item);

// The one way to move an item.
template <class Change>
void rearrange(Turn& turn, ItemId id, Change change) {
  Item& item = *turn.change().queues.items.edit(id);
  lift(turn, id, item);
  const std::uint64_t before = weight_of(item);
  const QueueNo from = item.queue;
  const bool was_pending = item.state == ItemState::Pending;
  change(item);
  const bool is_pending = item.state == ItemState::Pending;
  if (was_pending != is_pending || from != item.queue) note_coming(turn, item);
  turn.change().queues.bytes += weight_of(item) - before;
  place(turn, id, item);
}

void insert(Turn& turn, ItemId id, Item item);

enum class Gone { Dropped, Forgotten };
void erase(Turn& turn, ItemId id, Gone gone);

// What each state begins with; the rest of the item stays.
void make_pending(Item& item, std::optional<Time> not_before);
void make_dead(Item& item, Time at, std::uint64_t order, std::string_view reason);

// ── Time ──

// The first thing that time does to a queue.
struct Next {
  enum class What { Ready, Over, ForgetCompleted, ForgetDead, Serve };
  Time when;
  What what = What::Serve;
  ItemId item = {};
};
std::optional<Next> next_of(const State& state, QueueNo no);

// More completed items than these are never kept, however young.
std::uint64_t most_completed(const Config& config);

// The queue's timer, to be set again after its configuration or line changed.
void rearm(Turn& turn, QueueNo no);

// The claim's deadline moves to where its lease ends now.
void move_deadline(Turn& turn, ItemId id);

// ── What follows ──

// Gives what is ready to those who wait, as of `when`: who had given up by then gets nothing.
void serve(Turn& turn, QueueNo no, Time when);

// The item is taken: a fresh claim.
TakenItem claim(Turn& turn,
                ItemId id,
                const Holder& holder,
                const Boxed<HolderMeta>& meta,
                std::optional<Duration> visibility);
Duration visibility_of(const Turn& turn, const Item& item);

// Whether it may not be tried again: the maximum may be lower than when it was tried last.
bool is_exhausted(const Turn& turn, const Item& item);
// What the queue does with an item whose attempts are used up.
void exhaust(Turn& turn, ItemId id, const std::string& error, Time when);

// The claim is over as of `when`; its attempt has failed as of `when`.
void expire(Turn& turn, ItemId id, Time when);
void die(Turn& turn, ItemId id, std::string_view reason, Time when);

// ── Verbs, by file ──

// queue_take.cc
reeve::Reply take(Turn& turn, const Take& command);
reeve::Reply take_one(Turn& turn, const TakeOne& command);
// queue_claim.cc
reeve::Reply complete(Turn& turn, const Complete& command);
reeve::Reply fail(Turn& turn, const Fail& command);
reeve::Reply extend(Turn& turn, const Extend& command);
reeve::Reply release(Turn& turn, const Release& command);
reeve::Reply bury(Turn& turn, const Bury& command);
// queue_dead.cc
reeve::Reply drop(Turn& turn, const Drop& command);
reeve::Reply redrive(Turn& turn, const Redrive& command);
reeve::Reply hurry(Turn& turn, const Hurry& command);
reeve::Reply purge(Turn& turn, const Purge& command);

}  // namespace reeve::queue
