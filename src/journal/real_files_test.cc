#include "journal/real_files.h"

#include "journal/segment_writer.h"
#include "journal/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::journal {
namespace {

class RealFilesBoth : public testing::TestWithParam<SyncMethod> {};

INSTANTIATE_TEST_SUITE_P(Methods,
                         RealFilesBoth,
                         testing::Values(SyncMethod::Direct, SyncMethod::DataSync),
                         [](const auto& it) {
                           return it.param == SyncMethod::Direct ? "Direct" : "DataSync";
                         });

TEST_P(RealFilesBoth, BlocksAreReadAsTheyWereWritten) {
  Scratch scratch;
  const auto files = RealFiles::open_directory(scratch.path(), GetParam());
  ASSERT_TRUE(files.has_value());
  ASSERT_TRUE(make_zeroes(**files, "a", 3 * block_size).has_value());
  BlockBuffer buffer;
  char* const block = buffer.grow_to(block_size, 0);
  std::fill_n(block, block_size, 'x');
  const auto file = (*files)->open("a", Access::Commit);
  ASSERT_TRUE(file.has_value());
  const Result<void> written = (*file)->write(block_size, {block, block_size});
  ASSERT_TRUE(written.has_value()) << written.error().message;
  ASSERT_TRUE((*file)->sync().has_value());
  EXPECT_EQ(
      scratch.bytes("a"),
      std::string(block_size, '\0') + std::string(block_size, 'x') + std::string(block_size, '\0'));
}

TEST_P(RealFilesBoth, WhatAnotherProcessHasClaimedIsFreeWhenThatWasKilled) {
  Scratch scratch;
  const auto files = RealFiles::open_directory(scratch.path(), GetParam());
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto claim = (*files)->claim();
    const char yes = claim ? 'y' : 'n';
    if (::write(told[1], &yes, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(told[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const auto refused = (*files)->claim();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Error::Code::Conflict);

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto claim = (*files)->claim();
  EXPECT_TRUE(claim.has_value()) << claim.error().message;
  EXPECT_FALSE((*files)->claim().has_value());
  ::close(told[0]);
  ::close(told[1]);
}

TEST_P(RealFilesBoth, AWholeJournalLivesOnThem) {
  Scratch scratch;
  const auto files = RealFiles::open_directory(scratch.path(), GetParam());
  ASSERT_TRUE(files.has_value());
  std::vector<std::string> expected;
  for (int round = 0; round < 3; ++round) {
    Result<Opened> opened = open(**files);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    EXPECT_EQ(opened->payloads, expected);
    for (int i = 0; i < 40; ++i) {
      const std::string payload(400, static_cast<char>('a' + i % 26));
      expected.push_back(payload);
      commit(*opened->journal, {expected.back()});
      if (i == 5) {
        ASSERT_TRUE(opened->journal->prepare().has_value());
      }
    }
    if (round == 1) {
      ASSERT_TRUE(opened->journal->close().has_value());
    }
  }
}

TEST(RealFiles, TheProbeLeavesNothingBehind) {
  Scratch scratch;
  const auto files = RealFiles::open_directory(scratch.path(), SyncMethod::Probe);
  ASSERT_TRUE(files.has_value());
  EXPECT_NE((*files)->sync_method(), SyncMethod::Probe);
  EXPECT_EQ(scratch.names(), std::vector<std::string>{});
}

TEST(RealFiles, AreForTheirOwnerAlone) {
  Scratch scratch;
  ASSERT_TRUE(make_directory(scratch.path("x/y")).has_value());
  ASSERT_TRUE(make_directory(scratch.path("x/y")).has_value());
  struct stat status{};
  ASSERT_EQ(::stat(scratch.path("x/y").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_TRUE(scratch.files().create("f", Access::Write).has_value());
  ASSERT_EQ(::stat(scratch.path("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(RealFiles, OnlyFilesAreListed) {
  Scratch scratch;
  std::filesystem::create_directory(scratch.path("d"));
  std::filesystem::create_symlink("f", scratch.path("l"));
  scratch.put("f", "x");
  scratch.put("e", "x");
  EXPECT_EQ(scratch.names(), (std::vector<std::string>{"e", "f"}));
}

TEST(RealFiles, ErrorsNameTheFileAndTheReason) {
  Scratch scratch;
  const auto missing = scratch.files().open("nobody", Access::Read);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error(),
            (Error{Error::Code::NotFound,
                   "cannot open " + scratch.path("nobody") + ": No such file or directory"}));
  EXPECT_EQ(RealFiles::open_directory("/nowhere").error().code, Error::Code::NotFound);
  EXPECT_EQ(scratch.files().remove("nobody").error().code, Error::Code::NotFound);

  scratch.put("f", "x");
  const auto file = scratch.files().open("f", Access::Read);
  const Result<void> written = (*file)->write(5, "y");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error(),
            (Error{Error::Code::Io,
                   "cannot write " + scratch.path("f") + " at offset 5: Bad file descriptor"}));
}

TEST(RealFiles, ReadingEndsWhereTheFileDoes) {
  Scratch scratch;
  scratch.put("f", "hello");
  const auto file = scratch.files().open("f", Access::Read);
  std::string buffer(10, '?');
  EXPECT_EQ((*file)->read(3, buffer).value(), 2U);
  EXPECT_EQ(buffer.substr(0, 3), "lo?");
  EXPECT_EQ((*file)->read(9, buffer).value(), 0U);
  EXPECT_EQ((*file)->size().value(), 5U);
}

TEST(RealFiles, JournalIdsDiffer) { EXPECT_NE(random_journal_id(), random_journal_id()); }

}  // namespace
}  // namespace reeve::journal
