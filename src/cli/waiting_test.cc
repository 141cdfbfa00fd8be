#include "cli/waiting.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

Json json(std::string_view text) { return parse_json(text).value(); }

constexpr std::int64_t now = 65'000;  // since 1970

TEST(Waiting, ALockIsToldWithItsHolderAndThePlaceInLine) {
  const Json lock = json(R"({"name":"main","state":"held","holder":"ana","label":"a release",
      "acquired_at":"1970-01-01T00:00:00.000Z","waiters":[{"holder":"bo"},{"holder":"cleo"}]})");

  EXPECT_EQ(describe_wait("lock", lock, "bo", now, true),
            "main is held by ana (a release) for 1m5s; you are next");
  EXPECT_EQ(describe_wait("lock", lock, "cleo", now, false),
            "main is held by ana for 1m5s; 1 before you");
  EXPECT_EQ(describe_wait("lock", lock, "dan", now, false), "main is held by ana for 1m5s");
}

TEST(Waiting, WhatIsBeingTakenBackIsSaid) {
  const Json lock = json(R"({"name":"main","state":"ending","holder":"ana"})");
  EXPECT_EQ(describe_wait("lock", lock, "bo", now, true), "main is being taken back, held by ana");
}

TEST(Waiting, ASemaphoreIsToldByItsRoom) {
  const Json sem = json(R"({"name":"s","available":1,"capacity":4,"waiters":[{"holder":"bo"}]})");
  EXPECT_EQ(describe_wait("sem", sem, "bo", now, true), "s has 1 of 4 free; you are next");
}

TEST(Waiting, ASemaphoreIsToldWithThoseWhoHaveItLongest) {
  const Json sem = json(R"({"name":"s","available":0,"capacity":4,"waiters":[{"holder":"bo"}],
      "holders":[{"holder":"eve","acquired_at":"1970-01-01T00:01:00.000Z"},
                 {"holder":"ana","acquired_at":"1970-01-01T00:00:00.000Z"},
                 {"holder":"cleo","acquired_at":"1970-01-01T00:00:05.000Z"},
                 {"holder":"dan","acquired_at":"1970-01-01T00:01:04.500Z"}]})");
  EXPECT_EQ(describe_wait("sem", sem, "bo", now, true),
            "s has 0 of 4 free; held by ana for 1m5s, cleo for 1m, eve for 5s and 1 more; you are "
            "next");
  EXPECT_EQ(describe_wait("sem", sem, "bo", now, false),
            "s is held by ana for 1m5s (+3); you are next");
}

TEST(Waiting, AHolderCannotDriveTheTerminal) {
  const Json lock = json(R"({"name":"m","state":"held","holder":"a\u001b[2J","label":"\u0007"})");
  EXPECT_EQ(describe_wait("lock", lock, "bo", now, true), "m is held by a\\x1b[2J (\\x07)");
}

TEST(Waiting, TheBarFillsUpOrWanders) {
  EXPECT_EQ(bar(0, 0, 8), "[........]");
  EXPECT_EQ(bar(0.5, 0, 8), "[####....]");
  EXPECT_EQ(bar(7, 0, 8), "[########]");
  EXPECT_EQ(bar(-1, 0, 8), "[###.....]");
  EXPECT_EQ(bar(-1, 5, 8), "[.....###]");
  EXPECT_EQ(bar(-1, 6, 8), "[....###.]");
}

}  // namespace
}  // namespace reeve::cli
