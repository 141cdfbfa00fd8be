#include "sim/clients.h"

#include "sim/words.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace reeve::sim {

using namespace std::chrono_literals;

namespace {

LockName lock_name(std::uint64_t i) { return {default_project, "l" + std::to_string(i)}; }
SemaphoreName slots_name(std::uint64_t i) { return {default_project, "s" + std::to_string(i)}; }
QueueName queue_name(std::string name) { return {default_project, std::move(name)}; }

definition::Phase phase(std::string name, definition::Action action) {
  definition::Phase phase;
  phase.name = std::move(name);
  phase.action = std::move(action);
  return phase;
}

definition::Set runbook() {
  definition::Set set;
  set.hash = "one";
  set.root = "/work";
  definition::Guard ready;
  ready.condition = "test -f ready";
  ready.retry = definition::Poll{3, 2s};
  ready.timeout = 20s;
  ready.on_timeout = definition::OnTimeout::Fail;
  set.guards.set("ready", ready);

  definition::Agent bot;
  bot.command = "bot";
  bot.session = false;
  bot.on_exit = definition::DoDone{};
  bot.on_error = definition::DoFail{};
  bot.timeout = 60s;
  set.agents.set("bot", bot);

  definition::Phase build = phase("build", definition::RunShell{"make"});
  build.locks = {"deploy"};
  build.slots = {{"pool", 1}};
  build.retry = {1, 1s};
  build.timeout = 30s;
  definition::Phase check = phase("check", definition::RunShell{"make check"});
  check.pre = {"ready"};
  check.on_unknown = definition::OnUnknown::Retry;
  definition::Phase review = phase("review", definition::RunAgent{"bot"});

  definition::Pipeline ship;
  ship.inputs = {"what"};
  ship.defaults = {{"what", "all"}};
  ship.phases = {build, check, review};
  ship.on_fail = definition::Fail{};
  set.pipelines.set("ship", ship);
  definition::Pipeline fix;
  fix.phases = {phase("try", definition::RunShell{"fix"})};  // asks somebody when it fails
  set.pipelines.set("fix", fix);

  set.workers.set("shipper", {"jobs", "ship", 2, {}});
  set.semaphores.set("pool", {2, std::nullopt});
  return set;
}

}  // namespace

Clients::Clients(Dice& dice, const Plan& plan, SimHands& hands)
    : dice_(dice), plan_(plan), hands_(hands) {
  const std::uint64_t count = dice_.between(3, 7);
  for (std::uint64_t i = 0; i < count; ++i) {
    Client client;
    client.name = "c" + std::to_string(i);
    client.bound = dice_.percent(50);
    client.can_return = !dice_.one_in(8);
    client.session = SessionId{++last_session_};
    if (dice_.percent(25)) client.process = hands_.new_process();
    clients_.push_back(std::move(client));
  }
}

std::vector<Request> Clients::setup() {
  std::vector<Request> requests;
  const auto add = [&](Command command) {
    Request request;
    request.command = std::move(command);
    requests.push_back(std::move(request));
  };
  add(semaphore::Create{slots_name(0), {3, std::nullopt}});
  add(semaphore::Create{slots_name(1), {2, std::nullopt}});
  queue::Config first;
  first.visibility_timeout = 5s;
  first.max_attempts = 3;
  first.dead_letter = queue_name("dl");
  first.keep_completed = 8;
  add(queue::Create{queue_name("q0"), first});
  queue::Config second;
  second.visibility_timeout = 10s;
  second.max_attempts = 2;
  second.backoff_first = 0s;
  second.keep_completed = 8;
  second.keep_dead_for = 30s;
  add(queue::Create{queue_name("q1"), second});
  second.backoff_first = 2s;
  add(queue::Create{queue_name("dl"), second});
  if (plan_.boards > 0) add(locking());
  if (plan_.pipelines > 0) {
    add(queue::Create{queue_name("jobs"), second});
    add(definition::Load{default_project, Boxed<definition::Set>(runbook())});
    add(worker::Start{{default_project, "shipper"}, {default_project, "one"}, {}});
  }
  return requests;
}

Holder Clients::holder_of(const Client& client) const {
  return {default_project, client.name, client.bound ? client.session : SessionId{}};
}

Boxed<HolderMeta> Clients::meta_of(const Client& client) {
  if (!client.process || dice_.percent(50)) return {};
  HolderMeta meta;
  meta.process = client.process;
  return Boxed<HolderMeta>(meta);
}

std::optional<Duration> Clients::some_wait(const Client& client) {
  if (client.waits.size() >= plan_.waits) return std::nullopt;
  switch (dice_.below(8)) {
    case 0:
      return Duration{3000};
    case 1:
      return Duration{30'000};
    case 2:
      return Duration::max();
    default:
      return std::nullopt;
  }
}

Request Clients::next(std::size_t index, const State& state) {
  Client& client = clients_[index];
  Request request;
  request.session = client.session;
  request.can_return = client.can_return;
  const std::uint64_t all =
      plan_.locks + plan_.semaphores + plan_.queues + plan_.boards + plan_.pipelines + plan_.others;
  std::uint64_t at = dice_.below(all);
  const auto is_of = [&](std::uint64_t share) {
    if (at < share) return true;
    at -= share;
    return false;
  };
  if (is_of(plan_.locks)) {
    request.command = lock_command(client);
  } else if (is_of(plan_.semaphores)) {
    request.command = semaphore_command(client);
  } else if (is_of(plan_.queues)) {
    request.command = queue_command(client, state);
  } else if (is_of(plan_.boards)) {
    request.command = board_command(client, state);
  } else if (is_of(plan_.pipelines)) {
    request.command = plan_.crons && dice_.one_in(6) ? cron_command() : work_command(client, state);
  } else {
    request.command = other_command(client);
  }
  if (dice_.percent(plan_.keyed)) request.key = "k" + std::to_string(++last_key_);
  return request;
}

Command Clients::lock_command(Client& client) {
  const auto held = [&]() -> const Client::Lease* {
    std::vector<const Client::Lease*> locks;
    for (const Client::Lease& lease : client.leases) {
      if (lease.lock) locks.push_back(&lease);
    }
    return locks.empty() ? nullptr : dice_.any_of(locks);
  };
  const Client::Lease* lease = held();
  const std::uint64_t choice = lease ? dice_.below(20) : 0;
  if (choice < 8) {
    lock::Acquire acquire;
    acquire.names.push_back(lock_name(dice_.below(4)));
    if (dice_.one_in(5)) {
      const LockName second = lock_name(dice_.below(4));
      if (second != acquire.names.front()) acquire.names.push_back(second);
    }
    acquire.holder = holder_of(client);
    acquire.meta = meta_of(client);
    if (dice_.percent(70)) acquire.timeout = Duration{dice_.one_in(2) ? 2000 : 10'000};
    if (dice_.one_in(6)) acquire.max_hold = Duration{12'000};
    acquire.wait = some_wait(client);
    return acquire;
  }
  const LockName name{default_project, lease->name};
  if (choice < 13) return lock::Heartbeat{name, holder_of(client), lease->token};
  if (choice < 15) return lock::Check{name, lease->token};
  if (choice == 15 && dice_.one_in(4)) return lock::ForceRelease{name, "ana", "why not", false};
  if (choice == 15 && dice_.one_in(4)) return lock::Cleanup{default_project};
  return lock::Release{name, holder_of(client), lease->token};
}

Command Clients::semaphore_command(Client& client) {
  const Client::Lease* lease = nullptr;
  for (const Client::Lease& other : client.leases) {
    if (!other.lock && (!lease || dice_.one_in(2))) lease = &other;
  }
  const std::uint64_t choice = lease ? dice_.below(10) : 0;
  if (choice < 4) {
    semaphore::Acquire acquire;
    acquire.name = slots_name(dice_.below(2));
    acquire.weight = static_cast<std::uint32_t>(dice_.between(1, 2));
    acquire.holder = holder_of(client);
    acquire.meta = meta_of(client);
    if (dice_.percent(70)) acquire.timeout = Duration{dice_.one_in(2) ? 2000 : 10'000};
    acquire.wait = some_wait(client);
    return acquire;
  }
  const SemaphoreName name{default_project, lease->name};
  if (choice < 7) return semaphore::Heartbeat{name, holder_of(client), lease->token};
  return semaphore::Release{name, holder_of(client), lease->token};
}

Command Clients::queue_command(Client& client, const State& state) {
  constexpr std::array names{"q0", "q1", "dl"};
  const bool crowded = state.queues.items.size() > plan_.items;
  const Client::Claim* claim = nullptr;
  if (!client.claims.empty()) claim = &dice_.any_of(client.claims);
  const std::uint64_t choice = dice_.below(claim ? 20 : 9);
  if (choice < 5 && !crowded) {
    queue::Push push;
    push.queue = queue_name(names[dice_.below(2)]);
    for (std::uint64_t left = dice_.between(1, 2); left > 0; --left) {
      queue::NewItem item;
      item.data = Bytes("\"data " + std::to_string(++last_data_) + "\"");
      item.priority = static_cast<std::int32_t>(dice_.below(3));
      if (dice_.one_in(5)) item.delay = Duration{static_cast<std::int64_t>(dice_.below(4000))};
      if (dice_.one_in(6)) item.dedupe_key = "d" + std::to_string(dice_.below(4));
      push.items.push_back(std::move(item));
    }
    return push;
  }
  if (choice < 9 || !claim) {
    queue::Take take;
    take.queues.push_back(queue_name(names[dice_.below(names.size())]));
    if (dice_.one_in(3)) {
      const QueueName second = queue_name(names[dice_.below(names.size())]);
      if (second != take.queues.front()) take.queues.push_back(second);
    }
    take.holder = holder_of(client);
    take.meta = meta_of(client);
    take.max = static_cast<std::uint32_t>(dice_.between(1, 3));
    take.wait = some_wait(client);
    return take;
  }
  const QueueName queue = queue_name(claim->queue);
  const queue::ItemClaim item{claim->item, claim->token};
  if (choice < 14) return queue::Complete{queue, {item}};
  if (choice < 16) {
    return queue::Fail{
        queue, item, "no luck", dice_.one_in(3) ? std::optional(1000ms) : std::nullopt};
  }
  if (choice < 18) {
    return queue::Extend{queue, item, dice_.one_in(3) ? std::optional(8000ms) : std::nullopt};
  }
  if (choice == 18 && dice_.one_in(3)) return queue::Drop{queue, claim->item};
  return queue::Release{queue, item, Duration{dice_.one_in(3) ? 1500 : 0}, std::nullopt};
}

Command Clients::work_command(Client& client, const State& state) {
  const auto& open = state.decisions.open_of;
  if (open.size() > 0 && dice_.percent(40)) {
    const DecisionId id = (*open.begin()).second;
    const decision::Decision* decision = state.decisions.decisions.find(id);
    if (decision) {
      const std::vector<decision::Choice> choices = decision::choices_of(decision->cause);
      if (!choices.empty()) {
        return decision::Resolve{id, dice_.any_of(choices), "", client.name};
      }
    }
  }
  const bool crowded = state.pipelines.open > 6 || state.queues.items.size() > plan_.items;
  if (crowded || dice_.one_in(6)) {
    const auto first = state.pipelines.pipelines.begin();
    if (first != state.pipelines.pipelines.end()) return pipeline::Cancel{(*first).first};
    return worker::Wake{{default_project, "shipper"}};
  }
  if (dice_.percent(50)) {
    queue::Push push;
    push.queue = queue_name("jobs");
    queue::NewItem item;
    item.data = Bytes("\"job " + std::to_string(++last_data_) + "\"");
    push.items.push_back(std::move(item));
    return push;
  }
  return pipeline::Start{dice_.percent(50) ? "ship" : "fix", {}, {}};
}

Command Clients::other_command(Client& client) {
  if (!client.waits.empty() && dice_.percent(50)) return CancelRequest{dice_.any_of(client.waits)};
  if (dice_.percent(50)) return EmitCustom{"ci:green", {{"branch", client.name}}};
  return mailbox::Send{client.name, "m" + std::to_string(dice_.below(20)), "ana", "hello"};
}

void Clients::take_note(Client& client, const Reply& reply) {
  if (const auto* granted = word<grant::Granted>(reply)) {
    for (const grant::Given& given : granted->given) {
      const bool lock = given.weight == 0;
      std::erase_if(client.leases, [&](const Client::Lease& old) {
        return old.lock == lock && old.name == given.name && !dice_.one_in(10);
      });
      client.leases.push_back({lock, given.name, given.token});
    }
  }
  if (const auto* taken = word<queue::Taken>(reply)) {
    for (const queue::TakenItem& item : taken->items) {
      client.claims.push_back({item.queue.name, item.id, item.claim});
    }
  }
  note_task(client, reply);
  while (client.leases.size() > 6) client.leases.erase(client.leases.begin());
  while (client.claims.size() > 8) client.claims.erase(client.claims.begin());
}

// Whoever was told that it lost something mostly believes it.
void Clients::learned(std::size_t index, const Request& request, const Reply& reply) {
  Client& client = clients_[index];
  if (const auto* waiting = word<Waiting>(reply)) {
    if (std::ranges::count(client.waits, waiting->waiter) == 0)
      client.waits.push_back(waiting->waiter);
  }
  take_note(client, reply);
  if (dice_.one_in(12)) return;
  const auto drop_lease = [&](Token token) {
    std::erase_if(client.leases, [&](const Client::Lease& lease) { return lease.token == token; });
  };
  const auto drop_claim = [&](ItemId item) {
    std::erase_if(client.claims, [&](const Client::Claim& claim) { return claim.item == item; });
  };
  if (const auto* command = std::get_if<lock::Command>(&request.command)) {
    const auto* release = std::get_if<lock::Release>(command);
    if (release && release->token) drop_lease(*release->token);
    const auto* beat = std::get_if<lock::Heartbeat>(command);
    if (beat && word<lock::Lost>(reply)) drop_lease(beat->token);
  } else if (const auto* slots = std::get_if<semaphore::Command>(&request.command)) {
    const auto* release = std::get_if<semaphore::Release>(slots);
    if (release && release->token) drop_lease(*release->token);
    const auto* beat = std::get_if<semaphore::Heartbeat>(slots);
    if (beat && word<semaphore::Lost>(reply)) drop_lease(beat->token);
  } else if (const auto* queue = std::get_if<queue::Command>(&request.command)) {
    if (const auto* complete = std::get_if<queue::Complete>(queue)) {
      drop_claim(complete->items.front().item);
    }
    if (const auto* fail = std::get_if<queue::Fail>(queue)) drop_claim(fail->item.item);
    if (const auto* release = std::get_if<queue::Release>(queue)) drop_claim(release->item.item);
    if (const auto* drop = std::get_if<queue::Drop>(queue)) drop_claim(drop->item);
  }
}

void Clients::answered(std::size_t index, WaiterId waiter, const Reply& reply) {
  Client& client = clients_[index];
  std::erase(client.waits, waiter);
  take_note(client, reply);
}

void Clients::unanswered(std::size_t index, Request request) {
  if (request.key.empty()) return;
  Client& client = clients_[index];
  if (client.unanswered.size() < 8) client.unanswered.push_back(std::move(request));
}

void Clients::daemon_ended() {
  for (Client& client : clients_) {
    client.connected = false;
    client.returning = false;
  }
}

// A number is never used again. What was bound to the old connection is gone with it, and a request
// that names it cannot be repeated over another one.
void Clients::new_connection(std::size_t index) {
  Client& client = clients_[index];
  client.session = SessionId{++last_session_};
  client.connected = true;
  client.returning = false;
  client.waits.clear();
  if (client.bound) {
    client.leases.clear();
    client.claims.clear();
    client.unanswered.clear();
  }
  if (client.process && !hands_.is_alive(*client.process)) {
    client.process.reset();
    if (dice_.percent(50)) client.process = hands_.new_process();
  }
}

}  // namespace reeve::sim
