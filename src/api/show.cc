#include "api/show.h"

#include "api/limits.h"
#include "base/match.h"
#include "codec/json_text.h"
#include "core/lease.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace reeve::api {
namespace {

void show_waiter(Tell& tell, const State& state, WaiterId id, bool weight) {
  const grant::Waiter* waiter = state.grants.waiters.find(id);
  if (!waiter) return;
  JsonWriter& json = tell.json.begin_object();
  json.field("holder", waiter->request.holder.name);
  if (weight && !waiter->request.slots.empty()) {
    json.field("weight", waiter->request.slots.front().weight);
  }
  tell.moment("since", waiter->since);
  tell.moment("until", waiter->until);
  const HolderMeta* meta = waiter->request.meta.get();
  if (meta && !meta->label.empty()) json.field("label", meta->label);
  json.end_object();
}

// When the ready item was made that has waited for the longest. Of one priority that is the first
// one; so it is looked at the first of each, and what starves behind more urgent ones is seen.
std::optional<Time> oldest_pending(const State& state, queue::QueueNo no) {
  const PersistentSet<queue::ReadyKey>& ready = state.queues.ready;
  std::optional<Time> oldest;
  auto at = ready.lower_bound({no, 0, {}});
  for (std::size_t looked_at = 0; looked_at < limits::priorities_searched; ++looked_at) {
    if (at == ready.end() || at->queue != no) break;
    const Time made = state.queues.items.find(at->item)->created_at;
    oldest = oldest ? std::min(*oldest, made) : made;
    if (at->below_top == std::numeric_limits<std::uint32_t>::max()) break;
    at = ready.lower_bound({no, at->below_top + 1, {}});
  }
  return oldest;
}

// A lease that is over got no grace: it ended when it ended.
void show_tenure(Tell& tell, const State& state, const lock::Tenure& tenure, bool is_over) {
  tell.json.field("holder", tenure.holder.name).field("token", tenure.lease.token.value);
  tell.moment("acquired_at", tenure.lease.acquired_at);
  // What the daemon itself keeps, for a run, has no heartbeat.
  if (tenure.lease.timeout) tell.moment("last_heartbeat", tenure.lease.last_sign);
  const Time grace = is_over ? tenure.lease.last_sign : state.leases_from;
  tell.moment("expires_at", limit_of(tenure.lease, grace));
  show_meta(tell, tenure.meta);
}

// Not so deep that the answer it stands in is too deep for those who read it.
bool is_json(std::string_view text) {
  codec::JsonCursor cursor(text);
  return cursor.skip_value(limits::json_depth - limits::answer_depth) && cursor.is_at_end();
}

}  // namespace

void show_meta(Tell& tell, const Boxed<HolderMeta>& meta) {
  const About& about = tell.desk().steward().about();
  const HolderMeta* known = meta.get();
  JsonWriter& json = tell.json;
  if (known && !known->label.empty()) json.field("label", known->label);
  json.field("user", known && !known->user.empty() ? known->user : about.user);
  json.field("host", known && !known->host.empty() ? known->host : about.host);
  if (known && known->process) json.field("pid", known->process->pid);
}

std::string_view state_of(const LockName& name,
                          const lock::Lock& lock,
                          const State& state,
                          Time now) {
  return match(
      lock.state,
      [](const lock::Free&) { return "free"; },
      [&](const lock::Held& held) {
        // Of a phase that is being ended: it gives it back when that was observed.
        const pipeline::Hold hold = pipeline::hold_of(state, name, held.tenure.holder);
        if (hold == pipeline::Hold::BeingLeft) return "ending";
        return is_over(held.tenure.lease, state.leases_from, now) ? "stale" : "held";
      },
      [](const lock::Stale&) { return "stale"; },
      [](const lock::Ending&) { return "ending"; });
}

void show_lock(Tell& tell, const State& state, const LockName& name, const lock::Lock& lock) {
  JsonWriter& json = tell.json;
  json.field("name", tell.name(name)).field("state", state_of(name, lock, state, tell.now().now));
  if (const lock::Tenure* tenure = lock::tenure_of(lock)) {
    show_tenure(tell, state, *tenure, !std::holds_alternative<lock::Held>(lock.state));
  }
  json.key("waiters").begin_array();
  std::size_t shown = 0;
  const PersistentSet<grant::LockPlace>& lines = state.grants.lock_lines;
  for (auto at = lines.lower_bound({name, {}}); at != lines.end() && at->name == name; ++at) {
    if (++shown > limits::waiters_shown) break;
    show_waiter(tell, state, at->waiter, false);
  }
  json.end_array().field("waiting", lock.waiting);
}

void show_semaphore(Tell& tell,
                    const State& state,
                    const SemaphoreName& name,
                    const semaphore::Semaphore& semaphore) {
  JsonWriter& json = tell.json;
  json.field("name", tell.name(name)).field("capacity", semaphore.config.capacity);
  json.field("in_use", semaphore.in_use).field("available", semaphore::available(semaphore));
  json.key("holders").begin_array();
  std::size_t shown = 0;
  const auto& slots = state.semaphores.slots;
  for (auto at = slots.lower_bound({name, {}}); at != slots.end() && at->first.name == name; ++at) {
    if (++shown > limits::list_entries) break;
    const semaphore::Slot& slot = at->second;
    const bool over = is_over(slot.lease, state.leases_from, tell.now().now);
    json.begin_object().field("holder", at->first.holder.name).field("weight", slot.weight);
    json.field("token", slot.lease.token.value);
    tell.moment("acquired_at", slot.lease.acquired_at);
    tell.moment("expires_at", limit_of(slot.lease, state.leases_from));
    json.field("state", slot.ending ? "ending" : over ? "stale" : "held");
    show_meta(tell, slot.meta);
    json.end_object();
  }
  json.end_array().key("waiters").begin_array();
  shown = 0;
  const PersistentSet<grant::SlotPlace>& lines = state.grants.slot_lines;
  for (auto at = lines.lower_bound({name, false, {}}); at != lines.end() && at->name == name;
       ++at) {
    if (++shown > limits::waiters_shown) break;
    show_waiter(tell, state, at->waiter, true);
  }
  json.end_array().field("waiting", semaphore.waiting);
}

void show_queue(Tell& tell, const State& state, queue::QueueNo no, const queue::Queue& queue) {
  JsonWriter& json = tell.json;
  const queue::Counts& counts = queue.counts;
  json.field("name", tell.name(queue.name));
  json.field("pending", counts.pending - counts.delayed).field("delayed", counts.delayed);
  json.field("processing", counts.processing).field("completed", counts.completed);
  json.field("dead", counts.dead).field("paused", queue.paused);
  tell.moment("paused_until", queue.paused_until);
  json.key("oldest_pending_age_ms");
  if (const std::optional<Time> since = oldest_pending(state, no)) {
    json.number((tell.now().now - *since).count());
  } else {
    json.null();
  }
  json.field("takers", queue.takers);
  json.field("visibility_ms", queue.config.visibility_timeout.count());
  json.field("max_attempts", queue.config.max_attempts);
  json.field("backoff_first_ms", queue.config.backoff_first.count());
  json.field("backoff_max_ms", queue.config.backoff_max.count());
  json.field("keep_completed", queue.config.keep_completed);
  json.field("keep_completed_ms", queue.config.keep_completed_for.count());
  if (queue.config.keep_dead_for) json.field("keep_dead_ms", queue.config.keep_dead_for->count());
  if (queue.config.dead_letter) json.field("dead_letter", tell.name(*queue.config.dead_letter));
}

void show_data(Tell& tell, const Bytes& data, bool json, bool exactly) {
  const std::string_view bytes = data.view();
  tell.json.key("data");
  if (json) {
    tell.json.raw(bytes);
    return;
  }
  const bool is_text = codec::is_utf8(bytes);
  const bool as_json = is_text && is_json(bytes);
  if (as_json) {
    // A line of ours is one line; within JSON a line's end is a space like others.
    std::string line(bytes);
    std::ranges::replace_if(
        line, [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
    tell.json.raw(line);
  } else if (is_text) {
    tell.json.text(bytes);
  } else {
    tell.json.begin_object().key("base64").plain(codec::to_base64(bytes)).end_object();
  }
  tell.json.key("bytes").plain(as_json ? "json" : is_text ? "text" : "base64");
  if (as_json && exactly) tell.json.key("base64").plain(codec::to_base64(bytes));
}

std::string_view state_of(const queue::Item& item) {
  switch (item.state) {
    case queue::ItemState::Pending:
      return item.rest && item.rest->not_before ? "delayed" : "pending";
    case queue::ItemState::Processing:
      return "processing";
    case queue::ItemState::Completed:
      return "completed";
    case queue::ItemState::Dead:
      return "dead";
  }
  return "";
}

void show_item(Tell& tell, const State& state, ItemId id, const queue::Item& item, bool in_list) {
  JsonWriter& json = tell.json;
  json.key("id").plain(to_text(id));
  json.field("queue", tell.name(state.queues.queues.find(item.queue)->name));
  json.field("state", state_of(item));
  if (in_list && item.data.size() > limits::list_data_bytes) {
    json.field("data_bytes", item.data.size());
  } else {
    show_data(tell, item.data, item.json, !in_list);
  }
  json.field("priority", item.priority).field("attempts", item.attempts);
  tell.moment("created_at", item.created_at);
  const queue::Rest* rest = item.rest.get();
  if (!rest) return;
  tell.moment("not_before", rest->not_before);
  if (item.state == queue::ItemState::Processing && rest->claim) {
    const queue::Claim& claim = *rest->claim;
    json.field("holder", claim.holder.name).field("claim", claim.token.value);
    tell.moment("taken_at", claim.taken_at);
    if (claim.visibility) {
      tell.moment("visible_at",
                  saturating_add(std::max(claim.last_sign, state.leases_from), *claim.visibility));
    }
    show_meta(tell, claim.meta);
  }
  if (!rest->last_error.empty()) json.field("last_error", rest->last_error);
  if (!rest->reason.empty()) json.field("reason", rest->reason);
  if (rest->origin) json.field("origin", tell.name(*rest->origin));
  if (!rest->dedupe_key.empty()) json.field("dedupe", rest->dedupe_key);
  tell.moment("ended_at", rest->ended_at);
}

}  // namespace reeve::api
