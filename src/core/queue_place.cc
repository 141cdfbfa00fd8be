#include "core/queue_place.h"

#include "base/check.h"
#include "core/names.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace reeve::queue {
namespace {

std::uint64_t& count_of(Counts& counts, ItemState state) {
  switch (state) {
    case ItemState::Pending:
      return counts.pending;
    case ItemState::Processing:
      return counts.processing;
    case ItemState::Completed:
      return counts.completed;
    case ItemState::Dead:
      return counts.dead;
  }
  return counts.pending;
}

ReadyKey ready_key(ItemId id, const Item& item) {
  const std::int64_t below = std::int64_t{std::numeric_limits<std::int32_t>::max()} - item.priority;
  return {item.queue, static_cast<std::uint32_t>(below), id};
}

bool has_key(const Item& item) {
  return (item.state == ItemState::Pending || item.state == ItemState::Processing) &&
         !rest_of(item).dedupe_key.empty();
}

// The timer is always the first deadline of its queue: one more can only make it earlier, and one
// less moves it only if it was the first.
void added(Turn& turn, QueueNo no, Time when) {
  const std::optional<Time> armed = deadline_of(turn.state().timers, Due{no});
  if (!armed || when < *armed) turn.arm(Due{no}, when);
}

void removed(Turn& turn, QueueNo no, Time when) {
  if (deadline_of(turn.state().timers, Due{no}) == when) rearm(turn, no);
}

void add_due(Turn& turn, const DueKey& key) {
  turn.change().queues.due.insert(key);
  added(turn, key.queue, key.due);
}

void erase_due(Turn& turn, const DueKey& key) {
  turn.change().queues.due.erase(key);
  removed(turn, key.queue, key.due);
}

void set_deadline(Turn& turn, ItemId id, Item& item) {
  Claim& held = *item.rest.edit().claim;
  held.due = held.ending != Ending::No ? std::nullopt : over_at(lease_of(held), turn.leases_from());
  if (held.due) add_due(turn, {item.queue, Wait::Claim, *held.due, id});
}

void clear_deadline(Turn& turn, ItemId id, const Item& item) {
  const Claim& held = *item.rest->claim;
  if (held.due) erase_due(turn, {item.queue, Wait::Claim, *held.due, id});
}

void bind(Turn& turn, ItemId id, const Claim& held) {
  const SessionId session = held.holder.session;
  if (session) session::bind(turn, session, LeaseRef{ItemLease{id}});
  if (const Process* process = process_of(held.meta)) custody::keep(turn, *process, ItemLease{id});
}

void unbind(Turn& turn, ItemId id, const Claim& held) {
  const SessionId session = held.holder.session;
  if (session) session::unbind(turn, session, LeaseRef{ItemLease{id}});
  if (const Process* process = process_of(held.meta))
    custody::let_go(turn, *process, ItemLease{id});
}

std::optional<Time> forget_at(const Config& config, const Item& item) {
  const Time ended_at = rest_of(item).ended_at.value_or(item.created_at);
  if (item.state == ItemState::Completed) {
    return saturating_add(ended_at, std::max(config.keep_completed_for, limits::completed_kept));
  }
  if (!config.keep_dead_for) return std::nullopt;
  return saturating_add(ended_at, *config.keep_dead_for);
}

// In a queue that keeps so few, each completed item may move the deadline of the oldest.
bool keeps_few(const Turn& turn, const Item& item) {
  return item.state == ItemState::Completed &&
         get(turn, item.queue).config.keep_completed < limits::batch_items;
}

// Only the oldest has a deadline.
void add_ended(Turn& turn, PersistentSet<EndedKey>& index, ItemId id, const Item& item) {
  const EndedKey key{item.queue, rest_of(item).ended, id};
  index.insert(key);
  if (keeps_few(turn, item)) return rearm(turn, item.queue);
  if (*index.lower_bound({item.queue, 0, {}}) != key) return;
  if (const auto at = forget_at(get(turn, item.queue).config, item)) added(turn, item.queue, *at);
}

void erase_ended(Turn& turn, PersistentSet<EndedKey>& index, ItemId id, const Item& item) {
  index.erase({item.queue, rest_of(item).ended, id});
  if (keeps_few(turn, item)) return rearm(turn, item.queue);
  removed(turn, item.queue, *item.rest->ended_at);  // of one too many, since fewer are kept
  if (const auto at = forget_at(get(turn, item.queue).config, item)) removed(turn, item.queue, *at);
}

const EndedKey* first_of(const PersistentSet<EndedKey>& index, QueueNo no) {
  const auto at = index.lower_bound({no, 0, {}});
  return at != index.end() && at->queue == no ? &*at : nullptr;
}

}  // namespace

std::uint64_t weight_of(const Item& item) {
  constexpr std::uint64_t share = 96;  // measured: bench/core_bench
  const Rest& rest = rest_of(item);
  return share + item.data.size() + rest.dedupe_key.size() + rest.last_error.size() +
         rest.reason.size();
}

std::optional<QueueNo> find(const Turn& turn, const QueueName& name) {
  const QueueNo* no = turn.state().queues.names.find(name);
  if (!no) return std::nullopt;
  return *no;
}

const Queue& get(const Turn& turn, QueueNo no) {
  const Queue* queue = turn.state().queues.queues.find(no);
  CHECK(queue);
  return *queue;
}

std::optional<Refused> check_name(const Turn& turn, const QueueName& name) {
  const Table& table = turn.state().queues;
  if (table.names.contains(name)) return std::nullopt;
  if (!is_good_name(name.name)) return Refused{Why::BadName, name.name};
  if (!turn.state().projects.projects.contains(name.project)) {
    return Refused{Why::NotFound, "project"};
  }
  const std::uint32_t* count = table.queues_of.find(name.project);
  if ((count && *count >= limits::names_a_project) ||
      table.last_queue == std::numeric_limits<QueueNo>::max()) {
    return Refused{Why::OverLimit, "queues"};
  }
  return std::nullopt;
}

QueueNo obtain(Turn& turn, const QueueName& name) {
  if (const std::optional<QueueNo> no = find(turn, name)) return *no;
  Table& table = turn.change().queues;
  const QueueNo no = ++table.last_queue;
  Queue queue;
  queue.name = name;
  table.names.set(name, no);
  table.queues.set(no, std::move(queue));
  ++table.queues_of.edit_or_insert(name.project);
  turn.emit(name.project, Event{WasCreated{name}});
  return no;
}

void pause_queue(Turn& turn, QueueNo no, std::optional<Time> until, ItemId by) {
  const Queue& before = get(turn, no);
  if (before.paused && before.paused_until == until && before.paused_by == by) return;
  const bool was_paused = before.paused;
  Queue& queue = *turn.change().queues.queues.edit(no);
  queue.paused = true;
  queue.paused_until = until;
  queue.paused_by = by;
  if (queue.unserved) {
    queue.unserved.reset();
    rearm(turn, no);
  }
  turn.arm(PauseDue{no}, until);
  if (!was_paused) turn.emit(get(turn, no).name.project, Event{WasPaused{get(turn, no).name}});
}

void resume_queue(Turn& turn, QueueNo no) {
  if (!get(turn, no).paused) return;
  Queue& queue = *turn.change().queues.queues.edit(no);
  queue.paused = false;
  queue.paused_until.reset();
  const ItemId by = std::exchange(queue.paused_by, {});
  turn.arm(PauseDue{no}, std::nullopt);
  const QueueName name = get(turn, no).name;
  turn.emit(name.project, Event{WasResumed{name}});
  if (by) decision::retire(turn, decision::ItemOwner{by});
}

const Rest& rest_of(const Item& item) {
  static const Rest none;
  return item.rest ? *item.rest : none;
}

const Item* find(const Turn& turn, QueueNo no, ItemId id) {
  const Item* item = turn.state().queues.items.find(id);
  return item && item->queue == no ? item : nullptr;
}

void lift(Turn& turn, ItemId id, Item& item) {
  Table& table = turn.change().queues;
  const Rest& rest = rest_of(item);
  Counts& counts = table.queues.edit(item.queue)->counts;
  --count_of(counts, item.state);
  switch (item.state) {
    case ItemState::Pending:
      if (rest.origin) table.guests.erase({item.queue, id});
      if (rest.not_before) {
        --counts.delayed;
        erase_due(turn, {item.queue, Wait::Delay, *rest.not_before, id});
      } else {
        table.ready.erase(ready_key(id, item));
      }
      break;
    case ItemState::Processing:
      clear_deadline(turn, id, item);
      unbind(turn, id, *rest.claim);
      break;
    case ItemState::Completed:
      erase_ended(turn, table.completed, id, item);
      break;
    case ItemState::Dead:
      erase_ended(turn, table.dead, id, item);
      break;
  }
  if (!has_key(item)) return;
  const DedupeKey key{item.queue, rest.dedupe_key};
  if (const ItemId* known = table.dedupe.find(key); known && *known == id) table.dedupe.erase(key);
}

void place(Turn& turn, ItemId id, Item& item) {
  Table& table = turn.change().queues;
  if (has_key(item)) {
    const DedupeKey key{item.queue, item.rest->dedupe_key};
    if (!table.dedupe.contains(key)) {
      table.dedupe.set(key, id);
    } else if (!item.rest->origin) {
      table.bytes -= item.rest->dedupe_key.size();
      item.rest.edit().dedupe_key.clear();
    }
  }
  if (item.rest && *item.rest == Rest{}) item.rest.reset();
  Counts& counts = table.queues.edit(item.queue)->counts;
  ++count_of(counts, item.state);
  switch (item.state) {
    case ItemState::Pending:
      if (rest_of(item).origin) table.guests.insert({item.queue, id});
      if (const std::optional<Time> not_before = rest_of(item).not_before) {
        ++counts.delayed;
        add_due(turn, {item.queue, Wait::Delay, *not_before, id});
      } else {
        table.ready.insert(ready_key(id, item));
      }
      break;
    case ItemState::Processing:
      set_deadline(turn, id, item);
      bind(turn, id, *item.rest->claim);
      break;
    case ItemState::Completed:
      add_ended(turn, table.completed, id, item);
      break;
    case ItemState::Dead:
      add_ended(turn, table.dead, id, item);
      break;
  }
}

void note_coming(Turn& turn, Item& item) {
  const bool is_purged = item.state == ItemState::Pending && get(turn, item.queue).purges > 0;
  const std::uint64_t came_after = is_purged ? turn.state().last_number : 0;
  if (rest_of(item).came_after != came_after) item.rest.edit().came_after = came_after;
}

void insert(Turn& turn, ItemId id, Item item) {
  Table& table = turn.change().queues;
  table.bytes += weight_of(item);
  ++table.queues.edit(item.queue)->counts.pushed;
  place(turn, id, item);
  table.items.set(id, std::move(item));
}

void erase(Turn& turn, ItemId id, Gone gone) {
  Table& table = turn.change().queues;
  Item& item = *table.items.edit(id);
  lift(turn, id, item);
  table.bytes -= weight_of(item);
  Queue& queue = *table.queues.edit(item.queue);
  ++(gone == Gone::Dropped ? queue.counts.dropped : queue.counts.forgotten);
  if (queue.paused_by == id) queue.paused_by = {};
  table.items.erase(id);
  decision::retire(turn, decision::ItemOwner{id});
}

void make_pending(Item& item, std::optional<Time> not_before) {
  item.state = ItemState::Pending;
  if (!item.rest && !not_before) return;
  Rest& rest = item.rest.edit();
  rest.claim.reset();
  rest.not_before = not_before;
  rest.ended_at.reset();
  rest.ended = 0;
  rest.reason.clear();
}

void make_dead(Item& item, Time at, std::uint64_t order, std::string_view reason) {
  item.state = ItemState::Dead;
  Rest& rest = item.rest.edit();
  rest.claim.reset();
  rest.not_before.reset();
  rest.ended_at = at;
  rest.ended = order;
  rest.reason = reason;
}

std::optional<Next> next_of(const State& state, QueueNo no) {
  const Table& table = state.queues;
  const Queue* queue = table.queues.find(no);
  if (!queue) return std::nullopt;
  std::optional<Next> next;
  const auto offer = [&](Time when, Next::What what, ItemId item) {
    if (!next || when < next->when) next = Next{when, what, item};
  };
  if (queue->unserved) offer(*queue->unserved, Next::What::Serve, {});
  for (const Wait wait : {Wait::Delay, Wait::Claim}) {
    const auto at = table.due.lower_bound({no, wait, Time::min(), {}});
    if (at == table.due.end() || at->queue != no || at->wait != wait) continue;
    offer(at->due, wait == Wait::Delay ? Next::What::Ready : Next::What::Over, at->item);
  }
  if (const EndedKey* oldest = first_of(table.completed, no)) {
    const Item& item = *table.items.find(oldest->item);
    Time when = *forget_at(queue->config, item);
    if (queue->counts.completed > queue->config.keep_completed) {
      when = saturating_add(*rest_of(item).ended_at, limits::completed_kept);
    }
    if (queue->counts.completed > most_completed(queue->config)) when = *rest_of(item).ended_at;
    offer(when, Next::What::ForgetCompleted, oldest->item);
  }
  if (const EndedKey* oldest = queue->config.keep_dead_for ? first_of(table.dead, no) : nullptr) {
    const Item& item = *table.items.find(oldest->item);
    offer(*forget_at(queue->config, item), Next::What::ForgetDead, oldest->item);
  }
  return next;
}

std::uint64_t most_completed(const Config& config) {
  return std::max<std::uint64_t>(config.keep_completed, limits::batch_items);
}

void rearm(Turn& turn, QueueNo no) {
  const std::optional<Next> next = next_of(turn.state(), no);
  turn.arm(Due{no}, next ? std::optional(next->when) : std::nullopt);
}

void move_deadline(Turn& turn, ItemId id) {
  Item& item = *turn.change().queues.items.edit(id);
  clear_deadline(turn, id, item);
  set_deadline(turn, id, item);
}

}  // namespace reeve::queue
