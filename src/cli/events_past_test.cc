#include "cli/events_past.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

constexpr const char* noun = "substr(kind, 1, instr(kind || ':', ':') - 1)";
constexpr const char* verb = "substr(kind, instr(kind || ':', ':') + 1)";

std::string sql(const std::string& pattern) { return sql_of_pattern(pattern, 2).first; }
std::vector<SqlValue> values(const std::string& pattern) {
  return sql_of_pattern(pattern, 2).second;
}

TEST(EventsPast, APatternIsAConditionOnTheParts) {
  EXPECT_EQ(sql("lock:acquired"), fmt::format("true AND {} = ?2 AND {} = ?3", noun, verb));
  EXPECT_EQ(values("lock:acquired"),
            (std::vector<SqlValue>{std::string("lock"), std::string("acquired")}));
  EXPECT_EQ(sql("queue:mail:*"), fmt::format("true AND {} = ?2 AND subject = ?3", noun));
  EXPECT_EQ(sql("*:mail:push"), fmt::format("true AND subject = ?2 AND {} = ?3", verb));
}

TEST(EventsPast, TwoStarsLeaveTheRestOpen) {
  EXPECT_EQ(sql("**"), "true");
  EXPECT_EQ(sql("lock:**"), fmt::format("true AND {} = ?2", noun));
  EXPECT_EQ(sql("lock:main:**"), fmt::format("true AND {} = ?2 AND subject = ?3", noun));
}

TEST(EventsPast, ANounAloneIsAnEventWithoutAVerb) {
  EXPECT_EQ(sql("escalate"), fmt::format("true AND {} = ?2 AND instr(kind, ':') = 0", noun));
}

TEST(EventsPast, ADetailInBracketsIsAsked) {
  EXPECT_EQ(
      values("pipeline:phase(merge)"),
      (std::vector<SqlValue>{std::string("pipeline"), std::string("phase"), std::string("merge")}));
}

}  // namespace
}  // namespace reeve::cli
