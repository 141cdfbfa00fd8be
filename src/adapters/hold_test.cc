#include "adapters/hold.h"

#include "adapters/hold_child.h"
#include "adapters/process.h"
#include "adapters/testing.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::adapters::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct HoldTest : ::testing::Test {
  Home home;
  RunDirectory run{home.at("run")};

  Outcome play(const std::string& text) { return held(home, home.spec(text)); }
};

// ── What it says of itself ──

TEST(RunFiles, ASpecIsReadAsItWasWritten) {
  RunSpec spec;
  spec.text = "echo \"${REEVE_V_x}\"\n# =\n";
  spec.strict = true;
  spec.directory = "/a folder";
  spec.environment = {{"A", "b=c\nd"}, {"EMPTY", ""}};
  spec.secrets = {"one", "two\n"};
  spec.timeout = Duration{1234};
  spec.grace = Duration{7};
  spec.log = "/log";
  spec.log_bytes = 99;
  spec.mask = 0027;
  spec.descriptors = 1024;
  spec.has_stdin = spec.only_stdout = spec.in_pane = spec.leaves_others = true;
  spec.synced = false;
  EXPECT_EQ(*parse_spec(to_text(spec)), spec);
  EXPECT_FALSE(parse_spec(to_text(spec).substr(0, 40)));
  EXPECT_FALSE(parse_spec(""));
}

TEST(RunFiles, AnOutcomeIsReadAsItWasWritten) {
  Outcome outcome;
  outcome.ended = Ended::Failed;
  outcome.exit_code = 3;
  outcome.signal = 9;
  outcome.timed_out = true;
  outcome.error = "why";
  outcome.output = "a\nb\n";
  outcome.values = {{"key", "v=1"}, {"key", ""}};
  EXPECT_EQ(*parse_outcome(to_text(outcome)), outcome);
  EXPECT_FALSE(parse_outcome(to_text(RunSpec{})));
}

TEST(RunFiles, OutputIsKeysAndValues) {
  EXPECT_EQ(*parse_output("a=1\n\nb_2=x=y\nc="),
            (Variables{{"a", "1"}, {"b_2", "x=y"}, {"c", ""}}));
  EXPECT_EQ(parse_output("a=1\nnonsense\n").error().message,
            "line 2 of $REEVE_OUTPUT is not key=value: nonsense");
  EXPECT_FALSE(parse_output("=1\n"));
  EXPECT_FALSE(parse_output("a b=1\n"));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a=\n";
  EXPECT_EQ(parse_output(many)->size(), 1000U);
  EXPECT_FALSE(parse_output(many + "a=\n"));
}

TEST(RunFiles, AnEffectHasAName) {
  EXPECT_EQ(to_text(EffectId{12, 3}), "12-3");
  EXPECT_EQ(parse_effect_id("12-3"), (EffectId{12, 3}));
  EXPECT_FALSE(parse_effect_id("12-3.start"));
  EXPECT_FALSE(parse_effect_id("12"));
}

TEST(RunFiles, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(clean_text("a\xFF\xC3\xA4\xE2\x82"
                       "b"),
            "a\uFFFDä\uFFFD\uFFFDb");
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(last_of("äb", 2), "b");
}

TEST(RunFiles, EscapesAreNotShown) {
  EXPECT_EQ(without_escapes("\x1B[1;31mred\x1B[0m\r\n\x1B]0;title\x07x\x1B(By\x08"), "red\nxy");
}

// ── A program and its end ──

TEST_F(HoldTest, AProgramThatEndsIsKnownByItsCodeAndItsWords) {
  const Outcome outcome = play("echo out; echo err >&2; exit 3");
  EXPECT_EQ(outcome.ended, Ended::Done);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_FALSE(outcome.signal);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(outcome.output, "out\nerr\n");
  EXPECT_EQ(home.read("log"), "out\nerr\n");
}

TEST_F(HoldTest, OneThatDiesBySignalSaysWhich) {
  const Outcome outcome = play("kill -9 $$");
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_FALSE(outcome.exit_code);
}

TEST_F(HoldTest, StrictMeansErrexitNounsetAndPipefail) {
  EXPECT_EQ(play("false; echo still here").output, "still here\n");
  RunSpec spec = home.spec("false; echo still here");
  spec.strict = true;
  EXPECT_EQ(held(home, spec).exit_code, 1);
  spec.text = "false | true; echo here";
  EXPECT_EQ(held(home, spec).exit_code, 1);
  spec.text = "echo $nothing; echo here";
  EXPECT_NE(held(home, spec).exit_code, 0);
}

TEST_F(HoldTest, TheEnvironmentIsWhatWasWrittenDownAndNothingElse) {
  setenv("REEVE_LEAK", "1", 1);
  RunSpec spec = home.spec("env | sort | grep -v '^_='");
  spec.environment.emplace_back("REEVE_V_x", "$(echo run) \"'`\n");
  const Outcome outcome = held(home, spec);
  unsetenv("REEVE_LEAK");
  EXPECT_EQ(outcome.output,
            "\n"
            "PATH=/usr/local/bin:/usr/bin:/bin\n"
            "PWD=" +
                home.path() +
                "\n"
                "REEVE_OUTPUT=" +
                home.path() +
                "/run/output\n"
                "REEVE_TEST_HOME=" +
                home.path() +
                "\n"
                "REEVE_V_x=$(echo run) \"'`\n"
                "SHLVL=1\n");
}

TEST_F(HoldTest, NoDescriptorIsInherited) {
  const int leaked = dup2(STDERR_FILENO, 77);
  const Outcome outcome = play("ls /proc/self/fd | tr '\\n' ' '");
  close(leaked);
  EXPECT_EQ(outcome.output, "0 1 2 3 ");  // 3 is the folder that ls reads
}

TEST_F(HoldTest, AStepIsInASessionThatItsHoldHasBegun) {
  constexpr const char* session = "cut -d ' ' -f 6 /proc/self/stat";
  ASSERT_TRUE(run.prepare(home.spec(session)));
  const pid_t hold = start_hold(run);
  wait_for(hold);
  const Outcome outcome = std::get<RunDirectory::Ended>(run.look()).outcome;
  EXPECT_EQ(outcome.output, std::to_string(hold) + "\n");
  EXPECT_NE(outcome.output, std::to_string(getsid(0)) + "\n");
  // But a pane is in the session of its terminal.
  RunSpec spec = home.spec(session + std::string(" > session"));
  spec.in_pane = true;
  held(home, spec);
  EXPECT_EQ(home.read("session"), std::to_string(getsid(0)) + "\n");
}

TEST_F(HoldTest, TheMaskAndTheLimitAreThoseOfWhoeverItRunsFor) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  const mode_t mask = umask(077);
  RunSpec spec = home.spec("umask; ulimit -Sn; touch made; stat -c %a made");
  spec.mask = 0027;
  spec.descriptors = 222;
  const Outcome outcome = held(home, spec);
  umask(mask);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(outcome.output, "0027\n222\n640\n");
}

TEST_F(HoldTest, ThereIsNothingToReadUnlessThereIsAFile) {
  EXPECT_EQ(play("cat; echo end").output, "end\n");
  RunSpec spec = home.spec("cat");
  spec.has_stdin = true;
  EXPECT_EQ(held(home, spec, "given\n").output, "given\n");
}

TEST_F(HoldTest, PublishedValuesComeWithTheOutcome) {
  const Outcome outcome = play("echo key=one >> $REEVE_OUTPUT; echo other=two=2 >> $REEVE_OUTPUT");
  EXPECT_EQ(outcome.values, (Variables{{"key", "one"}, {"other", "two=2"}}));
  const Outcome bad = play("echo nonsense > $REEVE_OUTPUT");
  EXPECT_EQ(bad.ended, Ended::Failed);
  EXPECT_EQ(bad.error, "line 1 of $REEVE_OUTPUT is not key=value: nonsense");
}

TEST_F(HoldTest, ABadLineOfItsOutputIsToldWithoutWhatItPrintedOrItsOwnFailure) {
  const Outcome bad = play("echo all is well; echo nonsense > $REEVE_OUTPUT");
  EXPECT_EQ(bad.error, "line 1 of $REEVE_OUTPUT is not key=value: nonsense");
  EXPECT_EQ(bad.output, "");
  const Outcome failed = play("echo oh; echo nonsense > $REEVE_OUTPUT; exit 4");
  EXPECT_EQ(failed.exit_code, 4);
  EXPECT_EQ(failed.error, "");
  EXPECT_EQ(failed.output, "oh\n");
}

TEST_F(HoldTest, OnlyWhatItSaysOnStdoutCanBeWanted) {
  RunSpec spec = home.spec("echo noise >&2; echo value");
  spec.only_stdout = true;
  EXPECT_EQ(held(home, spec).output, "value\n");
  EXPECT_NE(home.read("log").find("noise"), std::string::npos);
}

TEST_F(HoldTest, WhyItFailedIsTheOutputOfWhatWasToPrintSomething) {
  RunSpec spec = home.spec("echo value; sleep 0.1; echo noise >&2; exit 3");
  spec.only_stdout = true;
  EXPECT_EQ(held(home, spec).output, "value\nnoise\n");
}

TEST_F(HoldTest, AFolderThatIsNotThereIsSaid) {
  RunSpec spec = home.spec("echo no");
  spec.directory = home.at("nowhere");
  const Outcome outcome = held(home, spec);
  EXPECT_EQ(outcome.ended, Ended::Failed);
  EXPECT_FALSE(outcome.exit_code);
  EXPECT_EQ(outcome.error, "cannot work in " + home.at("nowhere") + ": No such file or directory");
}

TEST_F(HoldTest, ATextLongerThanAnArgumentIsRun) {
  const Outcome outcome = play("#" + std::string(300'000, 'x') + "\necho ran; exit 4");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.output, "ran\n");
}

// ── Its tree ──

TEST_F(HoldTest, ATimeoutEndsTheWholeTree) {
  RunSpec spec = home.spec("setsid sleep 300 & sleep 300");
  spec.timeout = Duration{200};
  const auto began = Clock::now();
  const Outcome outcome = held(home, spec);
  EXPECT_LT(Clock::now() - began, 60s);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.ended, Ended::Failed);
  EXPECT_TRUE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
}

TEST_F(HoldTest, WhoDoesNotListenToTermIsKilled) {
  RunSpec spec =
      home.spec("trap '' TERM; (trap '' TERM; setsid sleep 300) & while :; do sleep 1; done");
  spec.timeout = Duration{200};
  spec.grace = Duration{300};
  const auto began = Clock::now();
  const Outcome outcome = held(home, spec);
  EXPECT_GE(Clock::now() - began, 500ms);
  EXPECT_LT(Clock::now() - began, 60s);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_TRUE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
}

TEST_F(HoldTest, ATermWithANumberBringsTheGrace) {
  ASSERT_TRUE(run.prepare(home.spec("trap '' TERM; echo ready; while :; do sleep 1; done")));
  const pid_t pid = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return home.read("log") == "ready\n"; }));
  const auto began = Clock::now();
  sigqueue(pid, SIGTERM, sigval{.sival_int = 100});
  wait_for(pid);
  EXPECT_LT(Clock::now() - began, 60s);
  const Outcome outcome = std::get<RunDirectory::Ended>(run.look()).outcome;
  EXPECT_EQ(outcome.error, "ended on request");
  EXPECT_EQ(outcome.ended, Ended::Failed);
}

TEST_F(HoldTest, AStepThatCleansUpOnTermMayDoSo) {
  ASSERT_TRUE(
      run.prepare(home.spec("trap 'echo cleaned; exit 9' TERM; echo ready; sleep 300 & wait")));
  const pid_t pid = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return home.read("log") == "ready\n"; }));
  kill(pid, SIGTERM);
  wait_for(pid);
  const Outcome outcome = std::get<RunDirectory::Ended>(run.look()).outcome;
  EXPECT_EQ(outcome.exit_code, 9);
  EXPECT_EQ(outcome.output, "ready\ncleaned\n");
}

TEST_F(HoldTest, WhatEndsSoonAfterTheProgramIsWaitedFor) {
  const auto began = Clock::now();
  const Outcome outcome = play("(setsid sleep 0.5; echo late) & echo first; exit 5");
  EXPECT_GE(Clock::now() - began, 400ms);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.output, "first\nlate\n");
}

TEST_F(HoldTest, ADaemonThatAStepLeavesBehindIsEndedAfterAWhile) {
  const auto began = Clock::now();
  const Outcome outcome = play("(setsid sleep 300 >/dev/null 2>&1 &) ; exit 0");
  EXPECT_GE(Clock::now() - began, 4s);
  EXPECT_LT(Clock::now() - began, 60s);
  EXPECT_EQ(outcome.ended, Ended::Done);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
  EXPECT_NE(home.read("log").find("[reeve] something that it left running"), std::string::npos);
}

TEST_F(HoldTest, OrItMayStayIfThatIsWhatItWasFor) {
  RunSpec spec = home.spec("(setsid sleep 300 >/dev/null 2>&1 &) ; exit 0");
  spec.leaves_others = true;
  EXPECT_EQ(held(home, spec).exit_code, 0);
  EXPECT_EQ(home.read("log"), "");
  EXPECT_EQ(marked_with("REEVE_TEST_HOME=" + home.path())->size(), 1U);
}

TEST_F(HoldTest, ADaemonThatAStepStartedIsNoPartOfIt) {
  // The test program with these words sleeps: see testing.cc.
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const Outcome outcome = play("ln -s " + program +
                               " reeve; setsid ./reeve daemon run & "
                               "until [ \"$(tr '\\0' ' ' < /proc/$!/cmdline)\" = "
                               "'./reeve daemon run ' ]; do :; done; exit 3");
  EXPECT_EQ(home.read("log"), "");
  EXPECT_EQ(outcome.exit_code, 3);
  bool is_there = false;
  const std::vector<ProcessStatus> all = all_processes().value();
  for (const ProcessStatus& status : all) {
    if (!is_daemon(status.pid) || status.user != geteuid()) continue;
    const std::string path = "/proc/" + std::to_string(status.pid) + "/cwd";
    std::error_code ignored;
    if (std::filesystem::read_symlink(path, ignored) != home.path()) continue;
    is_there = true;
    send_signal(status.pid, status.start_time, SIGKILL);
  }
  EXPECT_TRUE(is_there);
}

TEST_F(HoldTest, AStepThatKillsItsGroupDoesNotKillItsHold) {
  EXPECT_EQ(play("kill -TERM 0; sleep 1").signal, SIGTERM);
}

// ── Once, and known ──

TEST_F(HoldTest, ASecondHoldLeavesAndWhatRanOnceDoesNotRunAgain) {
  ASSERT_TRUE(run.prepare(home.spec("echo x >> count; sleep 0.3")));
  const pid_t first = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return run.has_started(); }));
  wait_for(start_hold(run));
  EXPECT_TRUE(std::holds_alternative<RunDirectory::Running>(run.look()));
  wait_for(first);
  wait_for(start_hold(run));
  EXPECT_EQ(home.read("count"), "x\n");
}

TEST_F(HoldTest, WhatNeverBeganNeverWill) {
  ASSERT_TRUE(run.prepare(home.spec("echo x >> count")));
  EXPECT_TRUE(std::holds_alternative<RunDirectory::Never>(run.look()));
  wait_for(start_hold(run));  // too late
  EXPECT_EQ(home.read("count"), "");
  EXPECT_TRUE(std::holds_alternative<RunDirectory::Never>(run.look()));
}

TEST_F(HoldTest, AKilledHoldLeavesARunOfWhichNobodyKnows) {
  ASSERT_TRUE(run.prepare(home.spec("echo ready; sleep 300")));
  const pid_t pid = start_hold(run);
  ASSERT_TRUE(becomes_true([&] { return home.read("log") == "ready\n"; }));
  const RunDirectory::Seen seen = run.look();
  const std::optional<Process> hold = std::get<RunDirectory::Running>(seen).hold;
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->pid, pid);
  EXPECT_TRUE(is_alive(*hold, boot_id()));
  kill(pid, SIGKILL);
  wait_for(pid);
  EXPECT_TRUE(std::holds_alternative<RunDirectory::Lost>(run.look()));
  EXPECT_FALSE(marked_with("REEVE_TEST_HOME=" + home.path())->empty());
}

TEST_F(HoldTest, ItOutlivesWhoeverStartedIt) {
  ASSERT_TRUE(run.prepare(home.spec("sleep 0.4; echo done")));
  const pid_t starter = fork();
  if (starter == 0) {
    start_hold(run);
    becomes_true([&] { return run.has_started(); });
    kill(getpid(), SIGKILL);
  }
  wait_for(starter);
  EXPECT_TRUE(std::holds_alternative<RunDirectory::Running>(run.look()));
  ASSERT_TRUE(
      becomes_true([&] { return std::holds_alternative<RunDirectory::Ended>(run.look()); }));
  EXPECT_EQ(std::get<RunDirectory::Ended>(run.look()).outcome.output, "done\n");
}

}  // namespace
}  // namespace reeve::adapters::testing
