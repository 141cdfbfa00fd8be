#include "adapters/bounded_log.h"
#include "adapters/hold.h"
#include "adapters/testing.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

// What a program said, when it is hard to keep.
namespace reeve::adapters::testing {
namespace {

// As long as it lasts no file of ours grows over this.
class FileLimit {
 public:
  explicit FileLimit(rlim_t most) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

struct HoldWordsTest : ::testing::Test {
  Home home;
  RunDirectory run{home.at("run")};
};

TEST_F(HoldWordsTest, AFloodIsKeptWithinBoundsAndItsEndIsThere) {
  RunSpec spec = home.spec("echo begin; seq 1 400000; echo end");
  spec.log_bytes = 64 * 1024;
  const Outcome outcome = held(home, spec);
  EXPECT_EQ(outcome.exit_code, 0);
  const std::string log = home.read("log");
  EXPECT_LE(log.size(), 64U * 1024 + 100);
  EXPECT_TRUE(log.starts_with("begin\n1\n2\n"));
  EXPECT_TRUE(log.ends_with("\n400000\nend\n"));
  EXPECT_NE(log.find("bytes left out ..."), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(home.at("log.tail")));
  EXPECT_FALSE(std::filesystem::exists(home.at("log.tail.1")));
  EXPECT_EQ(outcome.output.size(), output_kept);
  EXPECT_TRUE(outcome.output.ends_with("\n400000\nend\n"));
}

TEST_F(HoldWordsTest, ASecretIsNotHandedOnInAnOutput) {
  for (const char* text : {"echo a=1; echo url=hunter22", "echo url=http://x:hunter22@y"}) {
    std::filesystem::remove_all(home.at("run"));
    RunSpec spec = home.spec("(" + std::string(text) + ") >> $REEVE_OUTPUT");
    spec.secrets = {"hunter22"};
    const Outcome outcome = held(home, spec);
    EXPECT_EQ(outcome.ended, Ended::Failed);
    EXPECT_TRUE(outcome.error.starts_with("output url has a secret in it")) << outcome.error;
    EXPECT_EQ(outcome.values, Variables{});
  }
}

// A value that arrived changed, or not at all, would be found much later.
TEST_F(HoldWordsTest, AnOutputThatCannotArriveAsItIsFailsTheStep) {
  const std::string replaced = "what it put in the place of $REEVE_OUTPUT cannot be read";
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {"printf 'k=a\\0b\\n' > $REEVE_OUTPUT", "output k has a NUL, or is not UTF-8"},
           {"printf 'k=\\377\\n' > $REEVE_OUTPUT", "output k has a NUL, or is not UTF-8"},
           {"echo k=v > out; ln -s \"$PWD/out\" $REEVE_OUTPUT", replaced},
           {"mkfifo $REEVE_OUTPUT", replaced},
           {"mkdir $REEVE_OUTPUT", replaced}}) {
    std::filesystem::remove_all(home.at("run"));
    const Outcome outcome = held(home, home.spec(text));
    EXPECT_EQ(outcome.ended, Ended::Failed) << text;
    EXPECT_TRUE(outcome.error.starts_with(error)) << text << ": " << outcome.error;
    EXPECT_EQ(outcome.values, Variables{}) << text;
  }
}

TEST_F(HoldWordsTest, WhatALogLeavesOutIsCounted) {
  BoundedLog log(home.at("kept"), 400);
  for (int i = 0; i < 100; ++i) log.write("0123456789");
  log.finish();
  const std::string text = home.read("kept");
  const std::string remark =
      "\n[reeve] ... " + std::to_string(log.left_out()) + " bytes left out ...\n";
  EXPECT_EQ(text.size(), 1000 - log.left_out() + remark.size());
  EXPECT_GE(1000 - log.left_out(), 300U);
  EXPECT_LE(1000 - log.left_out(), 400U);
}

TEST_F(HoldWordsTest, AFullDiskStopsNeitherTheProgramNorItsEnd) {
  RunSpec spec = home.spec("seq 1 200000; exit 6");
  spec.log = "/dev/full";
  const Outcome outcome = held(home, spec);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_TRUE(outcome.output.ends_with("\n200000\n"));
}

TEST_F(HoldWordsTest, AnEndThatCannotBeWrittenCostsNothingOfWhatWasSaid) {
  ASSERT_TRUE(run.prepare(home.spec("mkdir run/exit.tmp; echo words; exit 3")));
  const pid_t pid = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return home.read("log") == "words\n"; }, 20s));
  std::this_thread::sleep_for(1s);  // it tries and tries
  EXPECT_EQ(home.read("log"), "words\n");
  EXPECT_TRUE(std::holds_alternative<RunDirectory::Running>(run.look()));
  std::filesystem::remove(home.at("run/exit.tmp"));
  wait_for(pid);
  const Outcome outcome = std::get<RunDirectory::Ended>(run.look()).outcome;
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.output, "words\n");
}

TEST_F(HoldWordsTest, WithoutRoomForItsWordsAnEndIsToldAlone) {
  for (const bool only_stdout : {false, true}) {
    RunSpec spec = home.spec("seq 1 5000");
    spec.only_stdout = only_stdout;
    ASSERT_TRUE(run.prepare(spec));
    {
      const FileLimit limit(4096);
      wait_for(start_hold(run));
    }
    const RunDirectory::Seen seen = run.look();
    ASSERT_TRUE(std::holds_alternative<RunDirectory::Ended>(seen));
    const Outcome outcome = std::get<RunDirectory::Ended>(seen).outcome;
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(outcome.ended, only_stdout ? Ended::Failed : Ended::Done);
    EXPECT_EQ(outcome.error.empty(), !only_stdout);
  }
}

TEST_F(HoldWordsTest, ATailThatFindsNoRoomStaysWhereItIs) {
  BoundedLog log(home.at("kept"), 400);
  for (int i = 0; i < 100; ++i) log.write("0123456789");
  log.write("end");
  {
    const FileLimit limit(200);
    log.finish();
  }
  EXPECT_TRUE(home.read("kept.tail").ends_with("end"));
  BoundedLog next(home.at("kept"), 400);
  next.write("new");
  next.finish();
  EXPECT_EQ(home.read("kept"), "new");
}

TEST_F(HoldWordsTest, ATailThatFindsRoomForHalfOfItIsNowhereTwice) {
  for (const rlim_t room : {210U, 250U, 350U}) {
    BoundedLog log(home.at("kept"), 400);
    for (int i = 0; i < 100; ++i) log.write("0123456789");
    log.write("end");
    const std::string tails = home.read("kept.tail.1") + home.read("kept.tail");
    {
      const FileLimit limit(room);
      log.finish();
    }
    std::string all = home.read("kept");
    if (std::filesystem::exists(home.at("kept.tail.1"))) all += home.read("kept.tail.1");
    all += home.read("kept.tail");
    EXPECT_TRUE(all.ends_with(tails)) << room;
    const std::string before = all.substr(0, all.size() - tails.size());
    EXPECT_EQ(before.find("0123456789", 200), std::string::npos) << room;
    EXPECT_EQ(before.size() > 200, room > 210) << room;
  }
}

TEST_F(HoldWordsTest, WhatWasHalfWrittenCounts) {
  BoundedLog log(home.at("kept"), 400);
  for (int i = 0; i < 10; ++i) {
    {
      const FileLimit limit(static_cast<rlim_t>(10 * i + 5));
      log.write("0123456789");
    }
    log.write("01234");
  }
  for (int i = 0; i < 100; ++i) log.write("0123456789");
  EXPECT_LE(std::filesystem::file_size(home.at("kept")), 200U);
}

// Through the terminal and the server it takes a while; here it is written by hand.
TEST_F(HoldWordsTest, TheLastWordsOfASessionAreWaitedFor) {
  RunSpec spec = home.spec("until [ -e go ]; do sleep 0.01; done; exit 3");
  spec.in_pane = true;
  ASSERT_TRUE(run.prepare(spec));
  const pid_t pid = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return run.has_started(); }, 20s));
  home.write("go", "");
  std::ofstream log(spec.log);
  for (int i = 0; i < 50; ++i) {
    log << "x" << std::flush;
    std::this_thread::sleep_for(10ms);
  }
  log << "the end" << std::flush;
  wait_for(pid);
  const Outcome outcome = std::get<RunDirectory::Ended>(run.look()).outcome;
  EXPECT_TRUE(outcome.output.ends_with("the end")) << outcome.output;
}

}  // namespace
}  // namespace reeve::adapters::testing
