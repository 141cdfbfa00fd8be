#include "core/board_testing.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

// Waiting for whichever task is free first.
namespace reeve::board {
namespace {

struct AnyWorld : BoardWorld {
  reeve::Reply wait_for_any(const RunnerName& runner, std::optional<Duration> at_most = {}) {
    return say(Next{runner, NextTask{{}, false, true}, Wait{at_most}});
  }
  WaiterId waiter_for_any(const RunnerName& runner, std::optional<Duration> at_most = {}) {
    return as<Waiting>(wait_for_any(runner, at_most)).waiter;
  }
};

TEST(BoardAny, WhereNothingIsOpenNobodyWaits) {
  AnyWorld world;
  EXPECT_EQ(as<Nothing>(world.wait_for_any(bo)), Nothing{false});
}

TEST(BoardAny, ANewTaskIsForTheFirstWhoWaits) {
  AnyWorld world;
  world.start(world.add("one", backend), ana);
  const WaiterId first = world.waiter_for_any(bo);
  const WaiterId second = world.waiter_for_any(cy);
  const BoardTaskId two = world.add("two", frontend);
  EXPECT_EQ(as<Started>(world.told(first)).task, two);
  EXPECT_TRUE(is<Ok>(world.told(second))) << "it still waits";
}

TEST(BoardAny, ATaskInASectionThatIsHeldIsForItsRunnerWhereverThatStands) {
  AnyWorld world;
  world.start(world.add("one", backend), ana);
  world.start(world.add("two", frontend), bo);
  const WaiterId first = world.waiter_for_any(cy);
  const WaiterId second = world.waiter_for_any(bo);
  const BoardTaskId more = world.add("more", frontend);
  EXPECT_TRUE(is<Ok>(world.told(first)));
  EXPECT_EQ(as<Started>(world.told(second)).task, more);
}

TEST(BoardAny, WhatItsRunnerLetsGoIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.finish(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo);
  world.say(LetGo{backend, ana});
  EXPECT_EQ(as<Started>(world.told(waiter)).task, two);
}

// Who takes the sections in order stands there too when no section has an open task.
TEST(BoardAny, InOrderNobodyOvertakesWhoStandsBeforeHimInTheSameLine) {
  const std::vector<std::function<void(AnyWorld&, BoardTaskId)>> ways = {
      [](AnyWorld& world, BoardTaskId task) { world.say(PutBack{task, ana, {}}); },
      [](AnyWorld& world, BoardTaskId task) { world.say(ForceRelease{task, "root", ""}); },
      [](AnyWorld& world, BoardTaskId) { world.pass(60min + 1ms); },
      [](AnyWorld& world, BoardTaskId) { world.add("new"); },
      [](AnyWorld& world, BoardTaskId) { world.add("new", backend); },
  };
  for (std::size_t i = 0; i < ways.size(); ++i) {
    AnyWorld world;
    const BoardTaskId task = world.add("alone");
    world.start(task, ana);
    const WaiterId first = world.waiter_for_any(bo, 10h);
    const WaiterId second = as<Waiting>(world.say(Next{cy, {{}, true, true}, Wait{10h}})).waiter;
    ways[i](world, task);
    EXPECT_TRUE(is<Started>(world.told(first))) << i;
    EXPECT_TRUE(is<Ok>(world.told(second))) << i;
  }
}

TEST(BoardAny, InOrderOneIsServedThereWhenOnesTurnComes) {
  AnyWorld world;
  const BoardTaskId task = world.add("alone");
  world.start(task, ana);
  const WaiterId first = world.waiter_for_any(bo, 10h);
  const WaiterId second = as<Waiting>(world.say(Next{cy, {{}, true, true}, Wait{10h}})).waiter;
  const WaiterId third = world.waiter_for_any({default_project, "dan"}, 10h);
  const BoardTaskId two = world.add("two", backend);
  ASSERT_EQ(as<Started>(world.told(first)).task, two);
  world.say(PutBack{task, ana, {}});
  EXPECT_TRUE(is<Ok>(world.told(second))) << "the backend comes first, and bo has it";
  EXPECT_EQ(as<Started>(world.told(third)).task, task);
  world.say(PutBack{two, bo, {}});
  world.say(LetGo{backend, bo});
  EXPECT_EQ(as<Started>(world.told(second)).task, two);
}

TEST(BoardAny, WhatIsOverIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one");
  world.start(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo, 2h);
  world.pass(60min);
  EXPECT_TRUE(is<Ok>(world.told(waiter)));
  world.pass(1ms);
  EXPECT_EQ(as<Started>(world.told(waiter)).claimed_from, ana);
}

TEST(BoardAny, ASectionThatIsOverIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.finish(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo, 3h);
  world.pass(120min + 1ms);
  EXPECT_EQ(as<Started>(world.told(waiter)).task, two);
}

TEST(BoardAny, WhatIsTakenByForceIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  world.start(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo);
  world.say(ForceRelease{backend, "root", "gone"});
  EXPECT_EQ(as<Started>(world.told(waiter)).task, one);
}

// Two are over at one moment, and the timer of the first serves one who takes the second.
TEST(BoardAny, WhatIsClaimedWasSaidToBeOverBefore) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", frontend);
  const BoardTaskId two = world.add("two", backend);
  world.start(one, ana);
  world.start(two, cy);
  const WaiterId waiter = world.waiter_for_any(bo, 3h);
  world.pass(120min);
  world.forget();

  world.pass(1ms);

  EXPECT_EQ(as<Started>(world.told(waiter)).task, one);
  std::vector<std::string> of_frontend;
  for (const EventBody& body : world.heard) {
    const EventName name = name_of(body);
    if (name.subject == frontend.name) of_frontend.push_back(name.verb);
  }
  EXPECT_EQ(of_frontend, (std::vector<std::string>{"section_expired", "section_locked"}));
}

TEST(BoardAny, WhenTheLastTaskHasEndedAllWhoWaitAreTold) {
  AnyWorld world;
  const BoardTaskId one = world.add("one", backend);
  world.start(one, ana);
  const WaiterId first = world.waiter_for_any(bo);
  const WaiterId second = world.waiter_for_any(cy);
  world.finish(one, ana);
  EXPECT_EQ(as<Nothing>(world.told(first)), Nothing{false});
  EXPECT_EQ(as<Nothing>(world.told(second)), Nothing{false});
}

TEST(BoardAny, WhatIsPutBackIsForTheFirst) {
  AnyWorld world;
  const BoardTaskId one = world.add("one");
  world.start(one, ana);
  const WaiterId waiter = world.waiter_for_any(bo, 2h);
  world.say(ForceRelease{TaskRef{one}, "root", ""});
  EXPECT_EQ(as<Started>(world.told(waiter)).task, one);
  const WaiterId other = world.waiter_for_any(cy, 2h);
  world.say(PutBack{one, bo, {}});
  EXPECT_EQ(as<Started>(world.told(other)).task, one);
}

TEST(BoardAny, AWaitEndsWithNothing) {
  AnyWorld world;
  world.start(world.add("one", backend), ana);
  const WaiterId waiter = world.waiter_for_any(bo, 10min);
  world.pass(10min - 1ms);
  EXPECT_TRUE(world.answers.empty());
  world.pass(1ms);
  EXPECT_EQ(as<Nothing>(world.told(waiter)), Nothing{true});
}

// ── Sections that are shared by all projects: their tasks are for the runners of each ──

const SectionName everybodys{shared_project, "ops"};
const SectionName earliest{shared_project, "first"};
const SectionName more_of_it{shared_project, "later"};

struct SharedWorld : BoardWorld {
  SharedWorld() {
    shop = as<project::Opened>(ask(project::Open{"/home/dan/shop", "shop"})).project;
    dan = {shop, "dan"};
    eve = {shop, "eve"};
  }
  BoardTaskId add_in(ProjectNo project, std::string title, std::optional<SectionName> section) {
    const Command add = Add{std::move(title), std::move(section), 0, ""};
    return as<Added>(ask(add, {}, {}, project)).task;
  }
  reeve::Reply next_for(const RunnerName& runner, bool in_order, std::optional<Wait> wait = {}) {
    const Command next = Next{runner, NextTask{{}, in_order, true}, wait};
    return ask(next, {}, {}, runner.project);
  }
  WaiterId waits(const RunnerName& runner, bool in_order = false, Duration at_most = 10h) {
    return as<Waiting>(next_for(runner, in_order, Wait{at_most})).waiter;
  }

  ProjectNo shop;
  RunnerName dan;
  RunnerName eve;
};

TEST(BoardShared, TheirTasksComeAfterThoseOfTheOwnSectionsAndBeforeThoseOfNone) {
  SharedWorld world;
  const BoardTaskId loose = world.add("loose");
  const BoardTaskId shared = world.add("shared", everybodys);
  const BoardTaskId own = world.add("own", backend);

  for (const BoardTaskId task : {own, shared, loose}) {
    EXPECT_EQ(as<Started>(world.next_for(ana, false)).task, task);
    world.finish(task, ana);
  }
  EXPECT_EQ(as<Nothing>(world.next_for(ana, false)), Nothing{false});
}

TEST(BoardShared, ARunnerOfAnyProjectFindsThemWhoeverAddedThem) {
  SharedWorld world;
  const BoardTaskId task = world.add("shared", everybodys);

  EXPECT_EQ(as<Started>(world.next_for(world.dan, false)).task, task);
  EXPECT_EQ(as<Nothing>(world.next_for(ana, false)), Nothing{true}) << "dan has it";
  EXPECT_EQ(as<Nothing>(world.next_for(world.eve, false)), Nothing{true})
      << "though her project has nothing open of its own";
}

TEST(BoardShared, ATaskInASharedSectionIsForWhoeverWaitedLongestInAnyProject) {
  SharedWorld world;
  const BoardTaskId held = world.add("held", everybodys);
  world.start(held, ana);
  const WaiterId first = world.waits(world.dan);
  const WaiterId second = world.waits(bo);
  const WaiterId third = world.waits(world.eve);

  const BoardTaskId one = world.add("one", more_of_it);
  EXPECT_EQ(as<Started>(world.told(first)).task, one);
  EXPECT_TRUE(is<Ok>(world.told(second))) << "it still waits";

  // By hand, and by time.
  world.say(PutBack{held, ana, {}});
  world.say(LetGo{everybodys, ana});
  EXPECT_EQ(as<Started>(world.told(second)).task, held);
  world.pass(121min);
  EXPECT_TRUE(as<Started>(world.told(third)).claimed_from);
}

TEST(BoardShared, WhoWaitsForAnyIsToldWhenTheLastOfThemHasEnded) {
  SharedWorld world;
  const BoardTaskId held = world.add("held", everybodys);
  world.start(held, ana);
  const WaiterId waiter = world.waits(world.dan);

  world.finish(held, ana);
  EXPECT_EQ(as<Nothing>(world.told(waiter)), Nothing{false});
}

TEST(BoardShared, InOrderTheyAreWaitedForLastAndANewOneIsTaken) {
  SharedWorld world;
  world.ask(AddSection{backend});
  world.ask(AddSection{earliest});
  world.start(world.add("held", everybodys), ana);
  const WaiterId own = world.waits(bo, true);
  const WaiterId other = world.waits(world.dan, true);
  EXPECT_TRUE(is<Ok>(world.told(own)));

  const BoardTaskId mine = world.add_in(world.shop, "mine", SectionName{world.shop, "shelf"});
  EXPECT_EQ(as<Started>(world.told(other)).task, mine);
  const BoardTaskId earlier = world.add("earlier", backend);
  EXPECT_EQ(as<Started>(world.told(own)).task, earlier);

  world.finish(mine, world.dan);
  const WaiterId last = world.waits(world.eve, true);
  world.add("elsewhere", more_of_it);
  EXPECT_TRUE(is<Ok>(world.told(last))) << "that comes after what is held";
  const BoardTaskId before = world.add("before", earliest);
  EXPECT_EQ(as<Started>(world.told(last)).task, before);
}

TEST(BoardShared, WhatIsNotSharedIsNotForOthers) {
  SharedWorld world;
  const BoardTaskId own = world.add("own", backend);

  EXPECT_EQ(as<Nothing>(world.next_for(world.dan, false)), Nothing{false});
  EXPECT_EQ(as<Started>(world.next_for(ana, false)).task, own);
}

// Of a lease that is over in the very millisecond in which the wait is, nothing is had.
TEST(BoardShared, AWaitEndsAtItsLimitAlsoIfWhatItWaitsForIsFreeThen) {
  SharedWorld world;
  world.start(world.add("held", everybodys), ana);
  const WaiterId waiter = world.waits(world.dan, false, 120min + 1ms);
  world.pass(121min);

  EXPECT_EQ(as<Nothing>(world.told(waiter)), Nothing{true});
}

TEST(BoardShared, TheyAreKeptForAsLongAsTheProjectOfTheirRunnerSays) {
  SharedWorld world;
  world.say(SetLocking{default_project, {2min, 3min, 30min}});
  world.ask(SetLocking{world.shop, {4min, 7min, 30min}}, {}, {}, world.shop);
  const BoardTaskId one = world.add("one", everybodys);
  const BoardTaskId two = world.add("two", more_of_it);
  const BoardTaskId own = world.add("own", backend);

  EXPECT_EQ(as<Started>(world.start(one, ana)).expires_at, at(2min));
  for (const BoardTaskId task : {two, own}) {
    const Command start = Start{task, world.dan, {}};
    EXPECT_EQ(as<Started>(world.ask(start, {}, {}, world.shop)).expires_at, at(2min))
        << "a task is as its own project says";
  }

  const auto until = [&](const SectionName& name) {
    return section_limit(world.state.board, name, world.state.leases_from);
  };
  EXPECT_EQ(until(everybodys), at(3min));
  EXPECT_EQ(until(more_of_it), at(7min));
  EXPECT_EQ(until(backend), at(3min)) << "and so is a section that is one project's";
}

// The section stands on the board that all share, its task on that of a project: whichever of the
// two is looked at first in the millisecond in which both are over.
TEST(BoardShared, WhoWaitsForTheNextHasItInTheMillisecondInWhichItIsOver) {
  const NextTask of_it{everybodys, false, true};
  const NextTask in_order{{}, true, true};
  const NextTask any{{}, false, true};
  for (const NextTask& wanted : {of_it, in_order, any}) {
    SharedWorld world;
    world.say(SetLocking{default_project, {120min, 120min, 30min}});
    world.ask(SetLocking{world.shop, {120min, 120min, 30min}}, {}, {}, world.shop);
    const BoardTaskId held = world.add("held", everybodys);
    world.start(held, ana);
    const Command next = Next{world.dan, wanted, Wait{10h}};
    const WaiterId waiter = as<Waiting>(world.ask(next, {}, {}, world.shop)).waiter;

    world.pass(120min);
    EXPECT_TRUE(is<Ok>(world.told(waiter))) << "it still waits";
    world.pass(1ms);

    const Started started = as<Started>(world.told(waiter));
    EXPECT_EQ(started.task, held);
    EXPECT_EQ(started.claimed_from, ana);
  }
}

// What is due on the board of one project is not done before what was due earlier on another's.
TEST(BoardShared, WhoCameFirstIsServedFirstHoweverLateTheTickAndWhoseverTheWaitsAre) {
  for (const Duration late : {0min, 10min}) {
    SharedWorld world;
    const BoardTaskId held = world.add("held", everybodys);
    const BoardTaskId wanted = world.add("wanted", everybodys);
    world.start(held, ana);
    const WaiterId first = world.wait_to_start(wanted, cy, 10h);
    const auto wait_in_shop = [&](const RunnerName& runner, Duration at_most) {
      const Command start = Start{wanted, runner, Wait{at_most}};
      return as<Waiting>(world.ask(start, {}, {}, world.shop)).waiter;
    };
    const WaiterId second = wait_in_shop(world.dan, 121min);
    wait_in_shop(world.eve, 120min);  // her wait is over before the section is
    world.pass(119min);

    world.stamp.now += late;
    world.pass(11min);

    EXPECT_EQ(as<Started>(world.told(first)).task, wanted);
    EXPECT_EQ(as<TaskLocked>(world.told(second)).locked_by, cy);
  }
}

TEST(BoardShared, WhatWasKeptForARunnerOfAnotherProjectIsForTheOwnAsSoonAsItDoesNotComeBack) {
  SharedWorld world;
  const BoardTaskId task = world.add("own", backend);
  world.start(task, ana);
  const Command by_id = Start{task, world.dan, Wait{10h}};
  as<Waiting>(world.ask(by_id, SessionId{5}, {}, world.shop));
  const WaiterId waiter = world.waits(bo);
  world.input(Resumed{System::What::Ready});
  world.pass(1s);
  world.say(PutBack{task, ana, {}});
  world.say(LetGo{backend, ana});
  EXPECT_TRUE(is<Ok>(world.told(waiter))) << "dan is before him, and awaited";

  world.pass(9s);
  EXPECT_EQ(as<Started>(world.told(waiter)).task, task);
}

}  // namespace
}  // namespace reeve::board
