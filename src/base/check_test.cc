#include "base/check.h"

#include <gtest/gtest.h>

namespace reeve {
namespace {

TEST(CheckDeathTest, AFalseConditionStopsTheProcessAndSaysWhichAndWhere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int one = 1;
  EXPECT_DEATH(CHECK(one == 2), "check_test.cc:[0-9]+: CHECK\\(one == 2\\) failed");
}

TEST(Check, ATrueConditionIsLookedAtOnce) {
  int looks = 0;
  CHECK(++looks > 0);
  EXPECT_EQ(looks, 1);
}

}  // namespace
}  // namespace reeve
