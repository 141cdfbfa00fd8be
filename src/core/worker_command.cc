#include "base/match.h"
#include "core/event_bus.h"
#include "core/names.h"
#include "core/turn.h"
#include "core/worker_detail.h"

#include <utility>

// What people say to a worker.
namespace reeve::worker {
namespace {

void subscribe(Turn& turn, const WorkerName& name, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    event_bus::subscribe(turn.change().subscriptions,
                         {event_bus::Worker{name}, name.project, parse_pattern(pattern)});
  }
}

void let_go(Turn& turn, const WorkerName& name) {
  const Worker worker = *find(turn, name);
  turn.change().workers.by_queue.erase({worker.queue, name});
  event_bus::unsubscribe_all(turn.change().subscriptions, event_bus::Worker{name});
  definition::unpin(turn, worker.set);
}

// When it looks at its queue and its source, and what that has said. What is still asked of the
// source says nothing any more.
void forget_looks(Worker& worker) {
  worker.look_at.reset();
  worker.polling.reset();
  worker.asks_again = false;
  worker.poll_at.reset();
  worker.poll_error.clear();
  worker.polls_fail_since.reset();
}

// What a person says is done at once.
void end_rest(Turn& turn, const WorkerName& name) {
  if (rests(turn, *find(turn, name))) edit(turn, name).look_at.reset();
}

// The queue whose source it polls.
std::optional<QueueName> polled_by(const Worker* worker) {
  return worker && worker->polling ? std::optional(worker->queue) : std::nullopt;
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
  const std::optional<QueueName> was_polled = polled_by(before);
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
    forget_looks(worker);
    worker.idle = false;
    const QueueName queue = worker.queue;
    turn.change().workers.by_queue.insert({queue, name});
    subscribe(turn, name, definition.wake_on);
    if (!was_started) turn.emit(name.project, WasStarted{name});
  }
  end_rest(turn, name);
  wake(turn, name);
  if (was_polled) poll_instead(turn, *was_polled);
  return working(*find(turn, name));
}

reeve::Reply apply_one(Turn& turn, const Stop& command) {
  const Worker* worker = find(turn, command.name);
  if (!worker) return refused(Why::NotFound, command.name.name);
  const reeve::Reply reply = working(*worker);
  if (!worker->started) return reply;
  const std::optional<QueueName> was_polled = polled_by(worker);
  let_go(turn, command.name);
  Worker& stopped = edit(turn, command.name);
  stopped.started = false;
  forget_looks(stopped);
  turn.emit(command.name.project, WasStopped{command.name});
  arm(turn, command.name);
  forget_if_done(turn, command.name);
  if (was_polled) poll_instead(turn, *was_polled);
  return reply;
}

reeve::Reply apply_one(Turn& turn, const Wake& command) {
  const Worker* worker = find(turn, command.name);
  if (!worker || !worker->started) return refused(Why::NotFound, command.name.name);
  end_rest(turn, command.name);
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
  end_rest(turn, command.name);
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

}  // namespace reeve::worker
