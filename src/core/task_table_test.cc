#include "core/task_step.h"
#include "core/task_testing.h"

#include <functional>
#include <gtest/gtest.h>
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
  const Task errored = observe(live, seen(agent::Doing::Errored, start + 1min), false, start,
                               start + 1min).next;
  const Task over = killed(finish(live, Success{}, start).next, true, start).next;
  const Task unseen = killed(finish(live, Success{}, start).next, false, start).next;
  return {{"starting", starting(watched())},
          {"restarting", restart(live, start).next},
          {"running", live},
          {"idle", look(overdue, start, start + 4min + 5s).next},
          {"no progress", no_progress},
          {"errored", errored},
          {"dead", gone(live, start + 1min).next},
          {"ending", finish(live, Success{}, start).next},
          {"unseen", unseen},
          {"over", over}};
}

struct Row {
  const char* what;
  std::function<Next(Task)> happens;
  std::vector<std::string> expected;  // in the order of `states`
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
      {"spawned", [](Task t) { return spawned(t, {}, late); }, {}},
      {"spawn failed", [](Task t) { return spawned(t, ended(Ended::Failed), late); }, {}},
      {"spawn unknown", [](Task t) { return spawned(t, ended(Ended::Unknown), late); }, {}},
      {"heartbeat", [](Task t) { return heartbeat(t, late); }, {}},
      {"working", [](Task t) { return see(t, Doing::Working); }, {}},
      {"progress", [](Task t) { return see(t, Doing::Unknown, true); }, {}},
      {"idle", [](Task t) { return see(t, Doing::Idle); }, {}},
      {"waiting answer", [](Task t) { return see(t, Doing::WaitingAnswer); }, {}},
      {"permission", [](Task t) { return see(t, Doing::WaitingPermission); }, {}},
      {"rate limited", [](Task t) { return see(t, Doing::RateLimited); }, {}},
      {"errored", [](Task t) { return see(t, Doing::Errored); }, {}},
      {"exited", [](Task t) { return see(t, Doing::Exited); }, {}},
      {"unknown", [](Task t) { return see(t, Doing::Unknown); }, {}},
      {"gone", [](Task t) { return gone(t, late); }, {}},
      {"killed", [](Task t) { return killed(t, true, late); }, {}},
      {"kill failed", [](Task t) { return killed(t, false, late); }, {}},
      {"tick", [](Task t) { return look(t, start, late); }, {}},
      {"tick after its time", [](Task t) { return look(t, start, start + 1h); }, {}},
      {"nudge by hand", [](Task t) { return nudge(t, "go on", late); }, {}},
      {"send by hand", [](Task t) { return send(t, "", "hello", late); }, {}},
      {"restart by hand", [](Task t) { return restart(t, late); }, {}},
      {"success", [](Task t) { return finish(t, Success{}, late); }, {}},
      {"failure", [](Task t) { return finish(t, Failed{}, late); }, {}},
      {"cancel", [](Task t) { return finish(t, Cancelled{}, late); }, {}},
      {"choice nudge", [](Task t) { return choose(t, Choice::Nudge); }, {}},
      {"choice restart", [](Task t) { return choose(t, Choice::Restart); }, {}},
      {"choice done", [](Task t) { return choose(t, Choice::Done); }, {}},
      {"choice fail", [](Task t) { return choose(t, Choice::Fail); }, {}},
      {"choice cancel", [](Task t) { return choose(t, Choice::Cancel); }, {}},
      {"choice allow", [](Task t) { return choose(t, Choice::Allow); }, {}},
      {"choice deny", [](Task t) { return choose(t, Choice::Deny); }, {}},
      {"choice look again", [](Task t) { return choose(t, Choice::LookAgain); }, {}},
      {"choice release", [](Task t) { return choose(t, Choice::ReleaseAnyway); }, {}},
      {"choice retry", [](Task t) { return choose(t, Choice::Retry); }, {}},
  };
}

TEST(TaskTable, Print) {
  for (const Row& row : table()) {
    printf("@%s\n", row.what);
    for (const Column& column : states()) {
      printf("    %s: %s\n", column.name, told(column.task, row.happens(column.task)).c_str());
    }
  }
}

}  // namespace
}  // namespace reeve::task
