#include "base/time.h"

#include "base/die_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>
#include <type_traits>

namespace reeve {
namespace {

using reeve::testing::die;
using namespace std::chrono_literals;

Duration parsed(std::string_view text) {
  const Result<Duration> duration = parse_duration(text);
  EXPECT_TRUE(duration) << text;
  return duration.value_or(Duration(-1));
}

TEST(Time, DurationsAreReadAsPeopleWriteThem) {
  EXPECT_EQ(parsed("500ms"), 500ms);
  EXPECT_EQ(parsed("30s"), 30s);
  EXPECT_EQ(parsed("5m"), 5min);
  EXPECT_EQ(parsed("1h30m"), 90min);
  EXPECT_EQ(parsed("7d"), 168h);
  EXPECT_EQ(parsed("1d12h"), 36h);
  EXPECT_EQ(parsed("1d2h3m4s5ms"), 26h + 3min + 4s + 5ms);
  EXPECT_EQ(parsed("90m"), 90min);
  EXPECT_EQ(parsed("0"), 0ms);
  EXPECT_EQ(parsed("0s"), 0ms);
  EXPECT_EQ(parsed("007s"), 7s);
}

TEST(Time, WhatIsNotADurationIsRefused) {
  for (const char* text :
       {"",    "s",     "5",     "30 s", " 30s", "30s ", "-1s",  "+1s",   "1.5h", "1h30",
        "00",  "m30",   "30S",   "1w",   "1mm",  "5sm",  "1s1s", "30s1h", "1m1h", "1ms1s",
        "1hs", "0x10s", "1h-1m", "1h m", "٣s",   "ms",   "1µs",  "1H"}) {
    const Result<Duration> duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, Error::Code::BadRequest);
  }
}

TEST(Time, ARefusalNamesTheTextAndTheForm) {
  const std::string message = parse_duration("5 minutes").error().message;
  EXPECT_NE(message.find("'5 minutes'"), std::string::npos) << message;
  EXPECT_NE(message.find("1h30m"), std::string::npos) << message;
}

TEST(Time, TheLongestDurationIsReadAndALongerOneRefused) {
  EXPECT_EQ(parsed("9223372036854775807ms"), Duration::max());
  EXPECT_EQ(parsed("106751991167d7h12m55s807ms"), Duration::max());
  for (const char* text : {"9223372036854775808ms",
                           "106751991167d7h12m55s808ms",
                           "106751991168d",
                           "18446744073709551615d",
                           "18446744073709551616ms",
                           "213503982335d",
                           "213503982334d99999999ms",
                           "99999999999999999999999s1ms"}) {
    const Result<Duration> duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_NE(duration.error().message.find("too long"), std::string::npos) << text;
  }
}

TEST(Time, DurationsAreWrittenInTheLargestUnitsThatFit) {
  EXPECT_EQ(format_duration(0ms), "0s");
  EXPECT_EQ(format_duration(1500ms), "1s500ms");
  EXPECT_EQ(format_duration(90min), "1h30m");
  EXPECT_EQ(format_duration(36h), "1d12h");
  EXPECT_EQ(format_duration(168h), "7d");
  EXPECT_EQ(format_duration(1ms), "1ms");
  EXPECT_EQ(format_duration(-1500ms), "-1s500ms");
  EXPECT_EQ(format_duration(Duration::max()), "106751991167d7h12m55s807ms");
  EXPECT_EQ(format_duration(Duration::min()), "-106751991167d7h12m55s808ms");
}

RC_GTEST_PROP(Time, WhatIsWrittenIsReadBackAsTheSame, ()) {
  const auto bits = *die(64);
  const auto count = *rc::gen::arbitrary<std::uint64_t>() * 0x9E3779B97F4A7C15;
  const Duration duration(static_cast<Duration::rep>(bits == 0 ? 0 : count >> (64 - bits)));
  RC_ASSERT(parse_duration(format_duration(duration)).value() == duration);
}

RC_GTEST_PROP(Time, AnyTextIsReadOrRefusedAndWhatIsReadStaysTheSame, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789dhmsms")));
  const Result<Duration> duration = parse_duration(text);
  if (duration) RC_ASSERT(parse_duration(format_duration(*duration)).value() == *duration);
}

TEST(Time, ASumTooFarAwayStopsAtTheEnd) {
  const Time noon(43'200'000ms);
  EXPECT_EQ(saturating_add(noon, 1ms), noon + 1ms);
  EXPECT_EQ(saturating_add(noon, -1ms), noon - 1ms);
  EXPECT_EQ(saturating_add(noon, Duration::max()), Time::max());
  EXPECT_EQ(saturating_add(Time::max() - 5ms, 5ms), Time::max());
  EXPECT_EQ(saturating_add(Time::max() - 5ms, 6ms), Time::max());
  EXPECT_EQ(saturating_add(Time::min(), -1ms), Time::min());
  EXPECT_EQ(saturating_add(Time::min() + 5ms, -6ms), Time::min());
}

TEST(Time, EngineTimeAndWallTimeDoNotMix) {
  static_assert(!std::is_convertible_v<Time, Wall> && !std::is_convertible_v<Wall, Time>);
  static_assert(!std::equality_comparable_with<Time, Wall>);

  const Stamp stamp{Time(5ms), Wall(7ms)};
  EXPECT_EQ(stamp, (Stamp{Time(5ms), Wall(7ms)}));
  EXPECT_NE(stamp, (Stamp{Time(5ms), Wall(8ms)}));
  EXPECT_NE(stamp, (Stamp{Time(6ms), Wall(7ms)}));
}

}  // namespace
}  // namespace reeve
