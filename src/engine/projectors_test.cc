#include "engine/projectors.h"

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using namespace std::chrono_literals;

Time at(Duration since) { return Time{1h} + since; }

TEST(Projectors, WithoutAnyNobodyHoldsAnythingBack) {
  Projectors projectors;
  projectors.committed(9, 100, at(0s));
  EXPECT_EQ(projectors.all_passed(), Projectors::nobody);
  EXPECT_EQ(projectors.next_look(), std::nullopt);
  EXPECT_TRUE(projectors.leave_laggards(at(1h)).empty());
}

TEST(Projectors, TheSlowestOneHoldsBack) {
  Projectors projectors;
  projectors.add("history", 3);
  projectors.add("mirror", 5);
  projectors.committed(9, 100, at(0s));
  EXPECT_EQ(projectors.all_passed(), 3U);
  projectors.passed("history", 8);
  EXPECT_EQ(projectors.all_passed(), 5U);
  projectors.passed("mirror", 9);
  projectors.passed("mirror", 4);  // said late: what is passed stays so
  EXPECT_EQ(projectors.all_passed(), 8U);
}

TEST(Projectors, OneAMinuteBehindIsLeftAndNotAMomentEarlier) {
  Projectors projectors;
  projectors.add("history", 3);
  projectors.committed(4, 100, at(0s));
  projectors.committed(9, 100, at(30s));
  EXPECT_EQ(projectors.next_look(), at(60s + 1ms));
  EXPECT_TRUE(projectors.leave_laggards(at(60s)).empty());
  EXPECT_EQ(projectors.leave_laggards(at(60s + 1ms)), (std::vector<Gap>{{"history", 4, 9}}));
  EXPECT_FALSE(projectors.counts("history"));
  EXPECT_EQ(projectors.all_passed(), Projectors::nobody);
  EXPECT_TRUE(projectors.leave_laggards(at(2h)).empty());  // once
  projectors.passed("history", 9);
  EXPECT_FALSE(projectors.counts("history"));
}

TEST(Projectors, OneThatKeepsUpIsNeverLeft) {
  Projectors projectors;
  projectors.add("history", 0);
  for (Sequence sequence = 1; sequence <= 100; ++sequence) {
    projectors.committed(sequence, 100, at(sequence * 59s));
    EXPECT_TRUE(projectors.leave_laggards(at(sequence * 59s + 58s)).empty());
    projectors.passed("history", sequence);
  }
  EXPECT_EQ(projectors.next_look(), std::nullopt);
}

TEST(Projectors, AnOldPlaceIsOldUntilAllOfItIsPassed) {
  Projectors projectors;
  projectors.add("history", 0);
  projectors.committed(1, 1, at(0s));
  projectors.committed(2, 1, at(20s));
  projectors.passed("history", 1);
  EXPECT_TRUE(projectors.leave_laggards(at(80s)).empty());
  EXPECT_EQ(projectors.leave_laggards(at(80s + 1ms)), (std::vector<Gap>{{"history", 2, 2}}));
}

TEST(Projectors, OneAGigabyteBehindIsLeft) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
  Projectors projectors;
  projectors.add("history", 0);
  projectors.committed(1, gib / 2, at(0s));
  projectors.committed(2, gib / 2, at(1s));
  EXPECT_TRUE(projectors.leave_laggards(at(1s)).empty());
  projectors.committed(3, 1, at(2s));
  EXPECT_EQ(projectors.leave_laggards(at(2s)), (std::vector<Gap>{{"history", 1, 3}}));
}

}  // namespace
}  // namespace reeve::engine
