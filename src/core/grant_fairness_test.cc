#include "base/die_testing.h"
#include "core/grant_testing.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

// Fair lines that do not deadlock: who goes ahead of whom, and why.
namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Busy;
using grant::Granted;
using grant::WouldDeadlock;
using Names = std::vector<std::string>;

TEST(GrantFairness, ThoseBehindTheFirstWaitForWhomHeWaits) {
  Grants world;
  world.acquire(ana, "x");
  world.acquire(bo, Names{"x", "y"}, waiting);
  world.acquire(cy, "y", waiting);

  EXPECT_TRUE(is<Granted>(world.acquire(ana, "y", waiting)));
}

TEST(GrantFairness, WhatIsHisAlreadyHeDoesNotStandInLineFor) {
  Grants world;
  world.acquire(ana, "y");
  world.acquire(bo, "x");
  const Reply cy_waits = world.acquire(cy, "x", waiting);
  world.acquire(bo, Names{"x", "y", "z"}, waiting);

  EXPECT_TRUE(is<Busy>(world.acquire(cy, "z"))) << "bo came before, and waits for ana alone";
  EXPECT_EQ(world.answer_to(cy_waits), nullptr);
}

TEST(GrantFairness, WhatSlotHeHasAlreadyHeDoesNotStandInLineFor) {
  Grants world;
  world.create("s", 2);
  world.acquire(ana, "y");
  world.enter(bo, "s");
  world.enter(cy, "s");
  grant::Request request;
  request.holder = bo;
  request.locks = {{lock_named("y"), {}, {}}, {lock_named("z"), {}, {}}};
  request.slots = {{slots_named("s"), 1, {}, {}}};
  request.wait = for_ever;
  Turn turn(world.state, world.stamp);
  ASSERT_TRUE(is<Waiting>(grant::ask(turn, request)));

  EXPECT_TRUE(is<Busy>(world.acquire(cy, "z"))) << "bo came before, and waits for ana alone";
}

TEST(GrantFairness, WhoGivesUpALockHeAlsoWaitsForStandsBehindOthers) {
  Grants world;
  world.acquire(ana, "y");
  world.acquire(di, "q");
  world.acquire(bo, "x");
  const Reply cy_waits = world.acquire(cy, Names{"x", "q"}, waiting);
  const Reply bo_waits = world.acquire(bo, Names{"x", "y", "z"}, waiting);
  const Reply cy_asks = world.acquire(cy, "z", waiting);
  ASSERT_TRUE(is<Waiting>(cy_asks));
  ASSERT_EQ(world.answer_to(cy_asks), nullptr);

  world.release(bo, "x");
  world.tick();

  EXPECT_TRUE(world.got<Granted>(cy_asks)) << "bo now waits for cy, who stands before him for x";
  EXPECT_EQ(world.answer_to(cy_waits), nullptr);
  EXPECT_EQ(world.answer_to(bo_waits), nullptr);
}

TEST(GrantFairness, ALineIsFollowedThroughOtherLines) {
  // ana behind bo in y; bo waits for cy, who stands behind di in the line of free v; di for ana.
  Grants world;
  world.acquire(ana, "w");
  world.acquire(cy, "x");
  const Reply di_waits = world.acquire(di, Names{"w", "v"}, waiting);
  const Reply bo_waits = world.acquire(bo, Names{"x", "y"}, waiting);
  const Reply cy_waits = world.acquire(cy, "v", waiting);
  const Reply ana_waits = world.acquire(ana, "y", waiting);

  EXPECT_TRUE(is<Granted>(ana_waits));
  world.release(ana, "y");
  world.release(ana, "w");
  EXPECT_TRUE(world.got<Granted>(di_waits));
  world.release(di, "v");
  EXPECT_TRUE(world.got<Granted>(cy_waits));
  world.release(cy, "x");
  EXPECT_TRUE(world.got<Granted>(bo_waits));
}

TEST(GrantFairness, WhoWaitsElsewhereLetsThoseGoAheadForWhomItWaits) {
  Grants world;
  world.acquire(ana, "x");
  world.acquire(bo, "y");
  const Reply first = world.acquire(cy, "x", waiting);
  const Reply second = world.acquire(cy, "y", waiting);
  const Reply ana_waits = world.acquire(ana, "y", waiting);

  world.release(bo, "y");

  EXPECT_TRUE(world.got<Granted>(ana_waits)) << "else ana would wait for cy and cy for ana";
  world.release(ana, "y");
  world.release(ana, "x");
  EXPECT_TRUE(world.got<Granted>(first));
  EXPECT_TRUE(world.got<Granted>(second));
}

TEST(GrantFairness, WhoGivesUpTheOtherWaitNeedNotLetAnybodyGoAhead) {
  Grants world;
  world.acquire(ana, "x");
  world.acquire(bo, "y");
  world.acquire(cy, "x", {.wait = 10s});
  const Reply second = world.acquire(cy, "y", waiting);
  const Reply ana_waits = world.acquire(ana, Names{"y", "z"}, waiting);
  world.acquire(di, "z");
  world.release(bo, "y");

  world.beat(ana, "x", {});
  world.pass(11s);

  EXPECT_TRUE(world.got<Granted>(second) || world.got<Granted>(ana_waits));
}

TEST(GrantFairness, AnIncreaseGoesAheadOfAllWhoHaveNone) {
  Grants world;
  world.create("s", 2);
  world.enter(ana, "s", 1);
  world.enter(bo, "s", 1);
  const Reply cy_waits = world.enter(cy, "s", 1, waiting);
  const Reply bo_waits = world.enter(bo, "s", 2, waiting);

  world.exit(ana, "s");

  EXPECT_EQ(world.weight_of(bo, "s"), 2u);
  EXPECT_TRUE(world.got<Granted>(bo_waits));
  EXPECT_EQ(world.answer_to(cy_waits), nullptr);
}

TEST(GrantFairness, AnIncreaseIsOneOnlyAsLongAsThereIsASlotToIncrease) {
  Grants world;
  world.create("s", 3);
  world.enter(cy, "s", 2);
  const Token token = as<Granted>(world.enter(ana, "s", 1)).given.at(0).token;
  const Reply bo_waits = world.enter(bo, "s", 1, waiting);
  const Reply ana_waits = world.enter(ana, "s", 3, waiting);
  ASSERT_EQ(world.answer_to(bo_waits), nullptr);

  world.exit(ana, "s", token);

  EXPECT_TRUE(world.got<Granted>(bo_waits)) << "bo came before ana, who has nothing any more";
  EXPECT_EQ(world.answer_to(ana_waits), nullptr);
}

TEST(GrantFairness, AnIncreaseWhoseSlotWentStaleStandsWhereItCame) {
  Grants world;
  world.create("s", 3);
  world.enter(cy, "s", 2, {.timeout = 1h});
  world.enter(ana, "s", 1, {.timeout = 10s});
  const Reply bo_waits = world.enter(bo, "s", 1, waiting);
  world.enter(ana, "s", 3, waiting);

  world.pass(11s);

  EXPECT_TRUE(world.got<Granted>(bo_waits));
}

TEST(GrantFairness, AnIncreaseWhoseProcessIsBeingEndedIsNobodysPredecessor) {
  Grants world;
  world.create("s", 4);
  world.enter(cy, "s", 2, {.timeout = 1h});
  world.enter(ana, "s", 1, {.meta = with_process(7), .timeout = 10s});
  const Reply bo_waits = world.enter(bo, "s", 2, waiting);
  world.enter(ana, "s", 4, {.wait = for_ever, .meta = with_process(7)});
  world.pass(11s);
  ASSERT_EQ(world.answer_to(bo_waits), nullptr);

  world.exit(cy, "s");

  EXPECT_TRUE(world.got<Granted>(bo_waits)) << "what ana still has leaves room for bo";
}

TEST(GrantFairness, WhoGetsASlotMeanwhileWaitsForMoreOfIt) {
  // bo waits for ana, so she may pass him; then her other wait is an increase.
  Grants world;
  world.create("s", 3);
  world.enter(cy, "s", 2);
  world.acquire(ana, "x");
  const Reply bo_waits = world.acquire(bo, "x", waiting);
  const Reply bo_enters = world.enter(bo, "s", 2, waiting);
  const Reply ana_enters = world.enter(ana, "s", 3, waiting);
  ASSERT_TRUE(is<Granted>(world.enter(ana, "s", 1)));

  world.exit(cy, "s");

  EXPECT_TRUE(world.got<Granted>(ana_enters));
  EXPECT_EQ(world.answer_to(bo_enters), nullptr);
  EXPECT_EQ(world.answer_to(bo_waits), nullptr);
}

TEST(GrantFairness, WhoFallsBackInOneLineLetsThoseGoAheadElsewhereForWhomHeNowWaits) {
  Grants world;
  world.create("s", 2);
  world.enter(cy, "s", 1);
  world.enter(ana, "s", 1);
  world.acquire(di, "z");
  world.acquire(ana, Names{"y", "z"}, waiting);
  const Reply bo_waits = world.acquire(bo, "y", waiting);
  world.enter(bo, "s", 2, waiting);
  world.enter(ana, "s", 2, waiting);
  ASSERT_EQ(world.answer_to(bo_waits), nullptr);

  world.exit(ana, "s");
  world.tick();

  EXPECT_TRUE(world.got<Granted>(bo_waits)) << "ana stands behind bo at s now";
}

// ── a capacity that is lowered ──

TEST(GrantFairness, ACircleThroughAParentIsEndedToo) {
  Grants world;
  world.create("s", 2);
  world.enter(ana, "s", 1);
  world.enter(cy, "s", 1);
  const Reply bo_enters = world.enter(bo, "s", 1, {.wait = for_ever, .meta = inside(ana)});
  ASSERT_EQ(world.answer_to(bo_enters), nullptr);

  world.resize("s", 1);

  EXPECT_TRUE(world.got<WouldDeadlock>(bo_enters)) << "ana is not done before bo is";
}

TEST(GrantFairness, CirclesThatAStepHasNoRoomForAreEndedWithTheNextTicks) {
  constexpr std::uint32_t pairs = 30;  // a look at the line costs as many touches
  constexpr std::uint32_t heavy = pairs + 1;
  Grants world;
  world.create("s", heavy + pairs);
  world.enter(cy, "s", heavy);
  const auto has = [](std::uint32_t i) {
    return Holder{default_project, "has " + std::to_string(i)};
  };
  for (std::uint32_t i = 0; i < pairs; ++i) world.enter(has(i), "s", 1);
  std::vector<Reply> places;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const Holder wants{default_project, "wants " + std::to_string(i)};
    world.acquire(wants, std::to_string(i));
    places.push_back(world.enter(wants, "s", heavy, waiting));
    world.acquire(has(i), std::to_string(i), waiting);
  }
  world.resize("s", heavy);
  const auto told = [&] {
    return std::ranges::count_if(
        places, [&](const Reply& place) { return world.got<WouldDeadlock>(place); });
  };
  const auto at_once = told();
  EXPECT_GT(at_once, 0);
  EXPECT_LT(at_once, pairs);
  while (!world.state.chores.waiting.empty()) world.tick();
  EXPECT_EQ(told(), pairs);
}

TEST(GrantFairness, ALoweredCapacityThatClosesACircleEndsTheWaitAtItsSemaphore) {
  Grants world;
  world.create("s", 3);
  world.enter(ana, "s", 1);
  world.enter(cy, "s", 1);
  world.acquire(bo, "l");
  const Reply bo_enters = world.enter(bo, "s", 2, waiting);
  const Reply ana_waits = world.acquire(ana, "l", waiting);
  ASSERT_EQ(world.answer_to(bo_enters), nullptr);
  ASSERT_EQ(world.answer_to(ana_waits), nullptr);

  world.resize("s", 2);

  ASSERT_TRUE(world.got<WouldDeadlock>(bo_enters));
  EXPECT_EQ(as<WouldDeadlock>(*world.answer_to(bo_enters)).cycle, (std::vector{bo, ana}));
  EXPECT_EQ(world.answer_to(ana_waits), nullptr);
  world.release(bo, "l");
  EXPECT_TRUE(world.got<Granted>(ana_waits));
}

TEST(GrantFairness, WhoOnlyStandsBehindACircleGoesOnWaiting) {
  Grants world;
  world.create("s", 4);
  world.enter(ana, "s", 1);
  world.enter(cy, "s", 1);
  world.acquire(bo, "l");
  world.acquire(di, "m");
  const Reply bo_enters = world.enter(bo, "s", 3, waiting);
  const Reply di_enters = world.enter(di, "s", 3, waiting);
  const Reply ana_waits = world.acquire(ana, "l", waiting);
  ASSERT_EQ(world.answer_to(ana_waits), nullptr);

  world.resize("s", 3);

  EXPECT_TRUE(world.got<WouldDeadlock>(bo_enters));
  EXPECT_EQ(world.answer_to(di_enters), nullptr);
  EXPECT_EQ(world.answer_to(ana_waits), nullptr);
}

// There is room for what bo has only because he has it.
TEST(GrantFairness, WhoGivesBackWhatHeThenWaitsForInACircleIsToldSo) {
  Grants world;
  world.create("s", 4);
  world.enter(di, "s", 3);
  world.enter(bo, "s", 1);
  world.acquire(bo, "l");
  world.acquire(cy, "m");
  Turn turn(world.state, world.stamp);
  const Reply bo_waits = grant::ask(turn,
                                    {.holder = bo,
                                     .meta = {},
                                     .locks = {{lock_named("m"), {}, {}}},
                                     .slots = {{slots_named("s"), 1, {}, {}}},
                                     .origin = grant::ToClient{},
                                     .session = {},
                                     .wait = for_ever});
  const Reply di_waits = world.acquire(di, "l", waiting);
  world.resize("s", 3);
  ASSERT_TRUE(world.answers.empty());

  world.exit(bo, "s");
  world.tick();

  ASSERT_TRUE(world.got<WouldDeadlock>(bo_waits));
  EXPECT_EQ(as<WouldDeadlock>(*world.answer_to(bo_waits)).cycle, (std::vector{bo, di}));
  EXPECT_EQ(world.answer_to(di_waits), nullptr);
}

TEST(GrantFairness, AWaitCountsForEverybodyItRunsWithin) {
  // cy runs within bo, who runs within ana.
  const Boxed<HolderMeta> deep(HolderMeta{"", "", "", std::nullopt, {bo, ana}});
  Grants world;
  world.acquire(ana, "g");
  world.acquire(di, "a");
  world.acquire(di, "g", waiting);

  EXPECT_TRUE(is<WouldDeadlock>(world.acquire(cy, "a", {.wait = for_ever, .meta = deep})));
  EXPECT_TRUE(is<WouldDeadlock>(world.acquire(cy, "g", {.wait = for_ever, .meta = deep})));
}

TEST(GrantFairness, TooManyHoldersAroundOneAreRefused) {
  HolderMeta meta;
  meta.within.assign(limits::pipelines_within + 1, ana);
  Grants world;
  const Reply reply = world.acquire(cy, "a", {.meta = Boxed<HolderMeta>(meta)});
  EXPECT_EQ(as<Refused>(reply), (Refused{Why::OverLimit, "within"}));
  meta.within.pop_back();
  EXPECT_TRUE(is<Granted>(world.acquire(cy, "a", {.meta = Boxed<HolderMeta>(meta)})));
}

// ── answers that found nobody ──

TEST(GrantFairness, WhatCouldNotBeDeliveredGoesToTheNext) {
  Grants world;
  world.acquire(ana, "main");
  const Reply bo_waits = world.acquire(bo, "main", waiting);
  const Reply cy_waits = world.acquire(cy, "main", waiting);
  world.release(ana, "main");
  ASSERT_TRUE(world.got<Granted>(bo_waits));

  world.input(Undelivered{default_project, "", *world.answer_to(bo_waits)});

  EXPECT_TRUE(world.got<Granted>(cy_waits));
  EXPECT_EQ(world.holder_of("main"), "cy");
}

TEST(GrantFairness, OnlyWhatWasNewIsTakenBack) {
  Grants world;
  world.create("s", 3);
  world.acquire(ana, "mine");
  world.acquire(bo, "other");
  world.enter(ana, "s", 1);
  world.enter(bo, "s", 2);
  const Reply locks = world.acquire(ana, Names{"mine", "other"}, waiting);
  const Reply slots = world.enter(ana, "s", 3, waiting);
  world.release(bo, "other");
  world.exit(bo, "s");
  ASSERT_TRUE(world.got<Granted>(locks) && world.got<Granted>(slots));

  world.input(Undelivered{default_project, "", *world.answer_to(locks)});
  world.input(Undelivered{default_project, "", *world.answer_to(slots)});

  EXPECT_EQ(world.holder_of("mine"), "ana");
  EXPECT_EQ(world.holder_of("other"), "");
  EXPECT_EQ(world.weight_of(ana, "s"), 1u);
  EXPECT_EQ(world.in_use("s"), 1u);
}

TEST(GrantFairness, WhatWasGivenOnMeanwhileIsNotTakenBack) {
  Grants world;
  world.acquire(ana, "main");
  const Reply bo_waits = world.acquire(bo, "main", waiting);
  world.release(ana, "main");
  world.release(bo, "main");
  world.acquire(cy, "main");

  world.input(Undelivered{default_project, "", *world.answer_to(bo_waits)});

  EXPECT_EQ(world.holder_of("main"), "cy");
  EXPECT_FALSE(world.last.changed);
}

// ── nobody waits for ever ──

// Whatever was asked for and refused: as long as everybody who waits for nothing, and within whom
// nobody waits, lets go of what he has, everybody who waits gets his turn.
RC_GTEST_PROP(GrantFairness, NobodyWaitsForEver, ()) {
  const Holder ed{default_project, "ed"};
  const std::vector<Holder> people{ana, bo, cy, di, ed};
  // bo runs within ana, cy within bo, and ed within di.
  const std::vector<std::vector<Holder>> within{{}, {ana}, {bo, ana}, {}, {di}};
  const Names locks{"u", "v", "w", "x"};
  const std::vector<std::pair<std::string, std::uint32_t>> semaphores{{"s", 2}, {"t", 3}};
  const auto one_of = [](const auto& values) {
    return values.at(*die<std::size_t>(values.size()));
  };
  Grants world;
  for (const auto& [name, capacity] : semaphores) world.create(name, capacity);

  const int moves = *rc::gen::inRange(1, 40);
  for (int i = 0; i < moves; ++i) {
    const auto number = *die<std::size_t>(people.size());
    const Holder& who = people.at(number);
    const Terms terms{.wait = for_ever,
                      .meta = Boxed(HolderMeta{"", "", "", std::nullopt, within.at(number)})};
    const int move = *die(9);
    if (move < 4) {
      Names names{one_of(locks)};
      if (*rc::gen::arbitrary<bool>()) names.push_back(one_of(locks));
      world.acquire(who, names, terms);
      RC_LOG() << who.name << " wants " << names.front() << ' ' << names.back();
    } else if (move < 7) {
      const auto [name, capacity] = one_of(semaphores);
      const std::uint32_t weight = *die(1u, capacity + 1);
      world.enter(who, name, weight, terms);
      RC_LOG() << who.name << " enters " << name << " with " << weight;
    } else if (move == 7) {
      const auto [name, capacity] = one_of(semaphores);
      const std::uint32_t to = *die(1u, capacity + 1);
      world.resize(name, to);
      RC_LOG() << name << " has a capacity of " << to;
    } else {
      const std::string name = one_of(locks);
      world.release(who, name);
      RC_LOG() << who.name << " lets go of " << name;
    }
    RC_LOG() << '\n';
  }
  while (!world.state.grants.waiters.empty()) {
    const std::uint64_t before = world.state.sequence;
    for (const Holder& who : people) {
      if (!grant::waits_of(world.state.grants, who).empty()) continue;
      for (const std::string& name : locks) {
        if (world.holder_of(name) == who.name) world.release(who, name);
      }
      for (const auto& [name, capacity] : semaphores) {
        if (world.weight_of(who, name) > 0) world.exit(who, name);
      }
    }
    RC_ASSERT(world.state.sequence > before);
  }
  RC_ASSERT(!::testing::Test::HasFailure());
}

}  // namespace
}  // namespace reeve
