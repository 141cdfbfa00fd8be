#include "adapters/agent_plan.h"
#include "adapters/runner_testing.h"

#include <csignal>
#include <filesystem>
#include <unistd.h>

// What is told of a run when not all can be seen of it.
namespace reeve::adapters::testing {
namespace {

struct LostTest : RunnerTest {
  RunDirectory folder_of(EffectId effect) const {
    return RunDirectory(home.at("home/runs/" + to_text(effect)));
  }
  void kill_hold(EffectId effect) const {
    const auto seen = folder_of(effect).look();
    const auto* running = std::get_if<RunDirectory::Running>(&seen);
    ASSERT_TRUE(running && running->hold);
    ::kill(static_cast<pid_t>(running->hold->pid), SIGKILL);
  }
  bool is_at_work(EffectId effect) const {
    const auto left = marked_with("REEVE_RUN=" + folder_of(effect).path());
    return left && !left->empty();
  }
  // Needs no descriptor.
  void make_link(const std::string& name) const {
    ASSERT_EQ(symlink("/dev/null", (root + "/" + name).c_str()), 0);
  }
};

// ── Without descriptors ──

TEST_F(LostTest, AnEndThatCannotBeReadIsReadLater) {
  const EffectId effect = begin(shell("until [ -e go ]; do sleep 0.02; done; exit 4").effect.what);
  ASSERT_TRUE(becomes_true([&] {
    look();
    return is_at_work(effect);
  }));
  {
    const NoDescriptors none;
    make_link("go");
    ASSERT_TRUE(becomes_true(
        [&] { return access(folder_of(effect).file("exit").c_str(), F_OK) == 0; }, 20s));
    EXPECT_FALSE(next<EffectDone>(500ms));
  }
  EXPECT_EQ(outcome_of(effect).exit_code, 4);
}

TEST_F(LostTest, WhatCannotBeObservedIsObservedLater) {
  const EffectId effect = begin(shell("exit 4").effect.what);
  ASSERT_TRUE(
      becomes_true([&] { return access(folder_of(effect).file("exit").c_str(), F_OK) == 0; }));
  restart();
  const EffectId kill = start_of(Kill{effect}).id;
  {
    const NoDescriptors none;
    const auto seen = folder_of(effect).look();
    ASSERT_TRUE(std::holds_alternative<RunDirectory::Unreadable>(seen));
    EXPECT_TRUE(std::get<RunDirectory::Unreadable>(seen).may_pass);
    runner->observe({effect, state.outbox.find(effect)->effect});
    runner->start({kill, {Kill{effect}, ToNobody{}}});
    EXPECT_FALSE(next<EffectObserved>(300ms));
    EXPECT_FALSE(next<EffectDone>(0ms));
  }
  const std::optional<EffectObserved> seen = next<EffectObserved>(20s);
  ASSERT_TRUE(seen);
  ASSERT_TRUE(std::holds_alternative<engine::Finished>(seen->observation));
  EXPECT_EQ(std::get<engine::Finished>(seen->observation).outcome.exit_code, 4);
  EXPECT_EQ(outcome_of(kill).ended, Ended::Done);
}

// ── Without a hold, or with one that does not listen ──

TEST_F(LostTest, AStoppedHoldIsWokenToBeEnded) {
  const EffectId effect = begin(shell("sleep 300").effect.what);
  ASSERT_TRUE(becomes_true([&] {
    look();
    return is_at_work(effect);
  }));
  const auto seen = folder_of(effect).look();
  const auto* running = std::get_if<RunDirectory::Running>(&seen);
  ASSERT_TRUE(running && running->hold);
  ::kill(static_cast<pid_t>(running->hold->pid), SIGSTOP);
  const EffectId kill = begin(Kill{effect, Duration{100}});
  EXPECT_EQ(outcome_of(effect).error, "ended on request");
  EXPECT_EQ(outcome_of(kill).ended, Ended::Done);
}

TEST_F(LostTest, ALimitIsKeptWithoutAHold) {
  Shell step = std::get<Shell>(shell("trap '' TERM; sleep 300; sleep 300").effect.what);
  step.timeout = Duration{4000};
  const EffectId effect = begin(step);
  ASSERT_TRUE(becomes_true([&] { return is_at_work(effect); }));
  kill_hold(effect);
  const Outcome outcome = outcome_of(effect, 60s);
  EXPECT_EQ(outcome.ended, Ended::Unknown);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_FALSE(is_at_work(effect));
}

TEST_F(LostTest, AndAfterARestart) {
  Shell step = std::get<Shell>(shell("sleep 300").effect.what);
  step.timeout = Duration{4000};
  const EffectId effect = begin(step);
  ASSERT_TRUE(becomes_true([&] { return is_at_work(effect); }));
  kill_hold(effect);
  restart();
  EXPECT_EQ(observe(effect), engine::Observation{engine::StillRunning{}});
  EXPECT_TRUE(outcome_of(effect, 60s).timed_out);
}

TEST_F(LostTest, OneWithoutALimitIsWaitedFor) {
  const EffectId effect = begin(shell("until [ -e go ]; do sleep 0.02; done").effect.what);
  ASSERT_TRUE(becomes_true([&] { return is_at_work(effect); }));
  kill_hold(effect);
  EXPECT_FALSE(next<EffectDone>(1s));
  make_link("go");
  const Outcome outcome = outcome_of(effect);
  EXPECT_EQ(outcome.ended, Ended::Unknown);
  EXPECT_FALSE(outcome.timed_out);
}

// ── The start of a session ──

struct LostSessionTest : LostTest {
  static constexpr WorkId work{9};

  // A session whose starter ended like this, as the next daemon finds it.
  EffectId session(std::optional<Outcome> starter) {
    Spawn spawn;
    spawn.work = work;
    spawn.command = "sleep 300";
    spawn.workspace = root;
    spawn.session = true;
    const Start start = start_of(spawn, task::Address{work, work});
    state.outbox.set(start.id, {start.effect, {}});
    const RunDirectory pane = folder_of(start.id);
    EXPECT_TRUE(pane.prepare(home.spec("sleep 300")));
    start_hold(pane);
    EXPECT_TRUE(becomes_true([&] { return pane.has_started(); }));
    const RunDirectory beside(pane.path() + ".start");
    EXPECT_TRUE(beside.prepare(home.spec("true")));
    EXPECT_TRUE(beside.write_started({1 << 22, 1, boot_id()}, false));
    const bool is_written = !starter || beside.write_exit(*starter, false);
    EXPECT_TRUE(is_written);
    return start.id;
  }
  void expect_adopted(EffectId effect) {
    EXPECT_EQ(runner->running(), 1U);
    look();
    runner->durable(1);
    EXPECT_TRUE(becomes_true([&] { return !has_run_named(to_text(effect) + ".start"); }));
    EXPECT_TRUE(has_run(effect));
    const EffectId kill = begin(Kill{work, Duration{100}});
    EXPECT_TRUE(next<AgentGone>(20s));
    EXPECT_EQ(outcome_of(kill).ended, Ended::Done);
  }
  bool has_run_named(const std::string& name) const {
    return std::filesystem::exists(home.at("home/runs/" + name));
  }
};

TEST_F(LostSessionTest, AStartThatWentWellIsDone) {
  const EffectId effect = session(Outcome{.exit_code = 0});
  EXPECT_EQ(observe(effect), engine::Observation{engine::Finished{}});
  expect_adopted(effect);
}

TEST_F(LostSessionTest, AStartThatFailedIsNotToldAsDone) {
  const EffectId effect =
      session(Outcome{.exit_code = 1, .output = "the prompt could not be typed\n"});
  const engine::Observation seen = observe(effect);
  ASSERT_TRUE(std::holds_alternative<engine::Finished>(seen));
  EXPECT_EQ(std::get<engine::Finished>(seen).outcome.ended, Ended::Unknown);
  EXPECT_EQ(std::get<engine::Finished>(seen).outcome.output, "the prompt could not be typed\n");
  expect_adopted(effect);
}

TEST_F(LostSessionTest, NorIsOneOfWhichNobodyKnows) {
  const EffectId effect = session({});
  const engine::Observation seen = observe(effect);
  ASSERT_TRUE(std::holds_alternative<engine::Finished>(seen));
  EXPECT_EQ(std::get<engine::Finished>(seen).outcome.ended, Ended::Unknown);
  expect_adopted(effect);
}

}  // namespace
}  // namespace reeve::adapters::testing
