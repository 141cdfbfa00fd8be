#include "daemon/runbook_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace reeve::daemon {
namespace {

using Changed = std::set<ProjectNo>;
using Watched = RunbookFolders::Watched;

constexpr ProjectNo one{7};
constexpr ProjectNo two{8};

struct RunbookFoldersTest : ::testing::Test {
  RunbookFoldersTest() {
    std::filesystem::remove_all(base);
    std::filesystem::create_directories(runbooks);
  }
  ~RunbookFoldersTest() override { std::filesystem::remove_all(base); }

  static void write(const std::filesystem::path& path) { std::ofstream(path) << "x = 1\n"; }

  const std::filesystem::path base =
      std::filesystem::path(::testing::TempDir()) / ("reeve_folders_" + std::to_string(getpid()));
  const std::filesystem::path root = base / "root";
  const std::filesystem::path runbooks = root / ".reeve" / "runbooks";
  RunbookFolders folders;
};

TEST_F(RunbookFoldersTest, ARunbookThatIsWrittenRenamedOrRemovedIsAChange) {
  ASSERT_EQ(folders.watch(one, root), Watched::Yes);
  EXPECT_EQ(folders.take(), Changed{});
  write(runbooks / "a.toml");
  EXPECT_EQ(folders.take(), Changed{one});
  write(runbooks / "b.new");
  EXPECT_EQ(folders.take(), Changed{});
  std::filesystem::rename(runbooks / "b.new", runbooks / "a.toml");
  EXPECT_EQ(folders.take(), Changed{one});
  std::filesystem::remove(runbooks / "a.toml");
  EXPECT_EQ(folders.take(), Changed{one});
  EXPECT_EQ(folders.take(), Changed{});
}

TEST_F(RunbookFoldersTest, WhatIsNoRunbookIsNoChange) {
  write(runbooks / "a.toml");
  ASSERT_EQ(folders.watch(one, root), Watched::Yes);
  write(runbooks / ".a.toml");
  write(runbooks / "a.toml~");
  write(root / ".reeve" / "config.toml");
  write(root / "README.md");
  std::ifstream(runbooks / "a.toml").get();
  EXPECT_EQ(folders.take(), Changed{});
}

TEST_F(RunbookFoldersTest, AFolderThatGoesAndComesIsWatchedAgain) {
  ASSERT_EQ(folders.watch(one, root), Watched::Yes);
  std::filesystem::remove_all(root / ".reeve");
  EXPECT_EQ(folders.take(), Changed{one});
  std::filesystem::create_directory(root / ".reeve");
  EXPECT_EQ(folders.take(), Changed{one});
  std::filesystem::create_directory(runbooks);
  EXPECT_EQ(folders.take(), Changed{one});
  write(runbooks / "a.toml");
  EXPECT_EQ(folders.take(), Changed{one});
  std::filesystem::rename(runbooks, root / "aside");
  EXPECT_EQ(folders.take(), Changed{one});
  write(root / "aside" / "a.toml");
  EXPECT_EQ(folders.take(), Changed{});
}

TEST_F(RunbookFoldersTest, ARootThatIsNotThereIsLostAndFoundWhenItIsAskedForAgain) {
  std::filesystem::rename(root, base / "away");
  EXPECT_EQ(folders.watch(one, root), Watched::Lost);
  std::filesystem::rename(base / "away", root);
  EXPECT_EQ(folders.watch(one, root), Watched::Yes);
  write(runbooks / "a.toml");
  EXPECT_EQ(folders.take(), Changed{one});
}

TEST_F(RunbookFoldersTest, AFolderOfTwoProjectsIsWatchedUntilBothHaveForgottenIt) {
  std::filesystem::create_directories(base / "other" / ".reeve");
  std::filesystem::create_directory_symlink(runbooks, base / "other" / ".reeve" / "runbooks");
  ASSERT_EQ(folders.watch(one, root), Watched::Yes);
  ASSERT_EQ(folders.watch(two, base / "other"), Watched::Yes);
  write(runbooks / "a.toml");
  EXPECT_EQ(folders.take(), (Changed{one, two}));
  folders.forget(one);
  write(runbooks / "a.toml");
  EXPECT_EQ(folders.take(), Changed{two});
  folders.forget(two);
  write(runbooks / "a.toml");
  EXPECT_EQ(folders.take(), Changed{});
}

TEST_F(RunbookFoldersTest, WhatChangedWhileNobodyWatchedIsSeenByItsTime) {
  write(runbooks / "a.toml");
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  EXPECT_TRUE(changed_since(root, now - std::chrono::hours(1)));
  EXPECT_FALSE(changed_since(root, now + std::chrono::hours(1)));
  EXPECT_FALSE(changed_since(base / "nowhere", now - std::chrono::hours(1)));
}

}  // namespace
}  // namespace reeve::daemon
