#pragma once

#include "adapters/descriptor.h"
#include "adapters/reports.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/outcome.h"
#include "engine/ports.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

// Watches processes and ends them. It has no thread and blocks nobody: whoever owns it waits until
// fd() can be read, calls look(), and takes what happened to the engine.
//
// A process is watched through a pidfd, which tells of its end and of no other's; a group by its
// leader's, and when that is gone by looking every 50 ms whether others are left. To end one is to
// send TERM to all of its tree, after the grace KILL, and to look until nothing of it is left; what
// is still there 25 s after the KILL has failed to be ended.
//
// Those are the hands for processes that others started. What Reeve itself runs is the matter of
// Runner (adapters/runner.h), which has these; alone they know no effect but Kill{Process}.
namespace reeve::adapters {

class ProcessHands final : public engine::Hands {
 public:
  explicit ProcessHands(std::string boot_id);
  ~ProcessHands() override;

  // ── engine::Hands ──
  void start(const Start& effect) override;
  void observe(const Start& effect) override;
  void watch(const Process& process) override;
  void forget(const Process& process) override;

  // ── The loop's side ──
  int fd() const { return poll_.get(); }
  void look();
  std::vector<Report> take();
  bool has_reports() const { return !reports_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Watched {
    Descriptor pidfd;  // none: a group whose leader is gone, or there were none left
  };
  struct Ending {
    EffectId effect;
    Process process;
    std::set<std::pair<std::int64_t, std::uint64_t>> tree;  // pid and start time
    Clock::time_point kill_at;
    Clock::time_point give_up_at;
    bool killed = false;
  };

  void done(EffectId effect, Outcome outcome);
  void begin_ending(EffectId effect, const Process& process, std::chrono::milliseconds grace);
  bool go_on(Ending& ending);
  bool gather(Ending& ending) const;
  void look_at(const Process& process);
  void arm();

  std::string boot_id_;
  Descriptor poll_;
  Descriptor timer_;
  std::map<Process, Watched> watched_;
  std::map<int, Process> by_pidfd_;
  std::vector<Ending> endings_;
  std::vector<Report> reports_;
  bool armed_ = false;
};

}  // namespace reeve::adapters
