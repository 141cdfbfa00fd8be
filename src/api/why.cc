#include "api/why.h"

#include "api/ids.h"
#include "api/limits.h"
#include "api/paging.h"
#include "api/why_chain.h"
#include "core/grant.h"
#include "core/lease.h"
#include "core/session.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace reeve::api {
namespace {

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

// A run has what its phase holds until that ends, at the latest at its `max_hold`.
std::optional<Next> next_of_run(const State& state, const Holder& holder) {
  const std::optional<PipelineId> id = parse_id<PipelineId>(holder.name);
  const pipeline::Pipeline* run = id ? state.pipelines.pipelines.find(*id) : nullptr;
  if (!run || !run->holding.until) return std::nullopt;
  return Next{
      fmt::format("{} has held it for too long (max_hold), and its phase is ended", holder.name),
      run->holding.until};
}

std::optional<Next> next_of_lock(const State& state,
                                 const LockName& name,
                                 const std::vector<WaiterId>& line,
                                 Time now) {
  const lock::Lock* lock = state.locks.locks.find(name);
  if (!lock) return std::nullopt;
  const lock::Tenure* tenure = lock::tenure_of(*lock);
  if (!tenure) return line.empty() ? std::nullopt : next_of_absent(state, line.front());
  if (std::holds_alternative<lock::Ending>(lock->state)) {
    return next_of_process(state, tenure->meta);
  }
  if (is_over(tenure->lease, state.leases_from, now)) return std::nullopt;
  const std::optional<Time> limit = over_at(tenure->lease, state.leases_from);
  if (!limit) return next_of_run(state, tenure->holder);
  const std::string& holder = tenure->holder.name;
  if (line.empty())
    return Next{fmt::format("without a heartbeat of {} it is stale", holder), limit};
  return Next{
      fmt::format(
          "without a heartbeat of {} it goes to {}", holder, holder_of(state, line.front())),
      limit};
}

std::optional<Next> next_of_semaphore(const State& state,
                                      const SemaphoreName& name,
                                      const std::vector<WaiterId>& line) {
  if (!line.empty()) {
    if (auto next = next_of_absent(state, line.front())) return next;
  }
  const auto due = state.semaphores.due.lower_bound({name, Time::min(), {}});
  if (due != state.semaphores.due.end() && due->name == name) {
    const semaphore::Slot* slot = state.semaphores.slots.find({name, due->holder});
    return Next{fmt::format("without a heartbeat of {} what it has is free", due->holder.name),
                slot ? over_at(slot->lease, state.leases_from) : std::optional(due->due)};
  }
  std::optional<Next> first;
  const auto& slots = state.semaphores.slots;
  for (auto at = slots.lower_bound({name, {}}); at != slots.end() && at->first.name == name; ++at) {
    const std::optional<Next> next = next_of_run(state, at->first.holder);
    if (next && (!first || *next->at < *first->at)) first = next;
  }
  return first;
}

std::vector<WaiterId> show_line(Tell& tell, const State& state, const LockName& name) {
  return show_line(
      tell, state, state.grants.lock_lines, grant::LockPlace{name, {}}, [&](const auto& at) {
        return at.name == name;
      });
}

std::vector<WaiterId> show_line(Tell& tell, const State& state, const SemaphoreName& name) {
  return show_line(
      tell, state, state.grants.slot_lines, grant::SlotPlace{name, false, {}}, [&](const auto& at) {
        return at.name == name;
      });
}

// Its place among those who are shown, from 1; 0: it is further back.
std::size_t place_of(const State& state, const std::vector<WaiterId>& line, PipelineId run) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const grant::Waiter* waiter = state.grants.waiters.find(line[i]);
    const auto* phase = waiter ? std::get_if<grant::ToPhase>(&waiter->request.origin) : nullptr;
    if (phase && phase->pipeline == run) return i + 1;
  }
  return 0;
}

// Of several that it wants all or none of: the first that somebody has.
const LockName* lock_in_the_way(const State& state, const pipeline::Pipeline& pipeline) {
  for (const LockName& name : pipeline.holding.locks) {
    const lock::Lock* lock = state.locks.locks.find(name);
    if (lock && lock::tenure_of(*lock)) return &name;
  }
  if (!pipeline.holding.slots.empty() || pipeline.holding.locks.empty()) return nullptr;
  return &pipeline.holding.locks.front();
}

}  // namespace

void why_waits(Tell& tell, const State& state, const pipeline::Pipeline& pipeline) {
  const LockName* lock = lock_in_the_way(state, pipeline);
  std::vector<WaiterId> line;
  std::optional<Next> next;
  std::string name;
  if (lock) {
    line = show_line(tell, state, *lock);
    next = next_of_lock(state, *lock, line, tell.now().now);
    name = tell.name(*lock);
  } else if (!pipeline.holding.slots.empty()) {
    const SemaphoreName& slot = pipeline.holding.slots.front();
    line = show_line(tell, state, slot);
    next = next_of_semaphore(state, slot, line);
    name = tell.name(slot);
  } else {
    tell.json.key("line").begin_array().end_array();
    return;
  }
  tell.json.field("line_of", name);
  if (const std::size_t place = place_of(state, line, pipeline.id)) {
    tell.json.field("place", place);
  }
  tell_next(tell, next);
}

void why_lock(Tell& tell, const State& state, const LockName& name) {
  tell.result().field("id", tell.name(name)).field("kind", "lock");
  Chain chain(tell, state);
  chain.begin();
  chain.lock(name);
  chain.end();
  const std::vector<WaiterId> line = show_line(tell, state, name);
  tell_next(tell, next_of_lock(state, name, line, tell.now().now));
}

void why_semaphore(Tell& tell, const State& state, const SemaphoreName& name) {
  tell.result().field("id", tell.name(name)).field("kind", "sem");
  Chain chain(tell, state);
  chain.begin();
  chain.semaphore(name);
  chain.end();
  const std::vector<WaiterId> line = show_line(tell, state, name);
  tell_next(tell, next_of_semaphore(state, name, line));
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
  if (state.workers.workers.contains(name_written<WorkerName>(text, project))) {
    kinds.push_back("worker");
  }
  if (state.crons.crons.contains(name_written<CronName>(text, project))) kinds.push_back("cron");
  const std::optional<ItemId> item = parse_id<ItemId>(text);
  if (item && state.queues.items.contains(*item)) kinds.push_back("item");
  const auto begins = [&](std::string_view prefix) { return text.starts_with(prefix); };
  if (begins(prefix_of(PipelineId{})) && id_meant<PipelineId>(state.pipelines.pipelines, text).id) {
    kinds.push_back("pipeline");
  }
  if (begins(prefix_of(DecisionId{})) && id_meant<DecisionId>(state.decisions.decisions, text).id) {
    kinds.push_back("decision");
  }
  if (begins(prefix_of(WorkId{})) && id_meant<WorkId>(state.tasks.attempts, text).id) {
    kinds.push_back("agent");
  }
  return kinds;
}

}  // namespace reeve::api
