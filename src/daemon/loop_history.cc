#include "daemon/loop.h"
#include "daemon/replay.h"

#include <algorithm>
#include <utility>

// What the loop does for history: tells the engine how far it is, and those who wait for it.
namespace reeve::daemon {

namespace {
const std::string projector = "history";
}

// Right after deliver(), so that everything durable was shown.
void Loop::keep_history() {
  if (const std::optional<std::string> problem = history_.take_problem()) {
    if (problem->empty()) {
      log_.line("history goes on");
    } else {
      log_.say(
          "history: {}{}",
          *problem,
          history_.is_off() ? "; it is off until `reeve history rebuild`" : "; it will try again");
    }
  }
  if (const std::optional<engine::Sequence> passed = history_.take_passed()) {
    engine_.projected(projector, *passed, now_);
    if (*passed >= keep_journal_until_) keep_journal_until_ = 0;
  }
  if (std::exchange(rebuild_wanted_, false)) begin_rebuild();
  if (auto rebuilt = history_.take_rebuilt()) end_rebuild(*rebuilt);
  if (const auto from = history_.wants_to_go_on(!engine_.projects(projector))) {
    log_.say("history misses what came from {} to {}", *from, engine_.durable());
    engine_.projector_goes_on(projector, *from, now_);
    history_.go_on(engine_.durable());
    more_ = true;
  }
  tell_synced();
}

// While it is made anew nothing of the journal is deleted, so the engine need not wait for it; and
// not until it has all that came meanwhile.
void Loop::begin_rebuild() {
  const bool begun = history_.rebuild(engine_.durable(), replay_of(about_.home + "/journal"));
  if (begun) {
    engine_.projector_goes_on(projector, engine_.durable() + 1, now_);
    rebuilding_ = true;
  } else if (!rebuilding_) {
    rebuild_problem_ = history_.status().problem;
    for (const auto& done : std::exchange(rebuild_waiters_, {})) done();
  }
}

void Loop::end_rebuild(const Result<history::History::Rebuilt>& rebuilt) {
  rebuilding_ = false;
  rebuild_problem_ = rebuilt ? "" : rebuilt.error().message;
  rebuilt_ = rebuilt.value_or(history::History::Rebuilt{});
  keep_journal_until_ = rebuilt ? engine_.durable() : 0;
  if (rebuilt) {
    log_.say("history was made anew from {} to {}: {} events",
             rebuilt->from,
             rebuilt->to,
             rebuilt->events);
  }
  for (const auto& done : std::exchange(rebuild_waiters_, {})) done();
}

void Loop::tell_synced() {
  if (sync_waiters_.empty()) return;
  const history::History::Status status = history_.status();
  // Whoever waits is told that it cannot be had now; for how long, nobody knows.
  const bool cannot = status.state == history::History::State::Off || !status.problem.empty();
  std::vector<SyncWaiter> rest;
  for (SyncWaiter& waiter : std::exchange(sync_waiters_, {})) {
    if (cannot || (status.is_made && status.passed >= waiter.least)) {
      waiter.done();
    } else {
      rest.push_back(std::move(waiter));
    }
  }
  sync_waiters_.insert(sync_waiters_.end(),
                       std::make_move_iterator(rest.begin()),
                       std::make_move_iterator(rest.end()));
  if (!sync_waiters_.empty()) history_.hurry();
}

// ── api::Steward ──

api::Steward::HistoryUse Loop::history() const {
  const history::History::Status status = history_.status();
  HistoryUse use;
  switch (status.state) {
    case history::History::State::Off:
      use.state = "off";
      break;
    case history::History::State::On:
      use.state = "on";
      break;
    case history::History::State::Rebuilding:
      use.state = "rebuilding";
      break;
  }
  if (history_.is_wanted()) use.path = about_.home + "/history.db";
  use.problem = status.problem;
  use.passed = status.passed;
  use.events = status.events;
  use.waiting_bytes = status.waiting_bytes;
  use.rebuilt_from = rebuilt_.from;
  use.rebuilt_to = rebuilt_.to;
  use.rebuilt_events = rebuilt_.events;
  use.rebuild_problem = rebuild_problem_;
  return use;
}

// What was durable when it was asked may not have been delivered yet: it is with the next turn.
void Loop::sync_history(const std::function<void()>& done) {
  sync_waiters_.push_back({engine_.durable(), done});
  more_ = true;
}

void Loop::rebuild_history(const std::function<void()>& done) {
  rebuild_waiters_.push_back(done);
  rebuild_wanted_ = true;
  more_ = true;
}

}  // namespace reeve::daemon
