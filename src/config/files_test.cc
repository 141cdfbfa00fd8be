#include "config/files.h"

#include "config/edit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace reeve::config {
namespace {

namespace fs = std::filesystem;

class ConfigFiles : public testing::Test {
 protected:
  ConfigFiles() {
    std::string name = fs::temp_directory_path() / "reeve-config-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~ConfigFiles() override { fs::remove_all(folder_); }

  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  static void write(const std::string& path, std::string_view text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static std::size_t entries(const std::string& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  std::string folder_;
};

Result<std::string> greet(std::string_view text) { return std::string(text) + "hello\n"; }

TEST_F(ConfigFiles, AFileThatIsNotThereSaysNothing) {
  const auto settings = read_settings(path("none"), "");
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->user().settings.empty());
  EXPECT_EQ(settings->user().file, path("none"));
}

TEST_F(ConfigFiles, TheMistakesOfBothFilesAreToldAtOnce) {
  write(path("user"), "a = 1\n");
  write(path("project"), "b = 1\n");
  const auto settings = read_settings(path("user"), path("project"));
  ASSERT_FALSE(settings);
  ASSERT_EQ(settings.error().size(), 2U);
  EXPECT_EQ(settings.error()[0].file, path("user"));
  EXPECT_EQ(settings.error()[1].file, path("project"));
}

TEST_F(ConfigFiles, AFolderInThePlaceOfAFileIsAMistakeWithoutALine) {
  fs::create_directory(path("user"));
  const auto settings = read_settings(path("user"), "");
  ASSERT_FALSE(settings);
  EXPECT_TRUE(to_text(settings.error()[0]).starts_with(path("user") + ": cannot be read"));
}

TEST_F(ConfigFiles, APipeInThePlaceOfAFileIsAMistakeAndIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("user").c_str(), 0600), 0);
  const auto settings = read_settings(path("user"), "");
  ASSERT_FALSE(settings);
  EXPECT_EQ(to_text(settings.error()[0]), path("user") + ": cannot be read: it is no regular file");
  const auto changed = change_file(path("user"), greet);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().message, path("user") + " cannot be read: it is no regular file");
}

TEST_F(ConfigFiles, WhatIsNotThereIsMadeWithItsFolders) {
  ASSERT_TRUE(change_file(path("a/b/config.toml"), greet));
  EXPECT_EQ(read(path("a/b/config.toml")), "hello\n");
  EXPECT_EQ(entries(path("a/b")), 1U);
}

TEST_F(ConfigFiles, AModeIsKeptAndALinkIsFollowed) {
  fs::create_directory(path("real"));
  write(path("real/file"), "first\n");
  ::chmod(path("real/file").c_str(), 0640);
  fs::create_symlink("real/file", path("config.toml"));
  ASSERT_TRUE(change_file(path("config.toml"), greet));
  EXPECT_TRUE(fs::is_symlink(path("config.toml")));
  EXPECT_EQ(read(path("real/file")), "first\nhello\n");
  struct stat status{};
  ASSERT_EQ(::stat(path("real/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
  EXPECT_EQ(entries(path("real")), 1U);
}

TEST_F(ConfigFiles, WhatCannotBeEditedStaysAsItIs) {
  write(path("config.toml"), "first\n");
  const auto changed = change_file(
      path("config.toml"),
      [](std::string_view) -> Result<std::string> { return fail(Error::Code::Conflict, "no"); });
  EXPECT_EQ(changed.error(), (Error{Error::Code::Conflict, "no"}));
  EXPECT_EQ(read(path("config.toml")), "first\n");
}

TEST_F(ConfigFiles, OfManyChangesAtATimeNoneIsLost) {
  constexpr int each = 25;
  const auto add = [&](char letter) {
    for (int i = 0; i < each; ++i) {
      const auto changed = change_file(
          path("config.toml"),
          [&](std::string_view text) -> Result<std::string> { return std::string(text) + letter; });
      EXPECT_TRUE(changed);
    }
  };
  std::jthread one(add, 'a');
  std::jthread two(add, 'b');
  one.join();
  two.join();
  EXPECT_EQ(read(path("config.toml")).size(), 2U * each);
}

TEST(ConfigPlaces, AProjectsFileIsInItsFolder) {
  EXPECT_EQ(project_file("/a/b"), "/a/b/.reeve/config.toml");
  EXPECT_EQ(project_file("/"), "/.reeve/config.toml");
  EXPECT_EQ(project_file(""), "");
}

}  // namespace
}  // namespace reeve::config
