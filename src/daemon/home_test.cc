#include "daemon/home.h"

#include "daemon/listening.h"
#include "daemon/log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::daemon {
namespace {

struct HomeTest : ::testing::Test {
  HomeTest() {
    path = std::filesystem::path(::testing::TempDir()) / ("reeve_home_" + std::to_string(getpid()));
    std::filesystem::remove_all(path);
  }
  ~HomeTest() override { std::filesystem::remove_all(path); }

  std::filesystem::path path;
};

TEST_F(HomeTest, IsMadePrivate) {
  ASSERT_TRUE(open_home(path / "a" / "b"));
  struct stat about{};
  ASSERT_EQ(stat((path / "a" / "b").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0700U);
}

TEST_F(HomeTest, IsRefusedIfOthersMayLookIntoIt) {
  std::filesystem::create_directories(path);
  ASSERT_EQ(chmod(path.c_str(), 0750), 0);
  const auto opened = open_home(path);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("chmod 700"), std::string::npos);
}

TEST_F(HomeTest, HasOneDaemon) {
  const Result<Descriptor> home = open_home(path);
  ASSERT_TRUE(home);
  {
    const Result<Instance> first = Instance::claim(*home, path);
    ASSERT_TRUE(first);
    first->write("1.2", "/somewhere");
    const Result<Instance> second = Instance::claim(*home, path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Error::Code::Conflict);
    EXPECT_NE(second.error().message.find("pid " + std::to_string(getpid()) + ", version 1.2"),
              std::string::npos);
  }
  EXPECT_TRUE(Instance::claim(*home, path));
}

TEST_F(HomeTest, ALogHasABound) {
  std::filesystem::create_directories(path);
  Log log;
  log.line("before there was a place");
  log.open(path, false);
  const std::string line(1000, 'x');
  for (int i = 0; i < 2200; ++i) log.line(line);
  EXPECT_LE(std::filesystem::file_size(path / "daemon.log"), Log::most_bytes);
  EXPECT_LE(std::filesystem::file_size(path / "daemon.log.1"), Log::most_bytes);
}

TEST(Address, IsAPathOrAHostWithAPort) {
  EXPECT_EQ(std::get<UnixAddress>(*parse_address("unix:/a/b")).path, "/a/b");
  EXPECT_EQ(std::get<TcpAddress>(*parse_address("127.0.0.1:11300")).port, 11300);
  EXPECT_EQ(std::get<TcpAddress>(*parse_address("[::1]:1")).host, "::1");
  for (const char* bad : {"", "host", "host:", "host:x", "host:70000", "host:1x"}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

TEST_F(HomeTest, ASocketThatSomebodyAnswersOnIsLeftAlone) {
  std::filesystem::create_directories(path);
  chmod(path.c_str(), 0700);
  const Address address = UnixAddress{path / "s"};
  {
    const Result<Descriptor> first = open_listener(address, "$REEVE_SOCKET");
    ASSERT_TRUE(first);
    EXPECT_FALSE(open_listener(address, "$REEVE_SOCKET"));
    EXPECT_TRUE(std::filesystem::exists(path / "s"));
  }
  EXPECT_TRUE(open_listener(address, "$REEVE_SOCKET")) << "nobody is there any more";
}

TEST_F(HomeTest, WhoNamedASocketInABadFolderIsToldWhereHeNamedIt) {
  std::filesystem::create_directories(path / "something");
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  const auto refused = open_listener(UnixAddress{path / "s"}, "$REEVE_SOCKET");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("with $REEVE_SOCKET"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("--home"), std::string::npos);
}

}  // namespace
}  // namespace reeve::daemon
