#include "core/worker.h"

#include "base/match.h"
#include "core/event_bus.h"
#include "core/json_object.h"
#include "core/names.h"
#include "core/turn.h"

#include <algorithm>

namespace reeve::worker {
namespace {

constexpr Duration patience{1000};  // after a pipeline could not begin; between two polls

const Worker* find(const Turn& turn, const WorkerName& name) {
  return turn.state().workers.workers.find(name);
}

Worker& edit(Turn& turn, const WorkerName& name) {
  return *turn.change().workers.workers.edit(name);
}

void arm(Turn& turn, const WorkerName& name) {
  const Worker* worker = find(turn, name);
  std::optional<Time> first;
  if (worker) {
    first = worker->poll_at;
    if (worker->look_at && (!first || *worker->look_at < *first)) first = worker->look_at;
  }
  turn.arm(Due{name}, first);
}

void look_again(Turn& turn, const WorkerName& name, std::optional<Time> when) {
  if (find(turn, name)->look_at != when) edit(turn, name).look_at = when;
}

// When a source that has just answered is asked again.
Time next_poll(const Turn& turn, const Worker& worker) {
  return saturating_add(turn.now(), std::max(worker.source->poll, patience));
}

reeve::Reply working(const Worker& worker) {
  return {Working{worker.active.size(), worker.concurrency}};
}

// ── Taking ──

std::string reason_of(const Worker& worker, const Refused& refused) {
  return "pipeline " + worker.pipeline + " cannot begin: " + refused.subject;
}

// Whether the pipeline has begun; it may have ended by then too.
bool begin(Turn& turn, const WorkerName& name, const queue::TakenItem& item) {
  const Worker worker = *find(turn, name);
  pipeline::Begin order;
  order.set = worker.set;
  order.name = worker.pipeline;
  order.environment = worker.environment;
  order.starter = pipeline::ByWorker{name, item.id, item.claim};
  const definition::Set* set = definition::find(turn.state().definitions, worker.set);
  if (const definition::Pipeline* one = set ? set->pipelines.find(worker.pipeline) : nullptr) {
    order.inputs = inputs_from(one->inputs, item.data.view(), item.json);
  }

  edit(turn, name).starting = true;
  const std::variant<PipelineId, Refused> begun = pipeline::begin(turn, order);
  Worker& after = edit(turn, name);
  const bool is_running = std::exchange(after.starting, false);
  return match(
      begun,
      [&](const PipelineId& id) {
        if (is_running) after.active.insert(id);
        turn.emit(name.project, HasTaken{name, item.id, id});
        return true;
      },
      [&](const Refused& refused) {
        turn.emit(name.project, WasRefused{name, item.id, refused});
        // Before the item is ready again: it must not wake us to fail in the same step.
        after.look_at = saturating_add(turn.now(), patience);
        queue::fail(turn, item.id, item.claim, reason_of(worker, refused));
        return false;
      });
}

// The claim that the queue would make next.
Holder holder_for(const Turn& turn, const WorkerName& name) {
  return {name.project, "worker " + name.name + "#" + std::to_string(turn.state().last_token + 1)};
}

void announce_idle(Turn& turn, const WorkerName& name) {
  const Worker& worker = *find(turn, name);
  if (worker.idle || !worker.active.empty()) return;
  edit(turn, name).idle = true;
  turn.emit(name.project, IsIdle{name});
}

// Takes while there is room, as far as the step has room too.
void fill(Turn& turn, const WorkerName& name) {
  std::optional<Time> again;
  while (true) {
    const Worker* worker = find(turn, name);
    if (!worker || !worker->started || worker->starting) return;
    if (worker->active.size() >= worker->concurrency) break;
    if (!turn.may_touch()) {
      again = turn.now();
      break;
    }
    const QueueName queue = worker->queue;
    const std::optional<queue::TakenItem> item =
        queue::take_for_pipeline(turn, queue, holder_for(turn, name));
    if (!item) {
      announce_idle(turn, name);
      break;
    }
    turn.touch();
    if (find(turn, name)->idle) edit(turn, name).idle = false;
    if (!begin(turn, name, *item)) {
      again = saturating_add(turn.now(), patience);
      break;
    }
  }
  look_again(turn, name, again);
  arm(turn, name);
}

// ── Polling ──

void poll(Turn& turn, const WorkerName& name) {
  const Worker& worker = *find(turn, name);
  if (!worker.started || !worker.source || worker.polling) return;
  const PollQueue question{worker.queue, worker.source->command};
  const EffectId effect = turn.start(question, Address{name});
  edit(turn, name).polling = effect;
  edit(turn, name).poll_at.reset();
}

// One by one: an item that is refused leaves the others alone.
void push_all(Turn& turn, const QueueName& queue, const Outcome& outcome) {
  std::size_t pushed = 0;
  for (const auto& [outside_id, data] : outcome.values) {
    if (++pushed > limits::batch_items) return;
    queue::NewItem item;
    item.data = Bytes(data);
    item.dedupe_key = outside_id;
    queue::apply(turn, queue::Push{queue, {std::move(item)}});
  }
}

// ── Starting and stopping ──

void subscribe(Turn& turn, const WorkerName& name, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    event_bus::subscribe(turn.change().subscriptions,
                         {event_bus::Worker{name}, name.project, parse_pattern(pattern)});
  }
}

void forget_if_done(Turn& turn, const WorkerName& name) {
  const Worker* worker = find(turn, name);
  if (!worker || worker->started || worker->starting || !worker->active.empty()) return;
  turn.change().workers.workers.erase(name);
  arm(turn, name);
}

void let_go(Turn& turn, const WorkerName& name) {
  const Worker worker = *find(turn, name);
  turn.change().workers.by_queue.erase({worker.queue, name});
  event_bus::unsubscribe_all(turn.change().subscriptions, event_bus::Worker{name});
  definition::unpin(turn, worker.set);
}

std::optional<Refused> mistake_in(const definition::Worker& worker) {
  if (!is_good_name(scoped_name<QueueName>({}, worker.queue).name))
    return Refused{Why::BadName, worker.queue};
  if (worker.concurrency == 0 || worker.concurrency > most_concurrent) {
    return Refused{Why::BadValue, "concurrency"};
  }
  for (const std::string& pattern : worker.wake_on) {
    if (!is_pattern(pattern)) return Refused{Why::BadValue, pattern};
  }
  return std::nullopt;
}

reeve::Reply apply_one(Turn& turn, const Start& command) {
  const WorkerName& name = command.name;
  const definition::Set* set = definition::find(turn.state().definitions, command.set);
  const definition::Worker* found = set ? set->workers.find(name.name) : nullptr;
  if (!found) return refused(Why::NotFound, name.name);
  const definition::Worker definition = *found;
  if (const auto mistake = mistake_in(definition)) return {*mistake};
  std::optional<definition::Source> source;
  if (const definition::Source* it = set->sources.find(definition.queue)) source = *it;

  const Worker* before = find(turn, name);
  const bool goes_on = before && before->started && before->set == command.set &&
                       before->environment == command.environment;
  if (!goes_on) {
    definition::pin(turn, command.set);
    if (before && before->started) let_go(turn, name);
    Worker& worker = turn.change().workers.workers.edit_or_insert(name);
    const bool was_started = std::exchange(worker.started, true);
    worker.set = command.set;
    worker.queue = scoped_name<QueueName>(name.project, definition.queue);
    worker.pipeline = definition.pipeline;
    worker.environment = command.environment;
    worker.concurrency = definition.concurrency;
    worker.source = source;
    worker.polling.reset();  // what the old source still says is dropped
    worker.poll_at.reset();
    worker.idle = false;
    const QueueName queue = worker.queue;
    turn.change().workers.by_queue.insert({queue, name});
    subscribe(turn, name, definition.wake_on);
    if (!was_started) turn.emit(name.project, WasStarted{name});
  }
  wake(turn, name);
  return working(*find(turn, name));
}

reeve::Reply apply_one(Turn& turn, const Stop& command) {
  const Worker* worker = find(turn, command.name);
  if (!worker) return refused(Why::NotFound, command.name.name);
  const reeve::Reply reply = working(*worker);
  if (!worker->started) return reply;
  let_go(turn, command.name);
  Worker& stopped = edit(turn, command.name);
  stopped.started = false;
  stopped.polling.reset();
  stopped.poll_at.reset();
  stopped.look_at.reset();
  turn.emit(command.name.project, WasStopped{command.name});
  arm(turn, command.name);
  forget_if_done(turn, command.name);
  return reply;
}

reeve::Reply apply_one(Turn& turn, const Wake& command) {
  const Worker* worker = find(turn, command.name);
  if (!worker || !worker->started) return refused(Why::NotFound, command.name.name);
  wake(turn, command.name);
  return working(*find(turn, command.name));
}

reeve::Reply apply_one(Turn& turn, const Resize& command) {
  const Worker* worker = find(turn, command.name);
  if (!worker || !worker->started) return refused(Why::NotFound, command.name.name);
  if (command.concurrency == 0 || command.concurrency > most_concurrent) {
    return refused(Why::BadValue, "concurrency");
  }
  if (worker->concurrency != command.concurrency) {
    edit(turn, command.name).concurrency = command.concurrency;
    turn.emit(command.name.project, WasResized{command.name, command.concurrency});
  }
  fill(turn, command.name);
  return working(*find(turn, command.name));
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Start& start) { return apply_one(turn, start); },
      [&](const Stop& stop) { return apply_one(turn, stop); },
      [&](const Wake& it) { return apply_one(turn, it); },
      [&](const Resize& resize) { return apply_one(turn, resize); });
}

// Woken, it also asks its source at once, unless it is asking already, has just asked, or was
// woken because something lies in its queue: what a source delivered is no reason to ask again.
void wake(Turn& turn, const WorkerName& name) {
  const Worker* worker = find(turn, name);
  if (!worker || !worker->started) return;
  const bool by_its_queue = worker->look_at && *worker->look_at <= turn.now();
  const bool just_asked = worker->poll_at && worker->poll_at == next_poll(turn, *worker);
  if (!by_its_queue && !just_asked) poll(turn, name);
  fill(turn, name);
}

void due(Turn& turn, const Due& due) {
  const Worker* worker = find(turn, due.worker);
  if (!worker) return;
  if (worker->poll_at && *worker->poll_at <= turn.now()) poll(turn, due.worker);
  fill(turn, due.worker);
}

void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome) {
  const Worker* worker = find(turn, to.worker);
  if (!worker || worker->polling != effect) return;
  const QueueName queue = worker->queue;
  const Time next = next_poll(turn, *worker);
  Worker& asked = edit(turn, to.worker);
  asked.polling.reset();
  // Nobody knows what it said: it is asked again.
  if (outcome.ended == Ended::Unknown) return poll(turn, to.worker);
  asked.poll_at = next;
  if (outcome.ended == Ended::Done && outcome.exit_code.value_or(0) == 0) {
    push_all(turn, queue, outcome);
  } else {
    const std::string& error = outcome.error.empty() ? outcome.output : outcome.error;
    turn.emit(to.worker.project, PollFailed{to.worker, std::string(cut(error))});
  }
  fill(turn, to.worker);
}

void pipeline_ended(Turn& turn,
                    const pipeline::ByWorker& by,
                    PipelineId pipeline,
                    pipeline::Ending ending,
                    const std::string& error) {
  switch (ending) {
    case pipeline::Ending::Done:
      queue::finish(turn, by.item, by.claim);
      break;
    case pipeline::Ending::Failed:
      queue::fail(turn, by.item, by.claim, error);
      break;
    case pipeline::Ending::Cancelled:
      queue::give_back(turn, by.item, by.claim);
      break;
  }
  const Worker* worker = find(turn, by.worker);
  if (!worker) return;
  if (!worker->active.contains(pipeline)) {
    // It ends within its own beginning: whoever began it goes on from there.
    if (worker->starting) edit(turn, by.worker).starting = false;
    return;
  }
  edit(turn, by.worker).active.erase(pipeline);
  fill(turn, by.worker);
  forget_if_done(turn, by.worker);
}

std::optional<Token> reopen(Turn& turn, const pipeline::ByWorker& by, PipelineId pipeline) {
  const std::optional<queue::TakenItem> item =
      queue::take_again_for_pipeline(turn, by.item, holder_for(turn, by.worker));
  if (!item) return std::nullopt;
  if (Worker* worker = turn.change().workers.workers.edit(by.worker)) {
    worker->active.insert(pipeline);
    worker->idle = false;
  }
  return item->claim;
}

void queue_ready(Turn& turn, const QueueName& queue) {
  const PersistentSet<QueueWorker> workers = turn.state().workers.by_queue;
  for (auto at = workers.lower_bound({queue, {}}); at != workers.end() && (*at).queue == queue;
       ++at) {
    const Worker& worker = *find(turn, (*at).worker);
    const bool rests = worker.look_at && *worker.look_at > turn.now();
    if (worker.active.size() < worker.concurrency && !rests) {
      look_again(turn, (*at).worker, turn.now());
      arm(turn, (*at).worker);
      turn.perform(Effect{Inner{WakeWorker{(*at).worker}}});
    }
  }
}

definition::Map inputs_from(const std::vector<std::string>& names,
                            std::string_view data,
                            bool json) {
  if (names.empty()) return {};
  const auto members = json ? json::read_object(data) : std::nullopt;
  if (!members) {
    std::optional<std::string> said = json ? json::read_string(data) : std::nullopt;
    return {{names.front(), said ? *std::move(said) : std::string(data)}};
  }
  definition::Map inputs;
  bool has_first = false;
  for (const json::Member& member : *members) {
    if (std::ranges::find(names, member.key) == names.end()) continue;
    has_first |= member.key == names.front();
    const bool is_null = !member.is_string && member.value == "null";
    const bool is_there =
        std::ranges::find(inputs, member.key, &std::pair<std::string, std::string>::first) !=
        inputs.end();
    if (!is_null && !is_there) inputs.emplace_back(member.key, member.value);
  }
  if (!has_first) inputs.emplace_back(names.front(), std::string(data));
  return inputs;
}

EventName name_of(const Event& event) {
  const auto named = [](const WorkerName& worker, const char* verb) {
    return EventName{"worker", worker.name, verb};
  };
  return match(
      event,
      [&](const WasStarted& it) { return named(it.worker, "started"); },
      [&](const WasStopped& it) { return named(it.worker, "stopped"); },
      [&](const WasResized& it) { return named(it.worker, "resized"); },
      [&](const HasTaken& it) { return named(it.worker, "took"); },
      [&](const WasRefused& it) { return named(it.worker, "refused"); },
      [&](const IsIdle& it) { return named(it.worker, "idle"); },
      [&](const PollFailed& it) { return named(it.worker, "poll_failed"); });
}

}  // namespace reeve::worker
