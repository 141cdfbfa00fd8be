#include "core/grant_testing.h"

// What the answer that found nobody had made possible is so no longer.
namespace reeve {
namespace {

using namespace reeve::testing;

TEST(GrantUndelivered, AnIncreaseThatIsTakenBackLeavesNobodyInACircle) {
  Grants world;
  world.create("s", 4);
  world.enter(di, "s", 1);
  world.enter(bo, "s", 1);
  world.acquire(cy, "m");
  world.enter(ana, "s", 2);
  const Reply more = world.enter(bo, "s", 3, waiting);
  world.exit(ana, "s");
  ASSERT_TRUE(world.got<grant::Granted>(more));
  world.acquire(bo, "l");
  Turn turn(world.state, world.stamp);
  const Reply bo_waits = grant::ask(turn,
                                    {.holder = bo,
                                     .meta = {},
                                     .locks = {{lock_named("m"), {}, {}}},
                                     .slots = {{slots_named("s"), 2, {}, {}}},
                                     .origin = grant::ToClient{},
                                     .session = {},
                                     .wait = for_ever});
  const Reply di_waits = world.acquire(di, "l", waiting);
  world.resize("s", 2);
  ASSERT_EQ(world.answer_to(bo_waits), nullptr);

  world.input(Undelivered{default_project, "", *world.answer_to(more)});

  ASSERT_TRUE(world.got<grant::WouldDeadlock>(bo_waits));
  EXPECT_EQ(as<grant::WouldDeadlock>(*world.answer_to(bo_waits)).cycle, (std::vector{bo, di}));
  EXPECT_EQ(world.answer_to(di_waits), nullptr);
}

TEST(GrantUndelivered, WhoLosesAnIncreaseLetsThoseGoAheadElsewhereForWhomHeNowWaits) {
  Grants world;
  world.create("s", 4);
  world.enter(di, "s", 1);
  world.enter(bo, "s", 1);
  world.enter(ana, "s", 2);
  const Reply more = world.enter(bo, "s", 3, waiting);
  world.exit(ana, "s");
  ASSERT_TRUE(world.got<grant::Granted>(more));
  world.acquire(cy, "m");
  Turn turn(world.state, world.stamp);
  (void)grant::ask(turn,
                   {.holder = bo,
                    .meta = {},
                    .locks = {{lock_named("m"), {}, {}}, {lock_named("y"), {}, {}}},
                    .slots = {{slots_named("s"), 2, {}, {}}},
                    .origin = grant::ToClient{},
                    .session = {},
                    .wait = for_ever});
  const Reply di_waits = world.acquire(di, "y", waiting);
  ASSERT_EQ(world.answer_to(di_waits), nullptr);

  world.input(Undelivered{default_project, "", *world.answer_to(more)});

  EXPECT_TRUE(world.got<grant::Granted>(di_waits)) << "bo waits for her slot now";
}

}  // namespace
}  // namespace reeve
