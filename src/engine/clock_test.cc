#include "engine/clock.h"

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using namespace std::chrono_literals;

constexpr Wall noon{1'900'000'000s};
constexpr Time engine_noon{1'900'000'000s};

Reading reading(Duration boot, Duration monotonic, Wall wall) { return {boot, monotonic, wall}; }

TEST(EngineClock, BeginsAtTheWallClockOrAfterTheLastRecord) {
  const Reading first = reading(5s, 5s, noon);
  EXPECT_EQ(Clock(Time{}, first).read(first), (Moment{{engine_noon, noon}}));
  EXPECT_EQ(Clock(engine_noon + 1h, first).read(first), (Moment{{engine_noon + 1h, noon}}));
}

TEST(EngineClock, AdvancesWithTheBootClock) {
  Clock clock(Time{}, reading(5s, 5s, noon));
  EXPECT_EQ(clock.read(reading(5s + 7ms, 5s + 7ms, noon + 7ms)),
            (Moment{{engine_noon + 7ms, noon + 7ms}}));
}

TEST(EngineClock, AWallThatIsSetMovesNothingButTheWall) {
  Clock clock(Time{}, reading(5s, 5s, noon));
  EXPECT_EQ(clock.read(reading(6s, 6s, noon + 1h)),
            (Moment{{engine_noon + 1s, noon + 1h}, false, 1h - 1s}));
  EXPECT_EQ(clock.read(reading(7s, 7s, noon - 1h)),
            (Moment{{engine_noon + 2s, noon - 1h}, false, -2h - 1s}));
  EXPECT_EQ(clock.read(reading(8s, 8s, noon - 1h + 1s)),
            (Moment{{engine_noon + 3s, noon - 1h + 1s}}));
}

TEST(EngineClock, AWallThatIsSlewedIsNotSet) {
  Clock clock(Time{}, reading(5s, 5s, noon));
  EXPECT_EQ(clock.read(reading(6s, 6s, noon + 1s + 500ms)).stepped, 0ms);
  EXPECT_EQ(clock.read(reading(7s, 7s, noon + 1s + 500ms + 1s - 500ms)).stepped, 0ms);
  EXPECT_EQ(clock.read(reading(8s, 8s, noon + 3s + 501ms)).stepped, 501ms);
  EXPECT_EQ(clock.read(reading(9s, 9s, noon + 4s)).stepped, -501ms);
}

TEST(EngineClock, TellsWhenTheMachineSlept) {
  Clock clock(Time{}, reading(5s, 5s, noon));
  EXPECT_EQ(clock.read(reading(5s + 2h, 6s, noon + 2h)),
            (Moment{{engine_noon + 2h, noon + 2h}, true}));
  EXPECT_FALSE(clock.read(reading(6s + 2h, 7s, noon + 2h + 1s)).suspended);
  EXPECT_FALSE(clock.read(reading(7s + 2h + 500ms, 8s, noon + 2h + 2s + 500ms)).suspended);
  EXPECT_TRUE(clock.read(reading(8s + 2h + 1001ms, 9s, noon + 2h + 4s)).suspended);
}

TEST(EngineClock, NeverRunsBackwards) {
  Clock clock(Time{}, reading(5s, 5s, noon));
  const Time later = clock.read(reading(9s, 9s, noon + 4s)).stamp.now;
  EXPECT_EQ(clock.read(reading(8s, 8s, noon + 3s)).stamp.now, later);
}

TEST(EngineClock, SleepsUntilTheFirstDeadlineAndNotShorter) {
  const Stamp now{engine_noon, noon};
  EXPECT_EQ(Clock::until({}, now), std::nullopt);
  EXPECT_EQ(Clock::until({engine_noon + 3ms, std::nullopt}, now), 3ms);
  EXPECT_EQ(Clock::until({std::nullopt, noon + 2ms}, now), 2ms);
  EXPECT_EQ(Clock::until({engine_noon + 3ms, noon + 2ms}, now), 2ms);
  EXPECT_EQ(Clock::until({engine_noon + 1ms, noon + 2ms}, now), 1ms);
  EXPECT_EQ(Clock::until({engine_noon - 1s, noon + 2ms}, now), 0ms);
}

}  // namespace
}  // namespace reeve::engine
