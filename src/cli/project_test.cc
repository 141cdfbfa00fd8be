#include "cli/project.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

namespace reeve::cli {
namespace {

namespace fs = std::filesystem;

class ProjectRoots : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "reeve-project-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = fs::canonical(name);
  }
  void TearDown() override { fs::remove_all(base_); }

  void folder(const std::string& path) const { fs::create_directories(base_ / path); }
  void file(const std::string& path, const std::string& text) const {
    fs::create_directories((base_ / path).parent_path());
    std::ofstream(base_ / path) << text;
  }
  std::optional<ProjectRoot> found(const std::string& from) const {
    return find_project((base_ / from).string());
  }
  ProjectRoot root(const std::string& path, const std::string& name) const {
    return ProjectRoot{(base_ / path).string(), name};
  }

  fs::path base_;
};

TEST_F(ProjectRoots, ARepositoryIsFoundFromFarBelow) {
  folder("shop/.git");
  folder("shop/src/deep");
  EXPECT_EQ(found("shop/src/deep"), root("shop", "shop"));
  EXPECT_EQ(found("shop"), root("shop", "shop"));
}

TEST_F(ProjectRoots, AFolderOfOursIsAProjectOfItsOwn) {
  folder("shop/.git");
  folder("shop/tool/.reeve");
  folder("shop/tool/a");
  EXPECT_EQ(found("shop/tool/a"), root("shop/tool", "tool"));
}

TEST_F(ProjectRoots, AWorktreeBelongsToItsMainRepository) {
  folder("shop/.git/worktrees/fix");
  file("shop/.git/worktrees/fix/commondir", "../..\n");
  file("trees/fix/.git", "gitdir: " + (base_ / "shop/.git/worktrees/fix").string() + "\n");
  folder("trees/fix/src");
  EXPECT_EQ(found("trees/fix/src"), root("shop", "shop"));
}

TEST_F(ProjectRoots, AWorktreeBelongsToItWithThePathBelow) {
  folder("shop/.git/worktrees/fix");
  folder("shop/tool/.reeve");
  file("shop/.git/worktrees/fix/commondir", "../..\n");
  file("trees/fix/.git", "gitdir: ../../shop/.git/worktrees/fix\n");
  folder("trees/fix/tool/.reeve");
  EXPECT_EQ(found("trees/fix/tool"), root("shop/tool", "tool"));
}

TEST_F(ProjectRoots, ASubmoduleIsAProjectOfItsOwn) {
  folder("shop/.git/modules/lib");
  file("shop/lib/.git", "gitdir: ../.git/modules/lib\n");
  EXPECT_EQ(found("shop/lib"), root("shop/lib", "lib"));
}

TEST_F(ProjectRoots, TheNameStandsInItsConfiguration) {
  file("shop/.reeve/config.toml",
       "# our shop\n[other]\nname = \"no\"\n[project]\nname = \"till\"\n");
  EXPECT_EQ(found("shop"), root("shop", "till"));
}

// Each of them would have been waited for.
TEST_F(ProjectRoots, APipeInThePlaceOfAFileSaysNothing) {
  folder("shop/.git");
  folder("shop/.reeve");
  ASSERT_EQ(::mkfifo((base_ / "shop/.reeve/config.toml").c_str(), 0600), 0);
  EXPECT_EQ(found("shop"), root("shop", "shop"));

  folder("odd");
  ASSERT_EQ(::mkfifo((base_ / "odd/.git").c_str(), 0600), 0);
  EXPECT_EQ(found("odd"), root("odd", "odd"));

  folder("repo/.git/worktrees/fix");
  ASSERT_EQ(::mkfifo((base_ / "repo/.git/worktrees/fix/commondir").c_str(), 0600), 0);
  file("fix/.git", "gitdir: " + (base_ / "repo/.git/worktrees/fix").string() + "\n");
  EXPECT_EQ(found("fix"), root("fix", "fix"));
}

TEST_F(ProjectRoots, WithoutAnyThereIsNone) { EXPECT_EQ(find_project("/proc"), std::nullopt); }

TEST(ProjectNames, AreReadInBothSpellings) {
  EXPECT_EQ(project_name_in("project.name = 'a b'"), "a b");
  EXPECT_EQ(project_name_in("[project]\nname=\"say \\\"x\\\"\" # why"), "say \"x\"");
  EXPECT_EQ(project_name_in("[project]\nname = 5"), std::nullopt);
  EXPECT_EQ(project_name_in("name = \"x\""), std::nullopt);
}

}  // namespace
}  // namespace reeve::cli
