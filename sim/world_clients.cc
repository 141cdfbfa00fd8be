#include "codec/json.h"
#include "engine/limits.h"
#include "engine/new_work.h"
#include "sim/words.h"
#include "sim/world.h"

#include <algorithm>
#include <chrono>

// What clients and clocks do to the daemon.
namespace reeve::sim {

using namespace std::chrono_literals;

void World::set_up() {
  for (Request& request : clients_.setup()) submit(0, std::move(request));
}

// A request settles what is due before it is judged: only one that comes when nothing is due
// touches its own noun alone.
void World::touch(const Command& command) {
  const std::optional<Time> due = next_deadline(daemon_->engine->state()).engine;
  if (due && *due <= now_.now) return touch_all();
  if (std::holds_alternative<queue::Command>(command)) {
    touched_queues_ = true;
  } else if (std::holds_alternative<lock::Command>(command) ||
             std::holds_alternative<semaphore::Command>(command)) {
    touched_grants_ = true;
  } else {
    touch_all();
  }
}

void World::submit(std::size_t client, Request request) {
  touch(request.command);
  const engine::Ticket ticket{++last_ticket_};
  if (report_.is_heard()) {
    report_.say("  {} asks, ticket {} key '{}': {}",
                clients_.at(client).name,
                ticket.value,
                request.key,
                codec::to_json(request.command));
  }
  askers_.insert_or_assign(ticket.value, Asker{client, request});
  oracle_.asked(ticket, request, stamp());
  daemon_->engine->submit(ticket, std::move(request), stamp());
}

void World::client_acts() {
  if (dice_.one_in(plan_.wire)) {
    if (!daemon_->engine->wants_input() && !dice_.one_in(8)) return;
    touch_all();
    return wire_.act(stamp(), daemon_->engine->state().queues.items.size() > plan_.items);
  }
  const std::size_t index = clients_.any();
  Client& client = clients_.at(index);
  engine::Engine& engine = *daemon_->engine;
  if (!client.connected) return come_back(index);
  if (!engine.wants_input() && !dice_.one_in(8)) return;
  if (dice_.one_in(plan_.client_gone)) return disconnect(index);
  if (dice_.one_in(300)) {
    for (Request& request : clients_.setup()) submit(index, std::move(request));
    return;
  }
  if (dice_.one_in(200)) {
    const engine::Ticket ticket{++last_ticket_};
    askers_.insert_or_assign(ticket.value, Asker{index, std::nullopt});
    oracle_.asked_otherwise(ticket);
    return engine.query(ticket, stamp());
  }
  if (!client.unanswered.empty() && dice_.percent(40)) {
    Request again = std::move(client.unanswered.back());
    client.unanswered.pop_back();
    again.session = client.session;
    return submit(index, std::move(again));
  }
  Request request = clients_.next(index, engine.state());
  if (!request.key.empty() && dice_.one_in(plan_.duplicate)) submit(index, request);
  if (!request.key.empty() && dice_.one_in(12)) clients_.unanswered(index, request);
  submit(index, std::move(request));
}

void World::disconnect(std::size_t index) {
  Client& client = clients_.at(index);
  if (!client.connected) return;
  report_.say("  {} disconnects", client.name);
  touch_all();
  daemon_->engine->session_ended(client.session, stamp());
  clients_.new_connection(index);
}

void World::come_back(std::size_t index) {
  Client& client = clients_.at(index);
  if (client.returning || (!daemon_->engine->wants_input() && !dice_.one_in(8))) return;
  if (!client.can_return || dice_.one_in(plan_.never_returns)) {
    report_.say("  {} comes as somebody else", client.name);
    return clients_.new_connection(index);
  }
  client.returning = true;
  touch_all();
  const engine::Ticket ticket{++last_ticket_};
  askers_.insert_or_assign(ticket.value, Asker{index, std::nullopt, true});
  oracle_.asked_otherwise(ticket);
  report_.say("  {} wants to come back", client.name);
  daemon_->engine->session_returned(ticket, client.session, stamp());
}

// ── What they hear ──

void World::replied(engine::Ticket ticket, engine::Sequence sequence, const Reply& reply) {
  if (report_.is_heard()) {
    report_.say(
        "    ticket {} is answered at {}: {}", ticket.value, sequence, codec::to_json(reply));
  }
  report_.mark(ticket.value * 1000003 + sequence);
  if (is_of_wire(ticket)) {
    oracle_.overheard(sequence);
    return wire_.replied(ticket, sequence, reply);
  }
  oracle_.replied(ticket, sequence, reply);
  const auto found = askers_.find(ticket.value);
  if (found == askers_.end()) return;
  const Asker asker = std::move(found->second);
  askers_.erase(found);
  if (asker.returns) {
    Client& client = clients_.at(asker.client);
    if (!client.returning) return;
    client.returning = false;
    client.connected = true;
    if (word<Refused>(reply)) clients_.new_connection(asker.client);
    return;
  }
  if (!asker.request) return;
  judge_room(*asker.request, reply);
  if (const auto* waiting = word<Waiting>(reply)) {
    waiters_[waiting->waiter.value] = {asker.client, asker.request->session, asker.request->key};
  }
  clients_.learned(asker.client, *asker.request, reply);
}

// A disk that is short of space refuses new work, and nothing that ends work.
void World::judge_room(const Request& request, const Reply& reply) {
  const bool is_new = engine::is_new_work(request.command);
  const Refused* refused = word<Refused>(reply);
  if (refused && refused->why == Why::Full) {
    ++counts_.refused_full;
    if (!is_new) report_.violated("work could not be finished for want of room");
  } else if (!refused && !is_new && daemon_ && daemon_->journal->room() != journal::Room::Plenty) {
    ++counts_.finished_full;
  }
}

void World::answered(WaiterId waiter, engine::Sequence sequence, const Reply& reply) {
  if (report_.is_heard()) {
    report_.say(
        "    waiter {} is answered at {}: {}", waiter.value, sequence, codec::to_json(reply));
  }
  report_.mark(waiter.value + sequence);
  oracle_.answered(waiter, sequence, reply);
  const auto found = waiters_.find(waiter.value);
  if (found == waiters_.end()) return wire_.answered(waiter, sequence, reply);
  Waiter waited = std::move(found->second);
  waiters_.erase(found);
  // It waited over a connection that is gone, or that ends at this very moment.
  const bool gone = clients_.at(waited.client).session != waited.session;
  if (gone || (faults_ && dice_.one_in(plan_.answer_lost))) {
    lost_.push_back({std::move(waited), reply, !gone});
    return;
  }
  clients_.answered(waited.client, waiter, reply);
}

void World::queried(engine::Ticket ticket, const State& state, Stamp stamp) {
  if (is_of_wire(ticket)) {
    if (state.sequence > oracle_.durable()) report_.violated("a line tells what is not durable");
    return wire_.queried(ticket, state, stamp);
  }
  oracle_.queried(ticket, state);
  askers_.erase(ticket.value);
}

void World::unavailable(engine::Ticket ticket, const Error& error) {
  if (is_of_wire(ticket)) return wire_.unavailable(ticket, error);
  oracle_.unavailable(ticket);
  const auto found = askers_.find(ticket.value);
  if (found == askers_.end()) return;
  if (found->second.request) {
    clients_.unanswered(found->second.client, std::move(*found->second.request));
  }
  askers_.erase(found);
}

void World::news() {
  if (!daemon_) return;
  const engine::EventLog& events = daemon_->engine->events();
  while (true) {
    const engine::Slice slice = events.read(daemon_->follower, engine::Filter{});
    if (slice.lagged) report_.violated("a follower lagged in a world of a few events");
    for (const Event& event : slice.events) {
      oracle_.followed(event);
      followed_ = event.sequence;
    }
    if (!slice.more || report_.failed()) break;
  }
}

// ── Time ──

void World::look() {
  touch_all();
  const engine::Moment moment = daemon_->clock->read(clocks_.reading());
  now_ = moment.stamp;
  report_.say("  look at {}{}",
              now_.now.time_since_epoch().count() % 100'000'000,
              moment.suspended ? ", slept" : "");
  const std::optional<Time> due = next_deadline(daemon_->engine->state()).engine;
  const bool late = due && now_.now - std::max(*due, looked_) > engine::limits::late;
  looked_ = now_.now;
  bool more = daemon_->engine->look(moment);
  if ((late || moment.suspended) && !daemon_->engine->wants_stop() &&
      daemon_->engine->state().leases_from != now_.now) {
    report_.violated("nobody listened, and leases ran on");
  }
  for (int i = 0; more && i < 20; ++i) more = daemon_->engine->tick(now_);
}

void World::pass(Duration by) {
  clocks_.pass(by);
  look();
}

void World::time_passes() {
  const Deadlines next = daemon_->engine->next_wake();
  const std::uint64_t choice = dice_.below(100);
  if (choice < 35 || !next.engine) {
    pass(Duration{static_cast<std::int64_t>(dice_.below(choice < 10 ? 900 : 30))});
    return;
  }
  // To the next deadline, or to the last moment before it.
  const Duration left = *next.engine - now_.now;
  if (left > 90s) return pass(1s);
  const Duration off{static_cast<std::int64_t>(dice_.below(3)) - 1};
  if (choice < 75) return pass(std::max(left + off, Duration{0}));
  pass(std::max(left / 2, Duration{1}));
}

void World::odd_time() {
  if (dice_.one_in(plan_.stall)) {
    const Duration by{static_cast<std::int64_t>(dice_.between(500, 40'000))};
    report_.say("  nobody looks for {} ms", by.count());
    pass(by);
  }
  if (dice_.one_in(plan_.suspend)) {
    const Duration by{static_cast<std::int64_t>(dice_.between(400, 100'000))};
    report_.say("  the machine sleeps for {} ms", by.count());
    clocks_.sleep(by);
    look();
  }
  if (dice_.one_in(plan_.clock_set)) {
    const Duration by{static_cast<std::int64_t>(dice_.below(7'200'000)) - 3'600'000};
    report_.say("  the clock is set by {} ms", by.count());
    clocks_.set_wall(by);
    look();
  }
}

// At the end: questions are answered, waiting requests were ended with their connections, and what
// is in the queues is taken and completed.
void World::kind_clients() {
  const State& state = daemon_->engine->state();
  const auto ask = [&](Command command) {
    Request request;
    request.command = std::move(command);
    submit(0, std::move(request));
  };
  // As long as it fires there is always something to do.
  if (std::optional<Command> command = Clients::no_more_cron(state)) ask(*std::move(command));
  if (!daemon_->engine->is_idle()) return;
  if (!state.decisions.open_of.empty()) {
    const DecisionId id = (*state.decisions.open_of.begin()).second;
    const decision::Decision* decision = state.decisions.decisions.find(id);
    const std::vector<decision::Choice> choices = decision::choices_of(decision->cause);
    using enum decision::Choice;
    decision::Choice choice = choices.front();
    for (const decision::Choice end : {Fail, ReleaseAnyway, Drop, Done, Deny}) {
      if (std::ranges::count(choices, end) > 0) choice = end;
    }
    return ask(decision::Resolve{id, choice, "", "ana"});
  }
  Client& client = clients_.at(0);
  if (!client.claims.empty()) {
    const Client::Claim claim = client.claims.back();
    client.claims.pop_back();
    return ask(queue::Complete{{default_project, claim.queue}, {{claim.item, claim.token}}});
  }
  if (std::optional<Command> command = clients_.tidy_up(state)) ask(*std::move(command));
  if (state.queues.ready.empty()) return;
  // A crash may have erased the request that started the worker, before anybody was told.
  if (plan_.pipelines > 0 && !state.workers.workers.contains({default_project, "shipper"})) {
    for (Request& request : clients_.setup()) {
      const CommandSum& command = request.command;
      const bool about_queues = std::holds_alternative<queue::Command>(command);
      if (!about_queues) submit(0, std::move(request));  // those have other limits by now
    }
    return;
  }
  queue::Take take;
  for (const char* name : {"q0", "q1", "dl"}) take.queues.push_back({default_project, name});
  take.holder = {default_project, "drain", {}};
  take.max = 4;
  ask(std::move(take));
}

}  // namespace reeve::sim
