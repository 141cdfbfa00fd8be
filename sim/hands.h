#pragma once

#include "engine/engine.h"
#include "sim/dice.h"
#include "sim/plan.h"
#include "sim/report.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

// The outside: what effects do, and the processes behind holders. It goes on while the daemon is
// down, remembers what really happened, and tells the truth when it is asked, or that it cannot
// know. It also watches that nothing is done twice without a look between:
//
//     start() ──▶ Asked ──▶ Running ──▶ Ended        the daemon is told, maybe more than once
//                   │          │ a loss of power
//       the daemon  │          └──▶ Lost             nobody will ever know
//       ends        ▼
//              never started
namespace reeve::sim {

class SimHands final : public engine::Hands {
 public:
  SimHands(Dice& dice, const Plan& plan, Report& report)
      : dice_(dice), plan_(plan), report_(report) {}

  // ── For the engine ──
  void start(const Start& effect) override;
  void observe(const Start& effect) override;
  void watch(const Process& process) override;
  void forget(const Process& process) override;

  // ── For the simulator ──

  // What is durable by the journal's own word: an effect of a later input must not be here yet.
  engine::Sequence durable = 0;

  // Something of all that is under way happens, and the engine is told. False: nothing is.
  bool go_on(engine::Engine& engine, Stamp stamp);
  // From now on everything succeeds.
  void be_kind() { kind_ = true; }

  // The daemon ended, or the whole machine did.
  void daemon_ended(bool power_lost);

  // The outcome of this effect is durable: nobody will ask about it again.
  void settled(EffectId effect);

  Process new_process();
  void kill_process(const Process& process);
  bool is_alive(const Process& process) const { return alive_.contains(process.pid); }
  std::vector<Process> processes() const;

  std::uint64_t started() const { return started_; }
  std::uint64_t observed() const { return observed_; }

 private:
  enum class Stage : std::uint8_t { Asked, Running, Ended, Lost };
  struct Run {
    Start effect;
    Stage stage = Stage::Asked;
    bool ours = true;          // the daemon of today waits for its end
    bool never_begun = false;  // as was told when somebody looked
    Outcome outcome = {};
  };

  void advance(Run& run);
  Outcome outcome_of(const Run& run);
  void carry_out_kill(const Kill& kill);
  engine::Observation truth_about(EffectId id);

  Dice& dice_;
  const Plan& plan_;
  Report& report_;
  bool kind_ = false;
  std::map<EffectId, Run> runs_;
  std::vector<EffectId> asked_about_;  // observations that are yet to be told
  std::set<Process> watched_;
  std::vector<Process> gone_;  // watched, and yet to be told
  std::set<std::int64_t> alive_;
  std::map<std::int64_t, Process> known_;
  std::int64_t last_pid_ = 100;
  std::uint64_t started_ = 0;
  std::uint64_t observed_ = 0;
};

}  // namespace reeve::sim
