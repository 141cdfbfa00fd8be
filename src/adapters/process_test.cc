#include "adapters/process.h"

#include "adapters/process_hands.h"
#include "adapters/testing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

// A shell, in a group of its own, that runs this.
pid_t run(const char* program) {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    execl("/bin/sh", "sh", "-c", program, nullptr);
    _exit(127);
  }
  setpgid(pid, pid);
  return pid;
}

struct Child {
  explicit Child(const char* program) : pid(run(program)) {}
  ~Child() {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid;
};

struct ProcessHandsTest : ::testing::Test {
  std::string boot = boot_id();
  ProcessHands hands{boot};

  // What is reported within a while.
  std::vector<Report> wait(std::chrono::milliseconds most = 5s) {
    const auto end = std::chrono::steady_clock::now() + most;
    std::vector<Report> reports = hands.take();
    while (reports.empty() && std::chrono::steady_clock::now() < end) {
      pollfd ready{hands.fd(), POLLIN, 0};
      poll(&ready, 1, 20);
      hands.look();
      reports = hands.take();
    }
    return reports;
  }
};

TEST(ProcessStatus, ANameMayHaveAnythingInIt) {
  const std::string rest = " S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1";
  const auto status = parse_stat("42 (a) Z (b)" + rest);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->pid, 42);
  EXPECT_EQ(status->parent, 1);
  EXPECT_EQ(status->group, 42);
  EXPECT_EQ(status->start_time, 777U);
  EXPECT_FALSE(status->is_zombie);
  EXPECT_FALSE(parse_stat("42 (a) S 1 2"));
  EXPECT_FALSE(parse_stat(""));
}

TEST(ProcessStatus, AProcessIsKnownByItsStartAndTheMachinesLife) {
  const std::string boot = boot_id();
  const Child child("exec sleep 30");
  const std::optional<Process> self = own_process(child.pid, false, boot);
  ASSERT_TRUE(self);
  EXPECT_TRUE(is_alive(*self, boot));
  Process later = *self;
  ++later.start_time;
  EXPECT_FALSE(is_alive(later, boot));
  EXPECT_FALSE(is_alive(*self, "another boot"));
  EXPECT_FALSE(own_process(1 << 30, false, boot));
}

TEST(ProcessStatus, WhatWeLiveByIsNobodysToEnd) {
  const std::string boot = boot_id();
  EXPECT_FALSE(own_process(getpid(), false, boot));
  EXPECT_FALSE(own_process(getppid(), false, boot));
  EXPECT_FALSE(own_process(1, false, boot));
  EXPECT_FALSE(own_process(0, false, boot));
  EXPECT_TRUE(is_our_own_life(getpgrp(), true));
  const Child child("exec sleep 30");
  EXPECT_TRUE(own_process(child.pid, false, boot));
  EXPECT_FALSE(is_our_own_life(child.pid, true));
}

// Such a lease may be in a journal; and we may have been started below what holds one.
TEST_F(ProcessHandsTest, WhoEndsATreeIsNotOfIt) {
  const Process self{getpid(), status_of(getpid())->start_time, boot, false};
  std::signal(SIGTERM, [](int) { _exit(99); });
  hands.start({EffectId{1, 0}, {Kill{self, Duration{50}}, ToCustody{self}}});
  const std::vector<Report> reports = wait();
  std::signal(SIGTERM, SIG_DFL);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(std::get<EffectDone>(reports[0]).outcome.ended, Ended::Failed);
}

TEST_F(ProcessHandsTest, TheEndOfAProcessIsTold) {
  Child child("exec sleep 30");
  const Process process = *own_process(child.pid, false, boot);
  hands.watch(process);
  EXPECT_TRUE(wait(100ms).empty());
  kill(child.pid, SIGKILL);
  const std::vector<Report> reports = wait();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(std::get<ProcessEnded>(reports[0]).process, process);
}

TEST_F(ProcessHandsTest, WhatIsGoneAlreadyIsToldAtOnce) {
  const Process other{getpid(), status_of(getpid())->start_time + 5, boot, false};
  hands.watch(other);
  EXPECT_EQ(hands.take().size(), 1U);
}

TEST_F(ProcessHandsTest, WhoWasForgottenIsNotToldOf) {
  Child child("exec sleep 30");
  const Process process = *own_process(child.pid, false, boot);
  hands.watch(process);
  hands.forget(process);
  kill(child.pid, SIGKILL);
  EXPECT_TRUE(wait(200ms).empty());
}

TEST_F(ProcessHandsTest, WithoutDescriptorsNobodyIsTakenForDead) {
  Child child("exec sleep 300");
  for (const bool group : {false, true}) {
    const Process process = *own_process(child.pid, group, boot);
    {
      const testing::NoDescriptors none;
      EXPECT_EQ(life_of(process, boot), Life::CannotTell);
      EXPECT_FALSE(all_processes());
      hands.watch(process);
      EXPECT_TRUE(wait(300ms).empty());
    }
    EXPECT_TRUE(wait(300ms).empty());
  }
  kill(child.pid, SIGKILL);
  std::vector<Report> reports = wait(20s);
  if (reports.size() == 1) {
    for (Report& report : wait(20s)) reports.push_back(std::move(report));
  }
  EXPECT_EQ(reports.size(), 2U);
}

TEST_F(ProcessHandsTest, NorForEnded) {
  Child child("trap '' TERM; while :; do sleep 0.05; done");
  const Process process = *own_process(child.pid, false, boot);
  {
    const testing::NoDescriptors none;
    hands.start({EffectId{1, 0}, {Kill{process, Duration{100}}, ToCustody{process}}});
    EXPECT_TRUE(wait(400ms).empty());
  }
  const std::vector<Report> reports = wait(20s);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(std::get<EffectDone>(reports.back()).outcome.ended, Ended::Done);
  EXPECT_EQ(life_of(process, boot), Life::Gone);
}

TEST_F(ProcessHandsTest, AGroupIsThereAsLongAsAnyOfIt) {
  const testing::Home home;
  const std::string text = "(until [ -e " + home.at("go") + " ]; do sleep 0.02; done) & exit 0";
  Child child(text.c_str());
  const Process group{child.pid, status_of(child.pid)->start_time, boot, true};
  hands.watch(group);
  EXPECT_TRUE(wait(300ms).empty());
  home.write("go", "");
  EXPECT_EQ(wait(20s).size(), 1U);
}

TEST_F(ProcessHandsTest, ATreeThatDoesNotListenIsKilledAndSeenDead) {
  const testing::Home home;
  const std::string text = "trap '' TERM; (trap '' TERM; setsid sleep 30) & touch " +
                           home.at("ready") + "; while :; do sleep 0.05; done";
  Child child(text.c_str());
  ASSERT_TRUE(
      testing::becomes_true([&] { return std::filesystem::exists(home.at("ready")); }, 20s));
  const Process process = *own_process(child.pid, false, boot);
  hands.start({EffectId{1, 0}, {Kill{process, Duration{200}}, ToCustody{process}}});
  // Reaped by hand: a zombie counts as gone, but not in our own table of children.
  const std::vector<Report> reports = wait(20s);
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(std::get<ProcessEnded>(reports[0]).process, process);
  EXPECT_EQ(std::get<EffectDone>(reports[1]).outcome.ended, Ended::Done);
  const std::vector<ProcessStatus> all = all_processes().value();
  for (const ProcessStatus& status : all) {
    EXPECT_FALSE(status.parent == child.pid && !status.is_zombie);
  }
}

// The test program with these words sleeps: see testing.cc.
TEST_F(ProcessHandsTest, AnotherDaemonBelowATreeIsNotOfIt) {
  const testing::Home home;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string text = "cd " + home.path() + " && ln -s " + program +
                           " reeve && { setsid ./reeve daemon run & echo $! > pid; "
                           "exec sleep 300; }";
  const Child child(text.c_str());
  const auto is_ready = [&] {
    const std::string pid = home.read("pid");
    return !pid.empty() && is_daemon(std::stol(pid));
  };
  ASSERT_TRUE(testing::becomes_true(is_ready, 20s));
  const std::int64_t daemon = std::stol(home.read("pid"));
  const Process process = *own_process(child.pid, false, boot);
  hands.start({EffectId{1, 0}, {Kill{process, Duration{200}}, ToCustody{process}}});
  std::vector<Report> reports = wait(20s);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(std::get<EffectDone>(reports.back()).outcome.ended, Ended::Done);
  const std::optional<ProcessStatus> status = status_of(daemon);
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->is_zombie);
  send_signal(daemon, status->start_time, SIGKILL);
}

TEST_F(ProcessHandsTest, WhatIsNoProcessCannotBeEnded) {
  hands.start({EffectId{1, 0}, {Notify{}, ToNobody{}}});
  const std::vector<Report> reports = hands.take();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(std::get<EffectDone>(reports[0]).outcome.ended, Ended::Failed);
}

}  // namespace
}  // namespace reeve::adapters
