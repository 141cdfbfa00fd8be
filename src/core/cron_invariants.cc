#include "base/match.h"
#include "core/invariants.h"

namespace reeve::cron {
namespace {

// What an enabled cron waits for, or what had no room in the last step.
void check_timers_of(const State& state,
                     const CronName& name,
                     const Cron& cron,
                     Violations& violations) {
  std::optional<Time> by_engine;
  std::optional<Wall> by_wall;
  if (cron.enabled) {
    const Stamp now{state.now, cron.last.wall};
    if (const std::optional<Stamp> next = instant_after(cron, cron.last, now)) {
      match(
          cron.plan.definition->schedule,
          [&](const Interval&) { by_engine = next->now; },
          [&](const Expression&) { by_wall = next->wall; });
    }
  }
  const std::optional<Time> engine = deadline_of(state.timers, Due{name});
  const bool has_more_to_tell =
      cron.cancelling && (!cron.told || !cron.running.last() || *cron.told < *cron.running.last());
  const bool has_room = cron.running.empty() || cron.plan.definition->overlap == Overlap::Allow;
  if ((cron.buffered > 0 && has_room) || has_more_to_tell) {
    if (!engine) violations.push_back("cron " + name.name + ": what had no room goes on never");
  } else if (engine != by_engine) {
    violations.push_back("cron " + name.name + ": the engine's timer is not what it waits for");
  }
  if (wall_deadline_of(state.timers, Due{name}) != by_wall) {
    violations.push_back("cron " + name.name + ": the wall's timer is not what it waits for");
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  for (const auto& [name, cron] : state.crons.crons) {
    const auto must = [&, &who = name.name](bool truth, const char* words) {
      if (!truth) violations.push_back("cron " + who + ": " + words);
    };
    must(!cron.starting, "a pipeline is still being begun");
    const bool may_run = cron.enabled || cron.buffered > 0;
    must(cron.pinned == (may_run ? std::optional(cron.plan.set) : std::nullopt),
         "it may run what is not kept, or keeps what it will not run");
    must(!cron.cancelling || !cron.running.empty(), "it cancels what does not run");
    must(!cron.told || !cron.running.empty(), "it knows whom it told to end, and none runs");
    if (!cron.plan.definition) {
      must(false, "there is nothing to run");
      continue;
    }
    if (cron.plan.definition->overlap != Overlap::BufferAll && cron.enabled) {
      must(cron.buffered <= 1, "it buffers more than one");
    }
    for (const Run& run : cron.running) {
      if (const EffectId* effect = std::get_if<EffectId>(&run)) {
        must(state.outbox.contains(*effect), "a program that is not in the outbox is running");
      }
    }
    check_timers_of(state, name, cron, violations);
  }
  const auto is_known = [&](const Subject& subject) {
    const Due* due = std::get_if<Due>(&subject);
    return !due || state.crons.crons.contains(due->cron);
  };
  for (const auto& [subject, key] : state.timers.armed) {
    if (!is_known(subject)) violations.emplace_back("a timer of a cron that does not exist");
  }
  for (const auto& [subject, key] : state.timers.wall_armed) {
    if (!is_known(subject)) violations.emplace_back("a timer of a cron that does not exist");
  }
}

}  // namespace reeve::cron
