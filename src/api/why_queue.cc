#include "api/limits.h"
#include "api/queue_list.h"
#include "api/show.h"
#include "api/show_run.h"
#include "api/why.h"
#include "api/why_chain.h"
#include "codec/shell_word.h"
#include "core/lease.h"
#include "core/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace reeve::api {
namespace {

using std::chrono::seconds;

constexpr std::size_t claims_shown = 10;

std::optional<queue::DueKey> first_due(const State& state, queue::QueueNo no, queue::Wait wait) {
  const auto at = state.queues.due.lower_bound({no, wait, Time::min(), {}});
  if (at == state.queues.due.end() || at->queue != no || at->wait != wait) return std::nullopt;
  return *at;
}

std::optional<Next> next_of_claim(const State& state,
                                  const queue::Claim& claim,
                                  std::string_view item,
                                  Time now) {
  const std::optional<Time> limit = over_at(queue::lease_of(claim), state.leases_from);
  if (!limit) return std::nullopt;
  return next_of_lease(
      fmt::format(
          "{} is taken back from {} unless that extends its claim", item, claim.holder.name),
      *limit,
      now);
}

std::optional<Next> next_of_queue(const State& state,
                                  queue::QueueNo no,
                                  const queue::Queue& queue,
                                  Time now) {
  std::optional<Next> next;
  if (queue.paused_until) next = Next{"the queue goes on", queue.paused_until};
  // While it is paused nobody gets what is ready.
  const auto delay = queue.paused ? std::nullopt : first_due(state, no, queue::Wait::Delay);
  if (delay) {
    next = sooner(next, Next{fmt::format("{} is ready", to_text(delay->item)), delay->due});
  }
  if (const auto claim = first_due(state, no, queue::Wait::Claim)) {
    const queue::Item& item = *state.queues.items.find(claim->item);
    next = sooner(next, next_of_claim(state, *item.rest->claim, to_text(claim->item), now));
  }
  // Whoever is away is one of many, and all of them are for the same time.
  std::size_t searched = 0;
  for (auto at = state.queues.due.lower_bound({no, queue::Wait::Claim, Time::min(), {}});
       at != state.queues.due.end() && at->queue == no && at->wait == queue::Wait::Claim &&
       ++searched <= limits::list_entries;
       ++at) {
    const Holder& holder = state.queues.items.find(at->item)->rest->claim->holder;
    if (auto away = next_of_away(state, holder, to_text(at->item))) {
      return sooner(next, std::move(away));
    }
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
    const HolderMeta* meta = taker->meta.get();
    if (meta && !meta->label.empty()) tell.json.field("label", meta->label);
    tell.json.end_object();
  }
  tell.json.end_array();
}

// Since when it is paused nobody keeps; what waits for it to go on knows since when it does.
// What is asked of people about the item that paused it stands beside it.
void fact_of_pause(Chain& chain,
                   const State& state,
                   const std::string& name,
                   const queue::Queue& queue,
                   std::optional<Time> since,
                   Time now) {
  if (!queue.paused) return;
  const std::string by = queue.paused_by
                             ? " because " + to_text(queue.paused_by) + " failed too often"
                             : std::string();
  const auto left = std::max(queue.paused_until.value_or(now) - now, Duration{0});
  const std::string until =
      queue.paused_until
          ? fmt::format(", for another {}", format_duration(std::chrono::ceil<seconds>(left)))
          : std::string();
  chain.fact(
      "queue",
      name,
      since,
      fmt::format("paused{}{}; try `reeve queue resume {}`", by, until, codec::shell_word(name)));
  const DecisionId* asked = state.decisions.open_of.find(decision::ItemOwner{queue.paused_by});
  if (!asked) return;
  const decision::Decision& decision = *state.decisions.decisions.find(*asked);
  chain.fact("decision", to_text(*asked), decision.opened_at, question_in_words(*asked, decision));
}

// Those who wait for a queue that is paused, the first of them.
std::optional<Time> waits_since(const State& state, queue::QueueNo no) {
  if (const ItemId first = first_ready(state, no)) {
    return state.queues.items.find(first)->created_at;
  }
  const auto line = state.queues.lines.lower_bound({no, {}});
  if (line == state.queues.lines.end() || line->queue != no) return std::nullopt;
  const queue::Taker* taker = state.queues.takers.find(line->waiter);
  return taker ? std::optional(taker->since) : std::nullopt;
}

// A pending item: what must happen before it can be taken.
std::optional<Next> next_of_ready(const State& state, const queue::Item& item) {
  const queue::Queue& queue = *state.queues.queues.find(item.queue);
  if (!queue.paused || !queue.paused_until) return std::nullopt;  // until somebody takes it
  return Next{"the queue goes on", queue.paused_until};
}

}  // namespace

void tell_failing_source(Tell& tell,
                         Chain& chain,
                         const WorkerName& name,
                         const worker::Worker& worker) {
  if (worker.poll_error.empty()) return;
  chain.fact("worker",
             tell.name(name),
             worker.polls_fail_since.value_or(tell.now().now),
             fmt::format("the source of {} fails: {}", tell.name(worker.queue), worker.poll_error));
}

void why_queue(Tell& tell, const State& state, queue::QueueNo no) {
  const queue::Queue& queue = *state.queues.queues.find(no);
  const std::string name = tell.name(queue.name);
  const Time now = tell.now().now;
  tell.result().field("id", name).field("kind", "queue");
  Chain chain(tell, state);
  chain.begin();
  fact_of_pause(chain, state, name, queue, waits_since(state, no), now);
  const PersistentSet<worker::QueueWorker>& workers = state.workers.by_queue;
  for (auto at = workers.lower_bound({queue.name, {}});
       at != workers.end() && at->queue == queue.name;
       ++at) {
    tell_failing_source(tell, chain, at->worker, *state.workers.workers.find(at->worker));
  }
  const std::uint64_t ready = queue.counts.pending - queue.counts.delayed;
  if (const ItemId first = first_ready(state, no); first && !queue.paused && queue.takers == 0) {
    chain.fact("queue",
               name,
               state.queues.items.find(first)->created_at,
               fmt::format("{} ready, and nobody takes them; try `reeve queue take {}`",
                           ready,
                           codec::shell_word(name)));
  }
  std::size_t claims = 0;
  for (auto at = state.queues.due.lower_bound({no, queue::Wait::Claim, Time::min(), {}});
       at != state.queues.due.end() && at->queue == no && ++claims <= claims_shown;
       ++at) {
    chain.claim(at->item, *state.queues.items.find(at->item));
  }
  chain.end();
  show_takers(tell, state, no);
  tell_next(tell, next_of_queue(state, no, queue, now));
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
      fact_of_pause(chain, state, name, queue, item.created_at, now);
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
        const bool is_asked_for = queue.paused || queue.takers > 0;
        chain.fact("queue",
                   name,
                   item.created_at,
                   before > 0     ? fmt::format("{} are before it", before)
                   : is_asked_for ? "the next to be taken"
                                  : fmt::format("the next to be taken, and nobody asks for it; try "
                                                "`reeve queue take {}`",
                                                codec::shell_word(name)));
        tell.json.end_array().field("place", before + 1);
        show_takers(tell, state, item.queue);
        return tell_next(tell, next_of_ready(state, item));
      }
      break;
    case queue::ItemState::Processing: {
      chain.claim(id, item);
      const queue::Claim& held = *item.rest->claim;
      next = next_of_process(state, held.meta);
      if (!next) {
        next = sooner(next_of_away(state, held.holder), next_of_claim(state, held, "it", now));
      }
      break;
    }
    case queue::ItemState::Completed:
      chain.fact("item", to_text(id), item.rest->ended_at.value_or(now), "it is done");
      break;
    case queue::ItemState::Dead:
      chain.fact("item",
                 to_text(id),
                 item.rest->ended_at.value_or(now),
                 fmt::format("dead: {}; try `reeve queue redrive {} {}`",
                             item.rest->reason,
                             codec::shell_word(name),
                             to_text(id)));
      break;
  }
  chain.end();
  tell.json.key("line").begin_array().end_array();
  tell_next(tell, next);
}

}  // namespace reeve::api
