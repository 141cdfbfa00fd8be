#include "core/apply.h"

#include "core/testing.h"

#include <gtest/gtest.h>

namespace reeve {
namespace {

using namespace reeve::testing;

TEST(Apply, AnInputThatChangesNothingTakesNoSequence) {
  World world;

  const Applied& applied = world.input(Tick{});

  EXPECT_FALSE(applied.changed);
  EXPECT_EQ(applied.state, initial_state(start));
}

TEST(Apply, ACustomEventIsAnnouncedWithItsSequence) {
  World world;

  world.ask(EmitCustom{"ci:main:green", {{"by", "ana"}}});

  EXPECT_EQ(world.last.events,
            (std::vector<Event>{{1,
                                 0,
                                 world.stamp.wall,
                                 default_project,
                                 Custom{{"ci", "main", "green"}, {{"by", "ana"}}}}}));
  EXPECT_EQ(world.state.sequence, 1u);
}

}  // namespace
}  // namespace reeve
