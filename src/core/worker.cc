#include "core/worker.h"

#include "base/match.h"
#include "core/names.h"
#include "core/turn.h"
#include "core/worker_detail.h"

#include <algorithm>

namespace reeve::worker {

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

std::uint64_t busy_with(const Worker& worker) {
  return worker.active.size() + worker.taking.size();
}

bool rests(const Turn& turn, const Worker& worker) {
  return worker.look_at && *worker.look_at > turn.now();
}

reeve::Reply working(const Worker& worker) {
  return {Working{busy_with(worker), worker.concurrency}};
}

namespace {

constexpr Duration patience{1000};  // after a pipeline could not begin; between two polls
constexpr std::size_t most_of_error = 1000;

void look_again(Turn& turn, const WorkerName& name, std::optional<Time> when) {
  if (find(turn, name)->look_at != when) edit(turn, name).look_at = when;
}

// When a source that has just answered is asked again.
Time next_poll(const Turn& turn, const Worker& worker) {
  return saturating_add(turn.now(), std::max(worker.source->poll, patience));
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

// The queue puts the claim behind it.
Holder holder_for(const WorkerName& name) { return {name.project, "worker " + name.name}; }

// Whether its queue goes on with the next tick: what can be taken may stand behind what a step had
// no room for.
bool goes_on(const Turn& turn, const QueueName& queue) {
  const queue::Table& queues = turn.state().queues;
  const queue::QueueNo* no = queues.names.find(queue);
  return no && queues.queues.find(*no)->unserved;
}

void announce_idle(Turn& turn, const WorkerName& name) {
  const Worker& worker = *find(turn, name);
  if (worker.idle || busy_with(worker) > 0) return;
  edit(turn, name).idle = true;
  turn.emit(name.project, IsIdle{name});
}

// The id that an item has at its source, if that wants to be told who takes it.
std::string outside_id(const Turn& turn, const Worker& worker, ItemId id) {
  if (!worker.source || worker.source->take.empty()) return {};
  const queue::Item* item = turn.state().queues.items.find(id);
  return item && item->rest ? item->rest->dedupe_key : std::string();
}

// Whether the item is taken there first.
bool take_outside(Turn& turn, const WorkerName& name, const Taking& taking) {
  const Worker& worker = *find(turn, name);
  std::string id = outside_id(turn, worker, taking.item);
  if (id.empty()) return false;
  TakeQueueItem take{taking.queue, worker.source->take, std::move(id)};
  const EffectId effect = turn.start(std::move(take), Address{name});
  edit(turn, name).taking.set(effect, taking);
  return true;
}

// ── Polling ──

// Does it with each worker that is started and takes from this queue.
template <class Do>
void each_of(const Turn& turn, const QueueName& queue, Do visit) {
  const PersistentSet<QueueWorker> workers = turn.state().workers.by_queue;
  for (auto at = workers.lower_bound({queue, {}}); at != workers.end() && (*at).queue == queue;
       ++at) {
    visit((*at).worker);
  }
}

bool is_polled(const Turn& turn, const QueueName& queue) {
  bool found = false;
  each_of(turn, queue, [&](const WorkerName& one) { found = found || find(turn, one)->polling; });
  return found;
}

// Two answers of one source would have no order: whoever comes second waits for the next time.
void poll(Turn& turn, const WorkerName& name) {
  const Worker& worker = *find(turn, name);
  if (!worker.started || !worker.source || worker.polling) return;
  if (is_polled(turn, worker.queue)) {
    const Time next = next_poll(turn, worker);
    edit(turn, name).poll_at = next;
    return;
  }
  const PollQueue question{worker.queue, worker.source->command};
  const EffectId effect = turn.start(question, Address{name});
  edit(turn, name).polling = effect;
  edit(turn, name).poll_at.reset();
}

}  // namespace

void poll_instead(Turn& turn, const QueueName& queue) {
  each_of(turn, queue, [&](const WorkerName& one) {
    if (is_polled(turn, queue)) return;
    poll(turn, one);
    arm(turn, one);
  });
}

void fill(Turn& turn, const WorkerName& name) {
  std::optional<Time> again;
  while (true) {
    const Worker* worker = find(turn, name);
    if (!worker || !worker->started || worker->starting) return;
    if (rests(turn, *worker)) return arm(turn, name);
    if (busy_with(*worker) >= worker->concurrency) break;
    if (!turn.may_touch()) {
      again = turn.now();
      break;
    }
    const QueueName queue = worker->queue;
    const std::optional<queue::TakenItem> item =
        queue::take_for_pipeline(turn, queue, holder_for(name));
    if (!item && goes_on(turn, queue)) {
      again = turn.now();
      break;
    }
    if (!item) {
      announce_idle(turn, name);
      break;
    }
    turn.touch();
    if (find(turn, name)->idle) edit(turn, name).idle = false;
    if (take_outside(turn, name, {queue, item->id, item->claim})) continue;
    if (!begin(turn, name, *item)) {
      again = saturating_add(turn.now(), patience);
      break;
    }
  }
  look_again(turn, name, again);
  arm(turn, name);
}

void forget_if_done(Turn& turn, const WorkerName& name) {
  const Worker* worker = find(turn, name);
  if (!worker || worker->started || worker->starting || busy_with(*worker) > 0) return;
  turn.change().workers.workers.erase(name);
  arm(turn, name);
}

namespace {

// ── Taking at the source ──

// What the queue said when the item was taken, for as long as it is.
std::optional<queue::TakenItem> still_taken(const Turn& turn, const Taking& taking) {
  const queue::Item* item = turn.state().queues.items.find(taking.item);
  if (!item || item->state != queue::ItemState::Processing) return std::nullopt;
  if (item->rest->claim->token != taking.claim) return std::nullopt;
  queue::TakenItem taken;
  taken.id = taking.item;
  taken.queue = taking.queue;
  taken.data = item->data;
  taken.json = item->json;
  taken.claim = taking.claim;
  return taken;
}

// A worker that was stopped meanwhile, or serves another queue, gives the item back.
void taken(Turn& turn, const WorkerName& name, EffectId effect, const Outcome& outcome) {
  const Taking taking = *find(turn, name)->taking.find(effect);
  edit(turn, name).taking.erase(effect);
  const Worker& worker = *find(turn, name);
  const std::optional<queue::TakenItem> item = still_taken(turn, taking);
  if (item && (!worker.started || worker.queue != taking.queue)) {
    queue::give_back(turn, taking.item, taking.claim);
  } else if (item && outcome.ended == Ended::Unknown) {
    // It is asked again, but not without a pause, for it may have ended who asked; and the item
    // must not wake us in the same step.
    edit(turn, name).look_at = saturating_add(turn.now(), patience);
    queue::give_back(turn, taking.item, taking.claim);
    return arm(turn, name);
  } else if (item && strategy::has_succeeded(outcome)) {
    if (!begin(turn, name, *item)) return arm(turn, name);
  } else if (item) {
    const std::string error = strategy::error_of(outcome);
    turn.emit(name.project, TakeFailed{name, taking.item, error});
    queue::fail(turn, taking.item, taking.claim, "not to be had at its source: " + error);
  }
  fill(turn, name);
  forget_if_done(turn, name);
}

// The source of its queue was asked, by this worker or another one: it is asked again when it is
// time, and when it has answered nothing is wrong with it any more.
void polled(Turn& turn, const WorkerName& name, bool has_answered) {
  const Worker& worker = *find(turn, name);
  if (!worker.source) return;
  const Time next = next_poll(turn, worker);
  Worker& asked = edit(turn, name);
  asked.poll_at = next;
  if (has_answered) {
    asked.poll_error.clear();
    asked.polls_fail_since.reset();
  }
  arm(turn, name);
}

}  // namespace

// Woken, it also asks its source at once, or, if that is being asked already, by whomever, has it
// asked once more; unless it has just asked, or was woken because something lies in its queue: what
// a source delivered is no reason to ask again.
void wake(Turn& turn, const WorkerName& name) {
  const Worker* worker = find(turn, name);
  if (!worker || !worker->started) return;
  const bool by_its_queue = worker->look_at && *worker->look_at <= turn.now();
  const bool just_asked = worker->poll_at && worker->poll_at == next_poll(turn, *worker);
  if (!by_its_queue && worker->source) {
    each_of(turn, QueueName(worker->queue), [&](const WorkerName& one) {
      if (find(turn, one)->polling) edit(turn, one).asks_again = true;
    });
  }
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
  if (worker && worker->taking.contains(effect)) return taken(turn, to.worker, effect, outcome);
  if (!worker || worker->polling != effect) return;
  const QueueName queue = worker->queue;
  edit(turn, to.worker).polling.reset();
  const bool asks_again = std::exchange(edit(turn, to.worker).asks_again, false);
  // Nobody knows what it said: it is asked again, but not without a pause, for it may have ended
  // who asked.
  if (outcome.ended == Ended::Unknown) {
    edit(turn, to.worker).poll_at = saturating_add(turn.now(), patience);
    return arm(turn, to.worker);
  }
  const bool has_answered = strategy::has_succeeded(outcome);
  each_of(turn, queue, [&](const WorkerName& one) { polled(turn, one, has_answered); });
  if (has_answered) {
    queue::push_listed(turn, queue, outcome.values);
  } else {
    const std::string error(first_bytes(strategy::error_of(outcome), most_of_error));
    Worker& asked = edit(turn, to.worker);
    asked.poll_error = error;
    if (!asked.polls_fail_since) asked.polls_fail_since = turn.now();
    turn.emit(to.worker.project, PollFailed{to.worker, error});
  }
  if (asks_again) {
    poll(turn, to.worker);
    arm(turn, to.worker);
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
      queue::take_again_for_pipeline(turn, by.item, holder_for(by.worker));
  if (!item) return std::nullopt;
  // One that was stopped, and is gone, is there again until this has ended: whoever starts it
  // meanwhile finds it busy.
  const bool is_gone = !find(turn, by.worker);
  Worker& worker = turn.change().workers.workers.edit_or_insert(by.worker);
  if (is_gone) {
    worker.queue = item->queue;
    worker.pipeline = turn.state().pipelines.pipelines.find(pipeline)->origin->name;
  }
  worker.active.insert(pipeline);
  worker.idle = false;
  return item->claim;
}

void queue_ready(Turn& turn, const QueueName& queue) {
  each_of(turn, queue, [&](const WorkerName& name) {
    const Worker& worker = *find(turn, name);
    if (busy_with(worker) >= worker.concurrency || rests(turn, worker)) return;
    look_again(turn, name, turn.now());
    arm(turn, name);
    turn.perform(Effect{Inner{WakeWorker{name}}});
  });
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
      [&](const PollFailed& it) { return named(it.worker, "poll_failed"); },
      [&](const TakeFailed& it) { return named(it.worker, "take_failed"); });
}

}  // namespace reeve::worker
