#include "core/cron_schedule.h"

#include "base/die_testing.h"
#include "core/time_zone_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

namespace reeve::cron {
namespace {

using namespace reeve::testing;
using time_zone::Local;
using time_zone::Zone;

Expression parsed(std::string_view text) {
  const Result<Expression> result = parse_expression(text);
  EXPECT_TRUE(result) << text << ": " << (result ? "" : result.error().message);
  return result.value_or(Expression{});
}

std::string mistake_in(std::string_view text) {
  const Result<Expression> result = parse_expression(text);
  return result ? "none" : result.error().message;
}

std::optional<Wall> next(std::string_view text, const Zone& zone, Wall after) {
  return next_after(parsed(text), zone, after);
}

std::vector<Wall> between(const Expression& expression, const Zone& zone, Wall from, Wall to) {
  std::vector<Wall> fires;
  for (auto at = next_after(expression, zone, from); at && *at <= to;
       at = next_after(expression, zone, *at)) {
    fires.push_back(*at);
  }
  return fires;
}

std::vector<Wall> between(std::string_view text, const Zone& zone, Wall from, Wall to) {
  return between(parsed(text), zone, from, to);
}

TEST(CronExpression, FieldsAreStarsNumbersRangesStepsAndLists) {
  const Expression expression = parsed("*/20 1,3 10-12 5/3 1-5/2");
  EXPECT_EQ(expression.minutes, 1ULL << 0 | 1ULL << 20 | 1ULL << 40);
  EXPECT_EQ(expression.hours, 1U << 1 | 1U << 3);
  EXPECT_EQ(expression.days, 1U << 10 | 1U << 11 | 1U << 12);
  EXPECT_EQ(expression.months, 1U << 5 | 1U << 8 | 1U << 11);
  EXPECT_EQ(expression.weekdays, 1U << 1 | 1U << 3 | 1U << 5);
  EXPECT_TRUE(is_sound(expression));
}

TEST(CronExpression, MonthsAndDaysOfTheWeekHaveNames) {
  EXPECT_EQ(parsed("0 0 * jan,DEC *").months, 1U << 1 | 1U << 12);
  EXPECT_EQ(parsed("0 0 * * Mon-wed").weekdays, 1U << 1 | 1U << 2 | 1U << 3);
}

TEST(CronExpression, SundayIsZeroAndSeven) {
  EXPECT_EQ(parsed("0 0 * * 7"), parsed("0 0 * * 0"));
  EXPECT_EQ(parsed("0 0 * * fri-sun"), parsed("0 0 * * 5-7"));
  EXPECT_EQ(parsed("0 0 * * 5-7").weekdays, 1U << 5 | 1U << 6 | 1U << 0);
  EXPECT_EQ(parsed("0 0 * * */2").weekdays, 1U << 0 | 1U << 2 | 1U << 4 | 1U << 6);
  EXPECT_EQ(parsed("0 0 * * 1/6").weekdays, 1U << 1);
}

TEST(CronExpression, AnyNumberOfBlanksSeparatesTheFields) {
  EXPECT_EQ(parsed("  0\t3  * * * "), parsed("0 3 * * *"));
}

TEST(CronExpression, AMistakeNamesTheFieldAndWhatStoodThere) {
  EXPECT_EQ(mistake_in("60 * * * *"), "minute '60': expected a number from 0 to 59");
  EXPECT_EQ(mistake_in("* 24 * * *"), "hour '24': expected a number from 0 to 23");
  EXPECT_EQ(mistake_in("* * 0 * *"), "day of month '0': expected a number from 1 to 31");
  EXPECT_EQ(mistake_in("* * * foo *"),
            "month 'foo': expected a number from 1 to 12 or a name such as jan");
  EXPECT_EQ(mistake_in("* * * * 8"),
            "day of week '8': expected a number from 0 to 7 or a name such as sun");
  EXPECT_EQ(mistake_in("5-1 * * * *"), "minute '5-1': the range runs backwards");
  EXPECT_EQ(mistake_in("*/0 * * * *"), "minute '*/0': a step is a whole number from 1 on");
  EXPECT_EQ(mistake_in("*/ * * * *"), "minute '*/': a step is a whole number from 1 on");
  EXPECT_EQ(mistake_in("1, * * * *"), "minute '': expected a number from 0 to 59");
  EXPECT_EQ(mistake_in("-1 * * * *"), "minute '': expected a number from 0 to 59");
  EXPECT_EQ(mistake_in("99999999999 * * * *"),
            "minute '99999999999': expected a number from 0 to 59");
  EXPECT_EQ(mistake_in("0 3 * *"),
            "'0 3 * *' has 4 fields: a schedule has five, minute, hour, day of month, month and "
            "day of week, as in '0 3 * * *'");
  EXPECT_NE(mistake_in(""), "none");
  EXPECT_NE(mistake_in("* * * * * *"), "none");
}

TEST(CronExpression, ADateThatNeverComesIsAMistake) {
  EXPECT_EQ(mistake_in("0 0 30 feb *"),
            "day of month '30': this day never comes in the months asked for");
  EXPECT_NE(mistake_in("0 0 31 4,6,9,11 *"), "none");
  EXPECT_EQ(mistake_in("0 0 29 2 *"), "none");
  EXPECT_EQ(mistake_in("0 0 31 2,3 *"), "none");
  // Either day is enough, and Mondays come in every February.
  EXPECT_EQ(mistake_in("0 0 30 2 mon"), "none");
}

TEST(CronExpression, TheLargestStepIsNoTrouble) {
  EXPECT_EQ(parsed("*/4294967295 0 * * *").minutes, 1U);
}

TEST(CronSchedule, FiresOnTheWholeMinuteAfterTheMoment) {
  EXPECT_EQ(next("* * * * *", utc, utc_at(2024, 5, 1, 12)), utc_at(2024, 5, 1, 12, 1));
  EXPECT_EQ(next("* * * * *", utc, utc_at(2024, 5, 1, 12) - 1ms), utc_at(2024, 5, 1, 12));
  EXPECT_EQ(next("0 3 * * *", utc, utc_at(2024, 5, 1, 3)), utc_at(2024, 5, 2, 3));
}

TEST(CronSchedule, ALeapDayComesEveryFourYearsAndSometimesAfterEight) {
  EXPECT_EQ(next("0 0 29 2 *", utc, utc_at(2024, 2, 29)), utc_at(2028, 2, 29));
  EXPECT_EQ(next("0 0 29 2 *", utc, utc_at(2096, 2, 29)), utc_at(2104, 2, 29));
  // On a Sunday: written so that both must agree.
  EXPECT_EQ(next("0 0 29 2 */7", utc, utc_at(2088, 2, 29)), utc_at(2128, 2, 29));
}

TEST(CronSchedule, TheYearEndsLikeAnyMonth) {
  EXPECT_EQ(next("59 23 31 12 *", utc, utc_at(2024, 12, 31, 23, 59)), utc_at(2025, 12, 31, 23, 59));
  EXPECT_EQ(next("0 0 1 1 *", utc, utc_at(2024, 12, 31, 23, 59)), utc_at(2025, 1, 1));
  EXPECT_EQ(next("0 0 31 * *", utc, utc_at(2025, 3, 31)), utc_at(2025, 5, 31));
}

TEST(CronSchedule, OfTwoRestrictedDaysEitherIsEnough) {
  // Friday the 13th is every Friday and every 13th.
  EXPECT_EQ(between("0 0 13 * fri", utc, utc_at(2024, 9, 9), utc_at(2024, 9, 20)),
            (std::vector{utc_at(2024, 9, 13), utc_at(2024, 9, 20)}));
  EXPECT_EQ(between("0 0 12 * fri", utc, utc_at(2024, 9, 9), utc_at(2024, 9, 14)),
            (std::vector{utc_at(2024, 9, 12), utc_at(2024, 9, 13)}));
}

TEST(CronSchedule, ADayWrittenWithAStarMustAgreeWithTheOther) {
  EXPECT_EQ(between("0 0 */2 * mon", utc, utc_at(2024, 9, 1), utc_at(2024, 9, 30)),
            (std::vector{utc_at(2024, 9, 9), utc_at(2024, 9, 23)}));
}

TEST(CronSchedule, AFixedHourThatIsSkippedRunsOnceAtTheFirstValidMoment) {
  // At 1:00 UTC the clocks go from 2:00 to 3:00.
  EXPECT_EQ(between("30 2 * * *", berlin, utc_at(2024, 3, 29, 12), utc_at(2024, 4, 1, 12)),
            (std::vector{
                utc_at(2024, 3, 30, 1, 30), utc_at(2024, 3, 31, 1, 0), utc_at(2024, 4, 1, 0, 30)}));
  EXPECT_EQ(between("*/15 2 * * *", berlin, utc_at(2024, 3, 31), utc_at(2024, 3, 31, 12)),
            (std::vector{utc_at(2024, 3, 31, 1, 0)}));
  // What is skipped and what comes at the end of the gap are one.
  EXPECT_EQ(between("0 2,3 * * *", berlin, utc_at(2024, 3, 31), utc_at(2024, 3, 31, 12)),
            (std::vector{utc_at(2024, 3, 31, 1, 0)}));
}

TEST(CronSchedule, AFixedHourThatRepeatsRunsOnTheFirstPassOnly) {
  // At 1:00 UTC the clocks go from 3:00 back to 2:00.
  EXPECT_EQ(between("30 2 * * *", berlin, utc_at(2024, 10, 26, 12), utc_at(2024, 10, 28, 12)),
            (std::vector{utc_at(2024, 10, 27, 0, 30), utc_at(2024, 10, 28, 1, 30)}));
  EXPECT_EQ(next("30 2 * * *", berlin, utc_at(2024, 10, 27, 1, 10)), utc_at(2024, 10, 28, 1, 30));
  EXPECT_EQ(next("0 3 * * *", berlin, utc_at(2024, 10, 27, 1, 10)), utc_at(2024, 10, 27, 2));
}

TEST(CronSchedule, NewYorkSkipsAndRepeatsToo) {
  EXPECT_EQ(between("30 2 * * *", new_york, utc_at(2025, 3, 9), utc_at(2025, 3, 10, 12)),
            (std::vector{utc_at(2025, 3, 9, 7), utc_at(2025, 3, 10, 6, 30)}));
  EXPECT_EQ(between("30 1 * * *", new_york, utc_at(2024, 11, 3), utc_at(2024, 11, 4, 12)),
            (std::vector{utc_at(2024, 11, 3, 5, 30), utc_at(2024, 11, 4, 6, 30)}));
}

TEST(CronSchedule, LordHoweSkipsAndRepeatsHalfAnHour) {
  // 2:00 to 2:30 is left out on 6 October 2024, 15:30 UTC of the day before.
  EXPECT_EQ(between("15,30 2 * * *", lord_howe, utc_at(2024, 10, 5, 12), utc_at(2024, 10, 6, 12)),
            (std::vector{utc_at(2024, 10, 5, 15, 30)}));
  EXPECT_EQ(next("45 2 * * *", lord_howe, utc_at(2024, 10, 5, 12)), utc_at(2024, 10, 5, 15, 45));
  // 1:30 to 2:00 comes twice on 6 April 2025, until 15:00 UTC of the day before and after it.
  EXPECT_EQ(between("45 1 * * *", lord_howe, utc_at(2025, 4, 5, 12), utc_at(2025, 4, 6, 12)),
            (std::vector{utc_at(2025, 4, 5, 14, 45)}));
  EXPECT_EQ(between("0 2 * * *", lord_howe, utc_at(2025, 4, 5, 12), utc_at(2025, 4, 6, 12)),
            (std::vector{utc_at(2025, 4, 5, 15, 30)}));
}

TEST(CronSchedule, AWildcardHourFollowsElapsedTime) {
  EXPECT_EQ(between("0 * * * *", berlin, utc_at(2024, 3, 30, 23), utc_at(2024, 3, 31, 3)),
            (std::vector{utc_at(2024, 3, 31, 0),
                         utc_at(2024, 3, 31, 1),
                         utc_at(2024, 3, 31, 2),
                         utc_at(2024, 3, 31, 3)}));
  EXPECT_EQ(
      between("30 * * * *", berlin, utc_at(2024, 10, 27), utc_at(2024, 10, 27, 3)),
      (std::vector{
          utc_at(2024, 10, 27, 0, 30), utc_at(2024, 10, 27, 1, 30), utc_at(2024, 10, 27, 2, 30)}));
  // Every second hour: 2:00 is left out, and nothing makes up for it.
  EXPECT_EQ(between("0 */2 * * *", berlin, utc_at(2024, 3, 30, 23), utc_at(2024, 3, 31, 3)),
            (std::vector{utc_at(2024, 3, 31, 2)}));
}

TEST(CronSchedule, FarAwayAndLongAgoAreNoTrouble) {
  EXPECT_EQ(next("* * * * *", berlin, Wall::max()), std::nullopt);
  EXPECT_EQ(next("* * * * *", berlin, utc_at(9999, 1, 1)), std::nullopt);
  EXPECT_NE(next("* * * * *", berlin, Wall::min()), std::nullopt);
  EXPECT_EQ(next("0 0 29 2 *", berlin, utc_at(9998, 12, 31)), std::nullopt);
}

TEST(CronSchedule, BitsThatNeverMatchFireNever) {
  Expression never = parsed("0 0 29 2 *");
  never.days = 1U << 30;
  ASSERT_TRUE(is_sound(never));
  EXPECT_EQ(next_after(never, berlin, utc_at(2024, 1, 1)), std::nullopt);
  never.any_hour = true;
  EXPECT_EQ(next_after(never, berlin, utc_at(2024, 1, 1)), std::nullopt);
}

TEST(CronSchedule, WhatNoTextCanSayIsNotSound) {
  const auto with = [](auto change) {
    Expression expression = parsed("0 0 1 1 0");
    change(expression);
    return is_sound(expression);
  };
  EXPECT_TRUE(with([](Expression&) {}));
  EXPECT_FALSE(with([](Expression& bits) { bits.minutes = 0; }));
  EXPECT_FALSE(with([](Expression& bits) { bits.minutes = 1ULL << 60; }));
  EXPECT_FALSE(with([](Expression& bits) { bits.hours = 1U << 24; }));
  EXPECT_FALSE(with([](Expression& bits) { bits.days |= 1; }));
  EXPECT_FALSE(with([](Expression& bits) { bits.months |= 1U << 13; }));
  EXPECT_FALSE(with([](Expression& bits) { bits.weekdays |= 1U << 7; }));
  EXPECT_TRUE(is_sound(Interval{1s}));
  EXPECT_FALSE(is_sound(Interval{999ms}));
  EXPECT_FALSE(is_sound(Interval{-1s}));
}

TEST(CronSchedule, TheLastOneOfAStretchIsFoundWithoutWalkingIt) {
  const Expression minutely = parsed("* * * * *");
  EXPECT_EQ(last_until(minutely, berlin, utc_at(2000, 1, 1), utc_at(2024, 1, 1, 0, 0, 30)),
            utc_at(2024, 1, 1));
  EXPECT_EQ(last_until(minutely, berlin, utc_at(2024, 1, 1), utc_at(2024, 1, 1, 0, 0, 59)),
            std::nullopt);
  EXPECT_EQ(last_until(minutely, berlin, utc_at(2024, 1, 1), utc_at(2024, 1, 1, 0, 1)),
            utc_at(2024, 1, 1, 0, 1));
}

// The simplest thing that can be right: look at every minute. A calendar job fires when the
// clocks first reach or pass a matching minute; an elapsed one when they show it.
std::vector<Wall> by_stepping(const Expression& expression, const Zone& zone, Wall from, Wall to) {
  const auto matches = [&](Local local) {
    const auto day = std::chrono::floor<std::chrono::days>(local);
    const std::chrono::year_month_day date{day};
    const auto minute = std::chrono::floor<std::chrono::minutes>(local - day).count();
    const auto is_in = [](std::uint64_t bits, auto bit) {
      return (bits & std::uint64_t{1} << static_cast<unsigned>(bit)) != 0;
    };
    const bool by_date = is_in(expression.days, static_cast<unsigned>(date.day()));
    const bool by_weekday = is_in(expression.weekdays, std::chrono::weekday{day}.c_encoding());
    const bool day_matches = expression.any_day || expression.any_weekday ? by_date && by_weekday
                                                                          : by_date || by_weekday;
    return is_in(expression.minutes, minute % 60) && is_in(expression.hours, minute / 60) &&
           is_in(expression.months, static_cast<unsigned>(date.month())) && day_matches;
  };
  std::vector<Wall> fires;
  Local shown = to_local(from - 72h, period_at(zone, from - 72h));
  for (Wall at = from - 72h; at <= to; at += 1min) {
    const Local local = to_local(at, period_at(zone, at));
    bool fire = false;
    if (expression.any_hour) {
      fire = matches(local);
    } else {
      for (; shown < local; shown += 1min) fire |= matches(shown + 1min);
    }
    if (fire && at > from) fires.push_back(at);
  }
  return fires;
}

rc::Gen<std::string> field(int first, int last) {
  const auto number = die(first, last + 1);
  return rc::gen::oneOf(rc::gen::just(std::string("*")),
                        rc::gen::map(die(1, 20), [](int n) { return "*/" + std::to_string(n); }),
                        rc::gen::map(number, [](int n) { return std::to_string(n); }),
                        rc::gen::map(rc::gen::pair(number, number), [](std::pair<int, int> pair) {
                          return std::to_string(std::min(pair.first, pair.second)) + "-" +
                                 std::to_string(std::max(pair.first, pair.second));
                        }));
}

RC_GTEST_PROP(CronSchedule, NoMatchingMinuteIsSkippedAndNoneComesTwice, ()) {
  const std::string text =
      *field(0, 59) + " " + *rc::gen::oneOf(field(0, 3), field(0, 23)) + " " + *field(1, 28) + " " +
      *rc::gen::element<std::string>("*", "3-4", "10-11", "*/3") + " " + *field(0, 6);
  const Zone zone = *rc::gen::element(berlin, new_york, lord_howe, utc);
  // Around the days on which something happens.
  const Wall day = *rc::gen::element(utc_at(2024, 3, 30),
                                     utc_at(2024, 10, 26),
                                     utc_at(2025, 3, 8),
                                     utc_at(2024, 11, 2),
                                     utc_at(2024, 10, 4),
                                     utc_at(2025, 4, 4),
                                     utc_at(2024, 2, 28),
                                     utc_at(2024, 12, 30));
  const Wall from = day + std::chrono::minutes{*die(24 * 60)};

  const Expression expression = parsed(text);
  const std::vector<Wall> fires = between(expression, zone, from, from + 72h);

  RC_ASSERT(fires == by_stepping(expression, zone, from, from + 72h));
  RC_ASSERT(std::adjacent_find(fires.begin(), fires.end(), std::greater_equal{}) == fires.end());
  const std::optional<Wall> last = last_until(expression, zone, from, from + 72h);
  RC_ASSERT(last == (fires.empty() ? std::nullopt : std::optional(fires.back())));
}

RC_GTEST_PROP(CronExpression, AnyTextIsAnswered, (const std::string& text)) {
  if (const Result<Expression> result = parse_expression(text)) RC_ASSERT(is_sound(*result));
}

RC_GTEST_PROP(CronExpression, AnyFiveWordsAreAnswered, ()) {
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::element('*', '/', '-', ',', '0', '1', '3', '7', 'm', 'o', 'n')));
  const std::string text = *word + " " + *word + " " + *word + " " + *word + " " + *word;
  if (const Result<Expression> result = parse_expression(text)) RC_ASSERT(is_sound(*result));
}

}  // namespace
}  // namespace reeve::cron
