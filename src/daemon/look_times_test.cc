#include "daemon/look_times.h"

#include <gtest/gtest.h>

namespace reeve::daemon {
namespace {

using namespace std::chrono_literals;
using Moment = LookTimes::Moment;

Moment at(std::chrono::milliseconds time) { return Moment(1h + time); }

TEST(LookTimes, WhatDoesNotChangeIsNotLookedAt) { EXPECT_EQ(LookTimes().due(), std::nullopt); }

TEST(LookTimes, AChangeIsLookedAtWhenItHasBeenQuiet) {
  LookTimes times;
  times.changed(at(0ms));
  times.changed(at(200ms));
  EXPECT_EQ(times.due(), at(200ms + LookTimes::quiet));
}

TEST(LookTimes, WhatDoesNotComeToRestIsLookedAtAllTheSame) {
  LookTimes times;
  for (auto time = 0ms; time < 10s; time += 100ms) times.changed(at(time));
  EXPECT_EQ(times.due(), at(LookTimes::longest_unrest));
}

TEST(LookTimes, ThereIsOneLookAtATime) {
  LookTimes times;
  times.changed(at(0ms));
  times.began(at(300ms));
  times.changed(at(400ms));
  EXPECT_EQ(times.due(), std::nullopt);
  times.ended();
  EXPECT_EQ(times.due(), at(300ms + LookTimes::least_between));
}

TEST(LookTimes, WhatChangedBeforeALookBeganIsSeenByIt) {
  LookTimes times;
  times.changed(at(0ms));
  times.began(at(300ms));
  times.ended();
  EXPECT_EQ(times.due(), std::nullopt);
}

TEST(LookTimes, AChangeLongAfterTheLastLookWaitsOnlyForQuiet) {
  LookTimes times;
  times.changed(at(0ms));
  times.began(at(300ms));
  times.ended();
  times.changed(at(1h));
  EXPECT_EQ(times.due(), at(1h + LookTimes::quiet));
}

}  // namespace
}  // namespace reeve::daemon
