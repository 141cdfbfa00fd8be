#include "adapters/log_keeper.h"

#include "adapters/testing.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

namespace reeve::adapters::testing {
namespace {

TEST(LogKeeper, TheOldestGoButNotThoseThatAreNotOver) {
  Home home;
  const std::string block(100'000, 'x');
  int day = 1;
  for (const char* name : {"pipe-a", "pipe-b", "pipe-c", "pipe-d"}) {
    const std::string path = std::string("logs/") + name + "/work#1.1-0.log";
    home.write(path, block);
    const timespec time{day++ * 86'400, 0};
    const timespec times[2] = {time, time};
    utimensat(AT_FDCWD, home.at(path).c_str(), times, 0);
  }
  home.write("logs/hook.log", block);
  LogKeeper keeper(
      home.at("logs"),
      {.bytes = 250'000},
      [](std::string_view name) { return name == "pipe-a"; },
      [](const std::string& path) { RunDirectory(path).remove(); });
  keeper.begin();
  while (keeper.is_busy()) keeper.step();
  EXPECT_TRUE(std::filesystem::exists(home.at("logs/pipe-a")));
  EXPECT_FALSE(std::filesystem::exists(home.at("logs/pipe-b")));
  EXPECT_FALSE(std::filesystem::exists(home.at("logs/pipe-c")));
  EXPECT_TRUE(std::filesystem::exists(home.at("logs/pipe-d")));
  EXPECT_TRUE(std::filesystem::exists(home.at("logs/hook.log")));
  keeper.begin();
  while (keeper.is_busy()) keeper.step();
  EXPECT_TRUE(std::filesystem::exists(home.at("logs/pipe-d")));
}

TEST(LogKeeper, ThoseOfWhoSaidNothingGoAsWell) {
  for (const LogKeeper::Limits limits :
       {LogKeeper::Limits{.bytes = 5 * 8192}, {.bytes = 1 << 30, .folders = 5}}) {
    const Home home;
    for (int i = 0; i < 10; ++i) {
      home.write("logs/pipe-" + std::to_string(i) + "/work#1.1-0.log", "");
    }
    LogKeeper keeper(
        home.at("logs"),
        limits,
        [](std::string_view) { return false; },
        [](const std::string& path) { RunDirectory(path).remove(); });
    keeper.begin();
    while (keeper.is_busy()) keeper.step();
    int left = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(home.at("logs"))) {
      ++left;
    }
    EXPECT_EQ(left, 5);
  }
}

}  // namespace
}  // namespace reeve::adapters::testing
