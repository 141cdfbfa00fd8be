#include "core/time_zone.h"

#include "core/time_zone_testing.h"

#include <gtest/gtest.h>

namespace reeve::time_zone {
namespace {

using namespace reeve::testing;

TEST(TimeZone, TheEmptyZoneIsUtc) {
  EXPECT_TRUE(is_sound(utc));
  EXPECT_EQ(period_at(utc, utc_at(2024, 7, 1)), (Period{Wall::min(), Wall::max(), 0s}));
}

TEST(TimeZone, TheRuleTurnsTwiceAYearInTheNorth) {
  EXPECT_EQ(period_at(berlin, utc_at(2024, 7, 1)),
            (Period{utc_at(2024, 3, 31, 1), utc_at(2024, 10, 27, 1), 2h}));
  EXPECT_EQ(period_at(berlin, utc_at(2024, 12, 31)),
            (Period{utc_at(2024, 10, 27, 1), utc_at(2025, 3, 30, 1), 1h}));
  EXPECT_EQ(period_at(new_york, utc_at(2025, 1, 1)),
            (Period{utc_at(2024, 11, 3, 6), utc_at(2025, 3, 9, 7), -5h}));
}

TEST(TimeZone, AndInTheSouthWhereSummerSpansTheNewYear) {
  EXPECT_EQ(period_at(lord_howe, utc_at(2025, 1, 1)),
            (Period{utc_at(2024, 10, 5, 15, 30), utc_at(2025, 4, 5, 15), 11h}));
  EXPECT_EQ(period_at(lord_howe, utc_at(2024, 7, 1)),
            (Period{utc_at(2024, 4, 6, 15), utc_at(2024, 10, 5, 15, 30), 10h + 30min}));
}

TEST(TimeZone, APeriodBeginsAtItsFirstMillisecond) {
  const Wall change = utc_at(2024, 3, 31, 1);
  EXPECT_EQ(period_at(berlin, change - 1ms).offset, 1h);
  EXPECT_EQ(period_at(berlin, change).offset, 2h);
}

TEST(TimeZone, TheTableComesBeforeTheRule) {
  Zone zone = berlin;
  zone.before = 3208s;  // local mean time
  zone.transitions = {
      {utc_at(1893, 4, 1), 1h, false},
      {utc_at(1996, 4, 7, 1), 2h, true},  // a week late: the rule knows nothing of it
      {utc_at(1996, 10, 27, 1), 1h, false}};
  ASSERT_TRUE(is_sound(zone));

  EXPECT_EQ(period_at(zone, utc_at(1850, 1, 1)), (Period{Wall::min(), utc_at(1893, 4, 1), 3208s}));
  EXPECT_EQ(period_at(zone, utc_at(1950, 7, 1)),
            (Period{utc_at(1893, 4, 1), utc_at(1996, 4, 7, 1), 1h}));
  EXPECT_EQ(period_at(zone, utc_at(1996, 7, 1)),
            (Period{utc_at(1996, 4, 7, 1), utc_at(1996, 10, 27, 1), 2h}));
  EXPECT_EQ(period_at(zone, utc_at(1996, 12, 1)),
            (Period{utc_at(1996, 10, 27, 1), utc_at(1997, 3, 30, 1), 1h}));
}

TEST(TimeZone, TheRuleBeginsWithTheLastTransition) {
  Zone zone = berlin;
  zone.transitions = {{utc_at(1996, 12, 1), 1h, false}};
  EXPECT_EQ(period_at(zone, utc_at(1997, 1, 1)),
            (Period{utc_at(1996, 12, 1), utc_at(1997, 3, 30, 1), 1h}));
}

TEST(TimeZone, ALocalTimeThatComesTwiceIsTheFirstOfThem) {
  EXPECT_EQ(first_at_or_past(berlin, local_at(2024, 10, 27, 2, 30)), utc_at(2024, 10, 27, 0, 30));
  EXPECT_EQ(first_at_or_past(berlin, local_at(2024, 10, 27, 3)), utc_at(2024, 10, 27, 2));
}

TEST(TimeZone, ALocalTimeThatIsLeftOutIsTheEndOfTheGap) {
  EXPECT_EQ(first_at_or_past(berlin, local_at(2024, 3, 31, 2)), utc_at(2024, 3, 31, 1));
  EXPECT_EQ(first_at_or_past(berlin, local_at(2024, 3, 31, 2, 59)), utc_at(2024, 3, 31, 1));
  EXPECT_EQ(first_at_or_past(berlin, local_at(2024, 3, 31, 3, 1)), utc_at(2024, 3, 31, 1, 1));
}

TEST(TimeZone, AWholeDayThatIsLeftOutEndsAtMidnight) {
  // Apia went over the date line and had no 30 December 2011.
  Zone apia;
  apia.before = -10h;
  apia.transitions = {{utc_at(2011, 12, 30, 10), 14h, false}};
  apia.rule.standard = 14h;
  ASSERT_TRUE(is_sound(apia));
  EXPECT_EQ(first_at_or_past(apia, local_at(2011, 12, 30, 9)), utc_at(2011, 12, 30, 10));
}

TEST(TimeZone, TheHighWaterStaysThroughTheSecondPass) {
  const Local end = local_at(2024, 10, 27, 3);
  EXPECT_EQ(high_water(berlin, utc_at(2024, 10, 27, 0, 59)), local_at(2024, 10, 27, 2, 59));
  EXPECT_EQ(high_water(berlin, utc_at(2024, 10, 27, 1)), end - 1ms);
  EXPECT_EQ(high_water(berlin, utc_at(2024, 10, 27, 1, 59)), end - 1ms);
  EXPECT_EQ(high_water(berlin, utc_at(2024, 10, 27, 2)), end);
}

TEST(TimeZone, AChangeMayBeMovedOverTheNewYearByItsTime) {
  // Both changes of a year take place in the first days of the next one.
  const Zone zone = zone_of("X", 0h, 1h, {12, 5, 0, 160h}, {12, 5, 1, 166h});
  ASSERT_TRUE(is_sound(zone));
  for (Wall at = utc_at(2023, 12, 20); at < utc_at(2024, 1, 20); at += 1h) {
    const Period period = period_at(zone, at);
    EXPECT_LE(period.begin, at);
    EXPECT_GT(period.end, at);
  }
}

TEST(TimeZone, WhatIsOutOfBoundsIsNotSound) {
  const auto with = [](auto change) {
    Zone zone = berlin;
    zone.transitions = {{utc_at(2000, 1, 1), 1h, false}, {utc_at(2001, 1, 1), 2h, true}};
    change(zone);
    return is_sound(zone);
  };
  EXPECT_TRUE(with([](Zone&) {}));
  EXPECT_FALSE(with([](Zone& zone) { zone.before = 26h + 1s; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.standard = -26h - 1s; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.transitions[0].offset = 27h; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.transitions[1].at = zone.transitions[0].at; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.transitions[0].at = Wall::min(); }));
  EXPECT_FALSE(with([](Zone& zone) { zone.transitions[1].at = Wall::max(); }));
  EXPECT_FALSE(with([](Zone& zone) { zone.transitions.resize(1025); }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->offset = 27h; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->start.month = 0; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->start.month = 13; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->start.week = 0; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->start.week = 6; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->end.weekday = 7; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->end.time = 168h; }));
  EXPECT_FALSE(with([](Zone& zone) { zone.rule.daylight->end.time = -168h; }));
}

}  // namespace
}  // namespace reeve::time_zone
