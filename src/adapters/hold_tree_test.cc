#include "adapters/hold.h"
#include "adapters/process.h"
#include "adapters/testing.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

// Whom a hold ends, and whom it lets be.
namespace reeve::adapters::testing {
namespace {

struct HoldTreeTest : ::testing::Test {
  Home home;
  RunDirectory run{home.at("run")};
  // With these words the test program is a hold, or sleeps as a daemon: see testing.cc.
  std::string reeve =
      "ln -s " + std::filesystem::read_symlink("/proc/self/exe").string() + " reeve 2>/dev/null; ";
  std::string socket = home.at("tmux.sock");
  std::string tmux = "REEVE_TMUX_SERVER=1 tmux -S '" + socket + "' -f /dev/null ";

  ~HoldTreeTest() override {
    if (std::filesystem::exists(socket)) {
      output_of("tmux -S '" + socket + "' kill-server 2>/dev/null || true");
    }
  }
};

// As it comes to one when its daemon, started in a step, is killed.
TEST_F(HoldTreeTest, TheHoldOfAnotherRunIsNoPartOfIt) {
  const RunDirectory other(home.at("other"));
  ASSERT_TRUE(other.prepare(home.spec("until [ -e go ]; do sleep 0.02; done; exit 7")));
  const Outcome outcome =
      held(home,
           home.spec(reeve + "(setsid ./reeve hold " + other.path() + " &); until [ -e " +
                     other.file("started") + " ]; do sleep 0.02; done; exit 3"));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(home.read("log").find("left running"), std::string::npos);
  EXPECT_TRUE(std::holds_alternative<RunDirectory::Running>(other.look()));
  home.write("go", "");
  ASSERT_TRUE(
      becomes_true([&] { return std::holds_alternative<RunDirectory::Ended>(other.look()); }, 20s));
  EXPECT_EQ(std::get<RunDirectory::Ended>(other.look()).outcome.exit_code, 7);
}

TEST_F(HoldTreeTest, NorIsTheServerOfSessions) {
  const Outcome outcome = held(home, home.spec(tmux + "new-session -d -s one sleep 300; exit 3"));
  EXPECT_EQ(outcome.exit_code, 3) << outcome.output;
  EXPECT_EQ(home.read("log").find("left running"), std::string::npos);
  EXPECT_EQ(output_of(tmux + "list-sessions -F '#{session_name}'"), "one");
}

TEST_F(HoldTreeTest, ToEndWhoStartedTheServerOfSessionsEndsNoneOfThem) {
  RunSpec spec = home.spec(tmux + "new-session -d -s one sleep 300; echo ready; sleep 300");
  spec.leaves_others = true;
  ASSERT_TRUE(run.prepare(spec));
  const pid_t pid = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return home.read("log") == "ready\n"; }, 20s));
  output_of(tmux + "new-session -d -s two sleep 300");
  kill(pid, SIGTERM);
  wait_for(pid);
  EXPECT_EQ(std::get<RunDirectory::Ended>(run.look()).outcome.error, "ended on request");
  EXPECT_EQ(output_of(tmux + "list-sessions -F '#{session_name}' | paste -sd ' '"), "one two");
}

// A server that a step starts for itself is one of the things that it left running.
TEST_F(HoldTreeTest, AServerOfItsOwnIsEndedWithIt) {
  RunSpec spec =
      home.spec("tmux -S " + socket + " -f /dev/null new-session -d sleep 300; sleep 300");
  spec.timeout = Duration{3000};
  EXPECT_TRUE(held(home, spec).timed_out);
  EXPECT_TRUE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
}

// As with a folder on a disk that does not answer: here nobody ever writes into its input.
TEST_F(HoldTreeTest, OneThatCannotBeginIsEndedAtItsLimit) {
  RunSpec spec = home.spec("echo begun");
  spec.has_stdin = true;
  spec.timeout = Duration{300};
  spec.grace = Duration{100};
  ASSERT_TRUE(run.prepare(spec));
  std::filesystem::remove(run.file("stdin"));
  ASSERT_EQ(mkfifo(run.file("stdin").c_str(), 0600), 0);
  const pid_t pid = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return run.has_started(); }, 20s));
  const auto is_over = [&] { return std::holds_alternative<RunDirectory::Ended>(run.look()); };
  EXPECT_TRUE(becomes_true(is_over, 20s));
  if (!is_over()) kill(pid, SIGKILL);
  wait_for(pid);
  ASSERT_TRUE(is_over());
  const Outcome outcome = std::get<RunDirectory::Ended>(run.look()).outcome;
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.output, "");
}

}  // namespace
}  // namespace reeve::adapters::testing
