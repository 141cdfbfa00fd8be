#include "engine/event_log.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace reeve::engine {
namespace {

Event event(Sequence sequence,
            std::uint32_t index = 0,
            std::string noun = "ci",
            ProjectNo project = default_project) {
  return {.sequence = sequence,
          .index = index,
          .at = {},
          .project = project,
          .body = Custom{EventName{std::move(noun), "", "green"}, {}}};
}

std::vector<Sequence> sequences(const Slice& slice) {
  std::vector<Sequence> all;
  for (const Event& one : slice.events) all.push_back(one.sequence);
  return all;
}

EventLog log_of(Sequence first, Sequence last, std::size_t kept = 100) {
  EventLog log(first - 1, kept);
  for (Sequence sequence = first; sequence <= last; ++sequence) log.append(event(sequence));
  return log;
}

TEST(EventLog, AFollowerGetsWhatComesAfterItAsked) {
  EventLog log = log_of(1, 3);
  Cursor cursor = log.end();
  EXPECT_EQ(sequences(log.read(cursor, {})), (std::vector<Sequence>{}));
  log.append(event(4));
  EXPECT_EQ(sequences(log.read(cursor, {})), (std::vector<Sequence>{4}));
  EXPECT_EQ(sequences(log.read(cursor, {})), (std::vector<Sequence>{}));
}

TEST(EventLog, SinceGivesAllLaterSequences) {
  EventLog log = log_of(5, 9);
  Cursor cursor = std::get<Cursor>(log.since(7));
  EXPECT_EQ(sequences(log.read(cursor, {})), (std::vector<Sequence>{8, 9}));
  cursor = std::get<Cursor>(log.since(4));
  EXPECT_EQ(sequences(log.read(cursor, {})), (std::vector<Sequence>{5, 6, 7, 8, 9}));
  cursor = std::get<Cursor>(log.since(100));
  EXPECT_EQ(sequences(log.read(cursor, {})), (std::vector<Sequence>{}));
}

TEST(EventLog, WhatIsNoLongerWholeIsGone) {
  EXPECT_EQ(log_of(5, 9).since(3), (std::variant<Cursor, Gone>{Gone{5}}));
  EventLog log = log_of(1, 9, 4);  // 6, 7, 8, 9 are left
  EXPECT_EQ(log.since(4), (std::variant<Cursor, Gone>{Gone{6}}));
  EXPECT_TRUE(std::holds_alternative<Cursor>(log.since(5)));
  log.append(event(9, 1));
  log.append(event(9, 2));  // of 7 nothing is left, of 8 all
  EXPECT_EQ(log.since(6), (std::variant<Cursor, Gone>{Gone{8}}));
  log.append(event(9, 3));
  log.append(event(9, 4));  // 9 itself is no longer whole
  EXPECT_EQ(log.since(8), (std::variant<Cursor, Gone>{Gone{10}}));
}

TEST(EventLog, ASlowFollowerIsToldWhatItMissed) {
  EventLog log = log_of(1, 2, 4);
  Cursor cursor = std::get<Cursor>(log.since(0));
  EXPECT_EQ(sequences(log.read(cursor, {})), (std::vector<Sequence>{1, 2}));
  for (Sequence sequence = 3; sequence <= 9; ++sequence) log.append(event(sequence));
  const Slice slice = log.read(cursor, {});
  EXPECT_EQ(slice.lagged, (Lagged{3, 5}));
  EXPECT_EQ(sequences(slice), (std::vector<Sequence>{6, 7, 8, 9}));
  EXPECT_EQ(log.read(cursor, {}).lagged, std::nullopt);
}

TEST(EventLog, AFilterLetsThroughWhatWasAskedFor) {
  const Event ours = event(1);
  EXPECT_TRUE(passes({}, ours));
  EXPECT_TRUE(passes({default_project, {}}, ours));
  EXPECT_FALSE(passes({ProjectNo{7}, {}}, ours));
  EXPECT_TRUE(passes({ProjectNo{7}, {}}, event(1, 0, "ci", shared_project)));
  EXPECT_TRUE(passes({{}, {parse_pattern("lock:**"), parse_pattern("ci:green")}}, ours));
  EXPECT_FALSE(passes({{}, {parse_pattern("lock:**")}}, ours));
  EXPECT_FALSE(passes({ProjectNo{7}, {parse_pattern("ci:green")}}, ours));
}

TEST(EventLog, TheCursorMovesOverWhatTheFilterLeavesOut) {
  EventLog log;
  log.append(event(1, 0, "ci"));
  log.append(event(2, 0, "cd"));
  Cursor cursor;
  const Slice slice = log.read(cursor, {{}, {parse_pattern("ci:**")}});
  EXPECT_EQ(sequences(slice), (std::vector<Sequence>{1}));
  EXPECT_FALSE(slice.more);
  EXPECT_EQ(cursor, log.end());
}

TEST(EventLog, NoMoreIsHandedOutAtATimeThanWasAskedFor) {
  EventLog log = log_of(1, 3);
  Cursor cursor;
  Slice slice = log.read(cursor, {}, 1);
  EXPECT_EQ(sequences(slice), (std::vector<Sequence>{1}));  // it alone is too large, and goes
  EXPECT_TRUE(slice.more);
  slice = log.read(cursor, {}, 1'000'000);
  EXPECT_EQ(sequences(slice), (std::vector<Sequence>{2, 3}));
  EXPECT_FALSE(slice.more);
}

TEST(EventLog, NoMoreThanAThousandAreLookedAtAtATime) {
  EventLog log = log_of(1, 1500, 10'000);
  Cursor cursor;
  EXPECT_TRUE(log.read(cursor, {{}, {parse_pattern("lock:**")}}).more);
  EXPECT_EQ(cursor.position, 1000U);
  EXPECT_FALSE(log.read(cursor, {{}, {parse_pattern("lock:**")}}).more);
  EXPECT_EQ(cursor.position, 1500U);
}

TEST(EventLog, KeepsNoMoreBytesThanItMay) {
  EventLog one;
  EventLog log(0, 1000, 10'000);
  for (Sequence sequence = 1; sequence <= 100; ++sequence) {
    Event large = event(sequence);
    large.body = Custom{EventName{"ci", "", "green"}, {{"log", std::string(999, 'x')}}};
    log.append(large);
  }
  EXPECT_LT(log.size(), 10U);
  EXPECT_GT(log.size(), 7U);
}

}  // namespace
}  // namespace reeve::engine
