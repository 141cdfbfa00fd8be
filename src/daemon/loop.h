#pragma once

#include "adapters/history/history.h"
#include "adapters/runner.h"
#include "api/desk.h"
#include "base/result.h"
#include "daemon/listening.h"
#include "daemon/log.h"
#include "daemon/peers.h"
#include "daemon/poller.h"
#include "daemon/runbook_watch.h"
#include "daemon/settings.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/keeper.h"
#include "engine/recovery.h"
#include "engine/writer.h"
#include "journal/journal.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The heart of the house: one thread that owns the state, and turns.
//
//     clients ──▶ decide ──▶ batch ══▶ writer's thread ══▶ disk
//                   ▲                                       │
//     clocks, ends  │         replies, effects  ◀── deliver ┘  only what is durable
//     of processes ─┘
//     and of runs
//
// While one batch is on its way to the disk the next is being decided; whatever came in meanwhile
// is one commit. (A disk that is quicker than another thread is written by this one.) Other threads
// write (engine/writer.h) and look after the journal (engine/keeper.h), and wake this one when they
// have done something.
namespace reeve::daemon {

class Loop final : public api::Steward {
 public:
  Loop(api::About about,
       Log& log,
       std::unique_ptr<journal::Journal> journal,
       engine::Remembered remembered,
       history::History& history,
       const adapters::Inherited& for_runs = {},
       Settings settings = {});
  ~Loop() override;

  // Before run().
  void listen(Descriptor listener, const Listen& how);
  // What SIGUSR1 asks for: beanstalkd takes no more jobs then.
  void on_drain(std::function<void()> drain) { drain_ = std::move(drain); }
  // How daemon.reload reads the settings again.
  void on_reload(std::function<Result<Settings>()> read) { read_settings_ = std::move(read); }

  // Until somebody wants it to stop: SIGTERM, SIGINT, daemon.stop. Then what is decided is made
  // durable and told, a checkpoint is written, and the journal closed. An error: the journal
  // failed, everybody was told what can be told, and only a restart knows what was kept.
  Result<void> run(const std::function<void()>& ready);

  // ── api::Steward ──
  const api::About& about() const override { return about_; }
  void stop(bool kill) override;
  void checkpoint(std::function<void(Result<engine::Sequence>)> done) override;
  Result<void> reload() override;
  std::size_t connections() const override { return peers_.size(); }
  std::optional<Process> process(std::int64_t pid, bool group) const override;
  JournalUse journal_use() const override;
  HistoryUse history() const override;
  void sync_history(const std::function<void()>& done) override;
  void rebuild_history(const std::function<void()>& done) override;

 private:
  enum class Stage : std::uint8_t { Serving, Ending, Finishing, Saving, Over };

  void turn();
  void wait();
  void hear(std::span<const Ready> all);
  void gather();
  void collect();
  void hear_hands();
  void live_by(const Settings& settings);
  adapters::Surroundings surroundings(const adapters::Inherited& for_runs);
  std::string json_of(const Event& event) const;
  void watch_runbooks(Wall since);
  void keep();
  void keep_history();
  void begin_rebuild();
  void end_rebuild(const Result<history::History::Rebuilt>& rebuilt);
  void tell_synced();
  void advance();
  Result<void> finish();
  void give_up();
  void tell_checkpoint(const Result<engine::Sequence>& last);
  std::optional<Time> next_wake() const;
  void handle_signal();

  api::About about_;
  Log& log_;
  std::unique_ptr<journal::Journal> journal_;
  history::History& history_;
  Poller poller_;
  Descriptor signals_;
  adapters::Runner hands_;
  api::Desk desk_;
  engine::Clock clock_;
  engine::Sequence last_checkpoint_ = 0;
  Wall last_life_;  // the last that was written before this start
  engine::Engine engine_;
  Peers peers_;
  std::unique_ptr<engine::Writer> writer_;
  std::unique_ptr<engine::Keeper> keeper_;
  std::unique_ptr<RunbookWatch> runbook_watch_;    // none: stopping
  PersistentMap<ProjectNo, std::string> watched_;  // the definitions in force when it was told

  Stamp now_;
  engine::Reading reading_;
  bool more_ = false;         // there is something to do without waiting
  std::size_t answered_ = 0;  // connections, since the last commit
  Stage stage_ = Stage::Serving;
  Time stage_until_;
  Duration stopped_at_{0};  // by the boot clock
  bool saved_ = false;      // there is a checkpoint of the end, or there will be none
  bool checkpoint_wanted_ = false;
  struct CheckpointWaiter {
    engine::Sequence least = 0;  // what was durable, and so perhaps told, when it was asked for
    std::function<void(Result<engine::Sequence>)> done;
  };
  std::vector<CheckpointWaiter> checkpoint_waiters_;
  struct SyncWaiter {
    engine::Sequence least = 0;
    std::function<void()> done;
  };
  std::vector<SyncWaiter> sync_waiters_;
  std::vector<std::function<void()>> rebuild_waiters_;
  bool rebuild_wanted_ = false;
  bool rebuilding_ = false;
  engine::Sequence keep_journal_until_ = 0;  // history has passed this
  history::History::Rebuilt rebuilt_;
  std::string rebuild_problem_;
  Time next_prepare_;
  bool was_full_ = false;
  std::function<void()> drain_;
  Settings settings_;
  std::function<Result<Settings>()> read_settings_;
};

}  // namespace reeve::daemon
