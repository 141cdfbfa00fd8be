#include "api/why_chain.h"

#include "api/limits.h"
#include "base/match.h"
#include "core/grant.h"
#include "core/lease.h"
#include "core/limits.h"
#include "core/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace reeve::api {
namespace {

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

}  // namespace

std::string ago(Time then, Time now) {
  const auto lapse = std::max(now - then, Duration{0});
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(lapse));
}

void Chain::lock(const LockName& name) {
  const lock::Lock* found = state_.locks.locks.find(name);
  const lock::Tenure* tenure = found ? lock::tenure_of(*found) : nullptr;
  if (!is_first("lock", name.project, name.name)) return;
  if (!tenure) return kept(name);
  std::string detail = match(
      found->state,
      [](const lock::Free&) { return std::string(); },
      [&](const lock::Held&) {
        const Lease& lease = tenure->lease;
        if (is_over(lease, state_.leases_from, now_)) {
          return std::string("its holder fell silent; whoever asks next gets it");
        }
        std::string held = fmt::format("held for {}", ago(lease.acquired_at, now_));
        // What the daemon itself keeps, for a run, has no heartbeat.
        if (!lease.timeout) return held;
        return fmt::format("{}, last heartbeat {} ago", held, ago(lease.last_sign, now_));
      },
      [&](const lock::Stale& stale) {
        return fmt::format("stale for {}; whoever asks next gets it", ago(stale.since, now_));
      },
      [&](const lock::Ending& ending) {
        return fmt::format("the process of its holder is being ended, for {}",
                           words_for(ending.cause));
      });
  entry("lock", tell_.name(name), &tenure->holder, tenure->lease.acquired_at, detail, tenure->meta);
  behind(tenure->holder);
}

// A free lock with a line is kept for the first in it, who waits for something else as well.
void Chain::kept(const LockName& name) {
  const auto first = state_.grants.lock_lines.lower_bound(grant::LockPlace{name, {}});
  if (first == state_.grants.lock_lines.end() || first->name != name) return;
  const grant::Waiter* waiter = state_.grants.waiters.find(first->waiter);
  if (!waiter) return;
  const Holder holder = waiter->request.holder;
  // It is not what keeps that one itself.
  if (waiting_ && holder == pipeline::holder_of(*waiting_)) return;
  fact("lock",
       tell_.name(name),
       waiter->since,
       fmt::format("free, and kept for {}, who waits for more than that", holder.name));
  behind(holder);
}

void Chain::semaphore(const SemaphoreName& name) {
  if (!is_first("sem", name.project, name.name)) return;
  const auto& slots = state_.semaphores.slots;
  const semaphore::Semaphore* found = state_.semaphores.semaphores.find(name);
  if (!found) return;
  const auto first = slots.lower_bound({name, {}});
  std::size_t holders = 0;
  for (auto at = first; at != slots.end() && at->first.name == name; ++at) ++holders;
  for (auto at = first; at != slots.end() && at->first.name == name; ++at) {
    const auto& [key, slot] = *at;
    if (!entry("sem",
               tell_.name(name),
               &key.holder,
               slot.lease.acquired_at,
               slot.ending ? fmt::format("the process of its holder is being ended, for {}",
                                         words_for(*slot.ending))
                           : fmt::format("has {} of {}", slot.weight, found->config.capacity),
               slot.meta,
               holders)) {
      return;
    }
    behind(key.holder);
  }
}

void Chain::claim(ItemId id, const queue::Item& item) {
  const queue::Claim& held = *item.rest->claim;
  const std::string detail =
      held.ending != queue::Ending::No
          ? std::string("the process of its holder is being ended")
          : fmt::format(
                "being processed for {}, attempt {}", ago(held.taken_at, now_), item.attempts);
  entry("item", to_text(id), &held.holder, held.taken_at, detail, held.meta);
  behind(held.holder);
}

void Chain::fact(std::string_view kind,
                 std::string_view name,
                 std::optional<Time> since,
                 std::string_view detail) {
  entry(kind, name, nullptr, since, detail, {});
}

bool Chain::is_first(std::string_view kind, ProjectNo project, const std::string& name) {
  return seen_.emplace(std::string(kind), project, name).second;
}

bool Chain::entry(std::string_view kind,
                  std::string_view name,
                  const Holder* holder,
                  std::optional<Time> since,
                  std::string_view detail,
                  const Boxed<HolderMeta>& meta,
                  std::size_t holders) {
  if (++shown_ > limits::chain_entries) return false;
  JsonWriter& json = tell_.json.begin_object().field("kind", kind).field("name", name);
  if (holder) json.field("holder", holder->name);
  if (holders > 0) json.field("holders", holders);
  json.field("depth", depth_);
  waiter();
  tell_.moment("since", since);
  json.field("detail", detail);
  if (meta && meta->process) json.field("pid", meta->process->pid);
  if (meta && !meta->label.empty()) json.field("label", meta->label);
  if (meta && !meta->host.empty()) json.field("host", meta->host);
  json.end_object();
  return true;
}

// Of several who wait below one it matters which.
void Chain::waiter() {
  if (!waiting_) return;
  tell_.json.key("waiter").plain(to_text(waiting_->id));
  tell_.json.field("waiter_name", waiting_->origin->name);
}

void Chain::behind(const Holder& holder) {
  const pipeline::Pipeline* const waiting = std::exchange(waiting_, nullptr);
  ++depth_;
  waits_of(holder);
  --depth_;
  waiting_ = waiting;
}

// Of the slots that somebody waits for: those that there is no room for, or another comes before.
void Chain::wanted_slots(WaiterId id, const grant::Waiter& waiter) {
  for (const grant::SlotWant& want : waiter.request.slots) {
    const semaphore::Semaphore* found = state_.semaphores.semaphores.find(want.name);
    const auto first = state_.grants.slot_lines.lower_bound({want.name, false, {}});
    const bool is_first =
        first != state_.grants.slot_lines.end() && first->name == want.name && first->waiter == id;
    if (found && is_first && semaphore::available(*found) >= want.weight) continue;
    semaphore(want.name);
  }
}

// What stands in the way of the waits of this holder: each of them is waited for, too.
void Chain::waits_of(const Holder& holder) {
  if (shown_ > limits::chain_entries) return;
  // What a pipeline holds it holds for its phase, and what that does is the answer.
  if (const auto id = parse_id<PipelineId>(holder.name)) return pipeline(*id);
  for (const WaiterId id : grant::waits_of(state_.grants, holder)) {
    const grant::Waiter* waiter = state_.grants.waiters.find(id);
    if (!waiter) continue;
    for (const grant::LockWant& want : waiter->request.locks) lock(want.name);
    wanted_slots(id, *waiter);
  }
}

void tell_next(Tell& tell, const std::optional<Next>& next) {
  if (!next) return;
  tell.json.key("next").begin_object().field("what", next->what);
  tell.moment("at", next->at);
  tell.json.end_object();
}

std::optional<Next> next_of_away(const State& state, const Holder& holder, std::string_view what) {
  const session::Session* away = state.sessions.sessions.find(holder.session);
  if (!away || !away->awaited_until) return std::nullopt;
  return Next{fmt::format("{} is away and loses {} unless it comes back", holder.name, what),
              away->awaited_until};
}

std::optional<Next> next_of_lease(std::string what, Time at, Time now) {
  if (at - now > longer_than_any_process) return std::nullopt;
  return Next{std::move(what), at};
}

std::optional<Next> sooner(std::optional<Next> one, std::optional<Next> other) {
  if (!one || !other) return one ? one : other;
  if (!one->at || !other->at) return one->at ? one : other;
  return *other->at < *one->at ? other : one;
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

}  // namespace reeve::api
