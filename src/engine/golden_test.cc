// A state in a snapshot of the journal, as the first version wrote it: every later one reads it.
// The Python reader of the tests reads the same file.

#include "codec/frames.h"
#include "engine/testing.h"
#include "journal/file_journal.h"
#include "journal/names.h"
#include "journal/real_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace reeve::engine {
namespace {

using namespace engine::testing;
using reeve::testing::ana;

std::filesystem::path golden() {
  // Nobody sets it while tests run. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const folder = std::getenv("REEVE_GOLDEN");
  return std::filesystem::path(folder == nullptr ? "tests/golden" : folder) / "state";
}

journal::Options small() {
  journal::Options options;
  options.fresh_id.bytes.fill(7);
  options.first_segment = 8192;
  options.largest_group = 4096;
  options.chunk_size = 100;  // frames do not end where chunks do
  options.compress = false;
  return options;
}

// What the golden directory was made by.
void make(const std::filesystem::path& path) {
  const auto files = journal::RealFiles::open_directory(path, journal::SyncMethod::DataSync);
  ASSERT_TRUE(files);
  House house([&] { return journal::open_file_journal(**files, small()); });
  house.start();
  house.get(take_lock(ana, "main"), {}, "key");
  house.get(take_lock(ana, "other"));
  house.checkpoint();
  ASSERT_TRUE(house.journal().close());
}

TEST(EngineGolden, TheStateOfVersion1IsRead) {
  // Nobody sets it while tests run. NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("REEVE_MAKE_GOLDEN") != nullptr) {
    std::filesystem::remove_all(golden());
    std::filesystem::create_directories(golden());
    make(golden());
  }
  const auto files = journal::RealFiles::open_directory(golden(), journal::SyncMethod::DataSync);
  ASSERT_TRUE(files) << files.error().message;
  const auto recovery = journal::open_file_journal(**files, small());
  ASSERT_TRUE(recovery) << recovery.error().message;
  const Result<Remembered> remembered = remember(**recovery);  // and compares the digests
  ASSERT_TRUE(remembered) << remembered.error().message;
  EXPECT_EQ(remembered->state.sequence, 3U);
  EXPECT_EQ(remembered->snapshot, 3U);
  EXPECT_EQ(remembered->replayed, 0U);
  EXPECT_TRUE(remembered->state.keys.entries.contains({default_project, "key"}));
}

// docs/journal_format.md, by hand: a length of four bytes, then as many.
TEST(EngineGolden, FramesAreWhatTheDocumentSays) {
  const std::string framed =
      codec::frame("first") + codec::frame("") + codec::frame(std::string(300, 'x'));
  EXPECT_EQ(framed.substr(0, 9), std::string("\x05\0\0\0first", 9));
  EXPECT_EQ(framed.substr(9, 8), std::string("\0\0\0\0\x2c\x01\0\0", 8));
  EXPECT_EQ(framed.size(), 9U + 4U + 304U);
}

}  // namespace
}  // namespace reeve::engine
