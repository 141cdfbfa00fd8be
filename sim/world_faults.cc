#include "engine/recovery.h"
#include "journal/file_journal.h"
#include "sim/watched_recovery.h"
#include "sim/world.h"

#include <algorithm>

// What goes wrong, and how the daemon comes back from it.
namespace reeve::sim {

void World::maybe_fault() {
  odd_time();
  if (!daemon_) return;
  if (dice_.one_in(plan_.process_dies)) {
    Client& client = clients_.at(clients_.any());
    if (client.process) {
      report_.say("  the process of {} dies", client.name);
      hands_.kill_process(*client.process);
    }
  }
  if (dice_.one_in(plan_.disk_full)) {
    full_ = !full_;
    disk_.set_free_space(full_ ? dice_.below(std::uint64_t{64} << 10U) : std::uint64_t{1} << 40U);
    report_.say("  the disk is {}", full_ ? "full" : "empty again");
    const bool spare = full_ && !daemon_->journal->wants_prepare();
    reserve_ = spare ? (plan_.journal.first_segment - journal::block_size) / 2 : 0;
  }
  const auto strike = [&](std::uint64_t chance, Disk::Fault fault, std::uint64_t within) {
    if (struck_ || !dice_.one_in(chance)) return;
    const std::uint64_t nth = dice_.between(1, within);
    set_strike(nth, fault);
    report_.say("  the disk will fail ({}) in {} operations", static_cast<int>(fault), nth);
  };
  strike(plan_.strike_power, Disk::Fault::PowerLoss, 24);
  strike(plan_.strike_kill, Disk::Fault::Kill, 24);
  strike(plan_.strike_eio, Disk::Fault::Eio, 12);
  if (!struck_ && dice_.one_in(plan_.second_daemon)) second_daemon();
  if (storm_ > 0 && dice_.one_in(12)) {
    --storm_;
    return crash(dice_.one_in(2) ? Disk::Fault::PowerLoss : Disk::Fault::Kill);
  }
  if (dice_.one_in(plan_.power_loss)) return crash(Disk::Fault::PowerLoss);
  if (dice_.one_in(plan_.kill)) return crash(Disk::Fault::Kill);
  if (dice_.one_in(plan_.clean_stop)) stop_cleanly();
}

void World::set_strike(std::uint64_t nth, Disk::Fault fault) {
  struck_ = true;
  strike_ = fault;
  strike_at_ = disk_.operations() + nth;
  disk_.strike(nth, fault);
}

void World::take_disk_down(Disk::Fault how) {
  set_strike(1, how);
  (void)disk_.list();
}

// Nobody gets to say goodbye: the disk is gone first, then the daemon.
void World::crash(Disk::Fault how) {
  ++counts_.crashes;
  if (disk_.is_down()) {
    how = strike_;
  } else {
    take_disk_down(how);
  }
  report_.say("── crash: {}", how == Disk::Fault::PowerLoss ? "power" : "kill");
  if (faults_ && storm_ == 0 && dice_.one_in(plan_.storm)) {
    storm_ = dice_.between(2, 6);
    ++counts_.storms;
    report_.say("  the first of {} in a row", storm_ + 1);
  }
  report_.mark(how == Disk::Fault::PowerLoss ? 7 : 8);
  end_daemon(how == Disk::Fault::PowerLoss);
  disk_.restart(how);
  struck_ = false;
  if (how == Disk::Fault::PowerLoss) {
    clocks_.reboot(Duration{static_cast<std::int64_t>(dice_.below(20'000))});
  } else {
    clocks_.pass(Duration{static_cast<std::int64_t>(dice_.below(3000))});
  }
}

void World::end_daemon(bool power_lost) {
  wire_.end();
  slow_until_.reset();
  daemon_->checkpointer.reset();
  daemon_->engine.reset();
  daemon_.reset();
  for (auto& [ticket, asker] : askers_) {
    if (asker.request) clients_.unanswered(asker.client, std::move(*asker.request));
  }
  askers_.clear();
  waiters_.clear();
  lost_.clear();
  oracle_.daemon_ended();
  clients_.daemon_ended();
  hands_.daemon_ended(power_lost);
  // The projector keeps what it has committed. One that was left begins again from here.
  if (oracle_.projector_left()) projector_passed_ = oracle_.durable();
  projected_ = {projector_passed_, ~std::uint32_t{0}};
  oracle_.projector_restarts(projector_passed_);
}

// All that was decided is written, a checkpoint is made, and the journal says goodbye.
void World::stop_cleanly() {
  report_.say("── clean stop");
  // It waits for the disk, however long that takes.
  const std::uint64_t slow_sync = std::exchange(plan_.slow_sync, 0);
  slow_until_.reset();
  for (int i = 0; i < 40 && daemon_ && !daemon_->engine->is_idle(); ++i) {
    writer_goes_on();
    if (daemon_) deliver();
  }
  plan_.slow_sync = slow_sync;
  if (!daemon_ || report_.failed()) return;
  const bool checkpoint = dice_.percent(70);
  for (int i = 0; i < 400 && daemon_ && (daemon_->checkpointer || (checkpoint && i == 0)); ++i) {
    if (!daemon_->checkpointer) {
      daemon_->engine->checkpoint();
      deliver();
    }
    if (daemon_->checkpointer) write_checkpoint();
  }
  if (!daemon_ || report_.failed()) return;
  if (const Result<void> closed = daemon_->journal->close(); !closed) {
    return failed(closed.error());
  }
  ++counts_.stops;
  daemon_->checkpointer.reset();
  end_daemon(false);
  if (struck_) disk_.spare_us();
  struck_ = false;
  disk_.restart(dice_.one_in(2) ? Disk::Fault::PowerLoss : Disk::Fault::Kill);
}

journal::Options World::options() const {
  journal::Options options = plan_.journal;
  if (plan_.projector) options.base_limit = projector_passed_;
  return options;
}

bool World::start() {
  if (faults_ && dice_.one_in(plan_.bit_flip)) damage();
  if (faults_ && !report_.failed() && dice_.one_in(plan_.lost_file)) lose_file();
  if (report_.failed()) return false;
  if (faults_ && dice_.one_in(plan_.other_version) && !try_version()) return false;
  const bool strikes = faults_ && dice_.one_in(plan_.strike_in_recovery);
  if (strikes) {
    const std::uint64_t nth = dice_.between(1, 40);
    const Disk::Fault fault = dice_.percent(60) ? Disk::Fault::PowerLoss : Disk::Fault::Kill;
    report_.say(
        "  the start will be interrupted ({}) at operation {}", static_cast<int>(fault), nth);
    set_strike(nth, fault);
  } else if (faults_ && dice_.one_in(plan_.reads_fail)) {
    set_strike(dice_.between(1, 30), Disk::Fault::Eio);
  }
  report_.say("── start");
  const auto interrupted = [&](const Error& error) {
    report_.say("  the start fails: {}", error.message);
    const bool by_us =
        disk_.is_down() || has_struck() || (full_ && error.code == Error::Code::Full);
    if (!by_us) report_.violated("the start is refused: " + error.message);
    ++counts_.crashes;
    struck_ = false;
    disk_.spare_us();
    disk_.restart(disk_.is_down() ? strike_ : Disk::Fault::Kill);
    if (full_) {
      full_ = false;
      disk_.set_free_space(std::uint64_t{1} << 40U);
    }
    return false;
  };
  Result<std::unique_ptr<journal::Recovery>> opened = journal::open_file_journal(disk_, options());
  if (!opened) return interrupted(opened.error());
  WatchedRecovery recovery(**opened, oracle_);
  Result<engine::Remembered> remembered = remember(recovery);
  if (!remembered) return interrupted(remembered.error());
  Result<std::unique_ptr<journal::Journal>> journal = recovery.begin();
  if (!journal) return interrupted(journal.error());
  disk_.spare_us();
  struck_ = false;
  report_.say(
      "  recovered {} from a snapshot of {}", remembered->state.sequence, remembered->snapshot);
  if (remembered->state.sequence < shown_in_replay_) {
    report_.violated(fmt::format("a projector was shown events of {} in a start, and they are gone",
                                 shown_in_replay_));
  }
  oracle_.recovered(remembered->state, remembered->snapshot);
  if (report_.failed()) return false;
  began(*std::move(remembered), *std::move(journal));
  return true;
}

Result<engine::Remembered> World::remember(journal::Recovery& recovery) {
  replayed_.clear();
  return engine::remember(recovery, [&](const Event& event, Time, const State&) {
    shown_in_replay_ = std::max(shown_in_replay_, event.sequence);
    if (plan_.projector && std::pair{event.sequence, event.index} > projected_) {
      replayed_.push_back({event.sequence, event.index});
    }
  });
}

void World::began(engine::Remembered remembered, std::unique_ptr<journal::Journal> journal) {
  ++counts_.recoveries;
  hands_.durable = oracle_.durable();
  for (const EffectId effect : oracle_.take_settled()) hands_.settled(effect);
  for (const auto& [sequence, index] : replayed_) {
    oracle_.projected(sequence, index);
    projected_ = {sequence, index};
  }
  replayed_.clear();
  projector_reached_ = 0;
  const Sequence base = remembered.snapshot;
  reserve_ = 0;
  daemon_.emplace(Daemon{});  // clang does not see that it can be made of nothing
  daemon_->journal = std::move(journal);
  daemon_->clock.emplace(remembered.state.now, clocks_.reading());
  engine::Ports ports{.hands = hands_, .listener = *this};
  if (plan_.projector) {
    ports.projectors.emplace("history",
                             engine::ProjectorPort{.projector = this, .passed = projector_passed_});
  }
  daemon_->engine = std::make_unique<engine::Engine>(std::move(remembered), std::move(ports));
  now_ = daemon_->clock->read(clocks_.reading()).stamp;
  looked_ = now_.now;
  wire_.begin(*daemon_->engine, now_);
  daemon_->engine->begin(now_);
  if (daemon_->engine->state().leases_from != now_.now) {
    report_.violated("leases ran on while nobody listened");
  }

  // The follower goes on where it was, or is told that it cannot.
  const auto since = daemon_->engine->events().since(followed_);
  if (const engine::Gone* gone = std::get_if<engine::Gone>(&since)) {
    if (followed_ >= base) report_.violated("events that were recovered are said to be gone");
    oracle_.follower_returned(gone->oldest - 1);
    followed_ = gone->oldest - 1;
    const auto again = daemon_->engine->events().since(followed_);
    if (const engine::Cursor* cursor = std::get_if<engine::Cursor>(&again)) {
      daemon_->follower = *cursor;
    } else {
      report_.violated("the oldest events there are, are gone");
    }
  } else {
    oracle_.follower_returned(followed_);
    daemon_->follower = std::get<engine::Cursor>(since);
  }
  news();
  check(true);
}

// Damage in the middle, where the right answer is no. Afterwards it is as it was.
void World::damage() {
  const auto& kept = oracle_.kept();
  if (kept.size() < 2) return;
  const Oracle::Kept& record = kept[dice_.below(kept.size())];
  if (record.batch == kept.back().batch || record.payload.size() < 16) return;
  // It is found by its bytes: no other may have the same.
  for (const Oracle::Kept& other : kept) {
    if (&other != &record && other.payload.find(record.payload) != std::string::npos) return;
  }
  // Of a group that a start has written again, the last copy is the one that counts.
  const std::map<std::string, std::string> contents = disk_.contents();
  for (auto file = contents.rbegin(); file != contents.rend(); ++file) {
    const auto& [name, bytes] = *file;
    if (!name.starts_with("segment")) continue;
    const std::size_t at = bytes.find(record.payload);
    if (at == std::string::npos || at < 4096 + 48) continue;
    if (bytes.find(record.payload, at + 1) != std::string::npos) return;
    const std::size_t offset = at - 48 + dice_.below(48 + record.payload.size());
    const auto bit = static_cast<unsigned>(dice_.below(8));
    report_.say("  bit {} of {} at {} turns round (record {})", bit, name, offset, record.sequence);
    disk_.flip(name, offset, bit);
    Result<std::unique_ptr<journal::Recovery>> opened =
        journal::open_file_journal(disk_, options());
    std::optional<Error> error;
    engine::Sequence base = 0;
    if (!opened) {
      error = opened.error();
    } else {
      if ((*opened)->snapshot()) base = (*opened)->snapshot()->moment.sequence;
      const Result<engine::Remembered> remembered = engine::remember(**opened);
      if (!remembered) error = remembered.error();
    }
    if (error) {
      ++counts_.refusals;
      report_.say("  refused: {}", error->message);
      if (error->code != Error::Code::Corrupt) {
        report_.violated("damage is refused with the wrong words: " + error->message);
      }
    } else if (base < record.sequence) {
      report_.violated(fmt::format("record {} is damaged, others follow it, and it is not refused",
                                   record.sequence));
    }
    opened = {};
    disk_.flip(name, offset, bit);
    return;
  }
}

// A whole file is missing, with others before and after it: the answer is no as well.
void World::lose_file() {
  const std::map<std::string, std::string> contents = disk_.contents();
  std::vector<std::string> segments;
  for (const auto& [name, bytes] : contents) {
    if (name.starts_with("segment") && !name.ends_with(".tmp")) segments.push_back(name);
  }
  if (segments.size() < 3) return;
  const std::string& name = segments[dice_.between(1, segments.size() - 2)];
  report_.say("  {} is missing", name);
  disk_.set_free_space(std::uint64_t{1} << 40U);
  full_ = false;
  if (!disk_.remove(name)) return;
  std::optional<Error> error;
  Result<std::unique_ptr<journal::Recovery>> opened = journal::open_file_journal(disk_, options());
  if (!opened) {
    error = opened.error();
  } else {
    const Result<engine::Remembered> remembered = engine::remember(**opened);
    if (!remembered) {
      error = remembered.error();
    } else if (remembered->state.sequence < oracle_.durable()) {
      report_.violated("records are missing, and nobody notices");
    }
  }
  opened = {};
  if (error) {
    ++counts_.refusals;
    if (error->code != Error::Code::Corrupt) {
      report_.violated("a gap is refused with the wrong words: " + error->message);
    }
  }
  const Result<std::unique_ptr<journal::File>> file = disk_.create(name, journal::Access::Write);
  const bool back =
      file && (*file)->write(0, contents.at(name)) && (*file)->sync() && disk_.sync_directory();
  if (!back) report_.violated("the simulator could not put a file back");
}

// Somebody starts another daemon on the files that this one writes. It must be turned away before
// it has changed anything.
void World::second_daemon() {
  report_.say("  a second daemon is started");
  const std::map<std::string, std::string> before = disk_.contents();
  Result<std::unique_ptr<journal::Recovery>> second = journal::open_file_journal(disk_, options());
  if (!second && second.error().code == Error::Code::Conflict) {
    ++counts_.turned_away;
    if (disk_.contents() != before) report_.violated("a second daemon changed something");
    return;
  }
  report_.violated(second ? "a second daemon was let in"
                          : "a second daemon met something else: " + second.error().message);
}

// A version that decides differently must not go on.
bool World::try_version() {
  Result<std::unique_ptr<journal::Recovery>> opened = journal::open_file_journal(disk_, options());
  if (!opened) return true;  // the real start will say so
  OtherVersion recovery(**opened, dice_.below(40));
  const Result<engine::Remembered> remembered = engine::remember(recovery);
  if (!recovery.has_lied()) return true;
  ++counts_.refusals;
  if (remembered || remembered.error().code != Error::Code::Conflict) {
    report_.violated("a replay that decides differently is not refused");
    return false;
  }
  return true;
}

}  // namespace reeve::sim
