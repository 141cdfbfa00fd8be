#include "core/apply.h"

#include "base/match.h"
#include "core/digest.h"
#include "core/waiting.h"

#include <algorithm>
#include <utility>

namespace reeve {

// The hands of `apply`: what one input does, then everything that follows from it in the
// same step, until nothing new comes.
class Root {
 public:
  Root(State& state, Stamp stamp, const Request& request)
      : turn_(state, stamp, request.project, request.session, request.can_return) {}
  Root(State& state, Stamp stamp) : turn_(state, stamp) {}

  Reply handle(const Request& request);
  void handle(const Tick&);
  void handle(const Resumed& resumed);
  void handle(const ClockStepped& stepped);
  void handle(const EffectEnded& ended);
  void handle(const session::Ended& ended) { session::end(turn_, ended.session); }
  void handle(const session::Returned& returned);
  void handle(const Undelivered& undelivered);
  void handle(const custody::ProcessGone& gone) { custody::gone(turn_, gone.process, false); }

  Said finish(Reply reply);

 private:
  Reply answer(const Request& request);
  Reply dispatch(const Request& request);
  void settle_due();
  void go_on_with_chores();
  void carry_out(const Inner& inner);
  void ask_for_phase(const grant::Request& request);
  void stop_waiting(const Holder& holder);
  Effects routed(const Event& event) const;
  void drain();
  void leave_to_ticks();

  Turn turn_;
};

namespace {

// One of our own names comes this way too: the daemon itself says, outside of all projects, that a
// history has a gap.
Reply emit_custom(Turn& turn, const EmitCustom& command) {
  const bool gap = turn.project() == shared_project && command.name == "history:gap";
  if (!gap && !is_custom_name(command.name)) return refused(Why::BadName, command.name);
  turn.emit(turn.project(), Custom{custom_name(command.name), command.data});
  return {Ok{}};
}

Reply cancel_request(Turn& turn, const CancelRequest& command) {
  // Only what the same connection asked for.
  const session::Bound bound{turn.session(), session::WaiterPlace{command.waiter}};
  if (!turn.state().sessions.bound.contains(bound)) {
    return refused(Why::NotFound, "request");
  }
  waiting::leave(turn, command.waiter, Left::Cancelled);
  return {Ok{}};
}

}  // namespace

Reply Root::dispatch(const Request& request) {
  return match(
      request.command,
      [&](const lock::Command& command) { return lock::apply(turn_, command); },
      [&](const semaphore::Command& command) { return semaphore::apply(turn_, command); },
      [&](const queue::Command& command) { return queue::apply(turn_, command); },
      [&](const task::Command& command) { return task::apply(turn_, command); },
      [&](const pipeline::Command& command) { return pipeline::apply(turn_, command); },
      [&](const dispatch::Command& command) { return dispatch::apply(turn_, command); },
      [&](const worker::Command& command) { return worker::apply(turn_, command); },
      [&](const cron::Command& command) { return cron::apply(turn_, command); },
      [&](const board::Command& command) { return board::apply(turn_, command); },
      [&](const decision::Command& command) { return decision::apply(turn_, command); },
      [&](const mailbox::Command& command) { return mailbox::apply(turn_, command); },
      [&](const definition::Command& command) { return definition::apply(turn_, command); },
      [&](const project::Command& command) { return project::apply(turn_, command); },
      [&](const EmitCustom& command) { return emit_custom(turn_, command); },
      [&](const CancelRequest& command) { return cancel_request(turn_, command); });
}

// What is due has happened, whether or not a tick came by: no answer depends on that. But what was
// seen may have been so before anything was due, if we were away: it is heard first.
Reply Root::handle(const Request& request) {
  if (is_observation(request.command)) return answer(request);
  settle_due();
  drain();
  turn_.touched_ = 0;
  return answer(request);
}

Reply Root::answer(const Request& request) {
  if (request.project != shared_project &&
      !turn_.state().projects.projects.contains(request.project)) {
    return refused(Why::NotFound, "project");
  }
  if (request.key.empty()) return dispatch(request);
  if (request.key.size() > limits::name_bytes) return refused(Why::OverLimit, "key");

  const key::Name name{request.project, request.key};
  const std::uint64_t digest = digest_of(key::unbound(request.command));
  if (std::optional<Reply> before = key::recall(turn_, name, digest)) return *std::move(before);
  Reply reply = dispatch(request);
  if (key::is_kept(reply)) key::remember(turn_, name, digest, reply);
  // Who has just begun to wait may have had its answer in this very step.
  if (const Waiting* waiting = std::get_if<Waiting>(&reply.value)) {
    for (const Answer& answer : turn_.answers_) {
      if (answer.waiter == waiting->waiter) key::answered(turn_, answer.waiter, answer.reply);
    }
  }
  return reply;
}

// What is due is settled in the order in which it was due, at most 256 things a tick. Each noun
// has a `due` for its own kind of deadline; one that is missing does not compile.
void Root::settle_due() {
  while (turn_.may_touch()) {
    const Timers& timers = turn_.state().timers;
    const auto first = timers.engine.begin();
    if (first == timers.engine.end() || (*first).first.due > turn_.now()) break;
    const Time moment = (*first).first.due;
    const Subject subject = (*first).second;
    turn_.touch();
    turn_.arm(subject, std::nullopt);
    turn_.settle_as_of(moment,
                       [&] { std::visit([&](const auto& what) { due(turn_, what); }, subject); });
  }
  while (turn_.may_touch()) {
    const Timers& timers = turn_.state().timers;
    const auto first = timers.wall.begin();
    if (first == timers.wall.end() || (*first).first.due > turn_.wall()) break;
    const Subject subject = (*first).second;
    turn_.touch();
    turn_.arm_wall(subject, std::nullopt);
    std::visit([&](const auto& what) { due(turn_, what); }, subject);
  }
}

void Root::go_on_with_chores() {
  const auto has_enough = [&] {
    return turn_.inner_.size() - turn_.carried_out_ >= limits::routed_a_step;
  };
  while (turn_.may_touch() && !has_enough() && !turn_.state().chores.waiting.empty()) {
    const std::uint64_t number = (*turn_.state().chores.waiting.begin()).first;
    // Taken out, not copied: what it has collected may be long.
    Chore chore = std::move(*turn_.change().chores.waiting.edit(number));
    turn_.change().chores.waiting.erase(number);
    turn_.touch();
    const bool finished = match(
        chore,
        [&](EndSession& end) { return session::go_on(turn_, end.session); },
        [&](CarryOn& rest) {
          for (Inner& inner : rest.effects) turn_.perform({std::move(inner)});
          for (const Event& event : rest.events) turn_.perform(routed(event));
          return true;
        },
        [&](lock::CleanupRest& rest) { return lock::go_on(turn_, rest); },
        [&](queue::RedriveAll& redrive) { return queue::go_on(turn_, redrive); },
        [&](queue::PurgeAll& purge) { return queue::go_on(turn_, purge); },
        [&](grant::CirclesAt& rest) { return grant::go_on(turn_, rest); });
    if (finished) continue;
    // It stopped because the budget is spent: next time it is the turn of others.
    Chores& chores = turn_.change().chores;
    chores.waiting.set(++chores.last, std::move(chore));
    break;
  }
}

void Root::handle(const Tick&) {
  settle_due();
  go_on_with_chores();
}

void Root::handle(const Resumed& resumed) {
  turn_.change().leases_from = turn_.now();
  if (resumed.what == System::What::Ready) session::await_all(turn_);
  turn_.emit(shared_project, System{resumed.what});
}

void Root::handle(const ClockStepped&) {
  turn_.emit(shared_project, System{System::What::ClockStepped});
}

// Whoever comes back is served, and so what is due is settled first, as for a request.
void Root::handle(const session::Returned& returned) {
  settle_due();
  drain();
  turn_.touched_ = 0;
  session::come_back(turn_, returned.session);
}

// Only what a wait can end with gives anything.
void Root::handle(const Undelivered& undelivered) {
  const key::Name name{undelivered.project, undelivered.key};
  if (!key::was_undelivered(turn_, name, undelivered.reply)) return;
  const ReplySum& reply = undelivered.reply.value;
  if (const grant::Reply* of_grant = std::get_if<grant::Reply>(&reply)) {
    if (const auto* granted = std::get_if<grant::Granted>(of_grant)) {
      grant::take_back(turn_, *granted);
    }
  } else if (const queue::Reply* of_queue = std::get_if<queue::Reply>(&reply)) {
    if (const auto* taken = std::get_if<queue::Taken>(of_queue)) {
      for (const queue::TakenItem& item : taken->items) {
        queue::give_back(turn_, item.id, item.claim);
      }
    }
  } else if (const board::Reply* of_board = std::get_if<board::Reply>(&reply)) {
    if (const auto* started = std::get_if<board::Started>(of_board)) {
      board::take_back(turn_, *started);
    }
  }
}

// The outbox entry goes first: whatever the outcome causes, it is not asked for twice. What is due
// is not settled, for this may have been so before; but of the lines it is, as whatever ends may
// give a lock or a slot on.
void Root::handle(const EffectEnded& ended) {
  const Started* started = turn_.state().outbox.find(ended.effect);
  if (!started) return;
  const Outgoing effect = started->effect;
  turn_.change().outbox.erase(ended.effect);
  grant::settle_due(turn_);
  match(
      effect.to,
      [&](const ToNobody&) {
        // Whoever wanted something ended does not ask whether it was; but it has to be.
        const bool is_kill = std::holds_alternative<Kill>(effect.what);
        if (is_kill && ended.outcome.ended == Ended::Unknown) turn_.start(effect.what, ToNobody{});
      },
      [&](const ToCustody& to) { custody::kill_finished(turn_, to.process, ended.outcome.ended); },
      [&](const task::Address& to) { task::finished(turn_, ended.effect, to, ended.outcome); },
      [&](const pipeline::Address& to) {
        pipeline::finished(turn_, ended.effect, to, ended.outcome);
      },
      [&](const dispatch::Address& to) {
        dispatch::finished(turn_, ended.effect, to, ended.outcome);
      },
      [&](const worker::Address& to) { worker::finished(turn_, ended.effect, to, ended.outcome); },
      [&](const cron::Address& to) { cron::finished(turn_, ended.effect, to, ended.outcome); },
      [&](const mailbox::Address& to) {
        mailbox::finished(turn_, ended.effect, to, ended.outcome);
      });
}

void Root::carry_out(const Inner& inner) {
  match(
      inner,
      [&](const Emit& emit) { turn_.emit(emit.project, emit.event); },
      [&](const AcquireLock& acquire) { ask_for_phase(acquire.request); },
      [&](const AcquireSemaphore& acquire) { ask_for_phase(acquire.request); },
      [&](const ReleaseLock& release) {
        lock::apply(turn_, lock::Release{release.name, release.holder, std::nullopt});
      },
      [&](const ReleaseSemaphore& release) {
        semaphore::apply(turn_, semaphore::Release{release.name, release.holder, std::nullopt});
      },
      [&](const StopWaiting& stop) { stop_waiting(stop.holder); },
      [&](const DeadLetter& dead) { queue::move_to(turn_, dead.item, dead.to); },
      [&](const WakeWorker& wake) { worker::wake(turn_, wake.worker); },
      [&](const WakeGuard& wake) {
        pipeline::wake_guard(turn_, wake.pipeline, wake.entry, wake.guard);
      },
      [&](const Checkpoint& checkpoint) {
        pipeline::checkpoint(turn_, checkpoint.pipeline, checkpoint.message);
      },
      [&](const SetTimer& timer) { turn_.arm(timer.subject, timer.due); },
      [&](const CancelTimer& timer) { turn_.arm(timer.subject, std::nullopt); });
}

namespace {

// Or its pipeline is forgotten.
bool was_left(const State& state, const grant::ToPhase& phase) {
  const pipeline::Pipeline* pipeline = state.pipelines.pipelines.find(phase.pipeline);
  return !pipeline || pipeline->entry != phase.entry ||
         !std::holds_alternative<pipeline::Acquiring>(pipeline->course);
}

}  // namespace

// A phase that asked for locks is told at once whether it got them, cannot, or waits; then it is
// told again when its turn comes (core/grant). One that was left while its word had to wait for a
// tick has stopped waiting already: nobody would, if it began now.
void Root::ask_for_phase(const grant::Request& request) {
  const grant::ToPhase* phase = std::get_if<grant::ToPhase>(&request.origin);
  if (!phase || was_left(turn_.state(), *phase)) return;
  const Reply reply = grant::ask(turn_, request);
  pipeline::asked(turn_, phase->pipeline, phase->entry, reply);
}

// A word that had to wait for a tick may come when the pipeline waits for the locks of its next
// phase: that wait is not meant.
void Root::stop_waiting(const Holder& holder) {
  for (const WaiterId id : grant::waits_of(turn_.state().grants, holder)) {
    const grant::Waiter* waiting = turn_.state().grants.waiters.find(id);
    if (!waiting || waiting->request.holder != holder) continue;
    const auto* phase = std::get_if<grant::ToPhase>(&waiting->request.origin);
    if (phase && was_left(turn_.state(), *phase)) grant::leave(turn_, id, Left::Cancelled);
  }
}

// Everything that follows from the input in the same step: inner effects, and what the
// subscribers want done about the events; what has no room goes on with the next tick.
void Root::drain() {
  std::size_t steps = 0;
  while (turn_.carried_out_ < turn_.inner_.size() || turn_.routed_ < turn_.events_.size()) {
    if (++steps > limits::routed_a_step) return leave_to_ticks();
    if (turn_.carried_out_ < turn_.inner_.size()) {
      // Out of the vector first: carrying it out may perform more, and the vector may move.
      const Inner inner = std::move(turn_.inner_[turn_.carried_out_++]);
      carry_out(inner);
    } else {
      // A copy: routing may announce more, and the vector may move.
      const Event event = turn_.events_[turn_.routed_++];
      turn_.perform(routed(event));
    }
  }
}

// In parts of what one tick may do: a part that has to wait longer is not touched meanwhile.
void Root::leave_to_ticks() {
  while (turn_.carried_out_ < turn_.inner_.size() || turn_.routed_ < turn_.events_.size()) {
    CarryOn part;
    for (std::size_t steps = 0; steps < limits::routed_a_step; ++steps) {
      if (turn_.carried_out_ < turn_.inner_.size()) {
        part.effects.push_back(std::move(turn_.inner_[turn_.carried_out_++]));
      } else if (turn_.routed_ < turn_.events_.size()) {
        part.events.push_back(turn_.events_[turn_.routed_++]);  // a copy: it was announced
      }
    }
    turn_.later(std::move(part));
  }
}

Effects Root::routed(const Event& event) const {
  return event_bus::route(turn_.state().subscriptions, event, turn_.state().projects);
}

Said Root::finish(Reply reply) {
  drain();
  if (turn_.changed_) {
    ++turn_.state_.sequence;
    turn_.state_.now = turn_.now();
  }
  Said said;
  said.reply = std::move(reply);
  said.answers = std::move(turn_.answers_);
  said.events = std::move(turn_.events_);
  said.effects = std::move(turn_.effects_);
  said.changed = turn_.changed_;
  return said;
}

Said::Said() = default;
Said::Said(const Said&) = default;
Said::Said(Said&&) noexcept = default;
Said& Said::operator=(const Said&) = default;
Said& Said::operator=(Said&&) noexcept = default;
Said::~Said() = default;
bool Said::operator==(const Said& other) const = default;

Applied::Applied() = default;
Applied::Applied(State after, Said said) : Said(std::move(said)), state(std::move(after)) {}
Applied::Applied(const Applied&) = default;
Applied::Applied(Applied&&) noexcept = default;
Applied& Applied::operator=(const Applied&) = default;
Applied& Applied::operator=(Applied&&) noexcept = default;
Applied::~Applied() = default;
bool Applied::operator==(const Applied& other) const = default;

Said apply_to(State& state, const Input& input, Stamp stamp) {
  // Engine time never runs backwards; a stamp that does is our own mistake, but not one to
  // forget a lease for.
  stamp.now = std::max(stamp.now, state.now);
  if (const Request* request = std::get_if<Request>(&input)) {
    Root root(state, stamp, *request);
    Reply reply = root.handle(*request);
    return root.finish(std::move(reply));
  }
  Root root(state, stamp);
  match(
      input,
      [](const Request&) {},
      [&](const Tick& tick) { root.handle(tick); },
      [&](const Resumed& resumed) { root.handle(resumed); },
      [&](const ClockStepped& stepped) { root.handle(stepped); },
      [&](const EffectEnded& ended) { root.handle(ended); },
      [&](const session::Ended& ended) { root.handle(ended); },
      [&](const session::Returned& returned) { root.handle(returned); },
      [&](const Undelivered& undelivered) { root.handle(undelivered); },
      [&](const custody::ProcessGone& gone) { root.handle(gone); });
  return root.finish({Ok{}});
}

Applied apply(State state, const Input& input, Stamp stamp) {
  Said said = apply_to(state, input, stamp);
  return {std::move(state), std::move(said)};
}

State initial_state(Time now) {
  State state;
  state.now = now;
  state.leases_from = now;
  state.projects.projects.set(shared_project, {"", "//"});
  state.projects.projects.set(default_project, {"", "default"});
  state.projects.by_name.set("default", default_project);
  return state;
}

Deadlines next_deadline(const State& state) {
  Deadlines next;
  if (!state.chores.waiting.empty()) {
    next.engine = state.now;
  } else if (const auto first = state.timers.engine.begin(); first != state.timers.engine.end()) {
    next.engine = (*first).first.due;
  }
  if (const auto first = state.timers.wall.begin(); first != state.timers.wall.end()) {
    next.wall = (*first).first.due;
  }
  return next;
}

}  // namespace reeve
