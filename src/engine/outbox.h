#pragma once

#include "core/effect.h"
#include "core/id.h"
#include "core/state.h"
#include "engine/limits.h"
#include "engine/ports.h"

#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <variant>
#include <vector>

// The order in which effects run. Those on one subject run in the order of their ids, the next when
// the one before has its outcome; all others side by side, at most 64 (or as said) at a time. What
// is brief by its nature has as many places again: a guard whose time runs, or the word that
// somebody is needed, does not wait for steps that may take days. A kill waits for nobody, and
// those after it on the same subject wait for it: kill, observed, then spawn.
//
// It holds no effect itself: they stand in the outbox, which is part of the state, and a restart
// loses nothing but this order, which it makes again.
//
//     asked for, durable            its turn              outcome
//   ────────────────────▶ waiting ───────────▶ running ───────────▶ (gone)
//                            ▲                    ▲
//        never started       │    still running   │
//   observing ───────────────┴────────────────────┘
//      │  finished, cannot know: an outcome
//      └──────────────────────────────────────────────▶ (gone)
namespace reeve::engine {

// Worktrees and merges of one repository get in each other's way: git locks it.
struct Repository {
  ProjectNo project;

  auto operator<=>(const Repository&) const = default;
};

using EffectSubject = std::variant<PipelineId, WorkId, Repository>;

// Nothing for an effect that may run beside all others.
std::vector<EffectSubject> subjects_of(const Outer& effect, const State& state);

// Whether it ends soon by itself or is ended: the check of a guard, a message, a hook, a question
// to a queue elsewhere.
bool is_brief(const Outgoing& effect, const State& state);

class Outbox {
 public:
  explicit Outbox(std::size_t most_running = limits::running_effects)
      : most_running_(most_running) {}

  // How many may run at a time from now on, and as many brief ones; what runs goes on.
  void allow(std::size_t most_running) { most_running_ = most_running; }

  // An effect whose cause is durable.
  void add(EffectId id, const Outgoing& effect, const State& state);

  // One that stood in the outbox before a restart: it keeps its place, and starts only after
  // observed() said that it can.
  void add_to_observe(EffectId id, const Outgoing& effect, const State& state);

  // What was seen of it; false if nobody wanted to know.
  bool never_started(EffectId id);
  bool still_running(EffectId id);

  // It has its outcome, or needs none any more.
  void ended(EffectId id);

  // Those whose turn has come, kills first, in order; they count as running from now on.
  std::vector<EffectId> take_ready();

  bool observing() const { return observing_ != 0; }
  bool is_observing(EffectId id) const;
  // Nothing else is in its way but that as many run as may.
  bool waits_for_room(EffectId id) const;
  std::size_t most_running() const { return most_running_; }
  std::size_t running() const { return long_.running + brief_.running; }
  std::size_t size() const { return effects_.size(); }

 private:
  enum class Stage : std::uint8_t { Observing, Waiting, Running };
  struct Known {
    Stage stage = Stage::Waiting;
    bool kill = false;
    bool brief = false;
    std::vector<EffectSubject> subjects;
  };
  struct Room {
    std::size_t running = 0;
    std::set<EffectId> ready;  // waiting, and first in all their lines
  };
  void insert(EffectId id, const Outgoing& effect, const State& state, Stage stage);
  bool is_first(EffectId id, const Known& known) const;
  void consider(EffectId id);
  Room& room_of(const Known& known) { return known.brief ? brief_ : long_; }
  void fill(Room& room, std::vector<EffectId>& taken) const;

  std::size_t most_running_;
  Room long_;  // neither has kills
  Room brief_;
  std::size_t observing_ = 0;
  std::map<EffectId, Known> effects_;
  std::map<EffectSubject, std::set<EffectId>> lines_;
  std::set<EffectId> ready_kills_;
};

}  // namespace reeve::engine
