#include "api/why.h"

#include "api/limits.h"
#include "api/paging.h"
#include "api/queue_list.h"
#include "api/show.h"
#include "base/match.h"
#include "core/grant.h"
#include "core/lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace reeve::api {
namespace {

// A chain is shown this far; whoever reads more of it has another problem.
constexpr std::size_t longest_chain = 32;
constexpr std::size_t claims_shown = 10;

// Whole seconds, for sentences.
std::string ago(Time then, Time now) {
  const auto lapse = std::max(now - then, Duration{0});
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(lapse));
}

std::string_view words_for(custody::Cause cause) {
  switch (cause) {
    case custody::Cause::Silent:
      return "it was silent for too long";
    case custody::Cause::MaxHold:
      return "it held it for too long";
    case custody::Cause::Forced:
      return "somebody forced it";
    case custody::Cause::Cancelled:
      return "its connection ended";
  }
  return "";
}

struct Next {
  std::string what;
  std::optional<Time> at;
};

class Chain {
 public:
  Chain(Tell& tell, const State& state) : tell_(tell), state_(state), now_(tell.now().now) {}

  void begin() { tell_.json.key("waiting_on").begin_array(); }
  void end() { tell_.json.end_array(); }

  void lock(const LockName& name) {
    const lock::Lock* found = state_.locks.locks.find(name);
    const lock::Tenure* tenure = found ? lock::tenure_of(*found) : nullptr;
    if (!tenure || !is_first("lock", name.project, name.name)) return;
    std::string detail = match(
        found->state,
        [](const lock::Free&) { return std::string(); },
        [&](const lock::Held&) {
          return is_over(tenure->lease, state_.leases_from, now_)
                     ? std::string("its holder fell silent; whoever asks next gets it")
                     : fmt::format("held for {}, last heartbeat {} ago",
                                   ago(tenure->lease.acquired_at, now_),
                                   ago(tenure->lease.last_sign, now_));
        },
        [&](const lock::Stale& stale) {
          return fmt::format("stale for {}; whoever asks next gets it", ago(stale.since, now_));
        },
        [&](const lock::Ending& ending) {
          return fmt::format("the process of its holder is being ended, for {}",
                             words_for(ending.cause));
        });
    entry(
        "lock", tell_.name(name), &tenure->holder, tenure->lease.acquired_at, detail, tenure->meta);
    waits_of(tenure->holder);
  }

  void semaphore(const SemaphoreName& name) {
    if (!is_first("sem", name.project, name.name)) return;
    const auto& slots = state_.semaphores.slots;
    const semaphore::Semaphore* found = state_.semaphores.semaphores.find(name);
    if (!found) return;
    std::vector<Holder> holders;
    for (auto at = slots.lower_bound({name, {}}); at != slots.end() && at->first.name == name;
         ++at) {
      const auto& [key, slot] = *at;
      if (!entry("sem",
                 tell_.name(name),
                 &key.holder,
                 slot.lease.acquired_at,
                 slot.ending ? fmt::format("the process of its holder is being ended, for {}",
                                           words_for(*slot.ending))
                             : fmt::format("has {} of {}", slot.weight, found->config.capacity),
                 slot.meta)) {
        return;
      }
      holders.push_back(key.holder);
    }
    for (const Holder& holder : holders) waits_of(holder);
  }

  // A claim on an item, and what its holder waits for.
  void claim(ItemId id, const queue::Item& item) {
    const queue::Claim& held = *item.rest->claim;
    const std::string detail =
        held.ending != queue::Ending::No
            ? std::string("the process of its holder is being ended")
            : fmt::format(
                  "being processed for {}, attempt {}", ago(held.taken_at, now_), item.attempts);
    entry("item", to_text(id), &held.holder, held.taken_at, detail, held.meta);
    waits_of(held.holder);
  }

  void fact(std::string_view kind, std::string_view name, Time since, std::string_view detail) {
    entry(kind, name, nullptr, since, detail, {});
  }

 private:
  bool is_first(std::string_view kind, ProjectNo project, const std::string& name) {
    return seen_.emplace(std::string(kind), project, name).second;
  }

  bool entry(std::string_view kind,
             std::string_view name,
             const Holder* holder,
             Time since,
             std::string_view detail,
             const Boxed<HolderMeta>& meta) {
    if (++shown_ > longest_chain) return false;
    JsonWriter& json = tell_.json.begin_object().field("kind", kind).field("name", name);
    if (holder) json.field("holder", holder->name);
    tell_.moment("since", since);
    json.field("detail", detail);
    if (meta && meta->process) json.field("pid", meta->process->pid);
    if (meta && !meta->label.empty()) json.field("label", meta->label);
    if (meta && !meta->host.empty()) json.field("host", meta->host);
    json.end_object();
    return true;
  }

  // What stands in the way of the waits of this holder: each of them is waited for, too.
  void waits_of(const Holder& holder) {
    if (shown_ > longest_chain) return;
    for (const WaiterId id : grant::waits_of(state_.grants, holder)) {
      const grant::Waiter* waiter = state_.grants.waiters.find(id);
      if (!waiter) continue;
      for (const grant::LockWant& want : waiter->request.locks) lock(want.name);
      for (const grant::SlotWant& want : waiter->request.slots) semaphore(want.name);
    }
  }

  Tell& tell_;
  const State& state_;
  Time now_;
  std::size_t shown_ = 0;
  std::set<std::tuple<std::string, ProjectNo, std::string>> seen_;
};

void tell_next(Tell& tell, const std::optional<Next>& next) {
  if (!next) return;
  tell.json.key("next").begin_object().field("what", next->what);
  tell.moment("at", next->at);
  tell.json.end_object();
}

template <class Line, class First, class IsOfLine>
std::vector<WaiterId> show_line(
    Tell& tell, const State& state, const Line& line, const First& first, IsOfLine is_of_line) {
  std::vector<WaiterId> waiters;
  tell.json.key("line").begin_array();
  for (auto at = line.lower_bound(first); at != line.end() && is_of_line(*at); ++at) {
    if (waiters.size() == limits::waiters_shown) break;
    waiters.push_back(at->waiter);
    const grant::Waiter* waiter = state.grants.waiters.find(at->waiter);
    if (!waiter) continue;
    tell.json.begin_object().field("holder", waiter->request.holder.name);
    tell.moment("since", waiter->since);
    tell.moment("until", waiter->until);
    if (!session::is_here(state, waiter->request.session)) tell.json.field("away", true);
    tell.json.end_object();
  }
  tell.json.end_array();
  return waiters;
}

std::string holder_of(const State& state, WaiterId id) {
  const grant::Waiter* waiter = state.grants.waiters.find(id);
  return waiter ? waiter->request.holder.name : std::string();
}

// The line waits for its head for a while, if that lost its connection by a restart.
std::optional<Next> next_of_absent(const State& state, WaiterId id) {
  const grant::Waiter* waiter = state.grants.waiters.find(id);
  if (!waiter || session::is_here(state, waiter->request.session)) return std::nullopt;
  const session::Session* away = state.sessions.sessions.find(waiter->request.session);
  if (!away || !away->awaited_until) return std::nullopt;
  return Next{fmt::format("{}, the first in line, is away and loses its place",
                          waiter->request.holder.name),
              away->awaited_until};
}

std::optional<Next> next_of_process(const State& state, const Boxed<HolderMeta>& meta) {
  if (!meta || !meta->process) return std::nullopt;
  const custody::Ending* ending = state.custody.endings.find(*meta->process);
  if (!ending) return std::nullopt;
  if (ending->decision) {
    return Next{fmt::format("process {} could not be ended, and somebody is asked: see `reeve "
                            "decision list`",
                            meta->process->pid),
                std::nullopt};
  }
  return Next{
      fmt::format("if process {} is still there then, somebody is asked", meta->process->pid),
      saturating_add(ending->since, reeve::limits::observe_end)};
}

std::optional<Next> next_of_lock(const State& state,
                                 const lock::Lock& lock,
                                 const std::vector<WaiterId>& line,
                                 Time now) {
  const lock::Tenure* tenure = lock::tenure_of(lock);
  if (!tenure) return line.empty() ? std::nullopt : next_of_absent(state, line.front());
  if (std::holds_alternative<lock::Ending>(lock.state)) return next_of_process(state, tenure->meta);
  if (is_over(tenure->lease, state.leases_from, now)) return std::nullopt;
  const std::optional<Time> limit = over_at(tenure->lease, state.leases_from);
  if (!limit) return std::nullopt;
  const std::string& holder = tenure->holder.name;
  if (line.empty())
    return Next{fmt::format("it is stale unless {} gives a heartbeat", holder), limit};
  return Next{
      fmt::format(
          "it goes to {} unless {} gives a heartbeat", holder_of(state, line.front()), holder),
      limit};
}

}  // namespace

void why_lock(Tell& tell, const State& state, const LockName& name) {
  const lock::Lock* found = state.locks.locks.find(name);
  tell.result().field("id", tell.name(name)).field("kind", "lock");
  Chain chain(tell, state);
  chain.begin();
  chain.lock(name);
  chain.end();
  const std::vector<WaiterId> line = show_line(
      tell, state, state.grants.lock_lines, grant::LockPlace{name, {}}, [&](const auto& at) {
        return at.name == name;
      });
  tell_next(tell, found ? next_of_lock(state, *found, line, tell.now().now) : std::nullopt);
}

void why_semaphore(Tell& tell, const State& state, const SemaphoreName& name) {
  tell.result().field("id", tell.name(name)).field("kind", "sem");
  Chain chain(tell, state);
  chain.begin();
  chain.semaphore(name);
  chain.end();
  const std::vector<WaiterId> line = show_line(
      tell, state, state.grants.slot_lines, grant::SlotPlace{name, false, {}}, [&](const auto& at) {
        return at.name == name;
      });
  std::optional<Next> next;
  if (!line.empty()) next = next_of_absent(state, line.front());
  const auto due = state.semaphores.due.lower_bound({name, Time::min(), {}});
  if (!next && due != state.semaphores.due.end() && due->name == name) {
    const semaphore::Slot* slot = state.semaphores.slots.find({name, due->holder});
    next = Next{fmt::format("what {} has is free unless it gives a heartbeat", due->holder.name),
                slot ? over_at(slot->lease, state.leases_from) : std::optional(due->due)};
  }
  tell_next(tell, next);
}

// ── Queues ──

namespace {

std::optional<queue::DueKey> first_due(const State& state, queue::QueueNo no, queue::Wait wait) {
  const auto at = state.queues.due.lower_bound({no, wait, Time::min(), {}});
  if (at == state.queues.due.end() || at->queue != no || at->wait != wait) return std::nullopt;
  return *at;
}

std::optional<Next> next_of_queue(const State& state,
                                  queue::QueueNo no,
                                  const queue::Queue& queue) {
  std::optional<Next> next;
  const auto consider = [&](std::string what, std::optional<Time> at) {
    if (at && (!next || *at < *next->at)) next = Next{std::move(what), at};
  };
  consider("the queue goes on", queue.paused_until);
  if (const auto delay = first_due(state, no, queue::Wait::Delay)) {
    consider(fmt::format("{} is ready", to_text(delay->item)), delay->due);
  }
  if (const auto claim = first_due(state, no, queue::Wait::Claim)) {
    const queue::Item& item = *state.queues.items.find(claim->item);
    consider(fmt::format("{} is taken back from {} unless that extends its claim",
                         to_text(claim->item),
                         item.rest->claim->holder.name),
             claim->due);
  }
  return next;
}

void show_takers(Tell& tell, const State& state, queue::QueueNo no) {
  tell.json.key("line").begin_array();
  std::size_t shown = 0;
  const PersistentSet<queue::TakerPlace>& lines = state.queues.lines;
  for (auto at = lines.lower_bound({no, {}}); at != lines.end() && at->queue == no; ++at) {
    const queue::Taker* taker = state.queues.takers.find(at->waiter);
    if (!taker || ++shown > limits::waiters_shown) break;
    tell.json.begin_object().field("holder", taker->holder.name);
    tell.moment("since", taker->since);
    tell.moment("until", taker->until);
    if (!session::is_here(state, taker->session)) tell.json.field("away", true);
    tell.json.end_object();
  }
  tell.json.end_array();
}

void fact_of_pause(Chain& chain, const std::string& name, const queue::Queue& queue, Time now) {
  if (!queue.paused) return;
  const std::string by = queue.paused_by
                             ? " because " + to_text(queue.paused_by) + " failed too often"
                             : std::string();
  chain.fact("queue", name, now, fmt::format("paused{}; try `reeve queue resume {}`", by, name));
}

}  // namespace

void why_queue(Tell& tell, const State& state, queue::QueueNo no) {
  const queue::Queue& queue = *state.queues.queues.find(no);
  const std::string name = tell.name(queue.name);
  const Time now = tell.now().now;
  tell.result().field("id", name).field("kind", "queue");
  Chain chain(tell, state);
  chain.begin();
  fact_of_pause(chain, name, queue, now);
  const std::uint64_t ready = queue.counts.pending - queue.counts.delayed;
  if (const ItemId first = first_ready(state, no); first && !queue.paused && queue.takers == 0) {
    chain.fact(
        "queue",
        name,
        state.queues.items.find(first)->created_at,
        fmt::format("{} ready, and nobody takes them; try `reeve queue take {}`", ready, name));
  }
  std::size_t claims = 0;
  for (auto at = state.queues.due.lower_bound({no, queue::Wait::Claim, Time::min(), {}});
       at != state.queues.due.end() && at->queue == no && ++claims <= claims_shown;
       ++at) {
    chain.claim(at->item, *state.queues.items.find(at->item));
  }
  chain.end();
  show_takers(tell, state, no);
  tell_next(tell, next_of_queue(state, no, queue));
}

void why_item(Tell& tell, const State& state, ItemId id) {
  const queue::Item& item = *state.queues.items.find(id);
  const queue::Queue& queue = *state.queues.queues.find(item.queue);
  const std::string name = tell.name(queue.name);
  const Time now = tell.now().now;
  tell.result().key("id").plain(to_text(id)).field("kind", "item").field("queue", name);
  tell.json.field("state", state_of(item));
  std::optional<Next> next;
  Chain chain(tell, state);
  chain.begin();
  switch (item.state) {
    case queue::ItemState::Pending:
      fact_of_pause(chain, name, queue, now);
      if (item.rest && item.rest->not_before) {
        next = Next{"it is ready", item.rest->not_before};
        const std::string why =
            item.rest->last_error.empty()
                ? std::string("delayed")
                : fmt::format("rests after it failed: {}", item.rest->last_error);
        chain.fact("item", to_text(id), item.created_at, why);
      } else {
        // Those before it, as far as counting is worth it.
        std::size_t before = 0;
        const auto& order = state.queues.ready;
        for (auto at = order.lower_bound({item.queue, 0, {}});
             at != order.end() && at->item != id && before < limits::prefix_search;
             ++at) {
          ++before;
        }
        chain.fact("queue",
                   name,
                   item.created_at,
                   before == 0
                       ? fmt::format("the next to be taken; {} wait for items", queue.takers)
                       : fmt::format("{} are before it", before));
        tell.json.end_array().field("place", before + 1);
        show_takers(tell, state, item.queue);
        return tell_next(tell, next_of_queue(state, item.queue, queue));
      }
      break;
    case queue::ItemState::Processing: {
      chain.claim(id, item);
      const queue::Claim& held = *item.rest->claim;
      next = next_of_process(state, held.meta);
      if (!next && held.visibility) {
        next = Next{
            fmt::format("it is taken back from {} unless that extends its claim", held.holder.name),
            saturating_add(std::max(held.last_sign, state.leases_from), *held.visibility)};
      }
      break;
    }
    case queue::ItemState::Completed:
      chain.fact("item", to_text(id), item.rest->ended_at.value_or(now), "it is done");
      break;
    case queue::ItemState::Dead:
      chain.fact(
          "item",
          to_text(id),
          item.rest->ended_at.value_or(now),
          fmt::format(
              "dead: {}; try `reeve queue redrive {} {}`", item.rest->reason, name, to_text(id)));
      break;
  }
  chain.end();
  tell.json.key("line").begin_array().end_array();
  tell_next(tell, next);
}

std::vector<std::string_view> kinds_of(const State& state,
                                       std::string_view text,
                                       ProjectNo project) {
  std::vector<std::string_view> kinds;
  if (state.locks.locks.contains(name_written<LockName>(text, project))) kinds.push_back("lock");
  if (state.semaphores.semaphores.contains(name_written<SemaphoreName>(text, project))) {
    kinds.push_back("sem");
  }
  if (state.queues.names.contains(name_written<QueueName>(text, project))) kinds.push_back("queue");
  const std::optional<ItemId> item = parse_id<ItemId>(text);
  if (item && state.queues.items.contains(*item)) kinds.push_back("item");
  return kinds;
}

}  // namespace reeve::api
