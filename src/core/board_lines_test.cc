#include "base/die_testing.h"
#include "core/board_testing.h"
#include "core/heard_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

// Who waits, who is next, and what must hold whatever three runners do.
namespace reeve::board {
namespace {

using reeve::testing::die;

TEST(BoardLines, WhoWaitsIsServedInTheOrderOfComing) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  world.forget();
  const WaiterId first = world.wait_to_start(task, bo);
  const WaiterId second = world.wait_to_start(task, cy);
  EXPECT_EQ(world.names(), (Names{"board:waiting", "board:waiting"}));

  world.say(PutBack{task, ana, {}});
  EXPECT_EQ(as<Started>(world.told(first)).task, task);
  EXPECT_TRUE(is<Ok>(world.told(second)));
  world.say(PutBack{task, bo, {}});
  EXPECT_TRUE(is<Started>(world.told(second)));
}

TEST(BoardLines, ALockThatIsOverGoesToTheFirstInLineByTick) {
  BoardWorld world;
  world.say(SetLocking{default_project, {1min, 2min, 30min}});
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  const WaiterId waiter = world.wait_to_start(task, bo);
  world.pass(1min);
  EXPECT_TRUE(world.answers.empty());
  world.pass(1ms);
  EXPECT_EQ(as<Started>(world.told(waiter)).claimed_from, ana);
}

TEST(BoardLines, AWaitIsAnsweredAtItsEnd) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  const BoardTaskId other = world.add("other", backend);
  world.start(task, ana);
  const WaiterId usual = world.wait_to_start(task, bo);
  const WaiterId shorter = world.wait_to_start(other, cy, 5min);
  world.pass(5min - 1ms);
  EXPECT_TRUE(world.answers.empty());
  world.pass(1ms);
  EXPECT_EQ(as<SectionLocked>(world.told(shorter)), (SectionLocked{backend, ana, at(120min)}));
  world.pass(25min - 1ms);
  EXPECT_EQ(world.answers.size(), 1u);
  world.pass(1ms);
  EXPECT_EQ(as<TaskLocked>(world.told(usual)), (TaskLocked{task, ana, at(60min)}));
}

TEST(BoardLines, AWaitForWhatIsFreeIsNone) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  EXPECT_TRUE(is<Started>(world.say(Start{task, ana, Wait{}})));
}

TEST(BoardLines, WhoWaitsForAFinishedTaskIsToldSo) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  const WaiterId one = world.wait_to_start(task, bo);
  const WaiterId two = world.wait_to_start(task, cy);
  world.finish(task, ana, Status::Failed);
  EXPECT_EQ(as<TaskFinished>(world.told(one)), (TaskFinished{task, Status::Failed}));
  EXPECT_EQ(as<TaskFinished>(world.told(two)), (TaskFinished{task, Status::Failed}));
}

TEST(BoardLines, WhoWaitsForATaskThatIsRemovedIsToldSo) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  const WaiterId waiter = world.wait_to_start(two, bo);
  world.say(RemoveTask{two});
  EXPECT_EQ(as<Refused>(world.told(waiter)), (Refused{Why::NotFound, to_text(two)}));
}

TEST(BoardLines, ManyWaitersAreToldAPartAStep) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  for (int i = 0; i < 300; ++i) {
    world.state = apply(world.state,
                        Request{default_project, {}, true, "", Command{Start{task, bo, Wait{}}}},
                        world.stamp)
                      .state;
  }
  world.finish(task, ana);
  EXPECT_LT(world.answers.size(), 300u);
  world.input(Tick{});
  EXPECT_EQ(world.answers.size(), 300u);
  EXPECT_TRUE(world.state.board.waiters.empty());
}

TEST(BoardLines, OneWhoLeavesMakesRoom) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix");
  world.start(task, ana);
  const WaiterId one = world.wait_to_start(task, bo);
  const WaiterId two = world.wait_to_start(task, cy);
  Turn turn(world.state, world.stamp);
  leave(turn, one, Left::Cancelled);
  EXPECT_FALSE(turn.state().board.waiters.contains(one));
  EXPECT_TRUE(turn.state().board.waiters.contains(two));
}

TEST(BoardLines, AllThatARunnerAskedForInASectionComesWithIt) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  const BoardTaskId three = world.add("three", backend);
  world.start(one, ana);
  const WaiterId first = world.wait_to_start(two, bo);
  const WaiterId between = world.wait_to_start(three, cy);
  const WaiterId second = world.wait_to_start(one, bo);
  world.say(PutBack{one, ana, {}});
  world.say(LetGo{backend, ana});
  EXPECT_TRUE(is<Started>(world.told(first)));
  EXPECT_TRUE(is<Started>(world.told(second)));
  EXPECT_TRUE(is<Ok>(world.told(between)));
}

TEST(BoardLines, NextIsTheMostUrgentThenTheOldest) {
  BoardWorld world;
  world.add("old", backend);
  const BoardTaskId urgent = world.add("urgent", backend, 5);
  EXPECT_EQ(as<Found>(world.next(ana)), (Found{urgent}));
  EXPECT_FALSE(world.last.changed);
  EXPECT_EQ(as<Started>(world.next(ana, {{}, false, true})).task, urgent);
}

TEST(BoardLines, NextStaysInOnesOwnSectionThenGoesInOrderPassingOverOthers) {
  BoardWorld world;
  const BoardTaskId back = world.add("back", backend);
  const BoardTaskId front1 = world.add("front1", frontend);
  const BoardTaskId front2 = world.add("front2", frontend);
  const BoardTaskId loose = world.add("loose");
  const NextTask take{{}, false, true};
  world.start(front1, ana);
  EXPECT_EQ(as<Started>(world.next(ana, take)).task, front2);
  EXPECT_EQ(as<Started>(world.next(ana, take)).task, back);
  EXPECT_EQ(as<Started>(world.next(bo, take)).task, loose);
  EXPECT_EQ(as<Nothing>(world.next(cy, take)), (Nothing{true}));
  EXPECT_EQ(as<SectionLocked>(world.next(cy, {frontend, false, true})),
            (SectionLocked{frontend, ana, at(120min)}));
  for (const BoardTaskId task : {back, front1, front2}) world.finish(task, ana);
  world.finish(loose, bo);
  EXPECT_EQ(as<Nothing>(world.next(cy, take)), (Nothing{false}));
}

TEST(BoardLines, NextClaimsWhatIsOver) {
  BoardWorld world;
  const BoardTaskId task = world.add("fix", backend);
  world.start(task, ana);
  world.pass(120min + 1ms);
  EXPECT_EQ(as<Started>(world.next(bo, {{}, false, true})).claimed_from, ana);
}

TEST(BoardLines, InOrderWaitsForTheEarliestSectionWithOpenTasks) {
  BoardWorld world;
  const BoardTaskId back = world.add("back", backend);
  const BoardTaskId front = world.add("front", frontend);
  world.start(back, ana);
  const NextTask in_order{{}, true, true};
  EXPECT_EQ(as<SectionLocked>(world.next(bo, in_order)), (SectionLocked{backend, ana, at(120min)}));
  const WaiterId waiter = as<Waiting>(world.say(Next{bo, in_order, Wait{}})).waiter;
  world.finish(back, ana);
  EXPECT_EQ(as<Started>(world.told(waiter)).task, front);
}

TEST(BoardLines, InOrderTakesWhatIsAddedEarlier) {
  BoardWorld world;
  world.say(AddSection{backend});
  world.start(world.add("front", frontend), ana);
  const WaiterId waiter = as<Waiting>(world.say(Next{bo, {{}, true, true}, Wait{}})).waiter;
  const BoardTaskId back = world.add("back", backend);
  EXPECT_EQ(as<Started>(world.told(waiter)).task, back);
}

// Who takes the sections in order stands in the line of one. The first of them that is free may be
// another by now, in whose line he was never.
struct OrderWorld : BoardWorld {
  RunnerName dan{default_project, "dan"};
  RunnerName eve{default_project, "eve"};
  BoardTaskId one;
  BoardTaskId two;
  WaiterId last;

  WaiterId waits(const RunnerName& runner, bool start = true) {
    return as<Waiting>(say(Next{runner, {{}, true, start}, Wait{10h}})).waiter;
  }
  // Eve took her place in the line of the frontend; the backend, which comes before it, is dan's.
  void give_backend_to_dan() {
    say(AddSection{backend});
    start(add("front", frontend), bo);
    waits(cy);
    const WaiterId dans = waits(dan);
    last = waits(eve);
    one = add("one", backend);
    two = add("two", backend);
    say(PutBack{one, cy, {}});
    say(LetGo{backend, cy});
    ASSERT_EQ(as<Started>(told(dans)).task, one);
  }
};

TEST(BoardLines, InOrderOneHasASectionThatIsLetGoWhereverOneStands) {
  OrderWorld world;
  world.give_backend_to_dan();
  world.finish(world.one, world.dan);
  EXPECT_TRUE(is<Ok>(world.told(world.last))) << "it is still dan's";
  world.say(LetGo{backend, world.dan});
  EXPECT_EQ(as<Started>(world.told(world.last)).task, world.two);
}

TEST(BoardLines, InOrderOneHasASectionThatIsFreedByForceWhereverOneStands) {
  OrderWorld world;
  world.give_backend_to_dan();
  world.say(ForceRelease{backend, "root", ""});
  EXPECT_EQ(as<Started>(world.told(world.last)).task, world.one);
}

TEST(BoardLines, InOrderOneHasASectionThatIsOverWhereverOneStands) {
  OrderWorld world;
  world.give_backend_to_dan();
  for (int i = 0; i < 4; ++i) {
    world.pass(30min);
    world.say(RunnerHeartbeat{bo});
  }
  EXPECT_TRUE(is<Ok>(world.told(world.last))) << "it is dan's up to its limit";
  world.pass(1ms);
  EXPECT_EQ(as<Started>(world.told(world.last)).task, world.one);
}

TEST(BoardLines, InOrderOneHasWhatTheOneBeforeWasOnlyTold) {
  OrderWorld world;
  world.say(AddSection{backend});
  world.start(world.add("front", frontend), bo);
  const WaiterId first = world.waits(cy);
  const WaiterId named = world.waits(world.dan, false);
  const WaiterId third = world.waits(world.eve);
  const BoardTaskId one = world.add("one", backend);
  ASSERT_TRUE(is<Started>(world.told(first)));
  world.say(ForceRelease{backend, "root", ""});
  EXPECT_TRUE(is<Found>(world.told(named)));
  EXPECT_EQ(as<Started>(world.told(third)).task, one);
}

TEST(BoardLines, ASectionThatIsOverIsNoLongerOnesOwn) {
  BoardWorld world;
  world.start(world.add("early", backend), bo);
  const BoardTaskId late = world.add("late", frontend);
  world.start(late, ana);
  world.pass(59min);
  world.say(RunnerHeartbeat{bo});
  world.pass(59min);
  world.say(RunnerHeartbeat{bo});
  world.pass(3min);

  EXPECT_EQ(as<SectionLocked>(world.next(ana, {{}, true, true})).section, backend);
  EXPECT_EQ(as<Started>(world.next(ana, {{}, false, true})).task, late) << "it is nobody else's";
}

TEST(BoardLines, InOrderWaitsForATaskOfNoSectionToo) {
  BoardWorld world;
  const BoardTaskId alone = world.add("alone");
  world.start(alone, ana);
  const Next next{bo, {{}, true, true}, Wait{30min}};
  const WaiterId first = as<Waiting>(world.say(next)).waiter;
  world.say(PutBack{alone, ana, {}});
  EXPECT_EQ(as<Started>(world.told(first)).task, alone);

  const Next behind{ana, {{}, true, true}, Wait{30min}};
  const WaiterId second = as<Waiting>(world.say(behind)).waiter;
  const BoardTaskId earlier = world.add("earlier", backend);
  EXPECT_EQ(as<Started>(world.told(second)).task, earlier);

  world.finish(earlier, ana);
  const WaiterId third = as<Waiting>(world.say(behind)).waiter;
  world.finish(alone, bo);
  EXPECT_EQ(as<Nothing>(world.told(third)), Nothing{false});
}

TEST(BoardLines, WhoWaitsForASectionGetsItsFirstTaskOrHearsThatThereIsNone) {
  BoardWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  const NextTask of_backend{backend, false, true};
  const WaiterId first = as<Waiting>(world.say(Next{bo, of_backend, Wait{}})).waiter;
  const WaiterId second = as<Waiting>(world.say(Next{cy, of_backend, Wait{}})).waiter;
  world.finish(one, ana);
  world.say(LetGo{backend, ana});
  EXPECT_EQ(as<Started>(world.told(first)).task, two);
  world.finish(two, bo);
  EXPECT_EQ(as<Nothing>(world.told(second)), (Nothing{}));
}

// Three runners, three sections, six tasks, and time. The invariants (one runner a section, one
// holder a task, nobody waits for what nobody has) are checked after every step; here is what
// only a history shows.
RC_GTEST_PROP(BoardLines, WhateverThreeRunnersDo, ()) {
  BoardWorld world;
  world.say(SetLocking{default_project, {10min, 20min, 15min}});
  std::vector<BoardTaskId> tasks;
  const std::vector<std::optional<SectionName>> sections = {
      backend, frontend, SectionName{default_project, "docs"}};
  for (int i = 0; i < 6; ++i) {
    tasks.push_back(world.add("t" + std::to_string(i),
                              i == 5 ? std::nullopt : sections[static_cast<std::size_t>(i) % 3]));
  }
  const std::vector<RunnerName> runners = {ana, bo, cy};
  std::vector<WaiterId> waiting;
  std::size_t told = 0;
  PersistentSet<BoardTaskId> over;
  PersistentMap<BoardTaskId, Token> newest;
  const auto take = [&](BoardTaskId task, Token token) {
    const bool is_newer = !newest.contains(task) || *newest.find(task) < token;
    RC_ASSERT(is_newer);
    newest.set(task, token);
  };
  const auto note = [&](const reeve::Reply& reply) {
    if (const Waiting* it = find_in<Waiting>(reply.value)) waiting.push_back(it->waiter);
  };

  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const RunnerName runner = *rc::gen::elementOf(runners);
    const BoardTaskId task = *rc::gen::elementOf(tasks);
    const std::optional<Wait> wait =
        *rc::gen::arbitrary<bool>() ? std::optional(Wait{}) : std::nullopt;
    const std::size_t heard_before = world.heard.size();
    const int move = *die(12);
    RC_LOG() << i << ": move " << move << " by " << runner.name << " on " << to_text(task)
             << (wait ? ", waiting" : "") << '\n';
    switch (move) {
      case 0:
      case 1:
      case 2:
        note(world.say(Start{task, runner, wait}));
        break;
      case 3:
        world.finish(
            task, runner, *rc::gen::element(Status::Completed, Status::Review, Status::Skipped));
        break;
      case 4:
        world.say(PutBack{task, runner, {}});
        break;
      case 5:
        world.say(RunnerHeartbeat{runner});
        break;
      case 6:
        world.heartbeat(task, runner);
        break;
      case 7:
        note(world.say(Next{
            runner, {*rc::gen::elementOf(sections), false, *rc::gen::arbitrary<bool>()}, wait}));
        break;
      case 8:
        note(world.say(Next{runner, {{}, *rc::gen::arbitrary<bool>(), true}, wait}));
        break;
      case 9:
        world.pass(std::chrono::minutes{*die(12)});
        break;
      case 10:
        world.say(LetGo{**rc::gen::elementOf(sections), runner});
        break;
      default:
        switch (*die(4)) {
          case 0:
            world.say(Cleanup{default_project, *rc::gen::arbitrary<bool>()});
            break;
          case 1:
            world.say(ForceRelease{**rc::gen::elementOf(sections), "me", ""});
            break;
          case 2:
            world.say(ForceRelease{TaskRef{task}, "me", ""});
            break;
          default:
            world.input(Resumed{});
        }
    }
    const std::vector<std::string> names = world.names();
    for (; told < names.size(); ++told) RC_LOG() << "   " << names[told] << '\n';
    RC_ASSERT(!::testing::Test::HasFailure());
    // Every lock that is over is announced and claimed once; tokens of a task grow.
    for (std::size_t at = heard_before; at < world.heard.size(); ++at) {
      if (const HasExpired* it = find_in<HasExpired>(world.heard[at])) {
        const bool is_first = over.insert(it->task);
        RC_ASSERT(is_first);
      }
      if (const WasClaimed* it = find_in<WasClaimed>(world.heard[at])) {
        const bool was_over = over.erase(it->task);
        RC_ASSERT(was_over);
        take(it->task, it->token);
      }
      if (const WasStarted* it = find_in<WasStarted>(world.heard[at])) {
        over.erase(it->task);  // somebody had freed it by force
        take(it->task, it->token);
      }
    }
    for (const BoardTaskId each : tasks) {
      const std::optional<Tenure>& lock = world.task(each).lock;
      if (!lock) over.erase(each);
    }
  }

  // Every wait has an end, and exactly one answer.
  world.pass(15min);
  RC_ASSERT(world.state.board.waiters.empty());
  for (const WaiterId waiter : waiting) {
    RC_ASSERT(std::ranges::count(world.answers, waiter, &Answer::waiter) == 1);
  }
}

TEST(Board, InOrderSaysNothingOfASectionThatIsNamed) {
  BoardWorld world;
  world.start(world.add("front", frontend), ana);
  world.start(world.add("back", backend), ana);
  EXPECT_TRUE(is<Waiting>(world.say(Next{bo, {backend, true, true}, Wait{}})));
  EXPECT_TRUE(world.state.board.order_waiters.empty());
}

}  // namespace
}  // namespace reeve::board
