#include "tools/run_plan.h"

#include "codec/json.h"
#include "core/input.h"
#include "core/shapes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace reeve::tools {
namespace {

constexpr std::string_view runbook = R"(
[command.fix]
args     = "<bug> [-p/--priority <n>] [--loud]"
defaults = { priority = "0" }
run      = { pipeline = "fix", inputs = { label = "{project}/{bug}" } }

[command.report]
args = "<bug> [-p/--priority <n>]"
defaults = { priority = "3" }
run  = { queue = "bugs" }

[command.say]
args = "<what>"
run  = "echo {what}"

[command.think]
run = { agent = "thinker" }

[command.deep]
run = { pipeline = "outer" }

[queue.bugs]
[worker.bugfix]
queue   = "bugs"
handler = "pipeline.fix"

[pipeline.fix]
inputs   = ["bug", "priority", "loud", "label"]
pass_env = ["TRACKER"]
secret   = ["TOKEN"]
[[pipeline.fix.phase]]
name = "work"
run  = "echo {bug} {priority} {loud} {label}"

[pipeline.outer]
[[pipeline.outer.phase]]
name     = "both"
parallel = ["inner"]
[pipeline.inner]
[[pipeline.inner.phase]]
name     = "try"
strategy = "ways"
[strategy.ways]
[[strategy.ways.attempt]]
name  = "think"
agent = "thinker"

[agent.thinker]
kind    = "codex"
prompt  = "think"

[cron.nightly]
interval = "1h"
run      = { pipeline = "outer" }

[monitor.idle]
source    = "echo '[]'"
condition = "test {id} = 1"
response  = ["nudge:2", "shout", "escalate"]
[action.shout]
run          = "echo {id}"
cooldown     = "30s"
max_attempts = 3
)";

class RunPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "reeve_plans_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::filesystem::create_directories(root_ / ".reeve/runbooks");
    std::ofstream(root_ / ".reeve/runbooks/all.toml") << runbook;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  RunbookPlace place() const { return {root_.string(), "shop"}; }
  std::expected<RunPlan, CannotRun> plan(const std::vector<std::string>& words) const {
    return plan_run(words, place());
  }

  std::filesystem::path root_;
};

TEST_F(RunPlans, ArgumentsBecomeInputsAndTheRunbooksOwnAreFilledIn) {
  const auto fix = plan({"fix", "--loud", "42", "-p", "7"});
  ASSERT_TRUE(fix.has_value());
  EXPECT_EQ(fix->what, RunPlan::What::Pipeline);
  EXPECT_EQ(fix->name, "fix");
  EXPECT_EQ(fix->inputs,
            (Words{{"loud", "true"}, {"bug", "42"}, {"priority", "7"}, {"label", "shop/42"}}));
  EXPECT_EQ(fix->definitions.pass_env, std::vector<std::string>{"TRACKER"});
  EXPECT_EQ(fix->definitions.secret, std::vector<std::string>{"TOKEN"});
}

TEST_F(RunPlans, TheSetIsWhatTheDaemonReads) {
  const auto fix = plan({"fix", "42"});
  ASSERT_TRUE(fix.has_value());
  const Result<Command> command = codec::from_json<Command>(fix->definitions.set());
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const auto& load = std::get<definition::Load>(std::get<definition::Command>(*command));
  EXPECT_EQ(load.set->hash, fix->definitions.hash);
  EXPECT_EQ(load.set->root, root_.string());
  EXPECT_TRUE(load.set->pipelines.contains("fix"));
}

TEST_F(RunPlans, AnItemHasItsArgumentsAndItsPriority) {
  const auto item = plan({"report", "4\"2"});
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->what, RunPlan::What::Item);
  EXPECT_EQ(item->data, R"({"bug":"4\"2","priority":"3"})");
  EXPECT_EQ(item->priority, 3);
  EXPECT_EQ(plan({"report", "42", "-p", "high"}).error().exit, 2);
}

TEST_F(RunPlans, WhatRunsHereGetsItsValuesInTheEnvironment) {
  const auto here = plan({"say", "$(id)"});
  ASSERT_TRUE(here.has_value());
  EXPECT_EQ(here->what, RunPlan::What::Here);
  EXPECT_EQ(here->program.find("$(id)"), std::string::npos);
  EXPECT_EQ(here->variables.front(),
            (std::pair<std::string, std::string>("REEVE_V_what", "$(id)")));
}

TEST_F(RunPlans, AKindOfAgentThatCannotBeRunIsFoundHoweverDeep) {
  for (const char* name : {"think", "deep"}) {
    const auto cannot = plan({name});
    ASSERT_FALSE(cannot.has_value()) << name;
    EXPECT_EQ(cannot.error().code, "NOT_SUPPORTED");
    EXPECT_NE(cannot.error().message.find("\"codex\", which this version cannot run"),
              std::string::npos);
  }
  EXPECT_EQ(plan_start("cron", "nightly", place()).error().code, "NOT_SUPPORTED");
  EXPECT_TRUE(plan_start("worker", "bugfix", place()).has_value());
}

TEST_F(RunPlans, WhatIsNotThereIsToldWithTheNearest) {
  EXPECT_EQ(plan({"fxi", "1"}).error().exit, 3);
  EXPECT_NE(plan({"fxi", "1"}).error().message.find("did you mean \"fix\"?"), std::string::npos);
  EXPECT_EQ(plan({"fix"}).error().exit, 2);
  EXPECT_EQ(plan({"fix"}).error().lines,
            std::vector<std::string>{"usage: reeve run fix <bug> [-p/--priority <n>] [--loud]"});
  EXPECT_EQ(plan_start("worker", "bugfx", place()).error().exit, 3);
  EXPECT_EQ(plan_pipeline("fix", {{"bgu", "1"}}, place()).error().exit, 2);
  EXPECT_EQ(plan_pipeline("fxi", {}, place()).error().exit, 3);
}

TEST_F(RunPlans, AMistakeAnywhereStopsEverything) {
  std::ofstream(root_ / ".reeve/runbooks/bad.toml") << "[queue.x]\nmax_atempts = 3\n";
  const auto cannot = plan({"fix", "42"});
  ASSERT_FALSE(cannot.has_value());
  EXPECT_EQ(cannot.error().code, "RUNBOOK_WRONG");
  ASSERT_EQ(cannot.error().lines.size(), 1U);
  EXPECT_TRUE(cannot.error().lines[0].starts_with(".reeve/runbooks/bad.toml:2:1:"));
  EXPECT_TRUE(names_in_runbooks("command", place()).empty());
}

TEST_F(RunPlans, AMonitorHasItsResponsesInOrder) {
  const auto monitor = plan_monitor("idle", place());
  ASSERT_TRUE(monitor.has_value());
  ASSERT_EQ(monitor->responses.size(), 3U);
  EXPECT_EQ(monitor->responses[0].times, 2U);
  EXPECT_TRUE(monitor->responses[0].program.empty());
  EXPECT_EQ(monitor->responses[1].cooldown_ms, 30'000);
  EXPECT_EQ(monitor->responses[1].times, 3U);  // a bare name: as often as the action says
  EXPECT_FALSE(monitor->responses[1].program.empty());
}

TEST_F(RunPlans, NamesAreForCompletions) {
  const auto names = names_in_runbooks("command", place());
  ASSERT_EQ(names.size(), 5U);
  EXPECT_EQ(names[1].first, "fix");
  EXPECT_EQ(names[1].second, "<bug> [-p/--priority <n>] [--loud]");
}

}  // namespace
}  // namespace reeve::tools
