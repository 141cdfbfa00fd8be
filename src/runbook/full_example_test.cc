#include "runbook/bash_testing.h"
#include "runbook/load.h"
#include "runbook/shell_text.h"
#include "runbook/zone_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

// The one runbook that uses nearly every key, and all that it says.
namespace reeve::runbook {
namespace {

using namespace std::chrono_literals;
using definition::Agent;
using definition::AskSomebody;
using definition::DoDone;
using definition::DoEscalate;
using definition::DoNudge;
using definition::DoRestart;
using definition::Guard;
using definition::Hook;
using definition::Map;
using definition::MergeKind;
using definition::Notifications;
using definition::OnTimeout;
using definition::OnUnknown;
using definition::Phase;
using definition::Pipeline;
using definition::Poll;
using definition::RunAgent;
using definition::RunMerge;
using definition::RunShell;
using definition::RunStrategy;
using definition::Set;
using definition::Strategy;
using definition::Worker;
using definition::Workspace;

std::string program(const char* source) { return shell_text(source).program; }

Runbook full() {
  std::ifstream file(REEVE_RUNBOOKS "/right/full.toml");
  const std::vector<File> files = {{"full.toml", {std::istreambuf_iterator<char>(file), {}}}};
  auto runbook = load(files, "/project", {check_with_bash, {}});
  if (runbook) return *std::move(runbook);
  for (const Mistake& mistake : runbook.error()) ADD_FAILURE() << to_text(mistake);
  return {};
}

template <class Thing>
const Thing& only(const PersistentMap<std::string, Thing>& map, const std::string& name) {
  const Thing* found = map.find(name);
  if (found) return *found;
  ADD_FAILURE() << "no " << name;
  static const Thing none{};
  return none;
}

TEST(FullExample, QueuesLocksAndSemaphores) {
  const Set set = full().set;
  queue::Config bugs;
  bugs.visibility_timeout = 30min;
  bugs.max_attempts = 3;
  bugs.backoff_first = 1s;
  bugs.backoff_max = 5min;
  bugs.on_exhaust = queue::OnExhaust::Dead;
  bugs.dead_letter = QueueName{{}, "bugs_dead"};
  bugs.keep_completed = 1000;
  bugs.keep_dead_for = 24h * 7;
  EXPECT_EQ(only(set.queues, "bugs"), bugs);
  EXPECT_EQ(only(set.queues, "bugs_dead"), queue::Config{});
  EXPECT_EQ(set.queues.size(), 2U);
  EXPECT_EQ(only(set.locks, "main_branch"), (lock::Config{90s, 30min, false}));
  EXPECT_EQ(only(set.semaphores, "agents"), (semaphore::Config{4, 5min}));
}

TEST(FullExample, WorkersAndCrons) {
  const Set set = full().set;
  EXPECT_EQ(only(set.workers, "bugfix"), (Worker{"bugs", "fix", 2, {"bug:created"}}));
  cron::Definition nightly;
  nightly.schedule = *cron::parse_expression("0 3 * * *");
  nightly.zone = *read_zone("Europe/Berlin");
  nightly.overlap = cron::Overlap::Skip;
  nightly.catch_up = cron::CatchUp::Latest;
  nightly.window = 24h;
  nightly.run = cron::RunPipeline{"cleanup", {}};
  EXPECT_EQ(only(set.crons, "nightly"), nightly);
}

TEST(FullExample, Pipelines) {
  const Set set = full().set;
  Phase work;
  work.name = "work";
  work.action = RunAgent{"fixer"};
  work.slots = {{"agents", 1}};
  work.pre = {"branch_free"};
  work.post = {"tests_pass"};
  work.timeout = 2h;
  work.retry = {2, 30s};
  work.on_unknown = OnUnknown::Ask;
  work.next = "merge";
  work.ends = true;
  Phase merge;
  merge.name = "merge";
  merge.locks = {"main_branch"};
  merge.action = RunStrategy{"merge"};
  merge.on_fail = AskSomebody{};
  Phase cleanup;
  cleanup.name = "cleanup";
  cleanup.action = RunShell{"git worktree prune"};
  cleanup.cwd = "{workspace}";
  cleanup.env = {{"CI", "1"}};
  Pipeline fix;
  fix.inputs = {"bug", "branch", "after"};
  fix.defaults = {{"branch", "fix/{bug}"}, {"after", ""}};
  fix.workspace = Workspace{true, "{branch}", "main", ""};
  fix.on_fail = AskSomebody{};
  fix.on_cancel = "cleanup";
  fix.after = {"{after}"};
  fix.pass_env = {"TRACKER_URL"};
  fix.secret = {"TRACKER_TOKEN"};
  fix.phases = {work, merge, cleanup};
  EXPECT_EQ(only(set.pipelines, "fix"), fix);

  Phase prune;
  prune.name = "prune";
  prune.action = RunShell{"git worktree prune"};
  Pipeline other;
  other.phases = {prune};
  EXPECT_EQ(only(set.pipelines, "cleanup"), other);
}

TEST(FullExample, GuardsAndStrategies) {
  const Set set = full().set;
  EXPECT_EQ(only(set.guards, "branch_free"),
            Guard{program("! git rev-parse -q --verify refs/heads/{branch}")});
  Guard tests{program("make -C {workspace} test")};
  tests.retry = Poll{3, 10s};
  tests.timeout = 30min;
  tests.on_timeout = OnTimeout::Escalate;
  tests.wake_on = {"ci:{branch}:green"};
  EXPECT_EQ(only(set.guards, "tests_pass"), tests);
  EXPECT_EQ(only(set.strategies, "merge"),
            (Strategy{"git rev-parse HEAD",
                      {{"fast-forward",
                        RunMerge{MergeKind::FastForward, "", "main"},
                        1min,
                        "",
                        {"not possible to fast-forward", "timeout"}},
                       {"rebase",
                        RunShell{program("git rebase main {branch}")},
                        std::nullopt,
                        program("git rebase --abort; git reset --hard {checkpoint}"),
                        {}},
                       {"resolve", RunAgent{"resolver"}, std::nullopt, "", {}}},
                      AskSomebody{}}));
}

TEST(FullExample, Agents) {
  const Set set = full().set;
  Agent fixer;
  fixer.kind = "claude";
  fixer.command = "claude --dangerously-skip-permissions";
  fixer.session = true;
  fixer.prompt = "Fix bug {bug}.";
  fixer.cwd = "{workspace}";
  fixer.env = {{"ROLE", "fixer"}};
  fixer.idle_timeout = 3min;
  fixer.timeout = 1h;
  fixer.on_idle = {DoNudge{2}, DoRestart{1}, DoEscalate{}};
  fixer.on_exit = DoDone{};
  fixer.on_error = DoEscalate{};
  fixer.asks_on_error = true;
  fixer.on_permission = DoEscalate{};
  fixer.progress_timeout = 30min;
  fixer.checkpoint_every = 10min;
  fixer.checkpoint_run = "git commit -qam wip || true";
  EXPECT_EQ(only(set.agents, "fixer"), fixer);
  Agent resolver;
  resolver.kind = "generic";
  resolver.session = false;
  resolver.idle_timeout = Duration::max();
  resolver.command = program("./resolve.sh {branch}");
  EXPECT_EQ(only(set.agents, "resolver"), resolver);
}

TEST(FullExample, WhatTheCoreDoesNotKeep) {
  const Runbook runbook = full();
  const Command& fix = runbook.commands.at("fix");
  EXPECT_EQ(usage_of(fix.arguments), "<bug> [-p/--priority <n>] [--after <id>] [files...]");
  EXPECT_EQ(fix.defaults, (Map{{"priority", "0"}, {"after", ""}}));
  EXPECT_EQ(std::get<StartPipeline>(fix.run), (StartPipeline{"fix", {}}));
  EXPECT_EQ(runbook.monitors.at("idle_agents"),
            (Monitor{"reeve agent list --state idle --json",
                     program("reeve agent idle-time {id} --over 5m"),
                     {{"nudge", {}}, {"restart", 2}, {"escalate", {}}},
                     ""}));
  EXPECT_EQ(runbook.actions.at("nudge"), (Action{program("reeve agent nudge {id}"), 30s, 3}));
  EXPECT_EQ(runbook.set.hooks,
            (std::vector<Hook>{{"pipeline:complete", program("echo {id} done >> done.log")}}));
  EXPECT_EQ(runbook.set.notifications,
            (Notifications{{"pipeline:failed", "escalate"}, "notify-send"}));
  EXPECT_FALSE(runbook.desktop);
  EXPECT_EQ(runbook.set.root, "/project");
  EXPECT_EQ(runbook.defined.at({"pipeline", "fix"}), (Where{"full.toml", {33, 11}}));
}

}  // namespace
}  // namespace reeve::runbook
