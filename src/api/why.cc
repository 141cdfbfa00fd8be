#include "api/why.h"

#include "api/board.h"
#include "api/ids.h"
#include "api/limits.h"
#include "api/paging.h"
#include "api/why_chain.h"
#include "core/grant.h"
#include "core/lease.h"
#include "core/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace reeve::api {
namespace {

// Those who wait for one thing, the first one first: all of them.
std::vector<WaiterId> line_of(const State& state, const LockName& name) {
  std::vector<WaiterId> line;
  const auto& all = state.grants.lock_lines;
  for (auto at = all.lower_bound(grant::LockPlace{name, {}}); at != all.end() && at->name == name;
       ++at) {
    line.push_back(at->waiter);
  }
  return line;
}

std::vector<WaiterId> line_of(const State& state, const SemaphoreName& name) {
  std::vector<WaiterId> line;
  const auto& all = state.grants.slot_lines;
  for (auto at = all.lower_bound(grant::SlotPlace{name, false, {}});
       at != all.end() && at->name == name;
       ++at) {
    line.push_back(at->waiter);
  }
  return line;
}

std::uint32_t weight_of(const grant::Waiter& waiter, const SemaphoreName& name) {
  const auto& slots = waiter.request.slots;
  const auto found = std::ranges::find(slots, name, &grant::SlotWant::name);
  return found == slots.end() ? 0 : found->weight;
}

bool is_of(const grant::Waiter& waiter, PipelineId run) {
  const auto* phase = std::get_if<grant::ToPhase>(&waiter.request.origin);
  return phase && phase->pipeline == run;
}

// Its place, from 1; 0: it is not in the line.
std::size_t place_of(const State& state, const std::vector<WaiterId>& line, PipelineId run) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const grant::Waiter* waiter = state.grants.waiters.find(line[i]);
    if (waiter && is_of(*waiter, run)) return i + 1;
  }
  return 0;
}

// The first of them, the one at `asker` wherever it stands, and how many there are. Of a semaphore
// each with what it wants of it.
void show_line(Tell& tell,
               const State& state,
               const std::vector<WaiterId>& line,
               const SemaphoreName* semaphore,
               std::size_t asker = 0) {
  tell.json.key("line").begin_array();
  for (std::size_t place = 1; place <= line.size(); ++place) {
    if (place > limits::waiters_shown && place != asker) continue;
    const grant::Waiter* waiter = state.grants.waiters.find(line[place - 1]);
    if (!waiter) continue;
    tell.json.begin_object().field("holder", waiter->request.holder.name).field("place", place);
    if (semaphore) tell.json.field("weight", weight_of(*waiter, *semaphore));
    tell.moment("since", waiter->since);
    tell.moment("until", waiter->until);
    if (!session::is_here(state, waiter->request.session)) tell.json.field("away", true);
    const HolderMeta* meta = waiter->request.meta.get();
    if (meta && !meta->label.empty()) tell.json.field("label", meta->label);
    tell.json.end_object();
  }
  tell.json.end_array().field("waiting", line.size());
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
  return Next{fmt::format("if {} still holds it, its phase is ended (max_hold)", holder.name),
              run->holding.until};
}

// Whether nothing but the end of its process ends it.
bool is_kept_by_process(const Lease& lease, const Boxed<HolderMeta>& meta) {
  return meta && meta->process && lease.timeout && *lease.timeout > longer_than_any_process;
}

// `then` is what becomes of it when that ends; before it there may be its `max_hold`.
Next next_of_kept(const State& state,
                  const Lease& lease,
                  const Boxed<HolderMeta>& meta,
                  std::string_view then) {
  const std::int64_t process = meta->process->pid;
  if (!lease.max_hold) return {fmt::format("when process {} ends {}", process, then), std::nullopt};
  return {fmt::format("if process {} still holds it, its time is over (max_hold)", process),
          over_at(lease, state.leases_from)};
}

// Who gets it, if it is free at that moment or, without one, at some time: the first whose own wait
// is not over by then. Of one who may be gone the name is not said. Empty: nobody waits any more.
std::string heir_of(const State& state,
                    const std::vector<WaiterId>& line,
                    std::optional<Time> then) {
  const std::string whoever = "the first in line";
  for (const WaiterId id : line) {
    const grant::Waiter* waiter = state.grants.waiters.find(id);
    if (!waiter) continue;
    if (then && waiter->until && *waiter->until <= *then) continue;
    const bool may_be_gone =
        (waiter->until && !then) || !session::is_here(state, waiter->request.session);
    return may_be_gone ? whoever : waiter->request.holder.name;
  }
  return {};
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
  const std::optional<Next> away = next_of_away(state, tenure->holder);
  if (is_kept_by_process(tenure->lease, tenure->meta)) {
    const std::string heir = heir_of(state, line, std::nullopt);
    const std::string then =
        heir.empty() ? std::string("it is free") : fmt::format("it goes to {}", heir);
    return sooner(away, next_of_kept(state, tenure->lease, tenure->meta, then));
  }
  const std::string heir = heir_of(state, line, limit);
  return sooner(away,
                next_of_lease(fmt::format("without a heartbeat of {} it {}",
                                          tenure->holder.name,
                                          heir.empty() ? "is stale" : "goes to " + heir),
                              *limit,
                              now));
}

// The slot that is over first.
std::optional<Next> next_of_slot(const State& state, const SemaphoreName& name, Time now) {
  const auto due = state.semaphores.due.lower_bound({name, Time::min(), {}});
  if (due == state.semaphores.due.end() || due->name != name) return std::nullopt;
  const semaphore::Slot* slot = state.semaphores.slots.find({name, due->holder});
  if (slot && is_kept_by_process(slot->lease, slot->meta)) {
    return next_of_kept(
        state, slot->lease, slot->meta, fmt::format("what {} has is free", due->holder.name));
  }
  const std::optional<Time> limit = slot ? over_at(slot->lease, state.leases_from) : std::nullopt;
  return next_of_lease(
      fmt::format("without a heartbeat of {} what it has is free", due->holder.name),
      limit.value_or(due->due),
      now);
}

std::optional<Next> next_of_semaphore(const State& state,
                                      const SemaphoreName& name,
                                      const std::vector<WaiterId>& line,
                                      Time now) {
  if (!line.empty()) {
    if (auto next = next_of_absent(state, line.front())) return next;
  }
  std::optional<Next> first = next_of_slot(state, name, now);
  const auto& slots = state.semaphores.slots;
  for (auto at = slots.lower_bound({name, {}}); at != slots.end() && at->first.name == name; ++at) {
    const Holder& holder = at->first.holder;
    first = sooner(first, next_of_run(state, holder));
    first = sooner(first, next_of_away(state, holder, "what it has"));
  }
  return first;
}

// What of all that it wants is in its way: what somebody has, else that of which too little is
// free, else the line that it does not lead.
struct Wanted {
  const LockName* lock = nullptr;
  const SemaphoreName* slot = nullptr;
};

Wanted in_the_way(const State& state, const pipeline::Pipeline& pipeline) {
  const pipeline::Holding& wanted = pipeline.holding;
  for (const LockName& name : wanted.locks) {
    const lock::Lock* lock = state.locks.locks.find(name);
    if (lock && lock::tenure_of(*lock)) return {&name, nullptr};
  }
  const auto behind = [&](const std::vector<WaiterId>& line) {
    return place_of(state, line, pipeline.id) > 1;
  };
  for (const SemaphoreName& name : wanted.slots) {
    const semaphore::Semaphore* found = state.semaphores.semaphores.find(name);
    const std::vector<WaiterId> line = line_of(state, name);
    const std::size_t place = place_of(state, line, pipeline.id);
    const grant::Waiter* waiter = place ? state.grants.waiters.find(line[place - 1]) : nullptr;
    const std::uint32_t weight = waiter ? weight_of(*waiter, name) : 1;
    if (place > 1 || (found && semaphore::available(*found) < weight)) return {nullptr, &name};
  }
  for (const LockName& name : wanted.locks) {
    if (behind(line_of(state, name))) return {&name, nullptr};
  }
  if (!wanted.slots.empty()) return {nullptr, &wanted.slots.front()};
  return {wanted.locks.empty() ? nullptr : &wanted.locks.front(), nullptr};
}

// What it wants of a semaphore, and what is free.
void show_want(Tell& tell,
               const State& state,
               const SemaphoreName& name,
               const std::vector<WaiterId>& line,
               std::size_t place) {
  const semaphore::Semaphore* found = state.semaphores.semaphores.find(name);
  const grant::Waiter* self = place > 0 ? state.grants.waiters.find(line[place - 1]) : nullptr;
  if (!found || !self) return;
  tell.json.field("wants", weight_of(*self, name));
  tell.json.field("free", semaphore::available(*found)).field("capacity", found->config.capacity);
}

}  // namespace

void why_waits(Tell& tell, const State& state, const pipeline::Pipeline& pipeline) {
  const Wanted wanted = in_the_way(state, pipeline);
  if (!wanted.lock && !wanted.slot) {
    tell.json.key("line").begin_array().end_array();
    return;
  }
  const std::vector<WaiterId> line =
      wanted.lock ? line_of(state, *wanted.lock) : line_of(state, *wanted.slot);
  const std::size_t place = place_of(state, line, pipeline.id);
  show_line(tell, state, line, wanted.slot, place);
  tell.json.field("line_of", wanted.lock ? tell.name(*wanted.lock) : tell.name(*wanted.slot));
  if (place > 0) tell.json.field("place", place);
  if (wanted.slot) show_want(tell, state, *wanted.slot, line, place);
  tell_next(tell,
            wanted.lock ? next_of_lock(state, *wanted.lock, line, tell.now().now)
                        : next_of_semaphore(state, *wanted.slot, line, tell.now().now));
}

void why_lock(Tell& tell, const State& state, const LockName& name) {
  tell.result().field("id", tell.name(name)).field("kind", "lock");
  Chain chain(tell, state);
  chain.begin();
  chain.lock(name);
  chain.end();
  const std::vector<WaiterId> line = line_of(state, name);
  show_line(tell, state, line, nullptr);
  tell_next(tell, next_of_lock(state, name, line, tell.now().now));
}

void why_semaphore(Tell& tell, const State& state, const SemaphoreName& name) {
  tell.result().field("id", tell.name(name)).field("kind", "sem");
  Chain chain(tell, state);
  chain.begin();
  chain.semaphore(name);
  chain.end();
  const std::vector<WaiterId> line = line_of(state, name);
  show_line(tell, state, line, &name);
  if (const semaphore::Semaphore* found = state.semaphores.semaphores.find(name)) {
    tell.json.field("free", semaphore::available(*found));
    tell.json.field("capacity", found->config.capacity);
  }
  tell_next(tell, next_of_semaphore(state, name, line, tell.now().now));
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
  const MeantTask task = task_meant(state, project, text);
  // A few letters may begin the id of any task; only by its whole title it is called otherwise.
  const bool by_title = std::holds_alternative<std::string>(task.ref);
  if (task.id && (by_title || begins(prefix_of(BoardTaskId{})))) kinds.push_back("task");
  if (state.board.sections.contains(name_written<SectionName>(text, project))) {
    kinds.push_back("section");
  }
  return kinds;
}

}  // namespace reeve::api
