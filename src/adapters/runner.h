#pragma once

#include "adapters/descriptor.h"
#include "adapters/log_keeper.h"
#include "adapters/nursery.h"
#include "adapters/plan.h"
#include "adapters/process.h"
#include "adapters/process_hands.h"
#include "adapters/reports.h"
#include "adapters/run_directory.h"
#include "engine/ports.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// The hands that run things. Every effect but a kill becomes a run: a folder that tells what is to
// be done, and a `reeve hold` that does it (adapters/hold.h) and belongs to nobody: when the daemon
// ends, runs go on, and the next one adopts them. Like ProcessHands it has no thread and blocks
// nobody: whoever owns it waits until fd() can be read, calls look(), and takes what happened.
//
//     start ──▶ prepared ──▶ hold runs ──▶ hold ended ──▶ outcome reported ──▶ folder removed
//                                │                            (once it is durable)
//                                └─ hold was killed ──▶ nothing of the run is left ──▶ Unknown
//
// A run whose hold was killed is told by what it left in the environment of all it started; it is
// over when nobody with that mark is left, and at its limit, or on request, they are ended. To look
// for marks is to look at every process: that is done for all such runs at once, and less and less
// often, down to once a second.
//
// What cannot be told (there are no descriptors left, say) is looked at again until it can be.
//
// What lies in the home: `runs/<effect id>/`, a run that is not over or not yet durable;
// `secrets/`, what runbooks let through (adapters/secrets.h); `logs/`, what runs said
// (adapters/plan.h says where, and how much); `agents/<work id>`, a link to
// the run of each session that is not over; `workspaces/` and `merges/`, worktrees; `tmux.sock`.
namespace reeve::adapters {

class Runner final : public engine::Hands {
 public:
  Runner(Surroundings around, std::string boot_id);
  ~Runner() override;

  // After the state is there and before anything is started: sessions are adopted, and runs that
  // nobody waits for any more are cleared away.
  void begin();

  // ── engine::Hands ──
  void start(const Start& effect) override;
  void observe(const Start& effect) override;
  void watch(const Process& process) override { processes_.watch(process); }
  void forget(const Process& process) override { processes_.forget(process); }

  // ── The loop's side ──
  int fd() const { return poll_.get(); }
  void look();
  std::vector<Report> take();
  bool has_reports() const { return !reports_.empty() || processes_.has_reports(); }

  // The engine has decided about a report with this sequence; all up to that one is durable. Then
  // nobody asks for the run again, and its folder goes.
  void decided(const Report& report, engine::Sequence sequence);
  void durable(engine::Sequence sequence);

  // Ends all that runs: `daemon stop --kill`. From then on nothing is started any more: what should
  // have been stays in the outbox for the next daemon.
  void end_all();

  std::size_t running() const { return runs_.size(); }

  // Of runs that begin from now on, and of all logs from the next look at them on, which is now.
  void keep(const Keeping& keeping);

 private:
  using Clock = std::chrono::steady_clock;

  // How long nothing is heard of a hold that was asked for before it is looked for.
  static constexpr std::chrono::minutes unborn_for{1};

  // One hold that we wait for. A session has two: the one that starts it, and the pane's.
  struct Run {
    EffectId effect;
    Outgoing what;
    RunDirectory folder;
    std::string log = {};
    WorkId session = {};  // it is the pane of this session, and its effect has its outcome
    bool starts = false;  // it starts a session
    Descriptor pidfd = {};
    std::optional<Process> hold = {};
    bool is_fresh = false;   // we started it: nothing of it is old
    bool is_unborn = false;  // its hold was asked for
    Clock::time_point asked_at = {};
    bool is_orphaned = false;               // its hold is gone, and something of it is left
    std::optional<Duration> limit_at = {};  // of an orphan: when it is ended, since the boot
    Duration limit_grace{5000};
    bool timed_out = false;
    std::vector<EffectId> killers = {};
    std::optional<Duration> grace = {};  // it is to be ended
    Clock::time_point kill_at = Clock::time_point::max();
    Clock::time_point give_up_at = Clock::time_point::max();
    std::uint64_t said = 0;                 // changes when the log grows
    std::optional<std::uint64_t> got = {};  // changes when it gets something done
    Clock::time_point told_at = {};
    bool was_alive = false;
  };
  using RunNo = std::uint64_t;

  static Outcome failed(std::string error) {
    return {.ended = Ended::Failed, .error = std::move(error)};
  }
  void listen_to(int descriptor, std::uint64_t number) const;
  void done(EffectId effect, Outcome outcome, std::vector<std::string> folders = {});
  Run run_for(const Start& start, const std::string& path) const;
  Result<void> launch(Run run, const Plan& plan);
  Result<void> prepare(const RunDirectory& folder, const Plan& plan) const;
  RunNo add(Run run);
  void hear_nursery();
  void born(Nursery::Born born);
  void start_by_ourselves(RunNo number);
  void remove(const std::string& folder);
  std::optional<engine::Observation> adopt(Run run, const RunDirectory::Seen& seen);
  void watch_hold(RunNo number);
  void look_again();
  bool is_for_later(const Kill& kill) const;

  void begin_session(const Start& start, const Spawn& spawn);
  std::optional<engine::Observation> observe_session(const Start& start, const Spawn& spawn);
  Outcome outcome_of_start(EffectId effect, WorkId work, Outcome starter) const;
  void adopt_session(EffectId effect, const Outgoing& what, WorkId work);
  void adopt_sessions();
  void session_started(Run run, Outcome outcome);
  void session_ended(const Run& run, const Outcome& outcome);
  std::string link_of(WorkId work) const;

  void hold_ended(RunNo number);
  void orphan(Run& run);
  void ended(RunNo number, Outcome outcome);
  void look_at(RunNo number, Clock::time_point now);
  void watch_growth(Run& run, Clock::time_point now);
  void find_leftovers();
  void clear_leftovers();

  void kill(const Start& start, const Kill& kill);
  void begin_kill(Run& run, Duration grace);
  void signal_hold(const Run& run) const;
  void look_at_orphans(Clock::time_point now);
  Result<std::vector<ProcessStatus>> left_of(const Run& run) const;
  void arm();

  Surroundings around_;
  Keeping keeping_ = {};
  std::string boot_id_;
  ProcessHands processes_;
  Nursery nursery_;
  Descriptor poll_;
  Descriptor timer_;
  std::map<RunNo, Run> runs_;
  RunNo last_run_ = 0;
  bool is_ending_ = false;
  std::set<EffectId> never_;  // were ended before they were started
  std::vector<Report> reports_;
  std::vector<Start> later_;  // cannot be observed now, and kills of those
  std::optional<Clock::time_point> timer_at_;
  Clock::time_point orphans_at_ = {};  // when they are looked at again
  std::chrono::milliseconds orphans_pause_{0};
  std::vector<std::string> leftovers_;  // folders to be looked at, a few at a time
  LogKeeper logs_;
  Clock::time_point logs_at_ = {};  // when they were looked through

  struct Cleared {
    engine::Sequence after = 0;
    std::vector<std::string> folders;
    std::string link;
  };
  std::map<EffectId, std::vector<std::string>> finished_;  // whose outcome is reported
  std::map<WorkId, std::string> gone_;                     // the folder of a session's pane
  std::deque<Cleared> cleared_;                            // by sequence
};

}  // namespace reeve::adapters
