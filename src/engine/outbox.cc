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

bool is_at_its_guards(PipelineId pipeline, const State& state) {
  const pipeline::Pipeline* found = state.pipelines.pipelines.find(pipeline);
  return found && std::holds_alternative<pipeline::Guarding>(found->course);
}

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

bool is_brief(const Outgoing& effect, const State& state) {
  return match(
      effect.what,
      [&](const Shell& shell) {
        const bool is_hook = std::holds_alternative<ToNobody>(effect.to);
        return is_hook || is_at_its_guards(shell.pipeline, state);
      },
      [](const Spawn&) { return false; },
      [](const Send&) { return true; },
      [](const Kill&) { return false; },  // it needs no room
      [](const Nudge&) { return true; },
      [](const WorktreeAdd&) { return false; },
      [](const WorktreeRemove&) { return false; },
      [](const Merge&) { return false; },
      [](const Notify&) { return true; },
      [](const PollQueue&) { return true; },
      [](const TakeQueueItem&) { return true; });
}

void Outbox::add(EffectId id, const Outgoing& effect, const State& state) {
  insert(id, effect, state, Stage::Waiting);
}

void Outbox::add_to_observe(EffectId id, const Outgoing& effect, const State& state) {
  insert(id, effect, state, Stage::Observing);
  ++observing_;
}

void Outbox::insert(EffectId id, const Outgoing& effect, const State& state, Stage stage) {
  const auto [place, is_new] = effects_.emplace(
      id,
      Known{stage, is_kill(effect.what), is_brief(effect, state), subjects_of(effect.what, state)});
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
    room_of(known).ready.insert(id);
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
  if (!found->second.kill) ++room_of(found->second).running;
  return true;
}

void Outbox::ended(EffectId id) {
  const auto found = effects_.find(id);
  if (found == effects_.end()) return;
  const Known known = std::move(found->second);
  effects_.erase(found);
  room_of(known).ready.erase(id);
  ready_kills_.erase(id);
  if (known.stage == Stage::Observing) --observing_;
  if (known.stage == Stage::Running && !known.kill) --room_of(known).running;
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

void Outbox::fill(Room& room, std::vector<EffectId>& taken) const {
  while (room.running < most_running_ && !room.ready.empty()) {
    taken.push_back(*room.ready.begin());
    room.ready.erase(room.ready.begin());
    ++room.running;
  }
}

std::vector<EffectId> Outbox::take_ready() {
  std::vector<EffectId> taken(ready_kills_.begin(), ready_kills_.end());
  ready_kills_.clear();
  const auto others = static_cast<std::ptrdiff_t>(taken.size());
  fill(long_, taken);
  fill(brief_, taken);
  std::ranges::sort(taken.begin() + others, taken.end());
  for (const EffectId id : taken) effects_.at(id).stage = Stage::Running;
  return taken;
}

bool Outbox::waits_for_room(EffectId id) const {
  return long_.ready.contains(id) || brief_.ready.contains(id);
}

bool Outbox::is_observing(EffectId id) const {
  const auto found = effects_.find(id);
  return found != effects_.end() && found->second.stage == Stage::Observing;
}

}  // namespace reeve::engine
