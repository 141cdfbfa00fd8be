#include "engine/writer.h"

#include "engine/testing.h"

#include <gtest/gtest.h>

#include <future>

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
