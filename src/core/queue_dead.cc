#include "base/planted.h"
#include "core/queue_place.h"

#include <utility>

namespace reeve::queue {
namespace {

// Pending there with attempts 0. False if there is no such queue and it cannot be made.
bool carry(Turn& turn, ItemId id, const QueueName& to, const std::optional<QueueName>& origin) {
  if (check_name(turn, to)) return false;
  const QueueNo target = obtain(turn, to);
  Table& table = turn.change().queues;
  Queue& from = *table.queues.edit(table.items.find(id)->queue);
  ++from.counts.moved_out;
  if (from.paused_by == id) from.paused_by = {};
  ++table.queues.edit(target)->counts.moved_in;
  rearrange(turn, id, [&](Item& item) {
    const std::uint64_t died = origin ? rest_of(item).ended : 0;
    make_pending(item, std::nullopt);
    item.attempts = 0;
    item.queue = target;
    if (!item.rest && !origin) return;
    item.rest.edit().origin = origin;
    item.rest.edit().ended = died;
  });
  return true;
}

std::optional<ItemId> first_ended(const PersistentSet<EndedKey>& index, QueueNo no) {
  const auto at = index.lower_bound({no, 0, {}});
  if (at == index.end() || at->queue != no) return std::nullopt;
  return at->item;
}

std::optional<ItemId> first_delayed(const Turn& turn, QueueNo no) {
  const PersistentSet<DueKey>& due = turn.state().queues.due;
  const auto at = due.lower_bound({no, Wait::Delay, Time::min(), {}});
  if (at == due.end() || at->queue != no || at->wait != Wait::Delay) return std::nullopt;
  return at->item;
}

std::optional<ItemId> first_dead(const Turn& turn, QueueNo no) {
  return first_ended(turn.state().queues.dead, no);
}

// The next of those that have their home elsewhere; the chore is then as far as that.
std::optional<ItemId> next_guest(const Table& table, RedriveAll& chore) {
  const auto at = table.guests.upper_bound({chore.queue, chore.guest});
  if (at == table.guests.end() || at->queue != chore.queue) return std::nullopt;
  chore.guest = at->item;
  return chore.guest;
}

// The first behind `after`, or of all.
template <class Key>
std::optional<Key> next_key(const PersistentSet<Key>& keys,
                            const Key& first,
                            const std::optional<Key>& after) {
  const auto at = after ? keys.upper_bound(*after) : keys.lower_bound(first);
  if (at == keys.end() || at->queue != first.queue) return std::nullopt;
  return *at;
}

// The next of those that are pending, also if it came too late; the chore is then as far as that.
std::optional<ItemId> next_pending(const Table& table, PurgeAll& chore) {
  const DueKey first{chore.queue, Wait::Delay, Time::min(), {}};
  const std::optional<DueKey> delayed = next_key(table.due, first, chore.delayed);
  if (delayed && delayed->wait == Wait::Delay) {
    chore.delayed = delayed;
    return delayed->item;
  }
  const std::optional<ReadyKey> ready =
      next_key(table.ready, ReadyKey{chore.queue, 0, {}}, chore.ready);
  if (!ready) return std::nullopt;
  chore.ready = ready;
  return ready->item;
}

// Those that ended stand in the order of their ends.
std::optional<ItemId> next_ended(const PersistentSet<EndedKey>& keys, const PurgeAll& chore) {
  const std::optional<EndedKey> first = next_key(keys, EndedKey{chore.queue, 0, {}}, {});
  if (!first || first->order > chore.last) return std::nullopt;
  return first->item;
}

std::optional<ItemId> next_to_purge(const Turn& turn, PurgeAll& chore) {
  const Table& table = turn.state().queues;
  switch (chore.state) {
    case ItemState::Pending:
      return next_pending(table, chore);
    case ItemState::Processing:
      return std::nullopt;
    case ItemState::Completed:
      return next_ended(table.completed, chore);
    case ItemState::Dead:
      return next_ended(table.dead, chore);
  }
  return std::nullopt;
}

// Pushed, or pending again, or brought from elsewhere, after the purge was asked for. (Whoever
// waits for it has his number from that moment.)
bool came_later(const Turn& turn, ItemId id, const PurgeAll& chore) {
  if (!chore.waiter) return false;
  const Item& item = *turn.state().queues.items.find(id);
  return id.value > chore.waiter.value || rest_of(item).came_after >= chore.waiter.value;
}

bool can_be_redriven(const Item& item) {
  return item.state == ItemState::Dead ||
         (item.state == ItemState::Pending && rest_of(item).origin);
}

void make_ready(Turn& turn, ItemId id) {
  const QueueNo no = turn.state().queues.items.find(id)->queue;
  rearrange(turn, id, [](Item& item) { make_pending(item, std::nullopt); });
  serve(turn, no, turn.now());
}

void drop_item(Turn& turn, ItemId id) {
  const QueueName name = get(turn, turn.state().queues.items.find(id)->queue).name;
  erase(turn, id, Gone::Dropped);
  turn.emit(name.project, Event{WasDropped{name, id}});
}

// Pending again with attempts 0, at home if it has one elsewhere.
void revive(Turn& turn, ItemId id) {
  const Item& item = *turn.state().queues.items.find(id);
  const QueueName here = get(turn, item.queue).name;
  std::optional<QueueName> home = rest_of(item).origin;
  if (home && !carry(turn, id, *home, std::nullopt)) home.reset();
  if (!home) {
    rearrange(turn, id, [](Item& dead) {
      make_pending(dead, std::nullopt);
      dead.attempts = 0;
    });
  }
  turn.emit(here.project, Event{WasRedriven{here, id, home}});
  decision::retire(turn, decision::ItemOwner{id});
  serve(turn, turn.state().queues.items.find(id)->queue, turn.now());
}

// At once and not as an effect of the step: a verb that settles what is due must find the item in
// the dead-letter queue, as if a tick had come before.
void bring(Turn& turn, ItemId id, const QueueName& to, Time when) {
  if (planted(Bug::ItemLost)) return erase(turn, id, Gone::Dropped);
  const Item& item = *turn.state().queues.items.find(id);
  const QueueName here = get(turn, item.queue).name;
  const std::optional<QueueName> origin = rest_of(item).origin ? rest_of(item).origin : here;
  if (here != to && carry(turn, id, to, origin)) serve(turn, *find(turn, to), when);
}

std::optional<ItemId> next_item(const Turn& turn, RedriveAll& chore) {
  switch (chore.what) {
    case RedriveAll::What::DeadAndGuests: {
      const std::optional<ItemId> dead = first_dead(turn, chore.queue);
      return dead ? dead : next_guest(turn.state().queues, chore);
    }
    case RedriveAll::What::Dead:
      return first_dead(turn, chore.queue);
    case RedriveAll::What::Delayed:
      return first_delayed(turn, chore.queue);
  }
  return std::nullopt;
}

// How many purges of what is pending go on in a queue: what comes back meanwhile is told from what
// was there.
void begins(Turn& /*turn*/, const RedriveAll& /*chore*/) {}
void ends(Turn& /*turn*/, const RedriveAll& /*chore*/) {}

void begins(Turn& turn, const PurgeAll& chore) {
  if (chore.state == ItemState::Pending) ++turn.change().queues.queues.edit(chore.queue)->purges;
}

// The queue may have been removed since; and one that an older daemon began was not counted.
void ends(Turn& turn, const PurgeAll& chore) {
  const Queue* queue = turn.state().queues.queues.find(chore.queue);
  if (!queue || queue->purges == 0 || chore.state != ItemState::Pending) return;
  --turn.change().queues.queues.edit(chore.queue)->purges;
}

// As much of the chore as this step may do; what is left goes on with the next tick, and then the
// answer comes later.
template <class All>
reeve::Reply begin(Turn& turn, All chore) {
  if (go_on(turn, chore)) return {Reply{Counted{chore.done}}};
  chore.waiter = turn.next_id<WaiterId>();
  begins(turn, chore);
  turn.later(chore);
  return {Waiting{chore.waiter}};
}

template <class All>
bool finished(Turn& turn, const All& chore) {
  if (!chore.waiter) return true;
  ends(turn, chore);
  turn.answer(chore.waiter, {Reply{Counted{chore.done}}});
  return true;
}

}  // namespace

void die(Turn& turn, ItemId id, std::string_view reason, Time when) {
  const std::uint64_t order = ++turn.change().queues.last_ended;
  rearrange(turn, id, [&](Item& item) { make_dead(item, when, order, reason); });
  const Queue& queue = get(turn, turn.state().queues.items.find(id)->queue);
  std::optional<QueueName> to = queue.config.dead_letter;
  if (to && check_name(turn, *to)) to.reset();  // it cannot be made: the item stays
  turn.emit(queue.name.project, Event{HasDied{queue.name, id, std::string(reason), to}});
  if (to) bring(turn, id, *to, when);
}

void move_to(Turn& turn, ItemId id, const QueueName& to) {
  const Item* item = turn.state().queues.items.find(id);
  if (item && item->state == ItemState::Dead) bring(turn, id, to, turn.now());
}

reeve::Reply drop(Turn& turn, const Drop& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  const Item* item = find(turn, *no, command.item);
  if (!item) return refused(Why::NotFound, to_text(command.item));
  if (item->state == ItemState::Processing) return refused(Why::NotAllowed, "processing");
  drop_item(turn, command.item);
  return {Ok{}};
}

reeve::Reply redrive(Turn& turn, const Redrive& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  const Counts& counts = get(turn, *no).counts;
  if (command.first) {
    return begin(turn, RedriveAll{*no, RedriveAll::What::Dead, *command.first, 0, {}});
  }
  if (command.all) {
    const std::uint64_t most = counts.dead + counts.pending;
    return begin(turn, RedriveAll{*no, RedriveAll::What::DeadAndGuests, most, 0, {}});
  }
  if (command.items.empty()) return refused(Why::BadValue, "items");
  if (command.items.size() > limits::batch_items) return refused(Why::OverLimit, "items");
  for (const ItemId id : command.items) {
    const Item* item = find(turn, *no, id);
    if (!item) return refused(Why::NotFound, to_text(id));
    if (!can_be_redriven(*item)) return refused(Why::NotAllowed, to_text(id));
  }
  Counted counted;
  for (const ItemId id : command.items) {
    const Item* item = find(turn, *no, id);  // named twice, it is gone by now
    if (!item || !can_be_redriven(*item)) continue;
    revive(turn, id);
    ++counted.items;
  }
  return {Reply{counted}};
}

reeve::Reply hurry(Turn& turn, const Hurry& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  if (!command.item) {
    return begin(turn, RedriveAll{*no, RedriveAll::What::Delayed, command.count, 0, {}});
  }
  const Item* item = find(turn, *no, *command.item);
  if (!item) return refused(Why::NotFound, to_text(*command.item));
  if (item->state != ItemState::Pending || !rest_of(*item).not_before) {
    return refused(Why::NotAllowed, to_text(*command.item));
  }
  make_ready(turn, *command.item);
  return {Reply{Counted{1}}};
}

reeve::Reply purge(Turn& turn, const Purge& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  const Counts& counts = get(turn, *no).counts;
  const std::uint64_t last_end = turn.state().queues.last_ended;
  switch (command.state) {
    case ItemState::Pending:
      return begin(turn, PurgeAll{*no, command.state, counts.pending, 0, {}, last_end});
    case ItemState::Processing:
      return refused(Why::NotAllowed, "processing");
    case ItemState::Completed:
      return begin(turn, PurgeAll{*no, command.state, counts.completed, 0, {}, last_end});
    case ItemState::Dead:
      return begin(turn, PurgeAll{*no, command.state, counts.dead, 0, {}, last_end});
  }
  return refused(Why::BadValue, "state");
}

bool go_on(Turn& turn, RedriveAll& chore) {
  while (chore.left > 0) {
    if (!turn.may_touch()) return false;
    const std::optional<ItemId> id = next_item(turn, chore);
    if (!id) break;
    turn.touch();
    chore.what == RedriveAll::What::Delayed ? make_ready(turn, *id) : revive(turn, *id);
    --chore.left;
    ++chore.done;
  }
  return finished(turn, chore);
}

bool go_on(Turn& turn, PurgeAll& chore) {
  while (chore.left > 0) {
    if (!turn.may_touch()) return false;
    const std::optional<ItemId> id = next_to_purge(turn, chore);
    if (!id) break;
    turn.touch();
    if (chore.state == ItemState::Pending && came_later(turn, *id, chore)) continue;
    drop_item(turn, *id);
    --chore.left;
    ++chore.done;
  }
  return finished(turn, chore);
}

void decided(Turn& turn, ItemId id, const decision::Answer& answer) {
  const Item* item = turn.state().queues.items.find(id);
  if (!item) return;
  const QueueNo no = item->queue;
  const bool paused = get(turn, no).paused_by == id;
  const bool pending = item->state == ItemState::Pending;
  // It was asked about where it died. What was exhausted among the dead letters themselves, and
  // waits there, is asked about as what waits anywhere.
  const bool in_dead_letters = pending && rest_of(*item).ended > 0;
  const std::string error = rest_of(*item).last_error;
  if (answer.choice == decision::Choice::Retry) {
    if (item->state == ItemState::Dead || in_dead_letters) revive(turn, id);
  } else if (answer.choice == decision::Choice::Dead) {
    if (pending && !in_dead_letters) die(turn, id, error, turn.now());
  } else if (answer.choice == decision::Choice::Drop) {
    if (item->state != ItemState::Processing) drop_item(turn, id);
  }
  if (!paused) return;
  resume_queue(turn, no);
  serve(turn, no, turn.now());
}

}  // namespace reeve::queue
