#include "sim/world.h"

#include <algorithm>
#include <utility>

// What the daemon's own threads do: commits, and the work beside them.
namespace reeve::sim {

// A commit in three parts, so that everything may happen between them: the batch is taken, it is on
// the disk, the engine knows.
void World::writer_goes_on() {
  Daemon& daemon = *daemon_;
  if (!daemon.batch) {
    std::optional<engine::Batch> batch = daemon.engine->take_batch();
    if (!batch) return;
    oracle_.took(*batch);
    daemon.batch = std::move(batch);
    daemon.committed = false;
    if (dice_.percent(50)) return;
  }
  if (waits_for_disk()) return;
  if (!daemon.committed) {
    report_.say("  commit {} to {}", daemon.batch->first, daemon.batch->last);
    const Result<journal::Sequence> last = daemon.journal->commit(daemon.batch->entries());
    judge_reserve(last);
    if (!last) return failed(last.error());
    if (*last != daemon.batch->last) report_.violated("the journal counts otherwise");
    oracle_.committed();
    hands_.durable = oracle_.durable();
    daemon.committed = true;
    if (dice_.percent(50)) return;
  }
  daemon.engine->committed(daemon.batch->last);
  daemon.batch.reset();
  daemon.committed = false;
}

// A disk that takes seconds for one commit: meanwhile all else goes on.
bool World::waits_for_disk() {
  const Duration now = clocks_.reading().boot;
  if (!faults_) slow_until_.reset();
  if (slow_until_ && now < *slow_until_) return true;
  if (std::exchange(slow_until_, std::nullopt) || !faults_) return false;
  if (!dice_.one_in(plan_.slow_sync)) return false;
  const Duration takes{
      static_cast<std::int64_t>(dice_.between(50, dice_.one_in(5) ? 20'000 : 2000))};
  report_.say("  the disk takes {} ms", takes.count());
  slow_until_ = now + takes;
  ++counts_.slow_syncs;
  return true;
}

// Whoever had a spare segment when the disk filled up can commit about as much as that holds.
void World::judge_reserve(const Result<journal::Sequence>& committed) {
  constexpr std::uint64_t beside_payload = 160;
  std::uint64_t bytes = 0;
  for (const journal::Entry& entry : daemon_->batch->entries()) {
    bytes += entry.payload.size() + beside_payload;
  }
  if (!committed && committed.error().code == Error::Code::Full && !has_struck() &&
      bytes < reserve_) {
    report_.violated("there was a spare segment, and no room: " + committed.error().message);
  }
  reserve_ -= std::min(reserve_, bytes);
}

// The disk said no. If that was the end of the machine or the process, nobody is there to hear it;
// else the first failure is the last: everybody is told, and the daemon ends.
void World::failed(const Error& error) {
  report_.say("  the disk fails: {}", error.message);
  if (disk_.is_down()) return crash(strike_);
  struck_ = false;
  engine::Engine& engine = *daemon_->engine;
  ++counts_.failures;
  // A daemon that did not stop would go on like this.
  if (daemon_->batch && !daemon_->committed) {
    if (daemon_->journal->commit(daemon_->batch->entries())) {
      report_.violated("the journal goes on after a failure");
    }
  }
  engine.commit_failed(error);
  if (!engine.wants_stop()) report_.violated("the engine goes on after a failure");
  Request request;
  request.command = EmitCustom{"too:late", {}};
  submit(0, std::move(request));
  engine.deliver();
  wire_.give_up(error);
  if (oracle_.open() != 0) report_.violated("a request was left open after the failure");
  if (wire_.unanswered() != 0) report_.violated("a line was left open after the failure");
  if (engine.take_batch()) report_.violated("the engine wants to commit after a failure");
  disk_.spare_us();
  take_disk_down(Disk::Fault::Kill);
  end_daemon(false);
  disk_.restart(Disk::Fault::Kill);
  struck_ = false;
  full_ = false;
  disk_.set_free_space(std::uint64_t{1} << 40U);
}

void World::housekeeping() {
  Daemon& daemon = *daemon_;
  journal::Journal& journal = *daemon.journal;
  if (dice_.percent(60) && daemon.engine->wants_prepare(journal)) {
    report_.say("  prepare");
    const Result<void> prepared = journal.prepare();
    if (!prepared && prepared.error().code != Error::Code::Full) return failed(prepared.error());
  }
  daemon.engine->room(journal.room());
  if (daemon.checkpointer) {
    write_checkpoint();
    if (!daemon_) return;
  } else if (journal.wants_snapshot() && !daemon.engine->is_checkpointing()) {
    report_.say("  a checkpoint is asked for at {}", daemon.engine->state().sequence);
    daemon.engine->checkpoint();
  }
  project();
  const std::optional<engine::Sequence> upto = daemon.engine->take_truncation();
  if (!upto) return;
  report_.say("  truncate to {}", *upto);
  const Result<void> truncated = journal.truncate(*upto);
  if (!truncated) return failed(truncated.error());
  oracle_.truncated(*upto);
}

void World::write_checkpoint() {
  Daemon& daemon = *daemon_;
  const Result<void> stepped = daemon.checkpointer->step();
  if (!stepped) {
    daemon.checkpointer.reset();
    if (stepped.error().code != Error::Code::Full) return failed(stepped.error());
    return daemon.engine->checkpoint_failed(stepped.error());
  }
  if (!daemon.checkpointer->is_done()) return;
  const journal::SnapshotInfo info = *daemon.checkpointer->info();
  report_.say("  a checkpoint of {} is safe", info.moment.sequence);
  daemon.checkpointer.reset();
  ++counts_.checkpoints;
  snapshot_ = info.moment.sequence;
  if (info.moment.sequence > oracle_.durable())
    report_.violated("a snapshot of what is not durable");
  daemon.engine->checkpoint_written(info);
}

// ── The projector ──

void World::project(const Event& event, Time /*now*/, const State& /*state*/) {
  const std::pair place{event.sequence, event.index};
  if (event.sequence > oracle_.durable()) report_.violated("a projector sees what is not durable");
  if (place <= projected_) return;
  oracle_.projected(event.sequence, event.index);
  projected_ = place;
}

void World::reached(engine::Sequence sequence) { projector_reached_ = sequence; }

void World::project() {
  if (!plan_.projector || oracle_.projector_left() || !dice_.percent(60)) return;
  projector_passed_ = std::max(projector_passed_, projector_reached_);
  oracle_.projector_passed(projector_passed_);
  daemon_->engine->projected("history", projector_passed_, stamp());
}

}  // namespace reeve::sim
