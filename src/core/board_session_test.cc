#include "base/die_testing.h"
#include "core/board_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

// The board and connections: who waits, goes away, comes back, or is not there to hear the answer.
namespace reeve::board {
namespace {

constexpr SessionId five{5};
constexpr SessionId six{6};

struct Room : BoardWorld {
  // Ana is at the first of two tasks of the backend.
  const BoardTaskId first = add("first", backend);
  const BoardTaskId second = add("second", backend);

  Room() { start(first, ana); }

  WaiterId wait(BoardTaskId task, const RunnerName& runner, SessionId session, Duration most) {
    return as<Waiting>(say(Start{task, runner, Wait{most}}, session)).waiter;
  }
  // Ana is done, and leaves the section to others.
  void ana_lets_go() {
    finish(first, ana);
    say(LetGo{backend, ana});
  }
};

// ── The answer found nobody ──

TEST(BoardSession, WhatCouldNotBeDeliveredGoesToTheNextTaskAndSection) {
  Room world;
  const WaiterId bos = world.wait(world.second, bo, five, 30min);
  const WaiterId cys = world.wait(world.second, cy, six, 30min);
  world.ana_lets_go();
  const Started started = as<Started>(world.told(bos));
  EXPECT_TRUE(started.took_task);
  EXPECT_TRUE(started.took_section);

  world.input(Undelivered{default_project, "", world.told(bos)});

  EXPECT_EQ(as<Started>(world.told(cys)).task, world.second);
  EXPECT_EQ(world.task(world.second).lock->runner, cy);
  EXPECT_EQ(world.section(backend).lock->runner, cy);
}

TEST(BoardSession, WithNobodyInLineTheSectionIsFree) {
  Room world;
  const WaiterId bos = world.wait(world.second, bo, five, 30min);
  world.ana_lets_go();

  world.input(Undelivered{default_project, "", world.told(bos)});

  EXPECT_EQ(world.task(world.second).status, Status::Pending);
  EXPECT_FALSE(world.section(backend).lock);
}

TEST(BoardSession, WhatTheRunnerHadBeforeIsNotTakenBack) {
  Room world;
  const BoardTaskId third = world.add("third", backend);
  const WaiterId for_second = world.wait(world.second, bo, five, 30min);
  const WaiterId for_third = world.wait(third, bo, six, 30min);
  world.ana_lets_go();
  ASSERT_TRUE(as<Started>(world.told(for_second)).took_section);
  ASSERT_FALSE(as<Started>(world.told(for_third)).took_section) << "it was his by then";

  world.input(Undelivered{default_project, "", world.told(for_second)});
  EXPECT_EQ(world.section(backend).lock->runner, bo) << "he is at the third";

  world.input(Undelivered{default_project, "", world.told(for_third)});
  EXPECT_EQ(world.task(third).status, Status::Pending);
  EXPECT_EQ(world.section(backend).lock->runner, bo) << "that answer did not give it";
}

TEST(BoardSession, ATaskThatWasTheRunnersAlreadyStaysHis) {
  BoardWorld world;
  const BoardTaskId task = world.add("alone");
  world.start(task, ana);
  const reeve::Reply again = world.start(task, ana);
  EXPECT_FALSE(as<Started>(again).took_task);

  world.input(Undelivered{default_project, "", again});

  EXPECT_EQ(world.task(task).lock->runner, ana);
}

TEST(BoardSession, WhatAnotherHasByNowIsNotTakenBack) {
  Room world;
  const WaiterId bos = world.wait(world.second, bo, five, 30min);
  world.ana_lets_go();
  world.say(ForceRelease{TaskRef{world.second}, "root", ""});
  world.say(ForceRelease{backend, "root", ""});
  world.start(world.second, cy);

  world.input(Undelivered{default_project, "", world.told(bos)});

  EXPECT_EQ(world.task(world.second).lock->runner, cy);
  EXPECT_EQ(world.section(backend).lock->runner, cy);
}

// ── Coming and going ──

TEST(BoardSession, TheEndOfAConnectionEndsItsWaits) {
  Room world;
  const WaiterId bos = world.wait(world.second, bo, five, 30min);
  const WaiterId cys = world.wait(world.second, cy, six, 30min);

  world.input(session::Ended{five});
  EXPECT_EQ(as<WaitEnded>(world.told(bos)), WaitEnded{Left::SessionEnded});

  world.ana_lets_go();
  EXPECT_TRUE(is<Started>(world.told(cys)));
  EXPECT_TRUE(world.state.sessions.sessions.empty());
}

TEST(BoardSession, ALineWaitsForItsHeadToComeBack) {
  Room world;
  const WaiterId bos = world.wait(world.second, bo, five, 30min);
  const WaiterId cys = world.wait(world.second, cy, six, 30min);
  world.input(Resumed{System::What::Ready});
  world.input(session::Returned{six});
  world.ana_lets_go();
  EXPECT_FALSE(is<Started>(world.told(cys))) << "bo is before her, and awaited";
  EXPECT_EQ(as<SectionLocked>(world.start(world.second, ana)).locked_by, bo);

  world.pass(9s);
  world.input(session::Returned{five});
  EXPECT_TRUE(is<Started>(world.told(bos)));
}

TEST(BoardSession, WhoDoesNotComeBackIsPassedOver) {
  Room world;
  const WaiterId bos = world.wait(world.second, bo, five, 30min);
  const WaiterId cys = world.wait(world.second, cy, six, 30min);
  world.input(Resumed{System::What::Ready});
  world.input(session::Returned{six});
  world.ana_lets_go();

  world.pass(10s);

  EXPECT_EQ(as<WaitEnded>(world.told(bos)), WaitEnded{Left::SessionEnded});
  EXPECT_TRUE(is<Started>(world.told(cys)));
}

TEST(BoardSession, NothingIsGivenToSomebodyWhoseWaitEndsWhileHeIsAway) {
  Room world;
  const WaiterId bos = world.wait(world.second, bo, five, 5s);
  world.input(Resumed{System::What::Ready});
  world.ana_lets_go();

  world.pass(5s);

  EXPECT_EQ(as<WaitEnded>(world.told(bos)), WaitEnded{Left::TimedOut});
  EXPECT_EQ(world.task(world.second).status, Status::Pending);
}

TEST(BoardSession, WhoeverTakesTheSectionsInOrderIsServedWhenHeIsBack) {
  Room world;
  const Next next{bo, {{}, true, true}, Wait{30min}};
  const WaiterId bos = as<Waiting>(world.say(next, five)).waiter;
  world.input(Resumed{System::What::Ready});
  world.ana_lets_go();
  EXPECT_FALSE(is<Started>(world.told(bos)));

  world.input(session::Returned{five});

  EXPECT_EQ(as<Started>(world.told(bos)).task, world.second);
}

// ── What is free is kept for who is first and away ──

TEST(BoardSession, WhoHasATaskHasItAlsoWhileTheFirstInItsLineIsAway) {
  BoardWorld world;
  const BoardTaskId alone = world.add("alone");
  const Token token = as<Started>(world.start(alone, ana)).token;
  as<Waiting>(world.say(Start{alone, bo, Wait{30min}}, five));
  world.input(Resumed{System::What::Ready});
  world.pass(1s);

  Started again;
  again.task = alone;
  again.token = token;
  again.expires_at = at(60min + 1s);
  EXPECT_EQ(as<Started>(world.start(alone, ana)), again);
}

TEST(BoardSession, ASectionThatIsOverIsKeptForTheFirstInItsLineAlsoFromWhoHadIt) {
  BoardWorld world;
  world.say(SetLocking{default_project, {2s, 3s, 30min}});
  const BoardTaskId first = world.add("first", backend);
  const BoardTaskId second = world.add("second", backend);
  world.start(first, ana);
  const WaiterId bos = as<Waiting>(world.say(Start{second, bo, Wait{30min}}, five)).waiter;
  world.input(Resumed{System::What::Ready});
  world.pass(4s);

  EXPECT_EQ(as<SectionLocked>(world.start(first, ana)), (SectionLocked{backend, bo, at(10s)}));
  EXPECT_EQ(as<Nothing>(world.next(ana, {{}, false, true})), Nothing{true});
  EXPECT_EQ(as<SectionLocked>(world.next(ana, {backend, false, true})).locked_by, bo);

  world.input(session::Returned{five});
  EXPECT_EQ(as<Started>(world.told(bos)).task, second);
}

TEST(BoardSession, ItIsKeptUntilHeIsNoLongerAwaitedOrHisWaitIsOver) {
  for (const Duration most : {7s, 30s}) {
    BoardWorld world;
    const BoardTaskId alone = world.add("alone");
    world.start(alone, ana);
    as<Waiting>(world.say(Start{alone, bo, Wait{most}}, five));
    world.input(Resumed{System::What::Ready});
    world.say(PutBack{alone, ana, {}});
    world.pass(4s);

    const Time until = at(std::min<Duration>(most, 10s));
    EXPECT_EQ(as<TaskLocked>(world.start(alone, ana)), (TaskLocked{alone, bo, until}));
    world.pass(until - world.stamp.now);
    EXPECT_TRUE(is<Started>(world.start(alone, ana)));
  }
}

TEST(BoardSession, ATaskOfNoSectionIsKeptForTheFirstInItsLineAlsoFromWhoTakesAny) {
  BoardWorld world;
  const BoardTaskId kept = world.add("kept", {}, 5);
  const BoardTaskId other = world.add("other");
  world.start(kept, ana);
  const WaiterId bos = as<Waiting>(world.say(Start{kept, bo, Wait{30min}}, five)).waiter;
  world.input(Resumed{System::What::Ready});
  world.say(PutBack{kept, ana, {}});

  EXPECT_EQ(as<Started>(world.next(cy, {{}, false, true})).task, other) << "though less urgent";
  EXPECT_EQ(as<Nothing>(world.next(cy, {{}, false, true})), Nothing{true});

  world.input(session::Returned{five});
  EXPECT_EQ(as<Started>(world.told(bos)).task, kept);
}

TEST(BoardSession, WhatIsFreeIsKeptForTheFirstWhoWaitsForAny) {
  BoardWorld world;
  const BoardTaskId task = world.add("alone");
  world.start(task, ana);
  const Next any{bo, {{}, false, true}, Wait{30min}};
  const WaiterId bos = as<Waiting>(world.say(any, five)).waiter;
  world.input(Resumed{System::What::Ready});
  world.say(PutBack{task, ana, {}});

  EXPECT_EQ(as<Nothing>(world.next(cy, {{}, false, true})), Nothing{true});

  world.input(session::Returned{five});
  EXPECT_EQ(as<Started>(world.told(bos)).task, task);
}

TEST(BoardSession, InOrderNobodyTakesWhatIsKeptForTheFirstWhoWaitsForAny) {
  BoardWorld world;
  const BoardTaskId task = world.add("alone");
  world.start(task, ana);
  const Next any{bo, {{}, false, true}, Wait{30min}};
  const WaiterId waiter = as<Waiting>(world.say(any, SessionId{5})).waiter;
  world.input(Resumed{System::What::Ready});
  world.say(PutBack{task, ana, {}});

  EXPECT_EQ(as<Nothing>(world.next(cy, {{}, true, true})), Nothing{true});
  const Next in_order{cy, {{}, true, true}, Wait{30min}};
  const WaiterId second = as<Waiting>(world.say(in_order)).waiter;
  world.input(session::Returned{SessionId{5}});
  EXPECT_EQ(as<Started>(world.told(waiter)).task, task);
  EXPECT_TRUE(is<Ok>(world.told(second)));
}

TEST(BoardSession, WhatWhoComesBackDoesNotTakeIsForWhoWaitsForAny) {
  Room world;
  const Next which{bo, {backend, false, false}, Wait{30min}};  // only to be named
  const WaiterId bos = as<Waiting>(world.say(which, five)).waiter;
  const WaiterId cys = as<Waiting>(world.say(Next{cy, {{}, false, true}, Wait{30min}})).waiter;
  world.input(Resumed{System::What::Ready});
  world.ana_lets_go();

  world.input(session::Returned{five});

  EXPECT_EQ(as<Found>(world.told(bos)), Found{world.second});
  EXPECT_EQ(as<Started>(world.told(cys)).task, world.second);
}

TEST(BoardSession, WhatWasKeptForWhoDoesNotComeBackIsForWhoWaitsForAny) {
  BoardWorld world;
  const BoardTaskId task = world.add("alone");
  world.start(task, ana);
  as<Waiting>(world.say(Start{task, bo, Wait{30min}}, five));
  world.input(Resumed{System::What::Ready});
  world.say(PutBack{task, ana, {}});
  const Next any{cy, {{}, false, true}, Wait{30min}};
  const WaiterId cys = as<Waiting>(world.say(any, six)).waiter;

  world.pass(10s);

  EXPECT_EQ(as<Started>(world.told(cys)).task, task);
}

// ── A wait is over at its limit ──

TEST(BoardSession, ALeaseThatIsOverAfterTheWaitIsNotGivenHoweverLateTheTick) {
  for (const Duration late : {0ms, 1ms, 1000ms}) {
    BoardWorld world;
    const BoardTaskId task = world.add("alone");
    world.start(task, ana);
    world.pass(30min);
    const WaiterId bos = world.wait_to_start(task, bo, 30min);

    world.stamp.now = at(60min + late);
    world.input(Tick{});

    EXPECT_EQ(as<TaskLocked>(world.told(bos)), (TaskLocked{task, ana, at(60min)})) << late.count();
  }
}

TEST(BoardSession, NorIsOneThatIsOverInTheSameMillisecond) {
  for (const Duration late : {0ms, 1000ms}) {
    BoardWorld world;
    const BoardTaskId task = world.add("alone");
    world.start(task, ana);
    world.pass(30min);
    const WaiterId bos = world.wait_to_start(task, bo, 30min + 1ms);

    world.stamp.now = at(60min + 1ms + late);
    world.input(Tick{});

    EXPECT_TRUE(is<TaskLocked>(world.told(bos))) << late.count();
    EXPECT_EQ(world.names().back(), "board:expired");
  }
}

TEST(BoardSession, OneThatIsOverBeforeIsGivenHoweverLateTheTick) {
  for (const Duration late : {0ms, 1ms, 1000ms}) {
    BoardWorld world;
    const BoardTaskId task = world.add("alone");
    world.start(task, ana);
    world.pass(30min);
    const WaiterId bos = world.wait_to_start(task, bo, 30min + 2ms);

    world.stamp.now = at(60min + 1ms + late);
    world.input(Tick{});

    EXPECT_EQ(as<Started>(world.told(bos)).claimed_from, ana) << late.count();
  }
}

// What matters of an answer: what is given and to whom, not until when.
std::string gist(const reeve::Reply& reply) {
  if (const Started* it = find_in<Started>(reply.value)) return "started " + to_text(it->task);
  if (const TaskLocked* it = find_in<TaskLocked>(reply.value)) return "by " + it->locked_by.name;
  if (const SectionLocked* it = find_in<SectionLocked>(reply.value)) {
    return "section by " + it->locked_by.name;
  }
  if (const Nothing* it = find_in<Nothing>(reply.value)) return it->open ? "none free" : "none";
  return "other " + std::to_string(reply.value.index());
}

// Four minutes are the lease of a task, and as many or six that of a section. Whoever waits while
// the others say nothing more is told the same whenever the ticks come, and nothing before the end
// of his wait unless he is given something: all that there is stays open.
RC_GTEST_PROP(BoardLaw, NoAnswerDependsOnWhenTheTicksCome, ()) {
  BoardWorld on_time;
  const ProjectNo shop =
      as<project::Opened>(on_time.ask(project::Open{"/home/dan/shop", "shop"})).project;
  const RunnerName dan{shop, "dan"};
  const SectionName shared{shared_project, "ops"};
  const auto ask = [&](const RunnerName& runner, const Command& command) {
    return on_time.ask(command, {}, {}, runner.project);
  };
  const Locking locking{4min, *die(2) == 0 ? 4min : 6min, 7min};
  for (const ProjectNo project : {default_project, shop}) {
    ask({project, ""}, SetLocking{project, locking});
  }
  std::vector<std::optional<SectionName>> sections = {shared};
  if (*die(2) == 0) sections = {backend, backend, frontend, {}, shared};
  std::vector<BoardTaskId> tasks;
  for (const std::optional<SectionName>& section : sections) {
    tasks.push_back(on_time.add(std::to_string(tasks.size()), section));
  }
  if (*die(2) == 0) tasks.push_back(as<Added>(ask(dan, Add{"more", shared, 0, ""})).task);
  const auto a_while = [] {
    return std::chrono::minutes{*die(3)} + std::chrono::milliseconds{*die(3)};
  };
  for (int i = *die(8); i > 0; --i) {
    const RunnerName runner = *rc::gen::elementOf(std::vector{ana, bo, dan});
    ask(runner, Start{*rc::gen::elementOf(tasks), runner, {}});
    on_time.pass(a_while());
  }
  const Duration at_most = std::chrono::minutes{*die(10)} + a_while();
  const RunnerName waits = *rc::gen::elementOf(std::vector{cy, RunnerName{shop, "eve"}});
  const int kind = *die(6);
  Command wanted = Start{*rc::gen::elementOf(tasks), waits, Wait{at_most}};
  if (kind == 0) wanted = Next{waits, {{}, true, true}, Wait{at_most}};
  if (kind == 1) wanted = Next{waits, {{}, false, true}, Wait{at_most}};
  if (kind == 2) wanted = Next{waits, {backend, false, true}, Wait{at_most}};
  if (kind == 3) wanted = Next{waits, {shared, false, true}, Wait{at_most}};
  const reeve::Reply asked = ask(waits, wanted);
  RC_PRE(is<Waiting>(asked));
  const WaiterId waiter = as<Waiting>(asked).waiter;
  BoardWorld late = on_time;

  if (at_most > 0ms) on_time.pass(at_most - 1ms);
  for (const Answer& answer : on_time.answers) RC_ASSERT(is<Started>(answer.reply));
  on_time.pass(20min);
  late.stamp.now += 12min;  // all waits are over by then
  late.input(Tick{});

  RC_ASSERT(gist(late.told(waiter)) == gist(on_time.told(waiter)));
}

}  // namespace
}  // namespace reeve::board
