#include "core/key.h"

#include "base/check.h"
#include "base/planted.h"
#include "core/input.h"
#include "core/kept_reply.h"
#include "core/turn.h"
#include "core/waiting.h"

#include <algorithm>

namespace reeve::key {
namespace {

// ── What was given under a key is its client's, whatever connection that has now ──

bool move_given(Turn& turn, const grant::Granted& granted) {
  bool moved = false;
  for (const grant::Given& given : granted.given) {
    if (given.weight == 0) {
      const LockName name{given.project, given.name};
      moved |= lock::move_to_session(turn, name, given.token, turn.session());
    } else {
      const semaphore::SlotKey key{{given.project, given.name}, granted.holder};
      moved |= semaphore::move_to_session(turn, key, given.token, turn.session());
    }
  }
  return moved;
}

void move_lease(Turn& turn, const Name& name) {
  const reeve::Reply reply = *turn.state().keys.entries.find(name)->reply;
  if (const queue::Reply* of_queue = std::get_if<queue::Reply>(&reply.value)) {
    const queue::Taken* taken = std::get_if<queue::Taken>(of_queue);
    if (!taken) return;
    for (const queue::TakenItem& item : taken->items) {
      queue::move_to_session(turn, item.id, item.claim, turn.session());
    }
  }
  const grant::Reply* of_grant = std::get_if<grant::Reply>(&reply.value);
  const grant::Granted* granted = of_grant ? std::get_if<grant::Granted>(of_grant) : nullptr;
  if (!granted || !granted->holder.session || granted->holder.session == turn.session()) return;
  if (!move_given(turn, *granted)) return;
  grant::Granted changed = *granted;
  changed.holder.session = turn.session();
  turn.change().keys.entries.edit(name)->reply =
      Boxed<reeve::Reply>(reeve::Reply{grant::Reply{changed}});
  // Whoever waits for it waits for another now; and who had it may have it no longer in his way.
  grant::retry(turn, changed.holder);
  grant::retry(turn, granted->holder);
}

// Whether what was given is another connection's, which it may be no longer.
bool is_bound_elsewhere(const Turn& turn, const reeve::Reply& reply) {
  const auto is_elsewhere = [&](SessionId session) { return session && session != turn.session(); };
  if (const auto* of_grant = std::get_if<grant::Reply>(&reply.value)) {
    const auto* granted = std::get_if<grant::Granted>(of_grant);
    return granted && is_elsewhere(granted->holder.session);
  }
  const auto* of_queue = std::get_if<queue::Reply>(&reply.value);
  const auto* taken = of_queue ? std::get_if<queue::Taken>(of_queue) : nullptr;
  return taken && std::ranges::any_of(taken->items, [&](const queue::TakenItem& given) {
           const queue::Item* item = turn.state().queues.items.find(given.id);
           if (!item || item->state != queue::ItemState::Processing) return false;
           const queue::Claim& claim = *item->rest->claim;
           return claim.token == given.claim && is_elsewhere(claim.holder.session);
         });
}

// What a wait ended with can be taken back, as long as nobody knows of it. What was done for good,
// or said by a person, is told to whoever asks again.
bool gives_something(const reeve::Reply& reply) {
  const auto* of_grant = std::get_if<grant::Reply>(&reply.value);
  const auto* of_queue = std::get_if<queue::Reply>(&reply.value);
  const auto* of_board = std::get_if<board::Reply>(&reply.value);
  return (of_grant && std::holds_alternative<grant::Granted>(*of_grant)) ||
         (of_queue && std::holds_alternative<queue::Taken>(*of_queue)) ||
         (of_board && std::holds_alternative<board::Started>(*of_board));
}

void drop(Turn& turn, const Name& name) {
  const Entry* entry = turn.state().keys.entries.find(name);
  CHECK(entry);
  const Age age{name.project, entry->order};
  const std::optional<WaiterId> waiter = entry->waiter;
  Table& keys = turn.change().keys;
  keys.by_age.erase(age);
  if (waiter) keys.waiting.erase(*waiter);
  keys.entries.erase(name);
  std::uint64_t& count = keys.counts.edit_or_insert(name.project);
  if (--count == 0) keys.counts.erase(name.project);
}

// The oldest key of the project, if it has one.
const Name* oldest(const Turn& turn, ProjectNo project) {
  const auto at = turn.state().keys.by_age.lower_bound(Age{project, 0});
  if (at == turn.state().keys.by_age.end() || at->first.project != project) return nullptr;
  return &at->second;
}

// A key is good up to and at its age, and forgotten one millisecond later.
void arm_oldest(Turn& turn, ProjectNo project) {
  std::optional<Time> due;
  if (const Name* name = oldest(turn, project)) {
    const Entry* entry = turn.state().keys.entries.find(*name);
    due = saturating_add(entry->since, limits::keys_kept + Duration{1});
  }
  turn.arm(Due{project}, due);
}

// From now on it is the youngest.
void renew(Turn& turn, const Name& name) {
  Table& keys = turn.change().keys;
  Entry* entry = keys.entries.edit(name);
  CHECK(entry);
  keys.by_age.erase(Age{name.project, entry->order});
  entry->since = turn.now();
  entry->order = ++keys.last_order;
  keys.by_age.set(Age{name.project, entry->order}, name);
}

// A request that still waits has its key for as long as it waits.
void drop_or_renew(Turn& turn, const Name& name) {
  if (turn.state().keys.entries.find(name)->waiter) return renew(turn, name);
  drop(turn, name);
}

bool is_too_old(const Entry& entry, Time now) {
  return now > saturating_add(entry.since, limits::keys_kept);
}

}  // namespace

bool Entry::operator==(const Entry& other) const {
  return digest == other.digest && since == other.since && order == other.order &&
         waiter == other.waiter && reply == other.reply && unheard == other.unheard;
}

bool Table::operator==(const Table& other) const {
  return entries == other.entries && by_age == other.by_age && waiting == other.waiting &&
         counts == other.counts && last_order == other.last_order;
}

Command unbound(Command command) {
  const auto forget_session = [](auto& it) {
    if constexpr (requires { it.holder.session; }) it.holder.session = {};
  };
  CommandSum& sum = command;
  if (lock::Command* of_lock = std::get_if<lock::Command>(&sum)) {
    std::visit(forget_session, *of_lock);
  } else if (semaphore::Command* of_semaphore = std::get_if<semaphore::Command>(&sum)) {
    std::visit(forget_session, *of_semaphore);
  } else if (queue::Command* of_queue = std::get_if<queue::Command>(&sum)) {
    std::visit(forget_session, *of_queue);
  }
  return command;
}

bool is_kept(const reeve::Reply& reply) { return did_something(reply); }

std::optional<reeve::Reply> recall(Turn& turn, const Name& name, std::uint64_t digest) {
  if (planted(Bug::KeyForgotten)) return std::nullopt;
  const Entry* entry = turn.state().keys.entries.find(name);
  if (!entry || (!entry->waiter && is_too_old(*entry, turn.now()))) return std::nullopt;
  if (entry->digest != digest) return refused(Why::KeyReused, name.key);
  if (!session::has_room(turn.state(), turn.session()) &&
      (entry->waiter || is_bound_elsewhere(turn, *entry->reply))) {
    return refused(Why::OverLimit, "sessions");
  }
  if (!entry->waiter) {
    move_lease(turn, name);
    if (turn.state().keys.entries.find(name)->unheard) {
      turn.change().keys.entries.edit(name)->unheard = false;
    }
    return told_again(turn.state(), *turn.state().keys.entries.find(name)->reply);
  }
  // By its name: a place that is taken over may be served at once, and then the entry is another.
  const WaiterId waiter = *entry->waiter;
  waiting::move_to_session(turn, waiter, turn.session());
  return reeve::Reply{Waiting{waiter}};
}

void remember(Turn& turn, const Name& name, std::uint64_t digest, const reeve::Reply& reply) {
  if (turn.state().keys.entries.contains(name)) drop(turn, name);
  Table& keys = turn.change().keys;
  Entry entry;
  entry.digest = digest;
  entry.since = turn.now();
  entry.order = ++keys.last_order;
  if (const Waiting* waiting = std::get_if<Waiting>(&reply.value)) {
    entry.waiter = waiting->waiter;
    keys.waiting.set(waiting->waiter, name);
  } else {
    entry.reply = Boxed<reeve::Reply>(shortened(reply));
  }
  keys.by_age.set(Age{name.project, entry.order}, name);
  keys.entries.set(name, std::move(entry));
  ++keys.counts.edit_or_insert(name.project);
  // What is over the limit and cannot go in this step goes with the next key.
  while (*turn.state().keys.counts.find(name.project) > limits::keys_a_project &&
         turn.may_touch()) {
    turn.touch();
    drop_or_renew(turn, Name(*oldest(turn, name.project)));
  }
  arm_oldest(turn, name.project);
}

void forget(Turn& turn, const Name& name) {
  if (!turn.state().keys.entries.contains(name)) return;
  drop(turn, name);
  arm_oldest(turn, name.project);
}

void forget_waiter(Turn& turn, WaiterId waiter) {
  if (const Name* name = turn.state().keys.waiting.find(waiter)) forget(turn, Name(*name));
}

bool was_undelivered(Turn& turn, const Name& name, const reeve::Reply& reply) {
  const Entry* entry = turn.state().keys.entries.find(name);
  if (!entry || entry->waiter || *entry->reply != shortened(reply)) return true;
  if (!entry->unheard || !gives_something(reply)) return false;
  forget(turn, name);
  return true;
}

void answered(Turn& turn, WaiterId waiter, const reeve::Reply& reply) {
  const Name* found = turn.state().keys.waiting.find(waiter);
  if (!found) return;
  const Name name = *found;
  if (!is_kept(reply)) return forget(turn, name);
  Table& keys = turn.change().keys;
  keys.waiting.erase(waiter);
  Entry* entry = keys.entries.edit(name);
  CHECK(entry);
  entry->waiter.reset();
  entry->reply = Boxed<reeve::Reply>(shortened(reply));
  entry->unheard = true;
  // Its day begins with its answer.
  renew(turn, name);
  arm_oldest(turn, name.project);
}

void due(Turn& turn, const Due& due) {
  while (turn.may_touch()) {
    const Name* name = oldest(turn, due.project);
    if (!name) break;
    const Entry* entry = turn.state().keys.entries.find(*name);
    if (!is_too_old(*entry, turn.now())) break;
    turn.touch();
    drop_or_renew(turn, Name(*name));
  }
  arm_oldest(turn, due.project);
}

}  // namespace reeve::key
