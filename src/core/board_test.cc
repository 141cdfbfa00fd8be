#include "core/board.h"

#include "core/board_testing.h"
#include "core/heard_testing.h"

#include <gtest/gtest.h>

namespace reeve::board {
namespace {

TEST(Board, StartingTakesSectionAndTaskInOneStep) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.forget();

  const auto started = as<Started>(world.start(task, ana));

  EXPECT_EQ(started.task, task);
  EXPECT_EQ(started.expires_at, at(60min));
  EXPECT_FALSE(started.claimed_from);
  EXPECT_EQ(world.task(task).status, Status::InProgress);
  EXPECT_EQ(world.task(task).lock->lease.token, started.token);
  EXPECT_EQ(world.section(backend).lock->runner, ana);
  EXPECT_EQ(world.section(backend).lock->lease.token, started.section_token);
  EXPECT_EQ(world.names(), (Names{"board:section_locked", "board:started"}));
}

TEST(Board, ATaskWithoutASectionHasOnlyItsOwnLock) {
  BoardWorld world;
  const BoardTaskId one = world.add("one");
  const BoardTaskId two = world.add("two");
  EXPECT_EQ(as<Started>(world.start(one, ana)).section_token, std::nullopt);
  EXPECT_TRUE(is<Started>(world.start(two, bo)));
  EXPECT_EQ(as<TaskLocked>(world.start(one, bo)), (TaskLocked{one, ana, at(60min)}));
}

TEST(Board, StartingAgainIsASignOfLifeUnderTheSameToken) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  const auto first = as<Started>(world.start(task, ana));
  world.pass(10min);
  const auto again = as<Started>(world.start(task, ana));
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(again.section_token, first.section_token);
  EXPECT_EQ(again.expires_at, at(70min));
}

TEST(Board, InASectionWorksOneRunnerAtATime) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  EXPECT_EQ(as<TaskLocked>(world.start(one, bo)), (TaskLocked{one, ana, at(60min)}));
  EXPECT_EQ(as<SectionLocked>(world.start(two, bo)), (SectionLocked{backend, ana, at(120min)}));
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<Started>(world.start(two, ana)));
}

// The first scenario of the seed: two runners, one section.
TEST(Board, ASectionStaysWithItsRunnerUntilNoOpenTaskIsLeft) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  const WaiterId waiter = world.wait_to_start(two, bo);
  world.finish(one, ana);
  EXPECT_EQ(world.section(backend).lock->runner, ana);
  EXPECT_TRUE(is<Started>(world.start(two, ana)));
  world.forget();

  world.finish(two, ana);

  EXPECT_FALSE(world.section(backend).lock);
  EXPECT_EQ(as<TaskFinished>(world.told(waiter)), (TaskFinished{two, Status::Completed}));
  EXPECT_EQ(world.names(),
            (Names{"board:finished", "board:stopped_waiting", "board:section_released"}));
}

// The second: an expired lock.
TEST(Board, ALockThatIsOverIsClaimedByWhoAsksFirst) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  const auto first = as<Started>(world.start(task, ana));
  world.pass(60min);
  EXPECT_EQ(as<TaskLocked>(world.start(task, bo)), (TaskLocked{task, ana, at(60min)}));
  world.pass(1ms);
  EXPECT_EQ(world.names().back(), "board:expired");
  world.forget();

  const auto claimed = as<Started>(world.start(task, bo));
  EXPECT_EQ(claimed.claimed_from, ana);
  EXPECT_GT(claimed.token, first.token);
  EXPECT_EQ(world.names(), (Names{"board:claimed"}));
  EXPECT_TRUE(is<TaskLocked>(world.start(task, cy)));
  EXPECT_EQ(as<Lost>(world.heartbeat(task, ana, first.token)), (Lost{bo}));
  EXPECT_EQ(as<Lost>(world.say(Finish{task, ana, first.token, Status::Completed, ""})), (Lost{bo}));
  EXPECT_TRUE(is<TaskLocked>(world.finish(task, ana)));
}

TEST(Board, WhetherATickCameFirstMakesNoDifference) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  world.stamp.now += 60min + 1ms;
  EXPECT_EQ(as<Started>(world.start(task, bo)).claimed_from, ana);
}

TEST(Board, ALiveHolderIsNeverStolenFrom) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  for (int i = 0; i < 10; ++i) {
    world.pass(59min);
    EXPECT_TRUE(is<Extended>(world.heartbeat(task, ana)));
    EXPECT_TRUE(is<TaskLocked>(world.start(task, bo)));
  }
  EXPECT_EQ(world.section(backend).lock->runner, ana);
}

TEST(Board, AHeartbeatAtTheLimitCountsAndOneAfterItIsLost) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  world.pass(60min);
  EXPECT_EQ(as<Extended>(world.heartbeat(task, ana)), (Extended{task, at(120min)}));
  world.pass(60min + 1ms);
  EXPECT_EQ(as<Lost>(world.heartbeat(task, ana)), (Lost{}));
}

TEST(Board, ARunnersHeartbeatExtendsAllItHolds) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two");
  const BoardTaskId three = world.add("three");
  world.start(three, ana);
  world.pass(1min);
  world.start(one, ana);
  world.start(two, ana);
  world.pass(60min);
  EXPECT_EQ(as<Alive>(world.say(RunnerHeartbeat{ana})), (Alive{2, 1, 1}));
  world.pass(60min);
  EXPECT_TRUE(is<TaskLocked>(world.start(one, bo)));
  EXPECT_TRUE(is<TaskLocked>(world.start(two, bo)));
  EXPECT_TRUE(is<Started>(world.start(three, bo)));
}

TEST(Board, ARunnersHeartbeatAtTheLimitOfASectionCountsAndOneAfterItIsLost) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  world.add("two", backend);
  world.start(one, ana);
  world.finish(one, ana);
  world.stamp.now += 120min;
  EXPECT_EQ(as<Alive>(world.say(RunnerHeartbeat{ana})), (Alive{0, 1, 0}));
  world.stamp.now += 120min + 1ms;
  EXPECT_EQ(as<Alive>(world.say(RunnerHeartbeat{ana})), (Alive{0, 0, 1}));
}

TEST(Board, ARunnersHeartbeatTellsOnceWhatOthersHaveTakenFromIt) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two");
  const BoardTaskId three = world.add("three");
  for (const BoardTaskId task : {one, two, three}) world.start(task, ana);
  world.say(ForceRelease{TaskRef{three}, "dia", "she is ill"});
  world.pass(121min);
  world.start(one, bo);
  world.start(two, bo);
  EXPECT_EQ(as<Alive>(world.say(RunnerHeartbeat{ana})), (Alive{0, 0, 0, 4}))
      << "three tasks and the section";
  EXPECT_EQ(as<Alive>(world.say(RunnerHeartbeat{ana})), (Alive{0, 0, 0, 0}));
  EXPECT_EQ(as<Alive>(world.say(RunnerHeartbeat{bo})), (Alive{2, 1, 0, 0}));
}

TEST(Board, ARunnersHeartbeatTellsOfWhatOthersEndedGaveBackOrRemoved) {
  BoardWorld world;
  const BoardTaskId ended = world.add("ended");
  const BoardTaskId given_back = world.add("given back");
  const BoardTaskId removed = world.add("removed");
  const BoardTaskId her_own = world.add("her own");
  for (const BoardTaskId task : {ended, given_back, removed, her_own}) world.start(task, ana);
  world.pass(61min);
  world.finish(ended, bo);
  world.say(PutBack{given_back, bo, {}});
  world.say(RemoveTask{removed});
  world.finish(her_own, ana);

  EXPECT_EQ(as<Alive>(world.say(RunnerHeartbeat{ana})), (Alive{0, 0, 0, 3}));
}

TEST(Board, ATaskThatIsHeldHoldsItsSection) {
  BoardWorld world;
  world.say(SetLocking{default_project, {60min, 10min, 30min}});
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.pass(30min);
  EXPECT_EQ(as<SectionLocked>(world.start(two, bo)), (SectionLocked{backend, ana, at(60min)}));
  // Without the task, the section's own lease counts, from the last sign of life.
  world.finish(one, ana);
  EXPECT_EQ(as<SectionLocked>(world.start(two, bo)), (SectionLocked{backend, ana, at(40min)}));
  world.pass(10min + 1ms);
  EXPECT_EQ(world.names().back(), "board:section_expired");
  EXPECT_TRUE(is<Started>(world.start(two, bo)));
}

TEST(Board, TheSectionIsLostTwoHoursAfterTheLastSign) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  world.start(one, ana);
  world.pass(120min);
  EXPECT_EQ(as<SectionLocked>(world.start(one, bo)), (SectionLocked{backend, ana, at(120min)}));
  world.pass(1ms);
  EXPECT_EQ(as<Started>(world.start(one, bo)).claimed_from, ana);
}

TEST(Board, FinishingReleasesWhateverTheStatus) {
  for (const Status status : {Status::Completed, Status::Review, Status::Failed, Status::Skipped}) {
    BoardWorld world;
    const BoardTaskId task = world.add("fix", backend);
    world.start(task, ana);
    EXPECT_TRUE(is<Ok>(world.finish(task, ana, status)));
    EXPECT_EQ(world.task(task).status, status);
    EXPECT_FALSE(world.task(task).lock);
    EXPECT_FALSE(world.section(backend).lock);
    EXPECT_EQ(world.names().at(4), "board:finished");
  }
}

TEST(Board, ATaskThatNobodyHasMayBeFinishedByAnybody) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  EXPECT_TRUE(is<Ok>(world.finish(task, nobody, Status::Skipped)));
  EXPECT_EQ(as<TaskFinished>(world.finish(task, ana, Status::Failed)),
            (TaskFinished{task, Status::Skipped}));
  EXPECT_EQ(as<TaskFinished>(world.start(task, ana)), (TaskFinished{task, Status::Skipped}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Board, OnlyAReviewIsNotTheLastWord) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.finish(task, ana, Status::Review);
  EXPECT_EQ(as<TaskFinished>(world.finish(task, bo, Status::Review)),
            (TaskFinished{task, Status::Review}));
  EXPECT_TRUE(is<Ok>(world.finish(task, bo, Status::Completed)));
  EXPECT_TRUE(is<TaskFinished>(world.finish(task, bo, Status::Failed)));
}

TEST(Board, WhoLostItToNobodyMayStillEndIt) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  world.pass(5h);
  EXPECT_TRUE(is<Ok>(world.finish(task, ana)));
  EXPECT_FALSE(world.section(backend).lock);
}

TEST(Board, LettingGoMakesItPendingAgain) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  EXPECT_TRUE(is<TaskLocked>(world.say(PutBack{task, bo, {}})));
  EXPECT_EQ(as<Refused>(world.say(LetGo{backend, ana})),
            (Refused{Why::NotAllowed, "it holds " + to_text(task)}));
  EXPECT_TRUE(is<Ok>(world.say(PutBack{task, ana, {}})));
  EXPECT_EQ(world.task(task).status, Status::Pending);
  EXPECT_EQ(world.section(backend).lock->runner, ana);
  EXPECT_EQ(as<Lost>(world.say(LetGo{backend, bo})), (Lost{ana}));
  EXPECT_TRUE(is<Ok>(world.say(LetGo{backend, ana})));
  EXPECT_FALSE(world.section(backend).lock);
  EXPECT_TRUE(is<Ok>(world.say(LetGo{backend, ana})));
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<Started>(world.start(task, bo)));
}

TEST(Board, AFinishedTaskMayBeReopened) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.finish(task, nobody, Status::Failed);
  EXPECT_TRUE(is<Ok>(world.say(PutBack{task, nobody, {}})));
  EXPECT_TRUE(is<Started>(world.start(task, ana)));
}

TEST(Board, ATaskIsFoundByItsTitle) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  EXPECT_EQ(as<Started>(world.start("fix", ana)).task, task);
  EXPECT_EQ(as<Refused>(world.start("unknown", ana)), (Refused{Why::NotFound, "unknown"}));
  world.add("fix");
  EXPECT_EQ(as<Refused>(world.start("fix", ana)), (Refused{Why::Ambiguous, "fix"}));
  world.finish(task, ana);
  // One is open: that is meant.
  EXPECT_NE(as<Started>(world.start("fix", ana)).task, task);
  world.finish("fix", ana);
  EXPECT_EQ(as<Refused>(world.start("fix", ana)), (Refused{Why::Ambiguous, "fix"}));
}

TEST(Board, ForceReleaseFreesATask) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  world.forget();
  EXPECT_TRUE(is<Ok>(world.say(ForceRelease{TaskRef{task}, "me", "stuck"})));
  EXPECT_EQ(*find_in<WasForced>(world.heard[0]), (WasForced{task, ana, "me", "stuck"}));
  EXPECT_EQ(world.task(task).status, Status::Pending);
  EXPECT_EQ(as<Lost>(world.heartbeat(task, ana)), (Lost{}));
  world.say(ForceRelease{TaskRef{task}, "me", ""});
  EXPECT_FALSE(world.last.changed);
}

TEST(Board, ForceReleaseFreesASectionWithItsTasks) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  const WaiterId waiter = world.wait_to_start(two, bo);
  EXPECT_TRUE(is<Ok>(world.say(ForceRelease{backend, "me", "stuck"})));
  EXPECT_EQ(world.task(one).status, Status::Pending);
  EXPECT_EQ(as<Started>(world.told(waiter)).task, two);
  EXPECT_EQ(world.section(backend).lock->runner, bo);
}

TEST(Board, CleanupFreesWhatIsOverAndNothingElse) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two");
  world.start(one, ana);
  world.pass(60min);
  EXPECT_EQ(as<CleanedUp>(world.say(Cleanup{default_project, false})), (CleanedUp{{}, false}));
  world.pass(1ms);
  world.start(two, bo);
  EXPECT_EQ(as<CleanedUp>(world.say(Cleanup{default_project, true})), (CleanedUp{{one}, false}));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(as<CleanedUp>(world.say(Cleanup{default_project, false})), (CleanedUp{{one}, false}));
  EXPECT_EQ(world.task(one).status, Status::Pending);
  EXPECT_TRUE(world.task(two).lock);
  EXPECT_TRUE(world.section(backend).lock);
  world.pass(2h);
  EXPECT_EQ(as<CleanedUp>(world.say(Cleanup{default_project, false})).locks.size(), 2u);
  EXPECT_FALSE(world.section(backend).lock);
}

TEST(Board, WhatIsLockedCannotBeRemoved) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  EXPECT_TRUE(is<TaskLocked>(world.say(RemoveTask{task})));
  EXPECT_TRUE(is<SectionLocked>(world.say(RemoveSection{backend})));
  world.say(PutBack{task, ana, {}});
  world.say(LetGo{backend, ana});
  EXPECT_EQ(as<Refused>(world.say(RemoveSection{backend})),
            (Refused{Why::NotAllowed, "it has open tasks"}));
  EXPECT_TRUE(is<Ok>(world.say(RemoveTask{task})));
  EXPECT_TRUE(is<Ok>(world.say(RemoveSection{backend})));
  EXPECT_EQ(world.names().back(), "board:section_removed");
  EXPECT_EQ(as<Refused>(world.say(RemoveSection{backend})), (Refused{Why::NotFound, "backend"}));
}

TEST(Board, WhatIsOverCanBeRemovedFromItsFirstMomentOn) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  world.stamp.now += 60min;
  EXPECT_EQ(as<TaskLocked>(world.say(RemoveTask{task})), (TaskLocked{task, ana, at(60min)}));
  world.stamp.now += 1ms;
  BoardWorld later = world;
  EXPECT_TRUE(is<Ok>(later.say(RemoveTask{task})));
  world.stamp.now = at(120min);
  EXPECT_EQ(as<SectionLocked>(world.say(RemoveSection{backend})),
            (SectionLocked{backend, ana, at(120min)}));
  world.stamp.now += 1ms;
  EXPECT_EQ(as<Refused>(world.say(RemoveSection{backend})),
            (Refused{Why::NotAllowed, "it has open tasks"}));
}

TEST(Board, NotesAreKeptUpToAHundred) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(is<Ok>(world.say(AddNote{task, "ana", "hm"})));
  EXPECT_EQ(as<Refused>(world.say(AddNote{task, "ana", "hm"})), (Refused{Why::OverLimit, "notes"}));
  EXPECT_EQ(as<Refused>(world.say(AddNote{task, "ana", ""})), (Refused{Why::BadValue, "text"}));
  EXPECT_EQ(world.names().back(), "board:noted");
}

TEST(Board, FinishedTasksAreForgottenAfterADay) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.finish(task, nobody);
  world.pass(24h - 1ms);
  EXPECT_TRUE(world.state.board.tasks.contains(task));
  world.pass(1ms);
  EXPECT_FALSE(world.state.board.tasks.contains(task));
}

TEST(Board, NoMoreThanAThousandFinishedTasksAreKept) {
  BoardWorld world;
  std::vector<BoardTaskId> tasks;
  for (int i = 0; i < 1001; ++i) {
    // Straight to the core: checking every invariant a thousand times would take its time.
    world.state = apply(world.state,
                        Request{default_project, {}, true, "", Command{Add{"t", {}, 0, ""}}},
                        world.stamp)
                      .state;
    tasks.push_back(BoardTaskId{world.state.last_number});
    world.state = apply(world.state,
                        Request{default_project,
                                {},
                                true,
                                "",
                                Command{Finish{tasks.back(), nobody, {}, Status::Completed, ""}}},
                        world.stamp)
                      .state;
  }
  world.input(Tick{});
  EXPECT_EQ(world.state.board.tasks.size(), 1000u);
  EXPECT_FALSE(world.state.board.tasks.contains(tasks[0]));
  EXPECT_TRUE(world.state.board.tasks.contains(tasks[1]));
}

TEST(Board, ASilentRunnerIsForgottenAfterADayUnlessItHoldsSomething) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.say(RunnerHeartbeat{ana});
  world.start(task, bo);
  EXPECT_EQ(as<Refused>(world.say(ForgetRunner{bo})),
            (Refused{Why::NotAllowed, "it holds something"}));
  world.pass(24h - 1ms);
  EXPECT_TRUE(world.state.board.runners.contains(ana));
  world.pass(1ms);
  EXPECT_FALSE(world.state.board.runners.contains(ana));
  EXPECT_TRUE(world.state.board.runners.contains(bo));
  world.finish(task, bo);
  EXPECT_TRUE(is<Ok>(world.say(ForgetRunner{bo})));
  EXPECT_EQ(as<Refused>(world.say(ForgetRunner{bo})), (Refused{Why::NotFound, "bo"}));
}

TEST(Board, WhatMakesNoSenseIsRefused) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  const auto why = [&](Command command) {
    const auto refused = as<Refused>(world.say(std::move(command)));
    EXPECT_FALSE(world.last.changed);
    return refused;
  };
  const SectionName bad{default_project, "-x"};
  EXPECT_EQ(why(Add{"", {}, 0, ""}), (Refused{Why::BadValue, "title"}));
  EXPECT_EQ(why(Add{" \t ", {}, 0, ""}), (Refused{Why::BadValue, "title"}));
  EXPECT_EQ(why(Add{std::string(1001, 'x'), {}, 0, ""}), (Refused{Why::BadValue, "title"}));
  EXPECT_EQ(why(Add{"x", bad, 0, ""}), (Refused{Why::BadName, "-x"}));
  EXPECT_EQ(why(AddSection{bad}), (Refused{Why::BadName, "-x"}));
  EXPECT_EQ(why(AddSection{backend}), (Refused{Why::Exists, "backend"}));
  EXPECT_EQ(why(Start{task, nobody, {}}), (Refused{Why::BadName, ""}));
  EXPECT_EQ(why(RunnerHeartbeat{nobody}), (Refused{Why::BadName, ""}));
  const RunnerName of_two_lines{default_project, "a\nb"};
  EXPECT_EQ(why(Finish{task, of_two_lines, {}, Status::Completed, ""}),
            (Refused{Why::BadName, "a\nb"}));
  EXPECT_EQ(why(PutBack{task, of_two_lines, {}}), (Refused{Why::BadName, "a\nb"}));
  EXPECT_EQ(why(Finish{task, ana, {}, Status::Pending, ""}), (Refused{Why::BadValue, "status"}));
  EXPECT_EQ(why(Finish{task, ana, {}, Status::InProgress, ""}), (Refused{Why::BadValue, "status"}));
  EXPECT_EQ(why(SetLocking{default_project, {0s, 1s, 1s}}),
            (Refused{Why::BadValue, "task_timeout"}));
  EXPECT_EQ(why(SetLocking{default_project, {1s, 0s, 1s}}),
            (Refused{Why::BadValue, "section_timeout"}));
  EXPECT_EQ(why(SetLocking{default_project, {1s, 1s, -1s}}),
            (Refused{Why::BadValue, "wait_timeout"}));
  EXPECT_EQ(why(LetGo{frontend, ana}), (Refused{Why::NotFound, "frontend"}));
  EXPECT_EQ(why(ForceRelease{frontend, "", ""}), (Refused{Why::NotFound, "frontend"}));
  EXPECT_EQ(why(Next{ana, {frontend, false, true}, {}}), (Refused{Why::NotFound, "frontend"}));
  EXPECT_EQ(why(Heartbeat{BoardTaskId{12345}, ana, {}}),
            (Refused{Why::NotFound, to_text(BoardTaskId{12345})}));
  EXPECT_EQ(why(RemoveTask{"unknown"}), (Refused{Why::NotFound, "unknown"}));
}

TEST(Board, ARunnerHoldsAtMostWhatOneHeartbeatCanExtend) {
  BoardWorld world;
  for (int i = 0; i < 256; ++i) world.start(world.add("t" + std::to_string(i)), ana);
  EXPECT_EQ(as<Refused>(world.start(world.add("more"), ana)), (Refused{Why::OverLimit, "held"}));
}

TEST(Board, WhoHoldsSomethingIsNotForgottenAtTheEndOfTimeEither) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.stamp.now = Time::max() - 1h;
  world.start(task, ana);
  world.stamp.now = Time::max();
  world.input(Tick{});
  EXPECT_TRUE(world.state.board.runners.contains(ana));
}

TEST(Board, TheLongestTimesAreNoTrouble) {
  BoardWorld world;
  world.say(SetLocking{default_project, {Duration::max(), Duration::max(), Duration::max()}});
  const BoardTaskId task = world.add("fix", backend, INT32_MIN);
  world.start(task, ana);
  world.wait_to_start(task, bo, Duration::max());
  world.pass(100h);
  EXPECT_TRUE(world.answers.empty());
}

}  // namespace
}  // namespace reeve::board
