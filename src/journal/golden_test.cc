// The files of version 1, as they were written by it: read as they are, and written the same way
// again. A difference is a new version, never a new golden file.

#include "journal/clean_mark.h"
#include "journal/names.h"
#include "journal/segment.h"
#include "journal/snapshot_file.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace reeve::journal {
namespace {

std::filesystem::path golden() {
  // Nobody sets it while tests run. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const folder = std::getenv("REEVE_GOLDEN");
  return std::filesystem::path(folder == nullptr ? "tests/golden" : folder) / "journal";
}

// What the golden directory was made by.
void make(Files& files) {
  Options options = small_options();
  options.compress = false;
  Result<Opened> opened = open(files, options);
  ASSERT_TRUE(opened.has_value());
  commit(*opened->journal, {"first"});
  commit(*opened->journal, {"second", std::string("\0\xff\\ and \n", 9), ""});
  snapshot(
      *opened->journal, 3, "the state after the third record, in more than one chunk of bytes");
  commit(*opened->journal, {std::string(3900, 'x')});
  ASSERT_TRUE(opened->journal->close().has_value());
}

TEST(Golden, TheJournalOfVersion1IsRead) {
  Scratch scratch;
  for (const auto& file : std::filesystem::directory_iterator(golden())) {
    std::filesystem::copy(file, scratch.path());
  }
  const Result<Opened> opened = open(scratch.files());
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  EXPECT_TRUE(opened->findings.clean_stop);
  EXPECT_EQ(opened->content, "the state after the third record, in more than one chunk of bytes");
  EXPECT_EQ(opened->snapshot->digest, 0xabcU);
  EXPECT_EQ(opened->payloads, (std::vector<std::string>{"", std::string(3900, 'x')}));
  EXPECT_EQ(opened->journal->next_sequence(), 6U);
}

TEST(Golden, TheJournalOfVersion1IsWritten) {
  Scratch scratch;
  make(scratch.files());
  // Nobody sets it while tests run. NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("REEVE_MAKE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(golden());
    std::filesystem::copy(scratch.path(),
                          golden(),
                          std::filesystem::copy_options::overwrite_existing |
                              std::filesystem::copy_options::recursive);
  }
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(golden())) {
    names.push_back(file.path().filename().string());
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(scratch.bytes(names.back()), bytes) << names.back();
  }
  std::ranges::sort(names);
  EXPECT_EQ(scratch.names(), names);
}

}  // namespace
}  // namespace reeve::journal
