#include "sim/hands.h"

#include "base/match.h"

#include <algorithm>
#include <utility>

namespace reeve::sim {

void SimHands::start(const Start& effect) {
  ++started_;
  report_.mark(effect.id.sequence * 31 + effect.id.index);
  report_.say("    start effect {}-{}", effect.id.sequence, effect.id.index);
  if (effect.id.sequence > durable) {
    report_.violated(fmt::format("effect {}-{} was started before its cause was durable ({})",
                                 effect.id.sequence,
                                 effect.id.index,
                                 durable));
  }
  const auto found = runs_.find(effect.id);
  if (found != runs_.end() && !found->second.never_begun) {
    report_.violated(
        fmt::format("effect {}-{} was started twice, and nobody saw in between that "
                    "it had not begun",
                    effect.id.sequence,
                    effect.id.index));
  }
  runs_[effect.id] = Run{.effect = effect};
}

void SimHands::observe(const Start& effect) {
  ++observed_;
  report_.say("    observe effect {}-{}", effect.id.sequence, effect.id.index);
  if (effect.id.sequence > durable) report_.violated("an effect nobody has asked for is observed");
  asked_about_.push_back(effect.id);
}

void SimHands::watch(const Process& process) {
  watched_.insert(process);
  if (!is_alive(process)) gone_.push_back(process);
}

void SimHands::forget(const Process& process) {
  watched_.erase(process);
  std::erase(gone_, process);
}

Outcome SimHands::outcome_of(const Run& run) {
  Outcome outcome;
  const bool fails = !kind_ && dice_.percent(plan_.fails);
  match(
      run.effect.effect.what,
      [&](const Shell&) { outcome.exit_code = fails ? 1 : 0; },
      [&](const Spawn& spawn) {
        if (!spawn.session) outcome.exit_code = fails ? 1 : 0;
      },
      [](const Send&) {},
      [&](const Kill& kill) { carry_out_kill(kill); },
      [](const Nudge&) {},
      [](const WorktreeAdd&) {},
      [](const WorktreeRemove&) {},
      [](const Merge&) {},
      [](const Notify&) {},
      [](const PollQueue&) {},
      [](const TakeQueueItem&) {});
  const bool is_kill = std::holds_alternative<Kill>(run.effect.effect.what);
  if (fails && !is_kill) outcome.ended = Ended::Failed;
  if (!kind_ && !is_kill && dice_.one_in(40)) outcome.ended = Ended::Unknown;
  return outcome;
}

// The whole tree, and it is seen dead.
void SimHands::carry_out_kill(const Kill& kill) {
  match(
      kill.target,
      [&](const WorkId& work) {
        for (auto& [id, run] : runs_) {
          const Spawn* spawn = std::get_if<Spawn>(&run.effect.effect.what);
          if (spawn && spawn->work == work && run.stage != Stage::Ended) {
            run.stage = Stage::Ended;
            run.outcome = Outcome{.ended = Ended::Failed, .signal = 9};
          }
        }
      },
      [&](const EffectId& effect) {
        const auto found = runs_.find(effect);
        if (found == runs_.end() || found->second.stage == Stage::Ended) return;
        found->second.stage = Stage::Ended;
        found->second.outcome = Outcome{.ended = Ended::Failed, .signal = 9};
      },
      [&](const Process& process) { kill_process(process); });
}

void SimHands::advance(Run& run) {
  if (run.stage == Stage::Asked) {
    run.stage = Stage::Running;
  } else if (run.stage == Stage::Running) {
    run.outcome = outcome_of(run);
    run.stage = Stage::Ended;
  }
}

engine::Observation SimHands::truth_about(EffectId id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return engine::NeverStarted{};
  Run& run = found->second;
  switch (run.stage) {
    case Stage::Asked:
      run.never_begun = true;
      return engine::NeverStarted{};
    case Stage::Running:
      run.ours = true;
      return engine::StillRunning{};
    case Stage::Ended:
      return engine::Finished{run.outcome};
    case Stage::Lost:
      return engine::CannotKnow{"the power failed"};
  }
  return engine::CannotKnow{};
}

bool SimHands::go_on(engine::Engine& engine, Stamp stamp) {
  if (!asked_about_.empty() && (kind_ || dice_.percent(60))) {
    const std::size_t at = dice_.below(asked_about_.size());
    const EffectId id = asked_about_[at];
    asked_about_.erase(asked_about_.begin() + static_cast<std::ptrdiff_t>(at));
    const engine::Observation truth = truth_about(id);
    report_.say("  observed effect {}-{}: {}", id.sequence, id.index, truth.index());
    report_.mark(truth.index());
    engine.observed(id, truth, stamp);
    return true;
  }
  if (!gone_.empty()) {
    const Process process = gone_.back();
    gone_.pop_back();
    report_.say("  process {} is gone", process.pid);
    engine.process_gone(process, stamp);
    return true;
  }
  if (runs_.empty()) return !asked_about_.empty();
  // The one at a random place, or the next after it that has something to tell.
  auto at = runs_.begin();
  std::advance(at,
               static_cast<std::ptrdiff_t>(dice_.below(std::min<std::size_t>(runs_.size(), 8))));
  for (std::size_t i = 0; i < runs_.size(); ++i, ++at) {
    if (at == runs_.end()) at = runs_.begin();
    Run& run = at->second;
    if (!run.ours || run.stage == Stage::Lost || run.never_begun) continue;
    if (run.stage != Stage::Ended) {
      advance(run);
      if (run.stage != Stage::Ended) return true;
    }
    report_.say("  effect {}-{} ended: {}",
                at->first.sequence,
                at->first.index,
                static_cast<int>(run.outcome.ended));
    run.ours = false;  // told once
    engine.effect_ended(at->first, run.outcome, stamp);
    return true;
  }
  return !asked_about_.empty();
}

void SimHands::daemon_ended(bool power_lost) {
  asked_about_.clear();
  watched_.clear();
  gone_.clear();
  std::erase_if(runs_, [](const auto& run) {
    return run.second.stage == Stage::Asked;  // it died with the daemon before it began
  });
  for (auto& [id, run] : runs_) {
    run.ours = false;
    run.never_begun = false;
    if (run.stage != Stage::Running) continue;
    if (power_lost) {
      run.stage = dice_.one_in(plan_.cannot_know) ? Stage::Lost : Stage::Ended;
      run.outcome = Outcome{.ended = Ended::Failed, .signal = 9};
    } else if (!dice_.percent(plan_.survives) || dice_.percent(30)) {
      advance(run);  // it came to its end while nobody was there
    }
  }
  if (power_lost) alive_.clear();
}

void SimHands::settled(EffectId effect) { runs_.erase(effect); }

Process SimHands::new_process() {
  const Process process{.pid = ++last_pid_,
                        .start_time = static_cast<std::uint64_t>(last_pid_) * 7,
                        .boot_id = "boot",
                        .group = dice_.one_in(2)};
  alive_.insert(process.pid);
  known_[process.pid] = process;
  return process;
}

void SimHands::kill_process(const Process& process) {
  if (alive_.erase(process.pid) == 0) return;
  if (watched_.contains(process)) gone_.push_back(process);
}

std::vector<Process> SimHands::processes() const {
  std::vector<Process> result;
  result.reserve(alive_.size());
  for (const std::int64_t pid : alive_) result.push_back(known_.at(pid));
  return result;
}

}  // namespace reeve::sim
