#include "core/queue.h"

#include "base/match.h"
#include "core/event_name.h"
#include "core/names.h"
#include "core/queue_place.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve::queue {
namespace {

// Whether the dead letters of `name` would come back to it, or go on too long. (Somebody may still
// send to the first of a long chain: what one request looks at is bounded all the same.)
std::optional<Refused> check_chain(const Turn& turn, const QueueName& name, const QueueName& to) {
  const Table& table = turn.state().queues;
  const QueueName* at = &to;
  for (std::size_t length = 2; length <= limits::queues_a_chain; ++length) {
    if (*at == name) return Refused{Why::Loop, to.name};
    const QueueNo* no = table.names.find(*at);
    const Queue* queue = no ? table.queues.find(*no) : nullptr;
    if (!queue || !queue->config.dead_letter) return std::nullopt;
    at = &*queue->config.dead_letter;
  }
  return Refused{Why::OverLimit, "dead_letter"};
}

std::optional<Refused> check_config(const Turn& turn, const Create& create) {
  const Config& config = create.config;
  if (std::optional<Refused> mistake = mistake_in(config)) return mistake;
  if (!config.dead_letter) return std::nullopt;
  if (std::optional<Refused> bad = check_name(turn, *config.dead_letter)) return bad;
  return check_chain(turn, create.name, *config.dead_letter);
}

reeve::Reply create(Turn& turn, const Create& command) {
  if (std::optional<Refused> bad = check_name(turn, command.name)) return {*std::move(bad)};
  if (std::optional<Refused> bad = check_config(turn, command)) return {*std::move(bad)};

  define(turn, command.name, command.config);
  return {Ok{}};
}

std::optional<Refused> check_items(const Turn& turn, const std::vector<NewItem>& items) {
  if (items.empty()) return Refused{Why::BadValue, "items"};
  if (items.size() > limits::batch_items) return Refused{Why::OverLimit, "items"};
  std::uint64_t bytes = 0;
  for (const NewItem& item : items) {
    if (item.data.size() > limits::item_bytes) return Refused{Why::OverLimit, "data"};
    if (item.dedupe_key.size() > limits::name_bytes) return Refused{Why::OverLimit, "dedupe_key"};
    if (item.delay < Duration{0}) return Refused{Why::BadValue, "delay"};
    if (item.visibility && *item.visibility < Duration{0}) {
      return Refused{Why::BadValue, "visibility"};
    }
    bytes += item.data.size();
  }
  if (bytes > limits::batch_bytes) return Refused{Why::OverLimit, "batch"};
  if (is_full(turn.state().queues.bytes, bytes, limits::state_bytes)) {
    return Refused{Why::Full, "queues"};
  }
  return std::nullopt;
}

ItemId add(Turn& turn, QueueNo no, const NewItem& what) {
  const ItemId id = turn.next_id<ItemId>();
  Item item;
  item.queue = no;
  item.priority = what.priority;
  item.created_at = turn.now();
  item.json = what.json;
  item.data = what.data;
  if (what.delay > Duration{0}) {
    item.rest.edit().not_before = saturating_add(turn.now(), what.delay);
  }
  if (what.visibility) item.rest.edit().visibility = what.visibility;
  if (!what.dedupe_key.empty()) item.rest.edit().dedupe_key = what.dedupe_key;
  insert(turn, id, std::move(item));
  return id;
}

reeve::Reply push(Turn& turn, const Push& command) {
  if (std::optional<Refused> bad = check_name(turn, command.queue)) return {*std::move(bad)};
  if (std::optional<Refused> bad = check_items(turn, command.items)) return {*std::move(bad)};

  const QueueNo no = obtain(turn, command.queue);
  Pushed pushed;
  for (const NewItem& item : command.items) {
    const ItemId* known =
        item.dedupe_key.empty() ? nullptr : turn.state().queues.dedupe.find({no, item.dedupe_key});
    pushed.duplicate.push_back(known != nullptr);
    pushed.ids.push_back(known ? *known : add(turn, no, item));
    if (known) continue;
    turn.emit(command.queue.project,
              Event{WasPushed{command.queue, pushed.ids.back(), item.priority}});
  }
  serve(turn, no, turn.now());
  return {Reply{std::move(pushed)}};
}

reeve::Reply pause(Turn& turn, const Pause& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  if (command.for_ && *command.for_ < Duration{0}) return refused(Why::BadValue, "for");
  std::optional<Time> until;
  if (command.for_) until = saturating_add(turn.now(), *command.for_);
  pause_queue(turn, *no, until, {});
  return {Ok{}};
}

reeve::Reply resume(Turn& turn, const Resume& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  resume_queue(turn, *no);
  serve(turn, *no, turn.now());
  return {Ok{}};
}

// What its source listed before, and does not any more.
void forget_unlisted(PersistentSet<DedupeKey>& known,
                     QueueNo no,
                     const std::set<std::string_view>& kept) {
  std::vector<DedupeKey> gone;
  for (auto at = known.lower_bound({no, ""}); at != known.end() && at->queue == no; ++at) {
    if (!kept.contains(at->key)) gone.push_back(*at);
  }
  for (const DedupeKey& key : gone) known.erase(key);
}

// Its ended items are forgotten with it.
reeve::Reply remove(Turn& turn, const Remove& command) {
  const std::optional<QueueNo> no = find(turn, command.queue);
  if (!no) return refused(Why::NotFound, command.queue.name);
  const Queue& queue = get(turn, *no);
  if (queue.counts.pending > 0) return refused(Why::NotAllowed, "pending");
  if (queue.counts.processing > 0) return refused(Why::NotAllowed, "processing");
  if (queue.takers > 0) return refused(Why::NotAllowed, "takers");
  if (queue.counts.completed + queue.counts.dead > limits::touched_a_step) {
    return refused(Why::NotAllowed, "purge it first");
  }

  Table& table = turn.change().queues;
  for (const PersistentSet<EndedKey>* index : {&table.completed, &table.dead}) {
    while (true) {
      const auto at = index->lower_bound({*no, 0, {}});
      if (at == index->end() || at->queue != *no) break;
      erase(turn, ItemId(at->item), Gone::Forgotten);
    }
  }
  forget_unlisted(table.listed, *no, {});
  forget_unlisted(table.refused, *no, {});
  turn.arm(Due{*no}, std::nullopt);
  turn.arm(PauseDue{*no}, std::nullopt);
  table.queues.erase(*no);
  table.names.erase(command.queue);
  std::uint32_t& count = table.queues_of.edit_or_insert(command.queue.project);
  if (--count == 0) table.queues_of.erase(command.queue.project);
  turn.emit(command.queue.project, Event{WasRemoved{command.queue}});
  return {Ok{}};
}

// Why what a source lists could not be pushed.
std::string text_of(const Refused& refusal) {
  if (refusal.subject == "data") return "it is larger than 1 MiB";
  if (refusal.subject == "dedupe_key") return "its id is longer than 200 bytes";
  if (refusal.why == Why::Full) return "there is no room for it: the queues are full";
  return "its queue does not take it: " + refusal.subject;
}

// The first deadline of a queue, a taker or a pause that is due. No further down the line than a
// tick would come.
std::optional<Subject> first_due(const Turn& turn) {
  std::size_t seen = 0;
  const Timers& timers = turn.state().timers;
  for (auto at = timers.engine.begin(); at != timers.engine.end(); ++at) {
    if (at->first.due > turn.now() || ++seen > limits::touched_a_step) break;
    const Subject& subject = at->second;
    if (std::holds_alternative<Due>(subject) || std::holds_alternative<TakerDue>(subject) ||
        std::holds_alternative<PauseDue>(subject)) {
      return subject;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refused> mistake_in(const Config& config) {
  const Duration none{0};
  if (config.visibility_timeout < none) return Refused{Why::BadValue, "visibility_timeout"};
  if (config.backoff_first < none || config.backoff_max < none) {
    return Refused{Why::BadValue, "backoff"};
  }
  if (config.keep_completed_for < none || config.keep_dead_for.value_or(none) < none) {
    return Refused{Why::BadValue, "retention"};
  }
  return std::nullopt;
}

void define(Turn& turn, const QueueName& name, const Config& config) {
  const QueueNo no = obtain(turn, name);
  if (get(turn, no).config == config) return;
  turn.change().queues.queues.edit(no)->config = config;
  rearm(turn, no);
}

void settle(Turn& turn) {
  while (turn.may_touch()) {
    const std::optional<Subject> subject = first_due(turn);
    if (!subject) return;
    turn.touch();
    turn.arm(*subject, std::nullopt);
    if (const Due* of_queue = std::get_if<Due>(&*subject)) due(turn, *of_queue);
    if (const TakerDue* of_taker = std::get_if<TakerDue>(&*subject)) due(turn, *of_taker);
    if (const PauseDue* of_pause = std::get_if<PauseDue>(&*subject)) due(turn, *of_pause);
  }
}

reeve::Reply apply(Turn& turn, const Command& command) {
  settle(turn);
  return match(
      command,
      [&](const Create& it) { return create(turn, it); },
      [&](const Push& it) { return push(turn, it); },
      [&](const Take& it) { return take(turn, it); },
      [&](const TakeOne& it) { return take_one(turn, it); },
      [&](const Complete& it) { return complete(turn, it); },
      [&](const Fail& it) { return fail(turn, it); },
      [&](const Extend& it) { return extend(turn, it); },
      [&](const Release& it) { return release(turn, it); },
      [&](const Bury& it) { return bury(turn, it); },
      [&](const Drop& it) { return drop(turn, it); },
      [&](const Redrive& it) { return redrive(turn, it); },
      [&](const Hurry& it) { return hurry(turn, it); },
      [&](const Pause& it) { return pause(turn, it); },
      [&](const Resume& it) { return resume(turn, it); },
      [&](const Purge& it) { return purge(turn, it); },
      [&](const Remove& it) { return remove(turn, it); });
}

void due(Turn& turn, const Due& due) {
  const std::optional<Next> next = next_of(turn.state(), due.queue);
  if (next && next->when <= turn.now()) {
    switch (next->what) {
      case Next::What::Ready:
        rearrange(turn, next->item, [](Item& item) { make_pending(item, std::nullopt); });
        serve(turn, due.queue, next->when);
        break;
      case Next::What::Over: {
        const Claim& held = *turn.state().queues.items.find(next->item)->rest->claim;
        if (over_at(lease_of(held), turn.leases_from()) == next->when) {
          expire(turn, next->item, next->when);
        } else {
          move_deadline(turn, next->item);
        }
        break;
      }
      case Next::What::ForgetCompleted:
      case Next::What::ForgetDead:
        erase(turn, next->item, Gone::Forgotten);
        break;
      case Next::What::Serve:
        turn.change().queues.queues.edit(due.queue)->unserved.reset();
        serve(turn, due.queue, next->when);
        break;
    }
  }
  rearm(turn, due.queue);
}

void due(Turn& turn, const PauseDue& due) {
  const Queue* queue = turn.state().queues.queues.find(due.queue);
  if (!queue || !queue->paused_until) return;
  if (*queue->paused_until > turn.now()) return turn.arm(due, queue->paused_until);
  const Time when = *queue->paused_until;
  resume_queue(turn, due.queue);
  serve(turn, due.queue, when);
}

void push_listed(Turn& turn,
                 const QueueName& queue,
                 const std::vector<std::pair<std::string, std::string>>& items) {
  const auto is_in = [&](const PersistentSet<DedupeKey>& known, std::string_view id) {
    const QueueNo* no = turn.state().queues.names.find(queue);
    return no && known.contains({*no, std::string(id)});
  };
  std::set<std::string_view> kept;
  std::set<std::string_view> not_pushed;
  std::size_t pushed = 0;
  std::size_t told = 0;
  for (const auto& [id, data] : items) {
    if (!is_in(turn.state().queues.listed, id)) {
      if (data.empty() || pushed == limits::batch_items) continue;
      NewItem item;
      item.data = Bytes(data);
      item.dedupe_key = id;
      const reeve::Reply reply = apply(turn, Push{queue, {std::move(item)}});
      if (const Refused* refusal = std::get_if<Refused>(&reply.value)) {
        const std::string_view known_by = first_bytes(id, limits::name_bytes);
        const bool is_new =
            !is_in(turn.state().queues.refused, known_by) && !not_pushed.contains(known_by);
        if (is_new && ++told > limits::names_a_request) continue;  // they are told with the next
        not_pushed.insert(known_by);
        if (is_new) {
          turn.emit(queue.project,
                    Event{WasRefused{queue, std::string(known_by), text_of(*refusal)}});
        }
        continue;
      }
      ++pushed;
    }
    kept.insert(id);
  }
  const bool is_made = turn.state().queues.names.contains(queue);
  if (!is_made && (not_pushed.empty() || check_name(turn, queue))) return;
  const QueueNo no = obtain(turn, queue);
  Table& table = turn.change().queues;
  forget_unlisted(table.listed, no, kept);
  forget_unlisted(table.refused, no, not_pushed);
  for (const std::string_view id : kept) table.listed.insert({no, std::string(id)});
  for (const std::string_view id : not_pushed) table.refused.insert({no, std::string(id)});
}

EventName name_of(const Event& event) {
  const auto named = [](const QueueName& queue, const char* verb) {
    return EventName{"queue", queue.name, verb};
  };
  return match(
      event,
      [&](const WasPushed& it) { return named(it.queue, "push"); },
      [&](const WasTaken& it) { return named(it.queue, "take"); },
      [&](const WasCompleted& it) { return named(it.queue, "complete"); },
      [&](const HasFailed& it) { return named(it.queue, "fail"); },
      [&](const TimedOut& it) { return named(it.queue, "timeout"); },
      [&](const WasReleased& it) { return named(it.queue, "release"); },
      [&](const HasDied& it) { return named(it.queue, "dead"); },
      [&](const WasRedriven& it) { return named(it.queue, "redrive"); },
      [&](const WasDropped& it) { return named(it.queue, "drop"); },
      [&](const WasPaused& it) { return named(it.queue, "pause"); },
      [&](const WasResumed& it) { return named(it.queue, "resume"); },
      [&](const WasCreated& it) { return named(it.queue, "create"); },
      [&](const WasRemoved& it) { return named(it.queue, "remove"); },
      [&](const WasRefused& it) { return named(it.queue, "refuse"); });
}

}  // namespace reeve::queue
