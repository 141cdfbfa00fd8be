#include "core/task_step.h"

#include "core/task_testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reeve::task {
namespace {

using agent::Doing;

// ── Starting ──

TEST(Task, ASpawnCarriesTheAttemptAndAllThatTheAgentNeeds) {
  Begin begin = fixer();
  begin.variables = {{"BUG", "42"}};
  begin.environment = {{"PATH", "/bin"}};
  begin.agent.env = {{"ROLE", "fixer"}};
  begin.agent.timeout = 1h;

  const Next step = spawn(make(work, begin), work, start);
  EXPECT_EQ(step.effects,
            (Effects{{Outgoing{Spawn{work,
                                     "fixer",
                                     "claude",
                                     "Fix it.",
                                     "/ws",
                                     {{"BUG", "42"}},
                                     true,
                                     std::nullopt,
                                     {{"PATH", "/bin"}, {"ROLE", "fixer"}},
                                     "generic",
                                     ""},
                               Address{work, work, Part::Spawn}}}}));
  EXPECT_EQ(told(make(work, begin), step), "Spawn (Starting)");
}

TEST(Task, ARunToCompletionRunsFromTheStartAndItsOutcomeIsTheResult) {
  Begin begin = resolver();
  begin.agent.timeout = 1h;
  const Task before = make(work, begin);
  const Next step = spawn(before, work, start);
  EXPECT_EQ(told(before, step), "Running Spawn started (Live)");
  EXPECT_EQ(std::get<Spawn>(std::get<Outgoing>(step.effects[0].value).what).timeout, 1h);

  const auto result = [&](const Outcome& outcome) {
    const Task done = spawned(step.next, outcome, at(1s)).next;
    EXPECT_TRUE(is_over(done));
    return std::get<Done>(done.state).result;
  };
  Outcome signalled = ended(Ended::Failed);
  signalled.signal = 9;
  Outcome too_long = signalled;
  too_long.timed_out = true;
  EXPECT_EQ(result(exit_with(0, "done")), Result{Success{"done"}});
  EXPECT_EQ(result(exit_with(3)), Result{Failed{"exit code 3"}});
  EXPECT_EQ(result(signalled), Result{Failed{"ended by signal 9"}});
  EXPECT_EQ(result(too_long), (Result{Failed{"timed out", How::TimedOut}}));
  EXPECT_EQ(result(ended(Ended::Failed, "no bash")), Result{Failed{"no bash"}});
}

TEST(Task, ARunToCompletionWithoutALimitIsNotWatchedForIdleness) {
  Begin begin = resolver();
  begin.agent.idle_timeout = Duration::max();
  EXPECT_EQ(next_look(running(begin), start), std::nullopt);
  Drive drive(begin);

  EXPECT_EQ(drive.look_at(10h), "-");
  EXPECT_EQ(drive.see(Doing::Idle, 11h), "-");
  EXPECT_EQ(drive.see(Doing::Idle, 12h), "-");
}

TEST(Task, OneThatIsIdleBeyondItsLimitCannotBeNudgedAndIsRestarted) {
  Drive drive(resolver());

  EXPECT_EQ(drive.look_at(3min), "-");
  EXPECT_EQ(drive.idle_out(), "Pending stuck restarting Kill (Ending)");
}

TEST(Task, ARunToCompletionIsEndedByItsRun) {
  Task task = running(resolver());
  task.run = {7, 0};
  const Next step = finish(task, Cancelled{}, start);
  EXPECT_EQ(std::get<reeve::Kill>(std::get<Outgoing>(step.effects.back().value).what),
            (reeve::Kill{EffectId{7, 0}, 5s}));
  const Next session = finish(running(), Cancelled{}, start);
  EXPECT_EQ(std::get<reeve::Kill>(std::get<Outgoing>(session.effects.back().value).what),
            (reeve::Kill{work, 5s}));
}

// ── Idle ──

TEST(Task, OneLookThatFindsItIdleIsNoVerdictTwoAre) {
  Drive drive;

  EXPECT_EQ(*next_look(drive.task, start), at(3min + 1ms));
  EXPECT_EQ(drive.look_at(3min), "-");
  EXPECT_EQ(drive.task.overdue_since, std::nullopt);
  EXPECT_EQ(drive.look_at(3min + 1ms), "-");
  EXPECT_EQ(*next_look(drive.task, start), at(3min + 1ms + 5s));
  EXPECT_EQ(drive.look_at(3min + 5s), "-");
  EXPECT_EQ(drive.look_at(3min + 1ms + 5s), "Stuck(idle) stuck Nudge nudged");
}

TEST(Task, AnObservationOfIdlenessIsALookToo) {
  Drive drive;

  EXPECT_EQ(drive.see(Doing::Idle, 3min), "-");
  EXPECT_EQ(drive.see(Doing::Idle, 3min + 1ms), "-");
  EXPECT_EQ(drive.see(Doing::WaitingAnswer, 3min + 1ms), "-");  // the same look
  EXPECT_EQ(drive.see(Doing::WaitingAnswer, 3min + 2ms), "Stuck(idle) stuck Nudge nudged");
}

TEST(Task, AnySignOfLifeStartsTheIdleTimeAgain) {
  Drive drive;
  drive.look_at(3min + 1ms);

  drive.take(heartbeat(drive.task, at(3min + 2ms)));
  EXPECT_EQ(drive.look_at(3min + 6s), "-");
  EXPECT_EQ(*next_look(drive.task, start), at(6min + 3ms));
  EXPECT_EQ(drive.see(Doing::Working, 4min), "-");
  EXPECT_EQ(*next_look(drive.task, start), at(7min + 1ms));
}

TEST(Task, AfterARestartOfTheDaemonIdleTimeCountsFromWhenItCouldListen) {
  Drive drive;
  drive.look_at(3min + 1ms);
  drive.leases_from = at(3min + 2ms);

  EXPECT_EQ(drive.look_at(3min + 1ms + 5s), "-");
  EXPECT_EQ(drive.look_at(6min + 2ms), "-");
  EXPECT_EQ(drive.look_at(6min + 3ms), "-");
  EXPECT_EQ(drive.look_at(6min + 3ms + 5s), "Stuck(idle) stuck Nudge nudged");
}

TEST(Task, AnOldObservationChangesNothing) {
  Drive drive;
  drive.see(Doing::Idle, 2min);
  const Task before = drive.task;

  EXPECT_EQ(drive.see(Doing::Exited, 1min), "-");
  EXPECT_EQ(drive.task, before);
}

TEST(Task, ActivityFromBeforeTheVerdictDoesNotOverturnIt) {
  Drive drive;
  drive.idle_out();

  EXPECT_EQ(drive.see(Doing::Working, 2min), "-");
  EXPECT_EQ(drive.see(Doing::Working, 3min + 1ms + 5s), "Running recovered");
}

TEST(Task, UnknownCausesNothing) {
  Drive drive;
  const Task before = drive.task;
  drive.see(Doing::Unknown, 10h);
  EXPECT_EQ(drive.task.state, before.state);
  EXPECT_EQ(drive.task.overdue_since, std::nullopt);
}

// ── Rate limits, progress, time, checkpoints ──

TEST(Task, ARateLimitedAgentIsLeftAloneUntilItsLimitResets) {
  Drive drive;
  agent::AgentState limited = seen(Doing::RateLimited, at(1min));
  limited.resets_at = at(1h);
  drive.take(observe(drive.task, limited, false, start, at(1min)));

  EXPECT_EQ(drive.look_at(1h + 3min), "-");
  EXPECT_EQ(drive.task.overdue_since, std::nullopt);
  EXPECT_EQ(drive.look_at(1h + 3min + 1ms), "-");
  EXPECT_EQ(drive.look_at(1h + 3min + 1ms + 5s), "Stuck(idle) stuck Nudge nudged");
  EXPECT_EQ(drive.task.restarts, 0u);
}

TEST(Task, WithoutAKnownResetARateLimitIsGivenFiveMinutes) {
  Drive drive;
  drive.see(Doing::RateLimited, 0s);
  EXPECT_EQ(*next_look(drive.task, start), at(8min + 1ms));

  drive.see(Doing::Working, 1min);  // it goes on before that
  EXPECT_EQ(*next_look(drive.task, start), at(4min + 1ms));
}

TEST(Task, LifeWithoutProgressIsNotEnough) {
  Begin begin = fixer();
  begin.agent.progress_timeout = 30min;
  Drive drive(begin);
  drive.see(Doing::Working, 29min);
  EXPECT_EQ(drive.look_at(30min - 1ms), "-");
  EXPECT_EQ(drive.look_at(30min), "Stuck(no progress) stuck Nudge nudged");
  EXPECT_EQ(drive.see(Doing::Working, 31min), "-");
  EXPECT_EQ(drive.look_at(1h - 1ms), "-");
  EXPECT_EQ(drive.look_at(1h), "Nudge nudged");
  EXPECT_EQ(drive.see(Doing::Working, 61min, true), "Running recovered");
}

TEST(Task, ItsTimeIsCountedFromTheFirstStartThroughAllRestarts) {
  Begin begin = fixer();
  begin.agent.timeout = 10min;
  begin.agent.idle_timeout = 1h;
  Drive drive(begin);
  drive.now = at(9min);
  drive.take(restart(drive.task, drive.now));
  drive.come_back();

  EXPECT_EQ(drive.look_at(10min - 1ms), "-");
  EXPECT_EQ(drive.look_at(10min), "Failed failed Kill (Ending)");
  EXPECT_EQ(std::get<Done>(drive.task.state).result, (Result{Failed{"timed out", How::TimedOut}}));
}

TEST(Task, TheNextRunToCompletionGetsTheTimeThatIsLeft) {
  Begin begin = resolver();
  begin.agent.timeout = 10min;
  Drive drive(begin);
  drive.take(restart(drive.task, at(4min)));
  drive.take(killed(drive.task, {}, at(4min)));
  drive.take(spawn(drive.task, {2}, at(4min)));

  EXPECT_EQ(std::get<Spawn>(std::get<Outgoing>(drive.step.effects[0].value).what).timeout, 6min);
}

TEST(Task, ACheckpointIsRunAsOftenAsAskedAndNeverTwiceAtATime) {
  Begin begin = fixer();
  begin.agent.idle_timeout = 10h;
  begin.agent.checkpoint_every = 10min;
  begin.agent.checkpoint_run = "git commit";
  Drive drive(begin);

  EXPECT_EQ(drive.look_at(10min - 1ms), "-");
  EXPECT_EQ(drive.look_at(10min), "Shell");
  EXPECT_EQ(drive.look_at(20min), "-");  // the first one is still at it
  drive.take(checkpointed(drive.task, drive.now));
  EXPECT_EQ(drive.look_at(30min), "Shell");
  drive.take(gone(drive.task, {}, at(31min)));
  drive.take(checkpointed(drive.task, drive.now));
  EXPECT_EQ(drive.look_at(1h), "-");
}

// ── The end ──

TEST(Task, WhoeverBeganItIsToldTheResultAndWhatWasPublished) {
  Outcome last;
  last.output = "tail";
  last.values = {{"pr", "17"}};
  last.exit_code = 143;

  const Outcome success = outcome_of(with_last(finish(running(), Success{}, start).next, last));
  EXPECT_EQ(success.ended, Ended::Done);
  EXPECT_EQ(success.exit_code, 0);
  EXPECT_EQ(success.output, "tail");
  EXPECT_EQ(success.values, last.values);
  EXPECT_EQ(outcome_of(with_last(finish(running(), Success{"said"}, start).next, last)).output,
            "said");

  const Outcome late = outcome_of(
      with_last(finish(running(), Failed{"timed out", How::TimedOut}, start).next, last));
  EXPECT_EQ(late.ended, Ended::Failed);
  EXPECT_TRUE(late.timed_out);
  EXPECT_EQ(late.error, "timed out");
  EXPECT_EQ(late.exit_code, std::nullopt);  // that of the killed session says nothing
  EXPECT_EQ(
      outcome_of(with_last(finish(running(resolver()), Failed{}, start).next, last)).exit_code,
      143);
  EXPECT_EQ(
      outcome_of(with_last(finish(running(), Failed{"?", How::Unknown}, start).next, last)).ended,
      Ended::Unknown);
  const Outcome cancelled = outcome_of(with_last(finish(running(), Cancelled{}, start).next, last));
  EXPECT_EQ(cancelled.ended, Ended::Failed);
  EXPECT_EQ(cancelled.error, "cancelled");
}

}  // namespace
}  // namespace reeve::task
