#include "daemon/hearing.h"

#include "base/match.h"

namespace reeve::daemon {
namespace {

// Nobody waits for an answer.
void say(engine::Engine& engine, Command command, Stamp now) {
  engine.submit({}, Request{.command = std::move(command)}, now);
}

}  // namespace

std::optional<EffectId> unwanted(const State& state, const adapters::Report& report) {
  using Unwanted = std::optional<EffectId>;
  const auto not_open = [&](EffectId effect) {
    return state.outbox.contains(effect) ? Unwanted{} : Unwanted{effect};
  };
  return match(
      report,
      [&](const adapters::EffectDone& done) { return not_open(done.effect); },
      [&](const adapters::EffectObserved& seen) { return not_open(seen.effect); },
      [](const adapters::ProcessEnded&) { return Unwanted{}; },
      [](const adapters::AgentActive&) { return Unwanted{}; },
      [](const adapters::AgentGone&) { return Unwanted{}; },
      [](const adapters::ChildStarted&) { return Unwanted{}; },
      [](const adapters::ChildAlive&) { return Unwanted{}; });
}

void tell(engine::Engine& engine, const adapters::Report& report, Stamp now) {
  match(
      report,
      [&](const adapters::EffectDone& done) {
        engine.effect_ended(done.effect, done.outcome, now);
      },
      [&](const adapters::EffectObserved& seen) {
        engine.observed(seen.effect, seen.observation, now);
      },
      [&](const adapters::ProcessEnded& ended) { engine.process_gone(ended.process, now); },
      [&](const adapters::AgentActive& active) {
        const agent::AgentState seen{agent::Doing::Working, active.source, now.now};
        say(engine, task::Observed{active.work, seen, active.progress}, now);
      },
      [&](const adapters::AgentGone& gone) {
        say(engine, task::SessionGone{gone.work, gone.outcome}, now);
      },
      [&](const adapters::ChildStarted& child) {
        say(engine, dispatch::SawStarted{child.dispatch, child.process, {}}, now);
      },
      [&](const adapters::ChildAlive& child) {
        say(engine, dispatch::SawAlive{child.dispatch}, now);
      });
}

}  // namespace reeve::daemon
