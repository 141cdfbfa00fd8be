#include "adapters/agent_plan.h"
#include "adapters/runner_testing.h"
#include "core/guard.h"

#include <set>

// What is planned for each kind of effect, without running it.
namespace reeve::adapters::testing {
namespace {

struct PlanTest : RunnerTest {
  static Shell shell_with(std::optional<Duration> timeout, const std::string& label = "work#1") {
    Shell shell;
    shell.text = "true";
    shell.timeout = timeout;
    shell.label = label;
    return shell;
  }
  static Spawn agent() {
    Spawn spawn;
    spawn.work = WorkId{3};
    spawn.command = "true";
    spawn.timeout = 7min;
    return spawn;
  }
};

// docs/daemon.md names them. What may be done twice is not worth a sync.
TEST_F(PlanTest, EachKindOfEffectHasItsLimitAndIsKeptDurablyUnlessItMayBeDoneAgain) {
  struct Row {
    const char* what;
    Outer effect;
    std::optional<Duration> limit;
    bool synced;
    Address to = pipeline::Address{pipeline, 1};
  };
  const QueueName bugs{project, "bugs"};
  const Shell guard = shell_with(guard::check_limit, "guard ready");
  const std::vector<Row> rows{
      {"a step", shell_with(std::nullopt), std::nullopt, true},
      {"a step with its own", shell_with(7min), 7min, true},
      {"a guard", guard, 60s, false},
      {"a hook", shell_with(std::nullopt, "hook"), 60s, true, ToNobody{}},
      {"a hook with its own", shell_with(7min, "hook"), 7min, true, ToNobody{}},
      {"an agent that is run to its end", agent(), 7min, true},
      {"a message", Send{WorkId{3}, "m", "text"}, 5s, true},
      {"a nudge", Nudge{WorkId{3}, ""}, 5s, true},
      {"a worktree", WorktreeAdd{pipeline, "b", "main", ""}, 60s, false},
      {"a folder", WorktreeAdd{pipeline, "", "", ""}, 60s, false},
      {"a removal", WorktreeRemove{pipeline, "/w"}, 30s, false},
      {"a merge", Merge{pipeline, "b", "main", MergeStrategy::Squash, {}}, 60s, true},
      {"a merge with its own",
       Merge{pipeline, "b", "main", MergeStrategy::Rebase, 7min},
       7min,
       true},
      {"a notification", Notify{"title", "message", false, "", {}}, 10s, true},
      {"a poll", PollQueue{bugs, "true"}, 60s, false},
      {"an item that is taken", TakeQueueItem{bugs, "true", "7"}, 60s, true},
  };
  std::set<std::size_t> kinds{Outer(Kill{}).index()};  // which is not run
  for (const Row& row : rows) {
    const Result<Plan> plan = plan_for(start_of(row.effect, row.to), surroundings());
    ASSERT_TRUE(plan) << row.what;
    EXPECT_EQ(plan->spec.timeout, row.limit) << row.what;
    EXPECT_EQ(plan->spec.synced, row.synced) << row.what;
    kinds.insert(row.effect.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Outer>) << "there is a kind without a row";
}

TEST_F(PlanTest, ASessionHasFifteenSecondsToBeginAndThenTheCoreKeepsItsTime) {
  const Result<SessionPlan> plan = session_plan(last, agent(), surroundings());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->start.spec.timeout, 15s);
  EXPECT_EQ(plan->pane.spec.timeout, std::nullopt);
}

}  // namespace
}  // namespace reeve::adapters::testing
