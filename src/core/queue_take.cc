#include "core/holder_rules.h"
#include "core/names.h"
#include "core/queue_place.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace reeve::queue {
namespace {

// The first of it, or the first that comes behind `after`, which may be of another queue.
const ReadyKey* first_ready(const Turn& turn,
                            QueueNo no,
                            const std::optional<ReadyKey>& after = {}) {
  const PersistentSet<ReadyKey>& ready = turn.state().queues.ready;
  const auto at = after ? ready.upper_bound({no, after->below_top, after->item})
                        : ready.lower_bound({no, 0, {}});
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
// when its turn comes, as of `when`. None also if that was more than a step may touch: a tick goes
// on.
const ReadyKey* first_to_try(Turn& turn,
                             QueueNo no,
                             Time when,
                             const std::optional<ReadyKey>& after = {}) {
  while (!get(turn, no).paused) {
    const ReadyKey* key = first_ready(turn, no, after);
    if (!key) return nullptr;
    const ItemId id = key->item;
    const Item& item = *turn.state().queues.items.find(id);
    if (!is_exhausted(turn, item)) return key;
    if (!turn.may_touch()) {
      leave_to_tick(turn, no, when);
      return nullptr;
    }
    turn.touch();
    exhaust(turn, id, std::string(rest_of(item).last_error), when);
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

// Up to `max` items of these queues, the best first over all of them. What has used up its attempts
// ends when it is looked at: it may go to another of these queues, and be better than what is first
// there. So all of them are looked at anew, behind what was chosen by then, which was better.
// Nothing of it is given to others meanwhile: whoever chooses stands first in these lines, or there
// are none. But `waiter`, who stands in them, may be served by what ended: then nothing is chosen.
std::vector<ItemId> choose(Turn& turn,
                           const std::vector<QueueNo>& queues,
                           std::uint32_t max,
                           Time when,
                           std::optional<WaiterId> waiter) {
  std::vector<ItemId> chosen;
  std::optional<ReadyKey> last;
  std::vector<ReadyKey> heads;
  std::uint64_t ended = 0;
  const auto is_served = [&] { return waiter && !turn.state().queues.takers.contains(*waiter); };
  const auto look_at_all = [&] {
    do {
      ended = turn.state().queues.last_ended;
      heads.clear();
      for (const QueueNo no : queues) {
        const ReadyKey* head = first_to_try(turn, no, when, last);
        if (is_served()) return;
        if (head) heads.push_back(*head);
      }
    } while (ended != turn.state().queues.last_ended);
  };
  const auto better = [](const ReadyKey& a, const ReadyKey& b) {
    return std::pair(a.below_top, a.item) < std::pair(b.below_top, b.item);
  };

  std::size_t bytes = 0;
  look_at_all();
  while (!heads.empty() && !is_served()) {
    const auto best = std::min_element(heads.begin(), heads.end(), better);
    bytes += turn.state().queues.items.find(best->item)->data.size();
    if (!chosen.empty() && bytes > limits::batch_bytes) break;
    // The first of them is counted by whoever serves the line.
    if (waiter && !chosen.empty()) turn.touch();
    chosen.push_back(best->item);
    if (chosen.size() == max) break;
    last = *best;
    if (const ReadyKey* head = first_to_try(turn, best->queue, when, last)) {
      *best = *head;
    } else {
      heads.erase(best);
    }
    if (ended != turn.state().queues.last_ended) look_at_all();
  }
  return is_served() ? std::vector<ItemId>{} : chosen;
}

std::vector<TakenItem> claim_all(Turn& turn,
                                 const std::vector<ItemId>& chosen,
                                 const Holder& holder,
                                 const Boxed<HolderMeta>& meta) {
  std::vector<TakenItem> taken;
  taken.reserve(chosen.size());
  for (const ItemId id : chosen) {
    const Duration visibility = visibility_of(turn, *turn.state().queues.items.find(id));
    taken.push_back(claim(turn, id, holder, meta, visibility));
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
  const Taker& waiting = *turn.state().queues.takers.find(waiter);
  const std::uint32_t max = waiting.max;
  std::vector<QueueNo> open;
  for (const QueueNo no : waiting.queues) {
    if (!get(turn, no).paused && first_in_line(turn, no) == waiter) open.push_back(no);
  }
  // It keeps its places while what has used up its attempts ends, so that nobody is served before
  // it from these queues.
  const std::vector<ItemId> chosen = choose(turn, open, max, when, waiter);
  if (!turn.state().queues.takers.contains(waiter)) return true;
  if (chosen.empty()) return false;
  // Its session forgets the place behind the claims, so that it stays known.
  const Taker taker = leave_lines(turn, waiter);
  std::vector<TakenItem> items = claim_all(turn, chosen, taker.holder, taker.meta);
  forget_place(turn, waiter, taker.session);
  turn.answer(waiter, {Reply{Taken{std::move(items), false}}});
  return true;
}

// It gets nothing. Those behind it count as served as of `when`, or since their line goes on:
// before that there was nothing for them.
void give_up(Turn& turn, WaiterId waiter, Time when) {
  const Taker taker = leave_lines(turn, waiter);
  forget_place(turn, waiter, taker.session);
  // Also at the end of its session: a key that it came with must not wait for ever.
  turn.answer(waiter, {Reply{Taken{}}});
  for (const QueueNo no : taker.queues) {
    serve(turn, no, std::max(when, get(turn, no).unserved.value_or(when)));
  }
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

// Whether these queues are there or can be made, all of them.
std::optional<Refused> check_queues(const Turn& turn, const std::vector<QueueName>& names) {
  std::set<QueueName> to_make;
  for (const QueueName& name : names) {
    if (std::optional<Refused> bad = check_name(turn, name)) return bad;
    if (!find(turn, name)) to_make.insert(name);
  }
  const Table& table = turn.state().queues;
  std::map<ProjectNo, std::size_t> all;
  for (const QueueName& name : to_make) {
    const std::uint32_t* count = table.queues_of.find(name.project);
    if (++all[name.project] + (count ? *count : 0) > limits::names_a_project) {
      return Refused{Why::OverLimit, "queues"};
    }
  }
  const QueueNo numbers_left = std::numeric_limits<QueueNo>::max() - table.last_queue;
  if (to_make.size() > numbers_left) return Refused{Why::OverLimit, "queues"};
  return std::nullopt;
}

std::optional<Refused> check_take(const Turn& turn, const Take& command) {
  if (command.queues.empty()) return Refused{Why::BadValue, "queues"};
  if (command.queues.size() > queues_a_take) return Refused{Why::OverLimit, "queues"};
  if (std::optional<Refused> bad = check_queues(turn, command.queues)) return bad;
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
    // What ended by that may have made a queue for the dead of another, and that was the last.
    if (std::optional<Refused> bad = check_queues(turn, command.queues)) return {*std::move(bad)};
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
  const std::vector<ItemId> chosen = choose(turn, open, command.max, turn.now(), {});
  std::vector<TakenItem> items = claim_all(turn, chosen, command.holder, tidied(command.meta));
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
      // As of `when` and not of its limit: only now there is something for those behind it.
      give_up(turn, *waiter, when);
    } else if (!session::is_here(turn, taker.session) || !serve_taker(turn, *waiter, when)) {
      return;
    }
  }
}

void leave(Turn& turn, WaiterId waiter, Left left) {
  const Taker* taker = turn.state().queues.takers.find(waiter);
  if (!taker) return;
  // Those behind it count as served when it left, however late we heard of that.
  give_up(turn, waiter, left == Left::TimedOut ? taker->until.value_or(turn.now()) : turn.now());
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
