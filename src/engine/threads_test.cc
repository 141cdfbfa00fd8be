#include "base/match.h"
#include "engine/keeper.h"
#include "engine/testing.h"
#include "engine/writer.h"
#include "journal/file_journal.h"
#include "journal/real_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <semaphore>

// The loop of the daemon in small: this thread decides, one writes, one keeps, on real files.
namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;

class Loop {
 public:
  explicit Loop(House& house)
      : house_(house),
        writer_(house.journal(), [this] { woken_.release(); }),
        keeper_(house.journal(), [this] { woken_.release(); }) {}

  std::uint64_t checkpoints = 0;
  std::uint64_t commits = 0;

  void turn() {
    Engine& engine = house_.engine();
    if (const auto finished = writer_.finished()) {
      ASSERT_TRUE(*finished);
      engine.committed(**finished);
      ++commits;
      writing_ = false;
    }
    if (std::optional<Batch> batch = engine.take_batch()) {
      writer_.begin(*std::move(batch));
      writing_ = true;
    }
    engine.deliver();
    if (auto snapshot = engine.take_snapshot()) {
      keeper_.write(*std::move(snapshot));
      ++keeping_;
    }
    while (auto finished = keeper_.finished()) {
      --keeping_;
      match(
          *finished,
          [](const Keeper::Prepared& prepared) { ASSERT_TRUE(prepared.result); },
          [&](const Keeper::Written& written) {
            ASSERT_TRUE(written.result);
            engine.checkpoint_written(*written.result);
            ++checkpoints;
          },
          [](const Keeper::Truncated& truncated) { ASSERT_TRUE(truncated.result); });
    }
    if (const auto passed = engine.take_truncation()) {
      keeper_.truncate(*passed);
      ++keeping_;
    }
  }

  void drain() {
    while (true) {
      turn();
      if (!writing_ && keeping_ == 0 && house_.engine().is_idle()) return;
      woken_.acquire();
    }
  }

 private:
  House& house_;
  std::counting_semaphore<> woken_{0};
  bool writing_ = false;
  int keeping_ = 0;
  Writer writer_;
  Keeper keeper_;
};

TEST(EngineThreads, DecideWriteAndKeepSideBySide) {
  const std::filesystem::path path = own_directory("threads");
  ASSERT_TRUE(journal::make_directory(path));
  const auto files = journal::RealFiles::open_directory(path);
  ASSERT_TRUE(files);
  journal::Options options;
  options.fresh_id = journal::random_journal_id();
  House house([&] { return journal::open_file_journal(**files, options); });
  house.start();
  constexpr int asked = 3000;
  {
    Loop loop(house);
    for (int i = 0; i < asked; ++i) {
      house.ask(take_lock(ana, "lock" + std::to_string(i % 500)));
      if (i % 700 == 699) house.engine().checkpoint();
      if (i % 10 == 0) loop.turn();
      house.stamp.now += 1ms;
    }
    loop.drain();
    EXPECT_GE(loop.checkpoints, 1U);
    EXPECT_GE(loop.commits, 1U);
  }
  EXPECT_EQ(house.replies.size(), std::size_t{asked});
  const State state = house.engine().state();
  house.crash();

  const auto recovery = house.open();
  ASSERT_TRUE(recovery);
  const Result<Remembered> remembered = remember(**recovery);
  ASSERT_TRUE(remembered) << remembered.error().message;
  EXPECT_EQ(remembered->state, state);
  EXPECT_GT(remembered->snapshot, 0U);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace reeve::engine
