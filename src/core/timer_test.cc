#include "core/timer.h"

#include "core/state.h"
#include "core/testing.h"

#include <gtest/gtest.h>

namespace reeve {
namespace {

using testing::at;
using namespace std::chrono_literals;

const Subject first = lock::Due{{default_project, "first"}};
const Subject second = queue::Due{7};

TEST(Timer, ASubjectHasOneDeadlineAndSettingItAgainMovesIt) {
  Timers timers;
  arm(timers, first, at(5s));
  arm(timers, first, at(3s));

  EXPECT_EQ(deadline_of(timers, first), at(3s));
  EXPECT_EQ(timers.engine.size(), 1u);
}

TEST(Timer, WithoutADeadlineItIsGone) {
  Timers timers;
  arm(timers, first, at(5s));
  arm(timers, first, std::nullopt);

  EXPECT_EQ(deadline_of(timers, first), std::nullopt);
  EXPECT_TRUE(timers.engine.empty());
  EXPECT_TRUE(timers.armed.empty());
}

TEST(Timer, SettingTheSameAgainKeepsItsPlaceAmongThoseDueAtOnce) {
  Timers timers;
  arm(timers, first, at(5s));
  arm(timers, second, at(5s));
  arm(timers, first, at(5s));

  EXPECT_EQ(timers.engine.begin()->second, first);
}

TEST(Timer, TheEarliestComesFirstWhateverTheOrderOfSetting) {
  Timers timers;
  arm(timers, first, at(5s));
  arm(timers, second, at(4s));

  EXPECT_EQ(timers.engine.begin()->second, second);
}

TEST(Timer, TheTwoClocksDoNotMix) {
  State state = initial_state(at(0s));
  arm(state.timers, first, at(5s));
  arm_wall(state.timers, second, Wall{9s});

  EXPECT_EQ(next_deadline(state), (Deadlines{at(5s), Wall{9s}}));
  EXPECT_EQ(wall_deadline_of(state.timers, first), std::nullopt);
}

TEST(Timer, AChoreThatIsLeftOverIsDueAtOnce) {
  State state = initial_state(at(0s));
  arm(state.timers, first, at(5s));
  state.chores.waiting.set(1, EndSession{SessionId{3}});

  EXPECT_EQ(next_deadline(state).engine, at(0s));
}

TEST(Timer, WithNothingToComeThereIsNoDeadline) {
  EXPECT_EQ(next_deadline(initial_state(at(0s))), Deadlines{});
}

}  // namespace
}  // namespace reeve
