#include "runbook/zone_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <iterator>

namespace reeve::runbook {
namespace {

using namespace std::chrono_literals;
using time_zone::Change;
using time_zone::Daylight;
using time_zone::Rule;
using time_zone::Seconds;

Wall utc(int year, unsigned month, unsigned day, int hour) {
  return std::chrono::sys_days{std::chrono::year{year} / std::chrono::month{month} /
                               std::chrono::day{day}} +
         std::chrono::hours{hour};
}

Seconds offset_at(const char* name, Wall at) { return period_at(*read_zone(name), at).offset; }

TEST(ZoneFile, ARuleIsReadAsPosixWritesIt) {
  EXPECT_EQ(*parse_rule("CET-1CEST,M3.5.0,M10.5.0/3"),
            (Rule{1h, Daylight{2h, Change{3, 5, 0, 2h}, Change{10, 5, 0, 3h}}}));
  EXPECT_EQ(*parse_rule("<+0330>-3:30"), (Rule{3h + 30min, std::nullopt}));
  EXPECT_EQ(*parse_rule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0"),
            (Rule{-2h, Daylight{-1h, Change{3, 5, 0, -1h}, Change{10, 5, 0, 0h}}}));
  for (const char* text : {"",
                           "C",
                           "CET",
                           "CET-1CEST",
                           "CET-1CEST,M13.5.0,M10.5.0",
                           "CET-1x",
                           "CET-1CEST,J60,J300",
                           "CET-1CEST,M3.5.0,M10.5.0/3 "}) {
    EXPECT_FALSE(parse_rule(text)) << text;
  }
}

TEST(ZoneFile, TheSystemsZonesTellTheTimeThenAndInFarYears) {
  EXPECT_EQ(offset_at("Europe/Berlin", utc(2024, 1, 1, 0)), Seconds(1h));
  EXPECT_EQ(offset_at("Europe/Berlin", utc(2024, 3, 31, 0)), Seconds(1h));
  EXPECT_EQ(offset_at("Europe/Berlin", utc(2024, 3, 31, 1)), Seconds(2h));
  EXPECT_EQ(offset_at("Europe/Berlin", utc(2150, 7, 1, 0)), Seconds(2h));
  EXPECT_EQ(offset_at("America/New_York", utc(2026, 11, 1, 5)), Seconds(-4h));
  EXPECT_EQ(offset_at("America/New_York", utc(2026, 11, 1, 6)), Seconds(-5h));
  EXPECT_EQ(offset_at("Asia/Kolkata", utc(2026, 1, 1, 0)), Seconds(5h + 30min));
  EXPECT_EQ(offset_at("UTC", utc(2026, 1, 1, 0)), Seconds(0));
}

TEST(ZoneFile, AnUnknownZoneIsToldWithTheNearest) {
  EXPECT_EQ(read_zone("Europe/Berln").error().message,
            "unknown time zone `Europe/Berln`; did you mean `Europe/Berlin`?");
  EXPECT_EQ(read_zone("../passwd").error().code, Error::Code::NotFound);
  EXPECT_FALSE(read_zone("Europe"));
}

std::string berlin() {
  std::ifstream file("/usr/share/zoneinfo/Europe/Berlin", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ZoneFile, HasNoMoreOfAnythingThanAFileCanHold) {
  const std::string whole = berlin();
  ASSERT_TRUE(parse_zone("x", whole));
  // Six numbers of four bytes begin there. One below zero could make up for all the others.
  for (std::size_t at = 20; at < 44; at += 4) {
    std::string bytes = whole;
    bytes.replace(at, 4, "\xff\xff\xff\xf0");
    EXPECT_FALSE(parse_zone("x", bytes)) << at;
  }
}

RC_GTEST_PROP(ZoneFile, ABrokenFileIsAnErrorAndNeverMore, ()) {
  std::string bytes = berlin();
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = *rc::gen::arbitrary<char>();
  bytes.resize(*rc::gen::inRange<std::size_t>(at, bytes.size()));
  const Result<time_zone::Zone> zone = parse_zone("x", bytes);
  RC_ASSERT((!zone || time_zone::is_sound(*zone)));
}

}  // namespace
}  // namespace reeve::runbook
