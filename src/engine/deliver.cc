#include "base/check.h"
#include "base/planted.h"
#include "engine/engine.h"

#include <utility>

// What leaves the engine, in one place. The order is the durability argument: nothing passes
// `after <= durable_` that a crash could still take back.
namespace reeve::engine {

void Engine::deliver() {
  CHECK(!delivering_);  // a port called back
  delivering_ = true;
  const std::uint64_t events_before = events_.end().position;
  show_replayed();
  while (!pending_.empty() && pending_.front().after <= durable_) {
    release(pending_.front());
    pending_.pop_front();
  }
  if (failed_) {
    give_up();
  } else {
    observe_outbox();
    start_ready();
    watch_processes();
  }
  if (events_.end().position != events_before) ports_.listener.news();
  if (reached_ != durable_) {
    reached_ = durable_;
    for (const auto& [name, port] : ports_.projectors) {
      if (projectors_.counts(name)) port.projector->reached(reached_);
    }
  }
  delivering_ = false;
}

// What remember() held back: it is safe since Recovery::begin().
void Engine::show_replayed() {
  for (const Unshown& shown : std::exchange(unshown_, {})) {
    for (const auto& [name, port] : ports_.projectors) {
      const bool misses = projectors_.counts(name) && shown.event.sequence > port.passed;
      if (misses) port.projector->project(shown.event, shown.now, state_);
    }
  }
}

void Engine::release(Pending& pending) {
  if (pending.snapshot) {
    if (pending.ticket) {
      ports_.listener.queried(pending.ticket, pending.snapshot->state, pending.snapshot->stamp);
    } else {
      snapshot_ = std::move(*pending.snapshot);
    }
    return;
  }
  if (!pending.said) {  // it came after the end
    if (pending.ticket) ports_.listener.unavailable(pending.ticket, *failed_);
    return;
  }
  Said& said = *pending.said;
  if (pending.ticket) ports_.listener.replied(pending.ticket, pending.after, said.reply);
  for (const Answer& answer : said.answers) {
    if (planted(Bug::AnswerDropped)) break;
    ports_.listener.answered(answer.waiter, pending.after, answer.reply);
  }
  for (Event& event : said.events) {
    for (const auto& [name, port] : ports_.projectors) {
      if (projectors_.counts(name)) port.projector->project(event, pending.now, state_);
    }
    events_.append(std::move(event));
  }
  for (const Start& start : said.effects) outbox_.add(start.id, start.effect, state_);
  for (const EffectId left : pending.ended) outbox_.ended(left);
}

// After the first failure: whoever waits is told, and nothing else happens.
void Engine::give_up() {
  while (!pending_.empty()) {
    const Ticket ticket = pending_.front().ticket;
    pending_.pop_front();
    if (ticket) ports_.listener.unavailable(ticket, *failed_);
  }
}

// One that is not in the outbox any more has its outcome from elsewhere, or needs none, and that is
// on its way to the disk.
void Engine::start_ready() {
  for (const EffectId id : outbox_.take_ready()) {
    const Started* started = state_.outbox.find(id);
    if (started) ports_.hands.start({id, started->effect});
  }
}

void Engine::observe_outbox() {
  if (!std::exchange(observes_, false)) return;
  for (const auto& [id, started] : state_.outbox) {
    if (outbox_.is_observing(id)) ports_.hands.observe({id, started.effect});
  }
}

// Both sets are in order of their processes: one walk tells who is new and who is gone.
void Engine::watch_processes() {
  const PersistentSet<custody::Held>& held = state_.custody.held;
  if (held == watched_) return;
  const auto skip = [](auto& at, const auto& end) {
    const Process process = at->process;
    while (at != end && at->process == process) ++at;
  };
  auto before = watched_.begin();
  auto now = held.begin();
  while (before != watched_.end() || now != held.end()) {
    const bool only_before =
        now == held.end() || (before != watched_.end() && before->process < now->process);
    const bool only_now =
        before == watched_.end() || (now != held.end() && now->process < before->process);
    if (only_before) {
      ports_.hands.forget(before->process);
      skip(before, watched_.end());
    } else if (only_now) {
      ports_.hands.watch(now->process);
      skip(now, held.end());
    } else {
      skip(before, watched_.end());
      skip(now, held.end());
    }
  }
  watched_ = held;
}

}  // namespace reeve::engine
