#include "engine/outbox.h"

#include "base/check.h"
#include "base/match.h"

#include <algorithm>
#include <utility>

namespace reeve::engine {
namespace {

using Subjects = std::vector<EffectSubject>;

Subjects of_repository(PipelineId pipeline, const State& state) {
  Subjects subjects{pipeline};
  if (const pipeline::Pipeline* found = state.pipelines.pipelines.find(pipeline)) {
    subjects.emplace_back(Repository{found->project});
  }
  return subjects;
}

bool is_kill(const Outer& effect) { return std::holds_alternative<Kill>(effect); }

}  // namespace

std::vector<EffectSubject> subjects_of(const Outer& effect, const State& state) {
  return match(
      effect,
      [](const Shell& shell) { return shell.pipeline ? Subjects{shell.pipeline} : Subjects{}; },
      [](const Spawn& spawn) { return Subjects{spawn.work}; },
      [](const Send& send) { return Subjects{send.work}; },
      [&](const Kill& kill) {
        return match(
            kill.target,
            [](const WorkId& work) { return Subjects{work}; },
            [&](const EffectId& run) {
              const Started* started = state.outbox.find(run);
              if (!started || is_kill(started->effect.what)) return Subjects{};
              return subjects_of(started->effect.what, state);
            },
            [](const Process&) { return Subjects{}; });
      },
      [](const Nudge& nudge) { return Subjects{nudge.work}; },
      [&](const WorktreeAdd& add) { return of_repository(add.pipeline, state); },
      [&](const WorktreeRemove& remove) { return of_repository(remove.pipeline, state); },
      [&](const Merge& merge) { return of_repository(merge.pipeline, state); },
      [](const Notify&) { return Subjects{}; },
      [](const PollQueue&) { return Subjects{}; },
      [](const TakeQueueItem&) { return Subjects{}; });
}

void Outbox::add(EffectId id, const Outer& effect, const State& state) {
  insert(id, effect, state, Stage::Waiting);
}

void Outbox::add_to_observe(EffectId id, const Outer& effect, const State& state) {
  insert(id, effect, state, Stage::Observing);
  ++observing_;
}

void Outbox::insert(EffectId id, const Outer& effect, const State& state, Stage stage) {
  const auto [place, is_new] =
      effects_.emplace(id, Known{stage, is_kill(effect), subjects_of(effect, state)});
  CHECK(is_new);
  for (const EffectSubject& subject : place->second.subjects) lines_[subject].insert(id);
  consider(id);
}

bool Outbox::is_first(EffectId id, const Known& known) const {
  return std::ranges::all_of(known.subjects, [&](const EffectSubject& subject) {
    return *lines_.at(subject).begin() == id;
  });
}

// Kills wait for nobody.
void Outbox::consider(EffectId id) {
  const Known& known = effects_.at(id);
  if (known.stage != Stage::Waiting) return;
  if (known.kill) {
    ready_kills_.insert(id);
  } else if (is_first(id, known)) {
    ready_.insert(id);
  }
}

bool Outbox::never_started(EffectId id) {
  const auto found = effects_.find(id);
  if (found == effects_.end() || found->second.stage != Stage::Observing) return false;
  found->second.stage = Stage::Waiting;
  --observing_;
  consider(id);
  return true;
}

bool Outbox::still_running(EffectId id) {
  const auto found = effects_.find(id);
  if (found == effects_.end() || found->second.stage != Stage::Observing) return false;
  found->second.stage = Stage::Running;
  --observing_;
  if (!found->second.kill) ++running_;
  return true;
}

void Outbox::ended(EffectId id) {
  const auto found = effects_.find(id);
  if (found == effects_.end()) return;
  const Known known = std::move(found->second);
  effects_.erase(found);
  ready_.erase(id);
  ready_kills_.erase(id);
  if (known.stage == Stage::Observing) --observing_;
  if (known.stage == Stage::Running && !known.kill) --running_;
  for (const EffectSubject& subject : known.subjects) {
    const auto line = lines_.find(subject);
    line->second.erase(id);
    if (line->second.empty()) {
      lines_.erase(line);
    } else {
      consider(*line->second.begin());
    }
  }
}

std::vector<EffectId> Outbox::take_ready() {
  std::vector<EffectId> taken(ready_kills_.begin(), ready_kills_.end());
  ready_kills_.clear();
  while (running_ < most_running_ && !ready_.empty()) {
    taken.push_back(*ready_.begin());
    ready_.erase(ready_.begin());
    ++running_;
  }
  for (const EffectId id : taken) effects_.at(id).stage = Stage::Running;
  return taken;
}

bool Outbox::is_observing(EffectId id) const {
  const auto found = effects_.find(id);
  return found != effects_.end() && found->second.stage == Stage::Observing;
}

}  // namespace reeve::engine
