#include "adapters/history/rows.h"

#include "adapters/history/testing.h"

namespace reeve::history {
namespace {

const LockName main_lock{default_project, "main"};
const QueueName mail{default_project, "mail"};
const Holder ana{default_project, "ana"};
const Holder bo{default_project, "bo"};

struct HistoryRows : testing::Test {
  HistoryRows() {
    Result<std::unique_ptr<File>> opened = File::open(scratch.path());
    EXPECT_TRUE(opened);
    file = *std::move(opened);
    file->name({default_project, "shop"});
  }

  // One sequence, a second later, of these events.
  template <class... Bodies>
  void happen(const Bodies&... bodies) {
    ++now;
    std::uint32_t index = 0;
    const auto add = [&](EventBody body) {
      const Result<void> added = file->add(put(now, index++, std::move(body)));
      ASSERT_TRUE(added) << added.error().message;
    };
    (add(EventBody{bodies}), ...);
    ASSERT_TRUE(file->commit(now));
  }
  Lines ask(const std::string& sql) const { return rows(scratch.path(), sql); }

  Scratch scratch;
  std::unique_ptr<File> file;
  std::uint64_t now = 0;
};

TEST_F(HistoryRows, AHoldBeginsAndEndsAndAWaitEndsWithTheGrant) {
  happen(lock::WasAcquired{main_lock, ana, Token{1}});
  happen(grant::BeganWaiting{WaiterId{9}, bo, {"main"}});
  happen(lock::WasReleased{main_lock, ana, Token{1}}, lock::WasAcquired{main_lock, bo, Token{2}});
  EXPECT_EQ(ask("SELECT token, kind, project, name, holder, how, released_ms - acquired_ms FROM "
                "lock_holds ORDER BY token"),
            (Lines{"1|lock|shop|main|ana|released|2000", "2|lock|shop|main|bo|-|-"}));
  EXPECT_EQ(ask("SELECT kind, name, holder, outcome, ended_ms - began_ms FROM lock_waits"),
            Lines{"lock|main|bo|granted|1000"});
}

TEST_F(HistoryRows, AForcedHoldIsOverWhenItsProcessIs) {
  happen(lock::WasAcquired{main_lock, ana, Token{1}});
  happen(lock::WasForced{main_lock, ana, Token{1}, "cy", "stuck"});
  happen(lock::WasReleased{main_lock, ana, Token{1}, true});
  EXPECT_EQ(ask("SELECT how, forced_by, reason, released_ms - acquired_ms FROM lock_holds"),
            Lines{"forced|cy|stuck|2000"});
}

TEST_F(HistoryRows, AReclaimedLockChangesHands) {
  happen(lock::WasAcquired{main_lock, ana, Token{1}});
  happen(lock::WentStale{main_lock, ana, Token{1}},
         lock::WasReclaimed{main_lock, ana, bo, Token{2}});
  EXPECT_EQ(ask("SELECT holder, how, stale_ms - acquired_ms FROM lock_holds ORDER BY token"),
            (Lines{"ana|reclaimed|1000", "bo|-|-"}));
}

TEST_F(HistoryRows, ASlotGrowsShrinksAndGoesStale) {
  const SemaphoreName gpu{default_project, "gpu"};
  happen(semaphore::WasAcquired{gpu, ana, 2, Token{1}});
  happen(semaphore::WasAcquired{gpu, ana, 5, Token{1}});
  EXPECT_EQ(ask("SELECT weight FROM lock_holds"), Lines{"5"});
  happen(semaphore::WasReleased{gpu, ana, 3});
  EXPECT_EQ(ask("SELECT weight, released_ms FROM lock_holds"), Lines{"2|-"});
  happen(semaphore::WentStale{gpu, ana, 2});
  EXPECT_EQ(ask("SELECT how FROM lock_holds WHERE released_ms IS NOT NULL"), Lines{"stale"});
}

TEST_F(HistoryRows, AnItemHasItsWayAndItsAttempts) {
  happen(queue::WasPushed{mail, ItemId{7}, 3});
  happen(queue::WasTaken{mail, ItemId{7}, ana, Token{1}, 1});
  happen(queue::HasFailed{mail, ItemId{7}, "no route", Time{9s}});
  happen(queue::WasTaken{mail, ItemId{7}, bo, Token{2}, 2});
  happen(queue::WasCompleted{mail, ItemId{7}, Token{2}});
  EXPECT_EQ(ask("SELECT queue, state, priority, attempts, taken_ms - pushed_ms, ended_ms - "
                "pushed_ms, first_seq, last_seq FROM queue_items"),
            Lines{"mail|completed|3|2|1000|4000|1|5"});
  EXPECT_EQ(ask("SELECT attempt, holder, outcome, error, ended_ms - taken_ms FROM item_attempts "
                "ORDER BY claim"),
            (Lines{"1|ana|failed|no route|1000", "2|bo|completed|-|1000"}));
}

TEST_F(HistoryRows, AnItemThatDiesMovesToItsDeadLetters) {
  happen(queue::WasPushed{mail, ItemId{7}, 0});
  happen(queue::WasTaken{mail, ItemId{7}, ana, Token{1}, 1});
  happen(queue::TimedOut{mail, ItemId{7}, ana, Token{1}},
         queue::HasDied{mail, ItemId{7}, "visibility timeout", QueueName{default_project, "dead"}});
  EXPECT_EQ(ask("SELECT queue, state, attempts, error FROM queue_items"),
            Lines{"dead|pending|0|visibility timeout"});
  EXPECT_EQ(ask("SELECT outcome FROM item_attempts"), Lines{"timed_out"});
}

TEST_F(HistoryRows, APipelineHasThePhasesItWentThrough) {
  const PipelineId run{4};
  happen(pipeline::WasStarted{run, "ship"}, pipeline::EnteredPhase{run, "ship", "build"});
  happen(pipeline::WasBlocked{run, "build", pipeline::Reason::Lock});
  happen(pipeline::WasUnblocked{run, "build"});
  happen(pipeline::FailedPhase{run, "build", 1, "exit 1"}, pipeline::WasRetried{run, "build", 2});
  happen(pipeline::EnteredPhase{run, "ship", "publish"});
  happen(pipeline::WasCompleted{run, "ship"});
  EXPECT_EQ(ask("SELECT name, state, phase, ended_ms - started_ms FROM pipelines"),
            Lines{"ship|done|publish|5000"});
  EXPECT_EQ(ask("SELECT number, phase, attempt, outcome, error, blocked_on, blocked_ms, ended_ms - "
                "entered_ms FROM phases ORDER BY number"),
            (Lines{"1|build|1|failed|exit 1|lock|1000|3000",
                   "2|build|2|done|-|-|0|1000",
                   "3|publish|1|done|-|-|0|1000"}));
}

TEST_F(HistoryRows, TheBoardHasTheColumnsOfItsSeed) {
  const SectionName backend{default_project, "backend"};
  const board::RunnerName runner{default_project, "r1"};
  const BoardTaskId task{5};
  happen(board::SectionAdded{backend}, board::WasAdded{task, "Fix it", backend});
  happen(board::SectionTaken{backend, runner, Token{2}, Time{7202s}},
         board::WasStarted{task, runner, Token{1}, Time{3602s}});
  happen(board::WasExtended{task, runner, Time{3603s}});
  EXPECT_EQ(ask("SELECT runner_id, acquired_at, expires_at, heartbeat_at FROM task_locks"),
            Lines{"r1|2030-01-01T00:00:02.000Z|2030-01-01T01:00:03.000Z|"
                  "2030-01-01T00:00:03.000Z"});
  EXPECT_EQ(ask("SELECT section_id, runner_id, acquired_at, expires_at FROM section_locks"),
            Lines{"shop/backend|r1|2030-01-01T00:00:02.000Z|2030-01-01T02:00:02.000Z"});
  EXPECT_EQ(ask("SELECT id, title, section, status, runner FROM tasks"),
            Lines{to_text(task) + "|Fix it|backend|in_progress|r1"});

  happen(board::WasFinished{task, board::Status::Completed, "r1"},
         board::SectionReleased{backend, runner});
  EXPECT_EQ(ask("SELECT * FROM task_locks UNION ALL SELECT *, '' FROM section_locks"), Lines{});
  EXPECT_EQ(ask("SELECT runner_id, how, released_ms - acquired_ms FROM task_locks_history"),
            Lines{"r1|finished|2000"});
  EXPECT_EQ(ask("SELECT how FROM section_locks_history"), Lines{"released"});
  EXPECT_EQ(ask("SELECT status FROM tasks"), Lines{"completed"});
}

TEST_F(HistoryRows, AWaitOnTheBoardEndsWhenItIsSaidToAndAsItIsSaidTo) {
  const SectionName backend{default_project, "backend"};
  const board::RunnerName runner{default_project, "ana"};
  const board::RunnerName other{default_project, "bo"};
  happen(board::IsWaiting{runner, backend, WaiterId{1}},
         board::IsWaiting{other, backend, WaiterId{2}});
  happen(board::WasStarted{BoardTaskId{6}, runner, Token{1}, Time{3602s}},
         board::IsWaiting{runner, BoardTaskId{7}, WaiterId{3}});
  happen(lock::WasAcquired{{default_project, "backend"}, ana, Token{2}});
  EXPECT_EQ(ask("SELECT count(*) FROM lock_waits WHERE ended_ms IS NULL"), Lines{"3"})
      << "neither a task of another line nor a lock of that name is what they wait for";
  happen(board::StoppedWaiting{other, backend, WaiterId{2}, Left::TimedOut},
         board::StoppedWaiting{runner, backend, WaiterId{1}, std::nullopt});
  happen(board::StoppedWaiting{runner, BoardTaskId{7}, WaiterId{3}, Left::Unfit});
  EXPECT_EQ(ask("SELECT waiter, kind, name, holder, outcome, ended_ms - began_ms FROM lock_waits "
                "ORDER BY waiter"),
            (Lines{"1|section|backend|ana|granted|3000",
                   "2|section|backend|bo|timed_out|3000",
                   "3|task|" + to_text(BoardTaskId{7}) + "|ana|refused|3000"}));
}

TEST_F(HistoryRows, WhoWaitsForAnyTaskWaitsForTheNextTask) {
  const board::RunnerName runner{default_project, "ana"};
  happen(board::IsWaiting{runner, SectionName{default_project, ""}, WaiterId{1}});
  happen(
      board::StoppedWaiting{runner, SectionName{default_project, ""}, WaiterId{1}, std::nullopt});
  EXPECT_EQ(ask("SELECT kind, name, outcome FROM lock_waits"), Lines{"task|(next)|granted"});
}

TEST_F(HistoryRows, ATaskOfASharedSectionCanBeJoinedWithIt) {
  file->name({shared_project, "//"});
  const SectionName all{shared_project, "all"};
  Put section = put(++now, 0, board::SectionAdded{all});
  section.event.project = shared_project;
  ASSERT_TRUE(file->add(section));
  ASSERT_TRUE(file->commit(now));
  happen(board::WasAdded{BoardTaskId{5}, "Fix it", all});
  happen(board::SectionAdded{{default_project, "own"}},
         board::WasAdded{BoardTaskId{6}, "Tidy", SectionName{default_project, "own"}});
  EXPECT_EQ(ask("SELECT t.title, t.project, t.section, s.id FROM tasks t JOIN sections s ON s.id = "
                "iif(t.section LIKE '//%', '/' || t.section, t.project || '/' || t.section) "
                "ORDER BY t.title"),
            (Lines{"Fix it|shop|//all|///all", "Tidy|shop|own|shop/own"}));
}

// The grace of a start: a lease counts from the later of its last sign of life and readiness.
TEST_F(HistoryRows, LocksOfTheBoardAreGoodForTheirWholeTimeFromReadinessOn) {
  const SectionName backend{default_project, "backend"};
  const board::RunnerName runner{default_project, "r1"};
  happen(board::SectionAdded{backend}, board::WasAdded{BoardTaskId{5}, "one", backend});
  happen(board::SectionTaken{backend, runner, Token{2}, Time{122s}},
         board::WasStarted{BoardTaskId{5}, runner, Token{1}, Time{62s}},
         board::WasStarted{BoardTaskId{6}, runner, Token{3}, Time{3s}});
  happen(board::WasExtended{BoardTaskId{5}, runner, Time{63s}});
  happen(board::HasExpired{BoardTaskId{6}, runner});
  const auto ends = [&] {
    return ask(
        "SELECT expires_at FROM (SELECT task_id AS id, expires_at FROM task_locks UNION ALL "
        "SELECT section_id, expires_at FROM section_locks) ORDER BY id = 'shop/backend', "
        "expires_at");
  };
  now = 99;
  happen(System{System::What::ClockStepped});
  EXPECT_EQ(
      ends(),
      (Lines{"2030-01-01T00:00:03.000Z", "2030-01-01T00:01:03.000Z", "2030-01-01T00:02:02.000Z"}));
  now = 199;
  const Lines from_200{"2030-01-01T00:00:03.000Z",  // it was said to be over before
                       "2030-01-01T00:04:20.000Z",
                       "2030-01-01T00:05:20.000Z"};
  happen(System{System::What::Ready});
  EXPECT_EQ(ends(), from_200);
  now = 209;
  happen(System{System::What::Late});
  EXPECT_EQ(
      ends(),
      (Lines{"2030-01-01T00:00:03.000Z", "2030-01-01T00:04:30.000Z", "2030-01-01T00:05:30.000Z"}))
      << "not for longer than one lease";
  EXPECT_EQ(ask("SELECT expires_at FROM task_locks_history ORDER BY expires_ms"),
            (Lines{"2030-01-01T00:00:03.000Z", "2030-01-01T00:04:30.000Z"}));
  EXPECT_EQ(ask("SELECT heartbeat_at FROM task_locks_history WHERE heartbeat_ms > acquired_ms"),
            Lines{"2030-01-01T00:00:03.000Z"})
      << "the last sign of life is what it was";
}

TEST_F(HistoryRows, ADecisionHasItsAnswer) {
  happen(decision::WasOpened{DecisionId{3}, decision::Cause::PhaseFailed, "what now?"});
  happen(decision::WasAnswered{DecisionId{3}, decision::Choice::Retry, "once more", "ana"});
  EXPECT_EQ(ask("SELECT cause, question, state, choice, answer, answered_by FROM decisions"),
            Lines{"phase_failed|what now?|answered|retry|once more|ana"});
}

TEST_F(HistoryRows, AGapIsARow) {
  happen(Custom{{"history", "", "gap"}, {{"from", "3"}, {"to", "8"}}});
  happen(Custom{{"history", "", "gap"}, {{"from", "3"}, {"to", "11"}}});
  EXPECT_EQ(ask("SELECT from_seq, to_seq FROM gaps"), Lines{"3|11"});
}

TEST_F(HistoryRows, WhatIsSharedIsCalledSo) {
  happen(lock::WasAcquired{{shared_project, "main"}, ana, Token{1}});
  EXPECT_EQ(ask("SELECT subject, json_extract(data, '$.name') FROM events"), Lines{"main|//main"});
}

}  // namespace
}  // namespace reeve::history
