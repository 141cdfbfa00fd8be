#include "api/beanstalk/connection.h"
#include "api/limits.h"
#include "core/lease.h"
#include "core/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::api::beanstalk {
namespace {

using std::chrono::seconds;

// A reserve without a timeout. (Sums with it are far away, and still in the future.)
constexpr Duration for_ever = std::chrono::hours{24 * 365 * 1000};

std::int32_t priority_of(std::uint32_t pri) {
  return static_cast<std::int32_t>(std::int64_t{2147483647} - pri);
}

// As beanstalkd has it: a job comes back as often as it must, and at once.
queue::Config tube_config() {
  queue::Config config;
  config.max_attempts = 0;
  config.backoff_first = Duration{0};
  return config;
}

bool is_over_at(const State& state, const queue::Item& item, Time now) {
  return is_over(lease_of(*item.rest->claim), state.leases_from, now);
}

}  // namespace

Holder Connection::holder() const { return {ledger_.settings.project, "beanstalk", session()}; }

void Connection::submit(Call call, Command command, Stamp now) {
  Request request{.project = ledger_.settings.project, .session = session(), .can_return = false};
  request.command = std::move(command);
  desk_.submit(*this, call, std::move(request), now);
}

// A queue that is there keeps its configuration.
void Connection::ensure(std::string_view tube, Stamp now) {
  QueueName name = ledger_.queue_of(tube);
  if (state().queues.names.contains(name)) return;
  submit(Open{.silent = true}, queue::Create{std::move(name), tube_config()}, now);
}

void Connection::carry_out(const Line& line, Stamp now) {
  ++ledger_.count(line.op);
  const ItemId id{line.id};
  switch (line.op) {
    case Op::Put:
      return begin_put(line);
    case Op::Reserve:
      return reserve(line.op, for_ever, now);
    case Op::ReserveWithTimeout:
      return reserve(line.op, line.timeout ? seconds{*line.timeout} : for_ever, now);
    case Op::ReserveJob:
      return reserve_job(id, now);
    case Op::Delete:
      return delete_job(id, now);
    case Op::Release:
    case Op::Bury:
    case Op::Touch:
      return about_held(line, now);
    case Op::Use:
      return use(line.name, now);
    case Op::Watch:
      return watch(line.name, now);
    case Op::Ignore:
      return ignore(line.name);
    case Op::Kick:
      return kick(line.id, now);
    case Op::KickJob:
      return kick_job(id, now);
    case Op::PauseTube:
      return pause(line, now);
    case Op::ListTubeUsed:
      return say("USING " + used_ + "\r\n");
    case Op::ListTubesWatched:
      return list_watched();
    case Op::Peek:
    case Op::StatsJob:
    case Op::Stats:
    case Op::ListTubes:
      return look(line.op, line.id, {}, now);
    case Op::PeekReady:
    case Op::PeekDelayed:
    case Op::PeekBuried:
      return look(line.op, 0, used_, now);
    case Op::StatsTube:
      return look(line.op, 0, line.name, now);
    case Op::Quit:
      quit_ = true;
      ended_ = true;
      return;
  }
}

void Connection::begin_put(const Line& line) {
  if (line.body > ledger_.settings.job_bytes) {
    junk_ = std::uint64_t{line.body} + 2;
    after_junk_ = "JOB_TOO_BIG\r\n";
    return;
  }
  if (line.garbage) return say("BAD_FORMAT\r\n");
  if (!std::exchange(is_producer_, true)) ++ledger_.producers;
  put_ = line;
}

void Connection::put(std::string_view body, Stamp now) {
  if (ledger_.draining) return say("DRAINING\r\n");
  ensure(used_, now);
  queue::NewItem item;
  item.data = Bytes(body);
  item.json = false;
  item.priority = priority_of(put_->priority);
  item.delay = seconds{put_->delay};
  item.visibility = seconds{std::max(put_->time_to_run, 1U)};
  queue::Push push{ledger_.queue_of(used_), {}};
  push.items.push_back(std::move(item));
  submit(Open{.op = Op::Put, .delay = put_->delay}, std::move(push), now);
}

void Connection::reserve(Op op, std::optional<Duration> wait, Stamp now) {
  if (!std::exchange(is_worker_, true)) ++ledger_.workers;
  if (is_deadline_soon(now.now) && !has_ready()) return say("DEADLINE_SOON\r\n");
  for (const std::string& name : watched_) ensure(name, now);
  if (ended_) wait = Duration{0};
  ++untold_;
  ++bodies_;
  reserve_ = open({.op = op});
  submit(reserve_, queue::Take{watched_queues_, holder(), {}, 1, wait}, now);
}

void Connection::reserve_job(ItemId id, Stamp now) {
  const queue::Item* item = ledger_.job(state(), id);
  if (!item) return say("NOT_FOUND\r\n");
  if (item->state == queue::ItemState::Processing && !is_over_at(state(), *item, now.now)) {
    return say("NOT_FOUND\r\n");
  }
  if (!std::exchange(is_worker_, true)) ++ledger_.workers;
  if (item->state == queue::ItemState::Dead) ledger_.remember_attempts(state(), id, *item);
  const QueueName name = state().queues.queues.find(item->queue)->name;
  ++untold_;
  ++bodies_;
  submit(Open{.op = Op::ReserveJob}, queue::TakeOne{name, id, holder(), {}}, now);
}

// What one has reserved is completed; what nobody has is dropped.
void Connection::delete_job(ItemId id, Stamp now) {
  Open what{.op = Op::Delete, .id = id.value};
  if (std::optional<Held> mine = held(id, now.now)) {
    held_.erase(id.value);
    what.text = mine->queue.name;
    return submit(
        std::move(what), queue::Complete{std::move(mine->queue), {{id, mine->claim}}}, now);
  }
  const queue::Item* item = ledger_.job(state(), id);
  if (!item) return say("NOT_FOUND\r\n");
  if (item->state == queue::ItemState::Processing && !is_over_at(state(), *item, now.now)) {
    return say("NOT_FOUND\r\n");
  }
  const QueueName name = state().queues.queues.find(item->queue)->name;
  what.text = name.name;
  submit(std::move(what), queue::Drop{name, id}, now);
}

void Connection::about_held(const Line& line, Stamp now) {
  const ItemId id{line.id};
  std::optional<Held> mine = held(id, now.now);
  if (!mine) return say("NOT_FOUND\r\n");
  Open what{.op = line.op, .id = line.id, .delay = line.delay};
  const queue::ItemClaim claim{id, mine->claim};
  if (line.op == Op::Touch) {
    return submit(std::move(what), queue::Extend{std::move(mine->queue), claim, {}}, now);
  }
  held_.erase(line.id);
  const std::int32_t priority = priority_of(line.priority);
  if (line.op == Op::Bury) {
    submit(std::move(what), queue::Bury{std::move(mine->queue), claim, "buried", priority}, now);
  } else {
    const Duration delay = seconds{line.delay};
    submit(std::move(what), queue::Release{std::move(mine->queue), claim, delay, priority}, now);
  }
}

Tube& Connection::enter(std::string_view name, Stamp now) {
  if (ledger_.pause_outlived(state(), name)) {
    submit(Open{.silent = true}, queue::Resume{ledger_.queue_of(name)}, now);
  }
  return ledger_.enter(state(), name);
}

void Connection::use(std::string_view name, Stamp now) {
  ++enter(name, now).users;
  --ledger_.enter(state(), used_).users;
  ledger_.left(state(), used_);
  used_ = name;
  say("USING " + used_ + "\r\n");
}

void Connection::watch(std::string_view name, Stamp now) {
  if (std::ranges::find(watched_, name) == watched_.end()) {
    if (watched_.size() == limits::beanstalk_tubes) return say("OUT_OF_MEMORY\r\n");
    ++enter(name, now).watchers;
    watched_.emplace_back(name);
    watched_queues_.push_back(ledger_.queue_of(name));
  }
  say(fmt::format("WATCHING {}\r\n", watched_.size()));
}

// The last one takes the place of the one that goes: so does the original, and it shows in
// list-tubes-watched.
void Connection::ignore(std::string_view name) {
  const auto found = std::ranges::find(watched_, name);
  if (found != watched_.end()) {
    if (watched_.size() == 1) return say("NOT_IGNORED\r\n");
    --ledger_.enter(state(), name).watchers;
    ledger_.left(state(), name);
    const auto index = found - watched_.begin();
    std::swap(watched_[static_cast<std::size_t>(index)], watched_.back());
    std::swap(watched_queues_[static_cast<std::size_t>(index)], watched_queues_.back());
    watched_.pop_back();
    watched_queues_.pop_back();
  }
  say(fmt::format("WATCHING {}\r\n", watched_.size()));
}

void Connection::kick(std::uint64_t count, Stamp now) {
  const queue::Table& table = state().queues;
  QueueName name = ledger_.queue_of(used_);
  const queue::QueueNo* no = table.names.find(name);
  const queue::Queue* queue = no ? table.queues.find(*no) : nullptr;
  if (!queue || count == 0) return say("KICKED 0\r\n");
  const std::uint64_t remembered = std::min(count, limits::beanstalk_remembered);
  const bool of_dead = queue->counts.dead > 0;
  std::uint64_t seen = 0;
  if (of_dead) {
    for (auto at = table.dead.lower_bound({*no, 0, {}});
         at != table.dead.end() && at->queue == *no && seen < remembered;
         ++at, ++seen) {
      ledger_.remember_attempts(state(), at->item, *table.items.find(at->item));
      ++ledger_.past(state(), at->item).kicks;
    }
  } else {
    for (auto at = table.due.lower_bound({*no, queue::Wait::Delay, Time::min(), {}});
         at != table.due.end() && at->queue == *no && at->wait == queue::Wait::Delay &&
         seen < remembered;
         ++at, ++seen) {
      ++ledger_.past(state(), at->item).kicks;
    }
  }
  const Call call = open({.op = Op::Kick});
  if (count > reeve::limits::touched_a_step) kick_ = call;
  if (of_dead) {
    submit(call, queue::Redrive{std::move(name), {}, false, count}, now);
  } else {
    submit(call, queue::Hurry{std::move(name), count, {}}, now);
  }
}

void Connection::kick_job(ItemId id, Stamp now) {
  const queue::Item* item = ledger_.job(state(), id);
  const bool dead = item && item->state == queue::ItemState::Dead;
  const bool delayed =
      item && item->state == queue::ItemState::Pending && item->rest && item->rest->not_before;
  if (!dead && !delayed) return say("NOT_FOUND\r\n");
  const QueueName name = state().queues.queues.find(item->queue)->name;
  if (dead) ledger_.remember_attempts(state(), id, *item);
  ++ledger_.past(state(), id).kicks;
  const Call call = open({.op = Op::KickJob});
  if (dead) {
    submit(call, queue::Redrive{name, {id}, false, {}}, now);
  } else {
    submit(call, queue::Hurry{name, 1, id}, now);
  }
}

void Connection::pause(const Line& line, Stamp now) {
  if (!is_tube_name(line.name)) return say("BAD_FORMAT\r\n");
  if (!ledger_.exists(state(), line.name)) return say("NOT_FOUND\r\n");
  ensure(line.name, now);
  Tube& tube = ledger_.enter(state(), line.name);
  ++tube.pauses;
  tube.pause = seconds{line.delay};
  submit(Open{.op = Op::PauseTube}, queue::Pause{ledger_.queue_of(line.name), tube.pause}, now);
}

void Connection::list_watched() {
  const std::string yaml = list(watched_);
  say(fmt::format("OK {}\r\n{}\r\n", yaml.size(), yaml));
}

void Connection::look(Op op, std::uint64_t id, std::string_view name, Stamp now) {
  ++bodies_;
  const Call call = open({.op = op, .id = id, .text = std::string(name)});
  desk_.query(*this, call, now);
}

}  // namespace reeve::api::beanstalk
