#include "core/holder_rules.h"
#include "core/names.h"
#include "core/queue_place.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reeve::queue {
namespace {

const ReadyKey* first_ready(const Turn& turn, QueueNo no) {
  const PersistentSet<ReadyKey>& ready = turn.state().queues.ready;
  const auto at = ready.lower_bound({no, 0, {}});
  return at != ready.end() && at->queue == no ? &*at : nullptr;
}

// What this step has no room for: a tick goes on as of `when`.
void leave_to_tick(Turn& turn, QueueNo no, Time when) {
  const std::optional<Time> since = get(turn, no).unserved;
  if (since && *since <= when) return;
  turn.change().queues.queues.edit(no)->unserved = when;
  rearm(turn, no);
}

// The first that may be tried. What a lowered maximum has used up is not given to anybody: it ends
// when its turn comes. None also if that was more than a step may touch: a tick goes on.
const ReadyKey* first_to_try(Turn& turn, QueueNo no, Time when) {
  while (const ReadyKey* key = first_ready(turn, no)) {
    const ItemId id = key->item;
    const Item& item = *turn.state().queues.items.find(id);
    if (!is_exhausted(turn, item)) return key;
    if (!turn.may_touch()) {
      leave_to_tick(turn, no, when);
      return nullptr;
    }
    turn.touch();
    exhaust(turn, id, std::string(rest_of(item).last_error), turn.now());
    if (get(turn, no).paused) return nullptr;
  }
  return nullptr;
}

// Whether the first that is ready may be tried.
bool has_one_to_try(const Turn& turn, QueueNo no) {
  const ReadyKey* key = first_ready(turn, no);
  return key && !is_exhausted(turn, *turn.state().queues.items.find(key->item));
}

// Whoever names an item wants it tried, whatever became of it before.
void begin_anew(Turn& turn, ItemId id) {
  rearrange(turn, id, [](Item& item) {
    make_pending(item, std::nullopt);
    item.attempts = 0;
  });
}

std::optional<WaiterId> first_in_line(const Turn& turn, QueueNo no) {
  if (get(turn, no).takers == 0) return std::nullopt;
  return turn.state().queues.lines.lower_bound({no, {}})->waiter;
}

// Whether a newcomer may take from it. What is ready although there is a line belongs to the first
// in line, who is away.
bool is_open(const Turn& turn, QueueNo no) {
  const Queue& queue = get(turn, no);
  return !queue.paused && queue.takers == 0;
}

// Up to `max` items of these queues, the best first over all of them.
std::vector<TakenItem> take_best(Turn& turn,
                                 const std::vector<QueueNo>& queues,
                                 const Holder& holder,
                                 const Boxed<HolderMeta>& meta,
                                 std::uint32_t max) {
  const auto first = [&](QueueNo no) {
    const ReadyKey* key = get(turn, no).paused ? nullptr : first_to_try(turn, no, turn.now());
    return key ? std::optional(*key) : std::nullopt;
  };
  // What has used up its attempts ends when it is looked at: it may go to another of these queues,
  // and be better than what is first there, or wake a line there that takes that.
  const bool several = queues.size() > 1;
  if (several) std::ranges::for_each(queues, first);
  std::vector<ReadyKey> heads;
  for (const QueueNo no : queues) {
    if (const std::optional<ReadyKey> head = first(no)) heads.push_back(*head);
  }
  const auto better = [](const ReadyKey& a, const ReadyKey& b) {
    return std::pair(a.below_top, a.item) < std::pair(b.below_top, b.item);
  };
  const auto look_again = [&](std::vector<ReadyKey>::iterator at) {
    if (const std::optional<ReadyKey> head = first(at->queue)) {
      *at = *head;
    } else {
      heads.erase(at);
    }
  };

  std::vector<TakenItem> taken;
  std::size_t bytes = 0;
  while (taken.size() < max && !heads.empty()) {
    const auto best = std::min_element(heads.begin(), heads.end(), better);
    if (several && first(best->queue) != *best) {
      look_again(best);
      continue;
    }
    const Item& item = *turn.state().queues.items.find(best->item);
    bytes += item.data.size();
    if (!taken.empty() && bytes > limits::batch_bytes) break;
    taken.push_back(claim(turn, best->item, holder, meta, visibility_of(turn, item)));
    look_again(best);
  }
  return taken;
}

// It stands in no line any more; its session, if it has one, still knows of it.
Taker leave_lines(Turn& turn, WaiterId waiter) {
  Table& table = turn.change().queues;
  Taker taker = *table.takers.find(waiter);
  for (const QueueNo no : taker.queues) {
    table.lines.erase({no, waiter});
    --table.queues.edit(no)->takers;
  }
  table.takers.erase(waiter);
  turn.arm(TakerDue{waiter}, std::nullopt);
  return taker;
}

void forget_place(Turn& turn, WaiterId waiter, SessionId session) {
  if (session) session::unbind(turn, session, session::WaiterPlace{waiter});
}

// Whether the taker got anything of the queues in whose line it is the first.
bool serve_taker(Turn& turn, WaiterId waiter, Time when) {
  const std::vector<QueueNo> queues = turn.state().queues.takers.find(waiter)->queues;
  const auto is_its_turn = [&](QueueNo no) {
    return !get(turn, no).paused && first_in_line(turn, no) == waiter;
  };
  // What has used up its attempts ends first: it may go to another queue that this taker waits for,
  // and serve it there.
  for (const QueueNo no : queues) {
    if (is_its_turn(no)) first_to_try(turn, no, when);
    if (!turn.state().queues.takers.contains(waiter)) return true;
  }
  std::vector<QueueNo> open;
  for (const QueueNo no : queues) {
    if (is_its_turn(no) && has_one_to_try(turn, no)) open.push_back(no);
  }
  if (open.empty()) return false;
  // It leaves the lines before it takes, so that what ends meanwhile goes to the next; its session
  // forgets the place behind the claims, so that it stays known.
  const Taker taker = leave_lines(turn, waiter);
  std::vector<TakenItem> items = take_best(turn, open, taker.holder, taker.meta, taker.max);
  forget_place(turn, waiter, taker.session);
  turn.answer(waiter, {Reply{Taken{std::move(items), false}}});
  return true;
}

// Clients of beanstalkd watch more tubes than anybody names locks. Who waits stands in as many
// lines, and what one step may touch is the limit.
constexpr std::size_t queues_a_take = 256;

std::optional<Refused> check_session(const Turn& turn, SessionId session) {
  if (session::has_room(turn.state(), session)) return std::nullopt;
  return Refused{Why::OverLimit, "sessions"};
}

std::optional<Refused> check_holder(const Turn& turn,
                                    const Holder& holder,
                                    const Boxed<HolderMeta>& meta) {
  if (std::optional<Refused> mistake = mistake_in(holder, meta, turn.session())) return mistake;
  return check_session(turn, holder.session);
}

// Its claim is a part of its name; made only now, when nobody else can be given one in between.
Holder with_claim(const Turn& turn, const Holder& holder) {
  Holder named = holder;
  named.name += "#" + std::to_string(turn.state().last_token + 1);
  return named;
}

bool waits(const Take& command) { return command.wait && *command.wait > Duration{0}; }

std::optional<Refused> check_take(const Turn& turn, const Take& command) {
  if (command.queues.empty()) return Refused{Why::BadValue, "queues"};
  if (command.queues.size() > queues_a_take) return Refused{Why::OverLimit, "queues"};
  for (const QueueName& name : command.queues) {
    if (std::optional<Refused> bad = check_name(turn, name)) return bad;
  }
  if (std::optional<Refused> bad = check_holder(turn, command.holder, command.meta)) {
    return bad;
  }
  if (command.max == 0) return Refused{Why::BadValue, "max"};
  if (command.max > limits::batch_items) return Refused{Why::OverLimit, "max"};
  if (command.wait && *command.wait < Duration{0}) return Refused{Why::BadValue, "wait"};
  return std::nullopt;
}

// Whether there is room for somebody who will have to wait. What has used up its attempts is ended
// first: it may be all that is ready.
std::optional<Refused> check_wait(Turn& turn, const Take& command) {
  std::vector<QueueNo> queues;
  for (const QueueName& name : command.queues) {
    if (const std::optional<QueueNo> no = find(turn, name)) queues.push_back(*no);
  }
  for (const QueueNo no : queues) {
    if (is_open(turn, no)) first_to_try(turn, no, turn.now());
  }
  // Only now: the end of one may have made another ready, or a worker take it.
  bool full = false;
  for (const QueueNo no : queues) {
    if (is_open(turn, no) && has_one_to_try(turn, no)) return std::nullopt;
    full = full || get(turn, no).takers >= limits::waiters_a_line;
  }
  if (full) return Refused{Why::OverLimit, "waiters"};
  return check_session(turn, turn.session());
}

reeve::Reply join_line(Turn& turn, const Take& command, std::vector<QueueNo> queues) {
  const WaiterId waiter = turn.next_id<WaiterId>();
  Taker taker;
  taker.holder = command.holder;
  taker.meta = tidied(command.meta);
  taker.queues = std::move(queues);
  taker.max = command.max;
  taker.session = turn.session();
  taker.since = turn.now();
  taker.until = saturating_add(turn.now(), *command.wait);
  Table& table = turn.change().queues;
  for (const QueueNo no : taker.queues) {
    table.lines.insert({no, waiter});
    ++table.queues.edit(no)->takers;
  }
  turn.arm(TakerDue{waiter}, taker.until);
  if (taker.session) session::bind(turn, taker.session, session::WaiterPlace{waiter});
  table.takers.set(waiter, std::move(taker));
  return {Waiting{waiter}};
}

}  // namespace

Duration visibility_of(const Turn& turn, const Item& item) {
  const std::optional<Duration>& own = rest_of(item).visibility;
  return own ? *own : get(turn, item.queue).config.visibility_timeout;
}

TakenItem claim(Turn& turn,
                ItemId id,
                const Holder& holder,
                const Boxed<HolderMeta>& meta,
                std::optional<Duration> visibility) {
  const Token token = turn.next_token();
  TakenItem taken;
  rearrange(turn, id, [&](Item& item) {
    Rest& rest = item.rest.edit();
    rest.not_before.reset();
    rest.ended = 0;
    rest.claim = Claim{holder, meta, token, turn.now(), turn.now(), visibility, {}, Ending::No};
    item.state = ItemState::Processing;
    if (item.attempts != UINT32_MAX) ++item.attempts;
    taken = {id,
             {},
             item.data,
             item.json,
             item.priority,
             item.attempts,
             token,
             limit_of(lease_of(*rest.claim), turn.leases_from())};
  });
  taken.queue = get(turn, turn.state().queues.items.find(id)->queue).name;
  turn.emit(taken.queue.project, Event{WasTaken{taken.queue, id, holder, token, taken.attempts}});
  decision::retire(turn, decision::ItemOwner{id});
  return taken;
}

reeve::Reply take(Turn& turn, const Take& command) {
  if (std::optional<Refused> bad = check_take(turn, command)) return {*std::move(bad)};
  if (waits(command)) {
    if (std::optional<Refused> bad = check_wait(turn, command)) return {*std::move(bad)};
  }

  std::vector<QueueNo> queues;
  for (const QueueName& name : command.queues) {
    const QueueNo no = obtain(turn, name);
    if (std::find(queues.begin(), queues.end(), no) == queues.end()) queues.push_back(no);
  }
  std::vector<QueueNo> open;
  for (const QueueNo no : queues) {
    if (is_open(turn, no)) open.push_back(no);
  }
  std::vector<TakenItem> items =
      take_best(turn, open, command.holder, tidied(command.meta), command.max);
  if (items.empty() && waits(command)) return join_line(turn, command, std::move(queues));
  // Only now: what has used up its attempts may have paused them.
  const auto is_paused = [&](QueueNo no) { return get(turn, no).paused; };
  const bool because_paused = items.empty() && std::all_of(queues.begin(), queues.end(), is_paused);
  return {Reply{Taken{std::move(items), because_paused}}};
}

reeve::Reply take_one(Turn& turn, const TakeOne& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  const Item* item = find(turn, *no, command.item);
  if (!item) return refused(Why::NotFound, to_text(command.item));
  if (std::optional<Refused> bad = check_holder(turn, command.holder, command.meta)) {
    return {*std::move(bad)};
  }
  switch (item->state) {
    case ItemState::Pending:
      if (is_exhausted(turn, *item)) begin_anew(turn, command.item);
      break;
    case ItemState::Processing:
      return refused(Why::NotAllowed, "processing");
    case ItemState::Completed:
      return refused(Why::NotAllowed, "completed");
    case ItemState::Dead:
      begin_anew(turn, command.item);
      break;
  }
  const Duration visibility = visibility_of(turn, *find(turn, *no, command.item));
  TakenItem taken = claim(turn, command.item, command.holder, tidied(command.meta), visibility);
  return {Reply{Taken{{std::move(taken)}, false}}};
}

std::optional<TakenItem> take_for_pipeline(Turn& turn,
                                           const QueueName& queue,
                                           const Holder& holder) {
  settle(turn);
  const std::optional<QueueNo> no = find(turn, queue);
  if (!no || !is_open(turn, *no)) return std::nullopt;
  const ReadyKey* first = first_to_try(turn, *no, turn.now());
  if (!first) return std::nullopt;
  return claim(turn, ItemId(first->item), with_claim(turn, holder), {}, std::nullopt);
}

std::optional<TakenItem> take_again_for_pipeline(Turn& turn, ItemId id, const Holder& holder) {
  settle(turn);
  const Item* item = turn.state().queues.items.find(id);
  if (!item) return std::nullopt;
  switch (item->state) {
    case ItemState::Pending:
      if (is_exhausted(turn, *item)) begin_anew(turn, id);
      break;
    case ItemState::Processing:
    case ItemState::Completed:
      return std::nullopt;
    case ItemState::Dead:
      begin_anew(turn, id);
      break;
  }
  return claim(turn, id, with_claim(turn, holder), {}, std::nullopt);
}

void serve(Turn& turn, QueueNo no, Time when) {
  while (!get(turn, no).paused && first_ready(turn, no)) {
    const std::optional<WaiterId> waiter = first_in_line(turn, no);
    if (!waiter) return worker::queue_ready(turn, get(turn, no).name);
    if (!turn.may_touch()) return leave_to_tick(turn, no, when);
    turn.touch();
    const Taker& taker = *turn.state().queues.takers.find(*waiter);
    if (taker.until && *taker.until <= when) {
      leave(turn, *waiter, Left::TimedOut);
    } else if (!session::is_here(turn, taker.session) || !serve_taker(turn, *waiter, when)) {
      return;
    }
  }
}

void leave(Turn& turn, WaiterId waiter, Left left) {
  if (!turn.state().queues.takers.contains(waiter)) return;
  const Taker taker = leave_lines(turn, waiter);
  forget_place(turn, waiter, taker.session);
  // Also at the end of its session: a key that it came with must not wait for ever.
  turn.answer(waiter, {Reply{Taken{}}});
  // Those behind it count as served when it left, however late we heard of that.
  const Time when = left == Left::TimedOut ? taker.until.value_or(turn.now()) : turn.now();
  for (const QueueNo no : taker.queues) serve(turn, no, when);
}

void came_back(Turn& turn, WaiterId waiter) {
  const Taker* found = turn.state().queues.takers.find(waiter);
  if (!found) return;
  const std::vector<QueueNo> queues = found->queues;
  for (const QueueNo no : queues) serve(turn, no, turn.now());
}

void due(Turn& turn, const TakerDue& due) {
  const Taker* taker = turn.state().queues.takers.find(due.waiter);
  if (!taker || !taker->until) return;
  if (*taker->until > turn.now()) return turn.arm(due, taker->until);
  leave(turn, due.waiter, Left::TimedOut);
}

}  // namespace reeve::queue
