#include "base/planted.h"
#include "core/names.h"
#include "core/queue_place.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reeve::queue {
namespace {

// The claim under which the item is held, if it is this one and still good.
const Claim* find_claim(const Turn& turn, const Item* item, Token token) {
  if (!item || item->state != ItemState::Processing) return nullptr;
  const Claim& held = *item->rest->claim;
  if (held.token != token && !planted(Bug::StaleTokenAccepted)) return nullptr;
  if (held.ending != Ending::No) return nullptr;
  const Duration early{planted(Bug::LeaseOverEarly) ? 1 : 0};
  if (is_over(lease_of(held), turn.leases_from(), turn.now() + early)) return nullptr;
  return &held;
}

StaleClaim stale(const Turn& turn, std::optional<QueueNo> no, ItemId id) {
  const Item* item = no ? find(turn, *no, id) : nullptr;
  if (!item || item->state != ItemState::Processing) return {id, std::nullopt};
  return {id, item->rest->claim->holder};
}

// What every verb about one claimed item begins with: the queue it is in, or the answer.
std::variant<QueueNo, reeve::Reply> check_claim(const Turn& turn,
                                                const QueueName& queue,
                                                const ItemClaim& asked) {
  const std::optional<QueueNo> no = find(turn, queue);
  if (!no) return refused(Why::NotFound, queue.name);
  if (!find_claim(turn, find(turn, *no, asked.item), asked.claim)) {
    return reeve::Reply{Reply{stale(turn, no, asked.item)}};
  }
  return *no;
}

bool completed_by(const Item* item, Token token) {
  return item && item->state == ItemState::Completed && rest_of(*item).claim &&
         rest_of(*item).claim->token == token;
}

void complete_item(Turn& turn, QueueNo no, const ItemClaim& asked) {
  const std::uint64_t order = ++turn.change().queues.last_ended;
  rearrange(turn, asked.item, [&](Item& item) {
    item.state = ItemState::Completed;
    Rest& rest = item.rest.edit();
    rest.claim->meta.reset();
    if (!planted(Bug::ClaimKept)) rest.claim->due.reset();
    rest.ended_at = turn.now();
    rest.ended = order;
  });
  const Queue& queue = get(turn, no);
  turn.emit(queue.name.project, Event{WasCompleted{queue.name, asked.item, asked.claim}});
  if (queue.counts.completed > most_completed(queue.config)) {
    const ItemId oldest = turn.state().queues.completed.lower_bound({no, 0, {}})->item;
    erase(turn, oldest, Gone::Forgotten);
  }
}

void back_to_pending(Turn& turn, ItemId id, Duration delay, Time when) {
  std::optional<Time> not_before;
  if (delay > Duration{0} && !planted(Bug::RestForgotten)) not_before = saturating_add(when, delay);
  rearrange(turn, id, [&](Item& item) { make_pending(item, not_before); });
}

void set_error(Turn& turn, ItemId id, std::string_view error) {
  Table& table = turn.change().queues;
  Rest& rest = table.items.edit(id)->rest.edit();
  table.bytes += error.size() - rest.last_error.size();
  rest.last_error = error;
}

void escalate(Turn& turn, ItemId id, const QueueName& queue, const std::string& error) {
  decision::Question question;
  question.project = queue.project;
  question.owner = decision::ItemOwner{id};
  question.cause = decision::Cause::ItemExhausted;
  question.question = to_text(id) + " of queue " + queue.name + " failed too often";
  question.context = error;
  decision::open(turn, std::move(question));
}

// The attempt failed as of `when`. With `announce` the next one is told of as a failure, else the
// caller has told of it in other words.
void fail_attempt(Turn& turn,
                  ItemId id,
                  const std::string& error,
                  std::optional<Duration> retry_after,
                  Time when,
                  bool announce) {
  set_error(turn, id, error);
  const Item& item = *turn.state().queues.items.find(id);
  const QueueNo no = item.queue;
  if (is_exhausted(turn, item)) return exhaust(turn, id, error, when);
  const Config& config = get(turn, no).config;
  const Duration delay = retry_after ? *retry_after : backoff_of(config, id, item.attempts);
  back_to_pending(turn, id, delay, when);
  if (announce) {
    const QueueName& name = get(turn, no).name;
    turn.emit(name.project, Event{HasFailed{name, id, error, saturating_add(when, delay)}});
  }
  serve(turn, no, when);
}

// Its holder's time was up; with a process, that was ended for it.
void time_out(Turn& turn, ItemId id, Time when) {
  const Item& item = *turn.state().queues.items.find(id);
  const Claim& held = *item.rest->claim;
  const QueueName& name = get(turn, item.queue).name;
  turn.emit(name.project, Event{TimedOut{name, id, held.holder, held.token}});
  if (planted(Bug::TimeoutTwice)) ++turn.change().queues.items.edit(id)->attempts;
  fail_attempt(turn, id, "visibility timeout", std::nullopt, when, false);
}

// Only when the end of the process was observed is the item given on: `lease_gone`.
void begin_ending(Turn& turn, ItemId id, Ending ending, custody::Cause cause) {
  Claim& held = *turn.change().queues.items.edit(id)->rest.edit().claim;
  held.ending = ending;
  const Process process = *process_of(held.meta);
  move_deadline(turn, id);
  custody::end(turn, process, cause);
}

void release_item(
    Turn& turn, ItemId id, Duration delay, std::optional<std::int32_t> priority, bool ended) {
  const Item& before = *turn.state().queues.items.find(id);
  const QueueNo no = before.queue;
  const Token token = before.rest->claim->token;
  std::optional<Time> not_before;
  if (delay > Duration{0}) not_before = saturating_add(turn.now(), delay);
  rearrange(turn, id, [&](Item& item) {
    make_pending(item, not_before);
    if (item.attempts > 0) --item.attempts;
    if (priority) item.priority = *priority;
  });
  const QueueName& name = get(turn, no).name;
  turn.emit(name.project, Event{WasReleased{name, id, token, ended}});
  serve(turn, no, turn.now());
}

// Scatters neighbours; its values are part of the behaviour, so that a replay makes the same.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

bool is_exhausted(const Turn& turn, const Item& item) {
  const std::uint32_t max = get(turn, item.queue).config.max_attempts;
  return max != 0 && item.attempts >= max;
}

void exhaust(Turn& turn, ItemId id, const std::string& error, Time when) {
  const QueueNo no = turn.state().queues.items.find(id)->queue;
  const QueueName name = get(turn, no).name;
  switch (get(turn, no).config.on_exhaust) {
    case OnExhaust::Dead:
      die(turn, id, error, when);
      break;
    case OnExhaust::Escalate:
      // Asked before it goes to the dead letters: who takes it there takes the question back.
      escalate(turn, id, name, error);
      die(turn, id, error, when);
      break;
    case OnExhaust::Pause:
      // It begins anew: whoever resumes the queue wants it tried.
      rearrange(turn, id, [](Item& item) {
        make_pending(item, std::nullopt);
        item.attempts = 0;
      });
      if (!get(turn, no).paused || get(turn, no).paused_until) {
        pause_queue(turn, no, std::nullopt, id);
      }
      escalate(turn, id, name, error);
      break;
  }
}

Duration backoff_of(const Config& config, ItemId item, std::uint32_t attempts) {
  Duration delay = std::min(config.backoff_first, config.backoff_max);
  for (std::uint32_t i = 1; i < attempts && delay < config.backoff_max; ++i) {
    if (delay <= Duration{0}) return Duration{0};
    delay = delay > config.backoff_max / 2 ? config.backoff_max : delay * 2;
  }
  const std::uint64_t thousandths = mix(item.value * 0x100000001b3 + attempts) % 201;
  return delay - delay / 1000 * static_cast<std::int64_t>(thousandths) -
         delay % 1000 * static_cast<std::int64_t>(thousandths) / 1000;
}

reeve::Reply complete(Turn& turn, const Complete& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  if (command.items.empty()) return refused(Why::BadValue, "items");
  if (command.items.size() > limits::batch_items) return refused(Why::OverLimit, "items");

  Settled settled;
  settled.items.reserve(command.items.size());
  for (const ItemClaim& asked : command.items) {
    const Item* item = find(turn, *no, asked.item);
    if (find_claim(turn, item, asked.claim)) {
      complete_item(turn, *no, asked);
      settled.items.emplace_back(asked.item);
    } else if (completed_by(item, asked.claim)) {
      settled.items.emplace_back(asked.item);
    } else {
      settled.items.emplace_back(stale(turn, no, asked.item));
    }
  }
  return {Reply{std::move(settled)}};
}

reeve::Reply fail(Turn& turn, const Fail& command) {
  const auto checked = check_claim(turn, command.queue, command.item);
  if (const reeve::Reply* answer = std::get_if<reeve::Reply>(&checked)) return *answer;
  if (command.retry_after && *command.retry_after < Duration{0}) {
    return refused(Why::BadValue, "retry_after");
  }
  fail_attempt(turn,
               command.item.item,
               std::string(cut(command.error)),
               command.retry_after,
               turn.now(),
               true);
  return {Ok{}};
}

reeve::Reply extend(Turn& turn, const Extend& command) {
  const auto checked = check_claim(turn, command.queue, command.item);
  if (const reeve::Reply* answer = std::get_if<reeve::Reply>(&checked)) return *answer;
  if (command.by && *command.by < Duration{0}) return refused(Why::BadValue, "by");
  const ItemId id = command.item.item;
  const Item& item = *turn.state().queues.items.find(id);
  const bool paused = get(turn, item.queue).paused;
  if (!item.rest->claim->visibility) return {Reply{Extended{id, std::nullopt, paused}}};

  const Duration visibility = command.by ? *command.by : visibility_of(turn, item);
  Claim& held = *turn.change().queues.items.edit(id)->rest.edit().claim;
  held.last_sign = turn.now();
  held.visibility = visibility;
  const std::optional<Time> limit = limit_of(lease_of(held), turn.leases_from());
  move_deadline(turn, id);
  return {Reply{Extended{id, limit, paused}}};
}

reeve::Reply release(Turn& turn, const Release& command) {
  const auto checked = check_claim(turn, command.queue, command.item);
  if (const reeve::Reply* answer = std::get_if<reeve::Reply>(&checked)) return *answer;
  if (command.delay < Duration{0}) return refused(Why::BadValue, "delay");
  release_item(turn, command.item.item, command.delay, command.priority, false);
  return {Ok{}};
}

reeve::Reply bury(Turn& turn, const Bury& command) {
  const auto checked = check_claim(turn, command.queue, command.item);
  if (const reeve::Reply* answer = std::get_if<reeve::Reply>(&checked)) return *answer;
  const std::string reason(command.reason.empty() ? "buried" : cut(command.reason));
  const std::uint64_t order = ++turn.change().queues.last_ended;
  rearrange(turn, command.item.item, [&](Item& item) {
    make_dead(item, turn.now(), order, reason);
    if (command.priority) item.priority = *command.priority;
  });
  const Event died{HasDied{command.queue, command.item.item, reason, std::nullopt}};
  turn.emit(command.queue.project, died);
  return {Ok{}};
}

void expire(Turn& turn, ItemId id, Time when) {
  const Claim& held = *turn.state().queues.items.find(id)->rest->claim;
  if (!process_of(held.meta)) return time_out(turn, id, when);
  begin_ending(turn, id, Ending::Silent, custody::Cause::Silent);
}

void lease_gone(Turn& turn, ItemId id) {
  const auto ending_of = [&]() -> std::optional<Ending> {
    const Item* item = turn.state().queues.items.find(id);
    if (!item || item->state != ItemState::Processing) return std::nullopt;
    return item->rest->claim->ending;
  };
  // What was done about it before its end was seen; not what would be due by now.
  const std::optional<Ending> ending = ending_of();
  settle(turn);
  if (!ending || !ending_of()) return;
  switch (*ending) {
    case Ending::No:
      return fail_attempt(turn, id, "its process ended", std::nullopt, turn.now(), true);
    case Ending::Silent:
      return time_out(turn, id, turn.now());
    case Ending::Disconnected:
      return release_item(turn, id, Duration{0}, std::nullopt, true);
  }
}

void move_to_session(Turn& turn, ItemId id, Token claim, SessionId session) {
  const Item* item = turn.state().queues.items.find(id);
  if (!item || item->state != ItemState::Processing) return;
  const Claim& held = *item->rest->claim;
  const SessionId from = held.holder.session;
  const LeaseRef lease = ItemLease{id};
  if (held.token != claim || from == session) return;
  if (!turn.state().sessions.bound.contains({from, lease})) return;
  turn.change().queues.items.edit(id)->rest.edit().claim->holder.session = session;
  session::bind(turn, session, lease);
  session::unbind(turn, from, lease);
}

void session_gone(Turn& turn, ItemId id, SessionId session) {
  settle(turn);
  const Item* item = turn.state().queues.items.find(id);
  if (!item || item->state != ItemState::Processing) return;
  const Claim& held = *item->rest->claim;
  if (held.holder.session != session || held.ending != Ending::No) return;
  if (!process_of(held.meta)) return release_item(turn, id, Duration{0}, std::nullopt, true);
  begin_ending(turn, id, Ending::Disconnected, custody::Cause::Cancelled);
}

void finish(Turn& turn, ItemId id, Token claim) {
  const Item* item = turn.state().queues.items.find(id);
  if (find_claim(turn, item, claim)) complete_item(turn, item->queue, {id, claim});
}

void fail(Turn& turn, ItemId id, Token claim, const std::string& error) {
  settle(turn);
  if (!find_claim(turn, turn.state().queues.items.find(id), claim)) return;
  fail_attempt(turn, id, std::string(cut(error)), std::nullopt, turn.now(), true);
}

void give_back(Turn& turn, ItemId id, Token claim) {
  settle(turn);  // what was ready before this one is for those whose wait is over by now
  if (!find_claim(turn, turn.state().queues.items.find(id), claim)) return;
  release_item(turn, id, Duration{0}, std::nullopt, false);
}

}  // namespace reeve::queue
