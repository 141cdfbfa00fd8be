#include "engine/writer.h"

#include "engine/testing.h"

#include <gtest/gtest.h>

#include <future>
#include <semaphore>
#include <string>

namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;

TEST(Writer, CommitsOnItsThreadAndSaysSo) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  std::promise<void> woken;
  Writer writer(house.journal(), [&] { woken.set_value(); });
  EXPECT_FALSE(writer.finished());
  const Ticket ticket = house.ask(take_lock(ana, "main"));
  writer.begin(*house.engine().take_batch());
  woken.get_future().wait();
  const auto finished = writer.finished();
  ASSERT_TRUE(finished && *finished);
  EXPECT_FALSE(writer.finished());  // said once
  house.engine().committed(**finished);
  house.engine().deliver();
  EXPECT_TRUE(house.reply_to(ticket));
}

TEST(Writer, ADiskThatIsQuickIsWrittenOnTheCallersThread) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  Writer writer(house.journal(), [] { ADD_FAILURE() << "nobody has to be woken"; });
  const Ticket ticket = house.ask(take_lock(ana, "main"));
  writer.commit(*house.engine().take_batch());
  const auto finished = writer.finished();
  ASSERT_TRUE(finished && *finished);
  house.engine().committed(**finished);
  house.engine().deliver();
  EXPECT_TRUE(house.reply_to(ticket));
}

TEST(Writer, ADiskThatTurnsOutToBeSlowIsWrittenOnTheWritersThread) {
  MemoryDisk disk;
  disk.takes = 10 * limits::quick_commit;
  House house(disk);
  house.start();
  std::counting_semaphore<> woken{0};
  Writer writer(house.journal(), [&] { woken.release(); });
  int at_once = 0;
  for (int i = 0; i < 10; ++i) {
    house.ask(take_lock(ana, "lock" + std::to_string(i)));
    writer.commit(*house.engine().take_batch());
    auto finished = writer.finished();
    if (finished) {
      ++at_once;
    } else {
      woken.acquire();
      finished = writer.finished();
    }
    ASSERT_TRUE(finished && *finished);
    house.engine().committed(**finished);
  }
  EXPECT_EQ(at_once, 1);
}

TEST(Writer, PassesAFailureOn) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  disk.fails = Error{Error::Code::Io, "broken"};
  std::promise<void> woken;
  Writer writer(house.journal(), [&] { woken.set_value(); });
  house.ask(take_lock(ana, "main"));
  writer.begin(*house.engine().take_batch());
  woken.get_future().wait();
  const auto finished = writer.finished();
  ASSERT_TRUE(finished);
  ASSERT_FALSE(*finished);
  EXPECT_EQ(finished->error(), *disk.fails);
}

TEST(Writer, WaitsForTheCommitAtHandBeforeItEnds) {
  MemoryDisk disk;
  House house(disk);
  house.start();
  const std::size_t before = disk.records.size();
  house.ask(take_lock(ana, "main"));
  {
    Writer writer(house.journal(), [] {});
    writer.begin(*house.engine().take_batch());
  }
  EXPECT_EQ(disk.records.size(), before + 1);
}

}  // namespace
}  // namespace reeve::engine
