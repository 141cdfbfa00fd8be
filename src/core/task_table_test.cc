#include "core/task_step.h"
#include "core/task_testing.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

// Every state with everything that can happen to it.
namespace reeve::task {
namespace {

constexpr Time late = start + 10min;

Begin watched() {
  Begin begin = fixer();
  begin.agent.progress_timeout = 9min;
  begin.agent.timeout = 1h;
  return begin;
}

struct Column {
  const char* name;
  Task task;
};

std::vector<Column> states() {
  const Task live = running(watched());
  Begin only_progress = watched();
  only_progress.agent.idle_timeout = 30min;
  const Task no_progress = look(running(only_progress), start, start + 9min).next;
  const Task overdue = look(live, start, start + 4min).next;
  const Task errored =
      observe(live, seen(agent::Doing::Errored, start + 1min), false, start, start + 1min).next;
  const Task over = killed(finish(live, Success{}, start).next, {}, start).next;
  const Task unseen = killed(finish(live, Success{}, start).next, unseen_dead(), start).next;
  return {{"starting", starting(watched())},
          {"restarting", restart(live, start).next},
          {"running", live},
          {"idle", look(overdue, start, start + 4min + 5s).next},
          {"no progress", no_progress},
          {"errored", errored},
          {"dead", gone(live, {}, start + 1min).next},
          {"ending", finish(live, Success{}, start).next},
          {"unseen", unseen},
          {"over", over}};
}

struct Row {
  const char* what;
  std::function<Next(Task)> happens;
  std::map<std::string, std::string> expected;  // by state; in all others nothing happens
};

Next see(Task task, agent::Doing doing, bool progress = false) {
  return observe(std::move(task), seen(doing, late), progress, start, late);
}

Next choose(Task task, decision::Choice choice) {
  return answer(std::move(task), {choice, 0, "", "ana", late}, late);
}

std::vector<Row> table() {
  using agent::Doing;
  using decision::Choice;
  return {
      {"spawned",
       [](Task t) { return spawned(t, {}, late); },
       {{"starting", "Running started (Live)"}}},
      {"spawn failed",
       [](Task t) { return spawned(t, ended(Ended::Failed), late); },
       {{"starting", "Failed failed (None)"}}},
      {"spawn unknown",
       [](Task t) { return spawned(t, ended(Ended::Unknown), late); },
       {{"starting", "Stuck(dead) stuck Kill ask (Ending)"}}},
      {"heartbeat",
       [](Task t) { return heartbeat(t, late); },
       {{"running", "heartbeat"},
        {"idle", "Running heartbeat recovered"},
        {"no progress", "heartbeat"},
        {"errored", "Running heartbeat recovered"}}},
      {"working",
       [](Task t) { return see(t, Doing::Working); },
       {{"idle", "Running recovered"}, {"errored", "Running recovered"}}},
      {"progress",
       [](Task t) { return see(t, Doing::Unknown, true); },
       {{"idle", "Running recovered"},
        {"no progress", "Running recovered"},
        {"errored", "Running recovered"}}},
      {"idle", [](Task t) { return see(t, Doing::Idle); }, {}},
      {"waiting answer", [](Task t) { return see(t, Doing::WaitingAnswer); }, {}},
      {"permission",
       [](Task t) { return see(t, Doing::WaitingPermission); },
       {{"running", "ask"},
        {"idle", "Running recovered ask"},
        {"no progress", "Running recovered ask"},
        {"errored", "Running recovered ask"}}},
      {"rate limited",
       [](Task t) { return see(t, Doing::RateLimited); },
       {{"idle", "Running recovered"},
        {"no progress", "Running recovered"},
        {"errored", "Running recovered"}}},
      {"errored",
       [](Task t) { return see(t, Doing::Errored); },
       {{"running", "Stuck(errored) stuck ask"},
        {"idle", "Stuck(errored) stuck ask"},
        {"no progress", "Stuck(errored) stuck ask"}}},
      {"exited",
       [](Task t) { return see(t, Doing::Exited); },
       {{"running", "Stuck(dead) stuck ask"},
        {"idle", "Stuck(dead) stuck ask"},
        {"no progress", "Stuck(dead) stuck ask"},
        {"errored", "Stuck(dead) stuck ask"}}},
      {"unknown", [](Task t) { return see(t, Doing::Unknown); }, {}},
      {"gone",
       [](Task t) { return gone(t, {}, late); },
       {{"starting", "Stuck(dead) started stuck ask (None)"},
        {"restarting", "(None)"},
        {"running", "Stuck(dead) stuck ask (None)"},
        {"idle", "Stuck(dead) stuck ask (None)"},
        {"no progress", "Stuck(dead) stuck ask (None)"},
        {"errored", "Stuck(dead) stuck ask (None)"},
        {"ending", "(None)"},
        {"unseen", "(None)"}}},
      {"killed",
       [](Task t) { return killed(t, {}, late); },
       {{"restarting", "(None)"}, {"ending", "(None)"}}},
      {"kill failed",
       [](Task t) { return killed(t, unseen_dead(), late); },
       {{"restarting", "ask (Unseen)"}, {"ending", "ask (Unseen)"}}},
      {"kill unknown",
       [](Task t) { return killed(t, ended(Ended::Unknown), late); },
       {{"restarting", "Kill"}, {"ending", "Kill"}}},
      {"checkpoint of its pipeline",
       [](Task t) { return task::progress(t, late); },
       {{"idle", "Running recovered"},
        {"no progress", "Running recovered"},
        {"errored", "Running recovered"}}},
      {"end of its checkpoint", [](Task t) { return checkpointed(t, late); }, {}},
      {"tick",
       [](Task t) { return look(t, start, late); },
       {{"running", "Stuck(no progress) stuck Nudge nudged"}}},
      {"tick after its time",
       [](Task t) { return look(t, start, start + 1h); },
       {{"restarting", "Failed failed"},
        {"running", "Failed failed Kill (Ending)"},
        {"idle", "Failed failed Kill (Ending)"},
        {"no progress", "Failed failed Kill (Ending)"},
        {"errored", "Failed failed Kill (Ending)"},
        {"dead", "Failed failed"}}},
      {"nudge by hand",
       [](Task t) { return nudge(t, "go on", late); },
       {{"running", "Nudge nudged"},
        {"idle", "Nudge nudged"},
        {"no progress", "Nudge nudged"},
        {"errored", "Nudge nudged"}}},
      {"send by hand",
       [](Task t) { return send(t, "", "hello", late); },
       {{"running", "Send"}, {"idle", "Send"}, {"no progress", "Send"}, {"errored", "Send"}}},
      {"restart by hand",
       [](Task t) { return restart(t, late); },
       {{"running", "Pending restarting Kill (Ending)"},
        {"idle", "Pending restarting Kill (Ending)"},
        {"no progress", "Pending restarting Kill (Ending)"},
        {"errored", "Pending restarting Kill (Ending)"},
        {"dead", "Pending restarting"}}},
      {"success",
       [](Task t) { return finish(t, Success{}, late); },
       {{"starting", "Success complete Kill (Ending)"},
        {"restarting", "Success complete"},
        {"running", "Success complete Kill (Ending)"},
        {"idle", "Success complete Kill (Ending)"},
        {"no progress", "Success complete Kill (Ending)"},
        {"errored", "Success complete Kill (Ending)"},
        {"dead", "Success complete"}}},
      {"failure",
       [](Task t) { return finish(t, Failed{}, late); },
       {{"starting", "Failed failed Kill (Ending)"},
        {"restarting", "Failed failed"},
        {"running", "Failed failed Kill (Ending)"},
        {"idle", "Failed failed Kill (Ending)"},
        {"no progress", "Failed failed Kill (Ending)"},
        {"errored", "Failed failed Kill (Ending)"},
        {"dead", "Failed failed"}}},
      {"cancel",
       [](Task t) { return finish(t, Cancelled{}, late); },
       {{"starting", "Cancelled cancelled Kill (Ending)"},
        {"restarting", "Cancelled cancelled"},
        {"running", "Cancelled cancelled Kill (Ending)"},
        {"idle", "Cancelled cancelled Kill (Ending)"},
        {"no progress", "Cancelled cancelled Kill (Ending)"},
        {"errored", "Cancelled cancelled Kill (Ending)"},
        {"dead", "Cancelled cancelled"}}},
      {"choice nudge",
       [](Task t) { return choose(t, Choice::Nudge); },
       {{"running", "Nudge nudged"},
        {"idle", "Nudge nudged"},
        {"no progress", "Nudge nudged"},
        {"errored", "Nudge nudged"},
        {"dead", "ask"}}},
      {"choice restart",
       [](Task t) { return choose(t, Choice::Restart); },
       {{"running", "Pending restarting Kill (Ending)"},
        {"idle", "Pending restarting Kill (Ending)"},
        {"no progress", "Pending restarting Kill (Ending)"},
        {"errored", "Pending restarting Kill (Ending)"},
        {"dead", "Pending restarting"}}},
      {"choice done",
       [](Task t) { return choose(t, Choice::Done); },
       {{"starting", "Success complete Kill (Ending)"},
        {"restarting", "Success complete"},
        {"running", "Success complete Kill (Ending)"},
        {"idle", "Success complete Kill (Ending)"},
        {"no progress", "Success complete Kill (Ending)"},
        {"errored", "Success complete Kill (Ending)"},
        {"dead", "Success complete"}}},
      {"choice fail",
       [](Task t) { return choose(t, Choice::Fail); },
       {{"starting", "Failed failed Kill (Ending)"},
        {"restarting", "Failed failed"},
        {"running", "Failed failed Kill (Ending)"},
        {"idle", "Failed failed Kill (Ending)"},
        {"no progress", "Failed failed Kill (Ending)"},
        {"errored", "Failed failed Kill (Ending)"},
        {"dead", "Failed failed"}}},
      {"choice cancel",
       [](Task t) { return choose(t, Choice::Cancel); },
       {{"starting", "Cancelled cancelled Kill (Ending)"},
        {"restarting", "Cancelled cancelled"},
        {"running", "Cancelled cancelled Kill (Ending)"},
        {"idle", "Cancelled cancelled Kill (Ending)"},
        {"no progress", "Cancelled cancelled Kill (Ending)"},
        {"errored", "Cancelled cancelled Kill (Ending)"},
        {"dead", "Cancelled cancelled"}}},
      {"choice allow",
       [](Task t) { return choose(t, Choice::Allow); },
       {{"running", "Send"}, {"idle", "Send"}, {"no progress", "Send"}, {"errored", "Send"}}},
      {"choice deny",
       [](Task t) { return choose(t, Choice::Deny); },
       {{"running", "Send"}, {"idle", "Send"}, {"no progress", "Send"}, {"errored", "Send"}}},
      {"choice look again",
       [](Task t) { return choose(t, Choice::LookAgain); },
       {{"unseen", "Kill (Ending)"}}},
      {"choice release",
       [](Task t) { return choose(t, Choice::ReleaseAnyway); },
       {{"unseen", "(None)"}}},
      {"choice retry", [](Task t) { return choose(t, Choice::Retry); }, {}},
  };
}

TEST(Task, EveryStateHasAnAnswerToEverythingThatCanHappen) {
  for (const Row& row : table()) {
    std::size_t met = 0;
    for (const Column& column : states()) {
      const auto expected = row.expected.find(column.name);
      if (expected != row.expected.end()) ++met;
      EXPECT_EQ(told(column.task, row.happens(column.task)),
                expected == row.expected.end() ? "-" : expected->second)
          << row.what << " while " << column.name;
    }
    EXPECT_EQ(met, row.expected.size()) << row.what << " names a state that is none";
  }
}

// What is done stays done, to the last letter; only its body is still brought to an end.
TEST(Task, WhatIsDoneStaysAsItIsWhateverComes) {
  for (const Row& row : table()) {
    for (const Column& column : states()) {
      if (!std::holds_alternative<Done>(column.task.state)) continue;
      Task after = row.happens(column.task).next;
      EXPECT_EQ(after.state, column.task.state) << row.what << " while " << column.name;
      after.body = column.task.body;
      EXPECT_EQ(after, column.task) << row.what << " while " << column.name;
    }
  }
}

}  // namespace
}  // namespace reeve::task
