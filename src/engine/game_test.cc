#include "core/arbitrary.h"
#include "core/digest.h"
#include "core/invariants.h"
#include "engine/testing.h"
#include "journal/file_journal.h"
#include "journal/real_files.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

// Random games against the engine: clients that ask and repeat, commits and deliveries at any
// moment, effects that end, checkpoints in slices, and crashes between any two of these. The
// outside remembers what was really started, as processes do.
namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::Dice;

class Game {
 public:
  Game(std::uint64_t seed, House::Open open) : dice_(seed), house_(std::move(open)) {}

  void play(int steps) {
    start();
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    drain();
  }

  std::uint64_t crashes = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t effects = 0;

 private:
  void start() {
    house_.start_without_commit();
    if (::testing::Test::HasFatalFailure()) return;
    const Sequence found = house_.engine().state().sequence - 1;  // without the start itself
    EXPECT_GE(found, acknowledged_) << "an acknowledged input is gone";
    if (found != 0) {
      EXPECT_EQ(digests_.at(found), found_digest_of(found)) << "another state at " << found;
    }
    digests_.erase(digests_.upper_bound(found), digests_.end());
    remember_state();
    hear();
    if (!hooked_) {
      house_.ask(hook_on_green());
      remember_state();
    }
    hooked_ = true;
  }

  // The state before begin() is not to be seen any more: remembered once more, apart from the
  // house.
  std::uint64_t found_digest_of(Sequence sequence) {
    const auto recovery = house_.open();
    const Result<Remembered> remembered = remember(**recovery);
    EXPECT_TRUE(remembered);
    EXPECT_EQ(remembered->state.sequence, sequence);
    return digest_of(remembered->state);
  }

  void remember_state() {
    const State& state = house_.engine().state();
    digests_[state.sequence] = digest_of(state);
  }

  void step() {
    Engine& engine = house_.engine();
    switch (dice_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        ask();
        break;
      case 5:
        house_.query();
        break;
      case 6:
        take();
        break;
      case 7:
      case 8:
        commit();
        break;
      case 9:
      case 10:
        deliver();
        break;
      case 11:
        pass();
        break;
      case 12:
        end_an_effect();
        break;
      case 13:
        look_at_an_effect();
        break;
      case 14:
        checkpoint();
        break;
      case 15:
        if (dice_.one_in(4)) {
          engine.session_ended(session(), house_.stamp);
        } else if (dice_.one_in(4)) {
          crash();
        }
        break;
    }
    if (!::testing::Test::HasFailure()) remember_state();
  }

  SessionId session() { return SessionId{1 + dice_.below(3) + 10 * crashes}; }

  void ask() {
    const std::array<std::string, 3> names{"main", "docs", "web"};
    const std::string name = names.at(dice_.below(names.size()));
    Holder holder{default_project, "runner" + std::to_string(dice_.below(3))};
    SessionId bound;
    if (dice_.one_in(3)) bound = holder.session = session();
    reeve::testing::Terms terms;
    if (dice_.one_in(2)) {
      terms.wait = 5s;
      if (!bound) bound = session();
    }
    if (dice_.one_in(4))
      terms.meta = reeve::testing::with_process(static_cast<int>(1 + dice_.below(3)));
    if (dice_.one_in(3)) terms.timeout = 2s;
    const std::string key = dice_.one_in(3) ? "key" + std::to_string(dice_.below(20)) : "";
    const Command command = dice_.one_in(3)   ? give_lock(holder, name)
                            : dice_.one_in(4) ? emit()
                                              : take_lock(holder, name, terms);
    asked_.push_back(house_.ask(command, bound, key));
  }

  void take() {
    if (!batch_) batch_ = house_.engine().take_batch();
  }

  void commit() {
    take();
    if (!batch_) return;
    const Result<Sequence> last = house_.journal().commit(batch_->entries());
    ASSERT_TRUE(last);
    house_.engine().committed(*last);
    batch_.reset();
  }

  void deliver() {
    const std::size_t events = house_.engine().events().size();
    house_.engine().deliver();
    EXPECT_GE(house_.engine().events().size(), events);
    hear();
  }

  // What came out since the last time.
  void hear() {
    for (; heard_ < house_.replies.size(); ++heard_) {
      const Replied& replied = house_.replies[heard_];
      EXPECT_GE(replied.sequence, acknowledged_) << "replies out of order";
      EXPECT_GT(replied.ticket, last_ticket_) << "replies out of order";
      acknowledged_ = replied.sequence;
      last_ticket_ = replied.ticket;
      ++acknowledged;
    }
    for (const Start& start : house_.started) {
      EXPECT_LT(start.id.sequence, house_.journal().next_sequence()) << "started too early";
      EXPECT_TRUE(really_started_.insert(start.id).second) << "started twice";
      EXPECT_TRUE(!was_there_.contains(start.id) || seen_.contains(start.id))
          << "redone without a look";
      running_.insert(start.id);
      ++effects;
    }
    house_.started.clear();
    for (const Start& start : house_.observed) {
      to_observe_.insert(start.id);
      was_there_.insert(start.id);
    }
    house_.observed.clear();
  }

  void pass() {
    house_.stamp.now += Duration{dice_.below(800)};
    house_.engine().tick(house_.stamp);
  }

  void end_an_effect() {
    if (running_.empty()) return;
    const EffectId effect = *running_.begin();
    running_.erase(running_.begin());
    finished_.insert(effect);
    if (dice_.one_in(4)) return;  // the daemon does not hear of it in this life
    house_.end_effect(effect);
  }

  void look_at_an_effect() {
    if (to_observe_.empty()) return;
    const EffectId effect = *to_observe_.begin();
    to_observe_.erase(to_observe_.begin());
    if (!really_started_.contains(effect)) {
      seen_.insert(effect);
      house_.observe(effect, NeverStarted{});
    } else if (running_.contains(effect)) {
      house_.observe(effect, StillRunning{});
    } else if (dice_.one_in(4)) {
      house_.observe(effect, CannotKnow{"no trace"});
    } else {
      house_.observe(effect, Finished{});
    }
  }

  void checkpoint() {
    if (!checkpointer_) {
      house_.engine().checkpoint();
      snapshot_ = house_.engine().take_snapshot();
      if (!snapshot_) return;
      checkpointer_ = std::make_unique<Checkpointer>(house_.journal(), *snapshot_, 300);
      return;
    }
    ASSERT_TRUE(checkpointer_->step());
    if (!checkpointer_->is_done()) return;
    house_.engine().checkpoint_written(*checkpointer_->info());
    checkpointer_.reset();
    if (const auto passed = house_.engine().take_truncation()) {
      ASSERT_TRUE(house_.journal().truncate(*passed));
    }
  }

  void crash() {
    ++crashes;
    batch_.reset();
    checkpointer_.reset();
    to_observe_.clear();
    seen_.clear();
    house_.crash();
    house_.stamp.now += Duration{dice_.below(5000)};
    start();
  }

  // Without faults everything comes to its end.
  void drain() {
    if (::testing::Test::HasFailure()) return;
    for (int i = 0; i < 2000; ++i) {
      commit();
      deliver();
      while (!to_observe_.empty()) look_at_an_effect();
      while (!running_.empty()) {
        house_.end_effect(*running_.begin());
        finished_.insert(*running_.begin());
        running_.erase(running_.begin());
      }
      for (const auto& [id, started] : house_.engine().state().outbox) {
        if (finished_.contains(id)) forgotten_.insert(id);
      }
      while (!forgotten_.empty()) {
        house_.end_effect(*forgotten_.begin());
        forgotten_.erase(forgotten_.begin());
      }
      house_.stamp.now += 200ms;
      house_.engine().tick(house_.stamp);
      if (i > 500 && house_.engine().is_idle() && house_.engine().state().outbox.empty()) break;
    }
    commit();
    deliver();
    EXPECT_TRUE(house_.engine().is_idle());
    EXPECT_TRUE(house_.engine().state().outbox.empty());
    EXPECT_EQ(house_.engine().outbox().size(), 0U);
    EXPECT_EQ(check_state(house_.engine().state()), Violations{});
  }

  Dice dice_;
  House house_;
  bool hooked_ = false;
  std::optional<Batch> batch_;
  std::optional<Snapshot> snapshot_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::vector<Ticket> asked_;

  std::map<Sequence, std::uint64_t> digests_;  // of the state as it was decided
  Sequence acknowledged_ = 0;
  Ticket last_ticket_;
  std::size_t heard_ = 0;

  std::set<EffectId> really_started_;  // survives crashes, as processes do
  std::set<EffectId> running_;
  std::set<EffectId> finished_;
  std::set<EffectId> forgotten_;
  std::set<EffectId> was_there_;   // stood in the outbox at a restart
  std::set<EffectId> seen_;        // not to have been started, in this life
  std::set<EffectId> to_observe_;  // asked for in this life
};

TEST(EngineGame, WhateverHappensWhatWasSaidStaysSaid) {
  std::uint64_t crashes = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t effects = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MemoryDisk disk;
    Game game(seed, [&] { return open_memory_journal(disk); });
    game.play(600);
    if (HasFailure()) return;
    crashes += game.crashes;
    acknowledged += game.acknowledged;
    effects += game.effects;
  }
  EXPECT_GT(crashes, 500U);
  EXPECT_GT(acknowledged, 10'000U);
  EXPECT_GT(effects, 500U);
}

// The same on files: the journal that is shipped, on the file system there is.
TEST(EngineGame, OnTheRealJournalToo) {
  for (std::uint64_t seed = 1000; seed < 1006; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::filesystem::path path = own_directory("game");
    ASSERT_TRUE(journal::make_directory(path));
    const auto files = journal::RealFiles::open_directory(path);
    ASSERT_TRUE(files);
    journal::Options options;
    options.fresh_id = journal::random_journal_id();
    options.first_segment = std::uint64_t{64} << 10U;
    options.claims = false;  // it looks at the files while the house writes them
    Game game(seed, [&] { return journal::open_file_journal(**files, options); });
    game.play(400);
    std::filesystem::remove_all(path);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace reeve::engine
