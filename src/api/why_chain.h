#pragma once

#include "api/tell.h"
#include "core/holder.h"
#include "core/pipeline.h"
#include "core/queue.h"
#include "core/state.h"
#include "core/worker.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

// The chain of those who are waited for: who holds a thing, what that one waits for, who holds
// that, and so on down to a process. Everything is shown once, so a circle ends. An entry says how
// deep it is: what is behind it is one deeper, and those of one depth are side by side. Inside this
// folder only.
namespace reeve::api {

// Whole seconds, for sentences.
std::string ago(Time then, Time now);

class Chain {
 public:
  Chain(Tell& tell, const State& state) : tell_(tell), state_(state), now_(tell.now().now) {}

  void begin() { tell_.json.key("waiting_on").begin_array(); }
  void end() { tell_.json.end_array(); }

  // The holder, or the holders, and what they wait for.
  void lock(const LockName& name);
  void semaphore(const SemaphoreName& name);
  void claim(ItemId id, const queue::Item& item);

  // What it waits for, or does, and what is behind that. (why_pipeline.cc)
  void pipeline(PipelineId id);

  // Something that nobody holds. `since` is when the waiting for it began, if anything waits.
  void fact(std::string_view kind,
            std::string_view name,
            std::optional<Time> since,
            std::string_view detail);

 private:
  void kept(const LockName& name);
  bool is_first(std::string_view kind, ProjectNo project, const std::string& name);
  bool entry(std::string_view kind,
             std::string_view name,
             const Holder* holder,
             std::optional<Time> since,
             std::string_view detail,
             const Boxed<HolderMeta>& meta,
             std::size_t holders = 0);  // of a semaphore: how many there are
  void behind(const Holder& holder);    // what stands in its way, one deeper
  void waits_of(const Holder& holder);
  void wanted_slots(WaiterId id, const grant::Waiter& waiter);
  void waiter();
  void running(const pipeline::Pipeline& pipeline);
  void blocked(const pipeline::Pipeline& pipeline,
               std::string_view kind,
               std::string_view name,
               Time since,
               std::string_view detail);

  Tell& tell_;
  const State& state_;
  Time now_;
  std::size_t shown_ = 0;
  std::size_t depth_ = 0;
  const pipeline::Pipeline* waiting_ = nullptr;  // who waits for the locks and slots at hand
  std::set<std::tuple<std::string, ProjectNo, std::string>> seen_;
};

// A timeout that outlasts every process is what the command line asks for, for one that sends no
// heartbeats (docs/decisions/0010); nobody waits for its end.
inline constexpr Duration longer_than_any_process = std::chrono::hours(24 * 365 * 10);

// What will happen, and when.
struct Next {
  std::string what;
  std::optional<Time> at;
};

void tell_next(Tell& tell, const std::optional<Next>& next);

// Of a run that waits for locks or slots: the line of what is in its way, its place there, what it
// wants and what of that is free, and when it is free at the latest.
void why_waits(Tell& tell, const State& state, const pipeline::Pipeline& pipeline);

// What went wrong when the source of its queue was asked last, if anything did.
void tell_failing_source(Tell& tell,
                         Chain& chain,
                         const WorkerName& name,
                         const worker::Worker& worker);

// Of a holder that lost its connection by a restart: it has a while to come back. `what` is what it
// has.
std::optional<Next> next_of_away(const State& state,
                                 const Holder& holder,
                                 std::string_view what = "it");

// What happens at the end of a lease, unless that is so far away that nobody waits for it.
std::optional<Next> next_of_lease(std::string what, Time at, Time now);

// Whichever is first; what has no time of its own comes last.
std::optional<Next> sooner(std::optional<Next> one, std::optional<Next> other);

// Of a process that is being ended.
std::optional<Next> next_of_process(const State& state, const Boxed<HolderMeta>& meta);

}  // namespace reeve::api
