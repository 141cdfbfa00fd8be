#include "engine/keeper.h"

#include "engine/testing.h"

#include <gtest/gtest.h>

#include <semaphore>

namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;

TEST(Keeper, WritesCheckpointsAndTruncatesInTheOrderItWasAsked) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.get(take_lock(ana, "main"));
  house.engine().checkpoint();
  house.settle();

  std::counting_semaphore woken(0);
  Keeper keeper(house.journal(), [&] { woken.release(); });
  keeper.write(*house.engine().take_snapshot());
  keeper.truncate(2);
  keeper.prepare();
  for (int i = 0; i < 3; ++i) woken.acquire();

  const auto written = keeper.finished();
  ASSERT_TRUE(written);
  const auto& result = std::get<Keeper::Written>(*written).result;
  ASSERT_TRUE(result);
  EXPECT_EQ(result->moment.sequence, 2U);
  EXPECT_TRUE(std::get<Keeper::Truncated>(*keeper.finished()).result);
  EXPECT_TRUE(std::get<Keeper::Prepared>(*keeper.finished()).result);
  EXPECT_FALSE(keeper.finished());
  EXPECT_EQ(disk.truncated, 2U);
  house.engine().checkpoint_written(*result);
  EXPECT_FALSE(house.engine().is_checkpointing());
}

TEST(Keeper, PassesAFailureOn) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  house.engine().checkpoint();
  house.settle();
  disk.full = true;
  std::counting_semaphore woken(0);
  Keeper keeper(house.journal(), [&] { woken.release(); });
  keeper.write(*house.engine().take_snapshot());
  woken.acquire();
  const auto written = keeper.finished();
  ASSERT_TRUE(written);
  ASSERT_FALSE(std::get<Keeper::Written>(*written).result);
  EXPECT_EQ(std::get<Keeper::Written>(*written).result.error().code, Error::Code::Full);
}

}  // namespace
}  // namespace reeve::engine
