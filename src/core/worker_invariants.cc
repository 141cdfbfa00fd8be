#include "core/invariants.h"

#include <set>

namespace reeve::worker {

void check(const State& state, Violations& violations) {
  std::size_t started = 0;
  std::set<QueueName> polled;
  for (const auto& [name, worker] : state.workers.workers) {
    const auto must = [&, &who = name.name](bool truth, const char* words) {
      if (!truth) violations.push_back("worker " + who + ": " + words);
    };
    started += worker.started ? 1 : 0;
    must(!worker.starting, "a pipeline is still being begun");
    const bool is_busy = !worker.active.empty() || !worker.taking.empty();
    must(worker.started || is_busy, "neither started nor busy, and still here");
    must(worker.started || (!worker.polling && !worker.poll_at && !worker.look_at),
         "stopped, yet it looks for work");
    must(worker.started ? worker.poll_error.empty() == !worker.polls_fail_since
                        : worker.poll_error.empty() && !worker.polls_fail_since,
         "its polls fail without a reason");
    must(worker.started == state.workers.by_queue.contains({worker.queue, name}),
         "its queue does not know it");
    must(!worker.idle || !is_busy, "idle and busy at once");
    must(worker.concurrency > 0 && worker.concurrency <= most_concurrent, "of no size");
    must(!worker.asks_again || worker.polling, "it is to ask again, and does not ask");
    must(!worker.polling || state.outbox.contains(*worker.polling), "it waits for no answer");
    for (const auto& [effect, taking] : worker.taking) {
      must(state.outbox.contains(effect), "it takes an item, and nobody is asked for it");
    }
    must(worker.started && worker.source ? worker.polling.has_value() != worker.poll_at.has_value()
                                         : !worker.polling && !worker.poll_at,
         "its source is asked never, or twice");
    if (worker.polling) {
      must(polled.insert(worker.queue).second, "its queue is polled by another one too");
    }
    std::optional<Time> first = worker.poll_at;
    if (worker.look_at && (!first || *worker.look_at < *first)) first = worker.look_at;
    must(deadline_of(state.timers, Due{name}) == first, "its timer is not what it waits for");
  }
  if (state.workers.by_queue.size() != started) {
    violations.emplace_back("a queue with a worker that is not started");
  }
  for (const auto& [subject, key] : state.timers.armed) {
    const Due* due = std::get_if<Due>(&subject);
    if (due && !state.workers.workers.contains(due->worker)) {
      violations.emplace_back("a timer of a worker that does not exist");
    }
  }
}

}  // namespace reeve::worker
