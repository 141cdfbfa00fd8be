#include "cli/output.h"

#include "cli/exit_code.h"

#include <gtest/gtest.h>

#include <string>

namespace reeve::cli {
namespace {

using enum Table::Align;

Output plain() {
  Output output;
  output.look.color = When::Never;
  return output;
}

Table table() {
  Table table({{"NAME", Left, true}, {"N", Right}, {"NOTE", Left, true}});
  table.add({"main", "7", "a long note that goes on and on"});
  table.add({"日本", "1234", ""});
  return table;
}

TEST(Table, ColumnsAreAsWideAsTheirWidestCellWhenPiped) {
  EXPECT_EQ(table().write(0, plain()),
            "NAME     N  NOTE\n"
            "main     7  a long note that goes on and on\n"
            "日本  1234\n");
}

TEST(Table, OnATerminalTheWidestGivesWay) {
  EXPECT_EQ(table().write(24, plain()),
            "NAME     N  NOTE\n"
            "main     7  a long note…\n"
            "日本  1234\n");
}

TEST(Table, OnAVerySmallScreenAColumnIsAsNarrowAsItsHeading) {
  EXPECT_NE(table().write(20, plain()).find("a long …\n"), std::string::npos);
  const std::string narrow = table().write(5, plain());
  EXPECT_NE(narrow.find("a l…\n"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("1234"), std::string::npos);
}

TEST(Table, StylesTakeNoRoom) {
  Output output;
  output.look.color = When::Always;
  Table colored({{"A"}, {"B"}});
  colored.add({{"x", Style::Good}, "y"});
  EXPECT_EQ(colored.write(0, output), "\x1b[2mA\x1b[0m  \x1b[2mB\x1b[0m\n\x1b[32mx\x1b[0m  y\n");
}

TEST(Output, AMomentIsToldAsWanted) {
  Output output = plain();
  EXPECT_EQ(output.moment(Json()), "-");
  EXPECT_EQ(output.moment(Json("soon")), "soon");
  output.look.iso = true;
  EXPECT_EQ(output.moment(Json("2026-01-01T00:00:00.000Z")), "2026-01-01T00:00:00.000Z");
}

TEST(ExitCodes, EveryErrorHasTheCodeThatScriptsRelyOn) {
  for (const std::string_view code : {"LOCKED",
                                      "FULL",
                                      "WOULD_DEADLOCK",
                                      "LOST",
                                      "SUPERSEDED",
                                      "STALE_CLAIM",
                                      "TASK_LOCKED",
                                      "SECTION_LOCKED",
                                      "TIMED_OUT"}) {
    EXPECT_EQ(exit_of(code), Exit::NotObtained) << code;
  }
  for (const std::string_view code : {"NOT_OWNER", "NOT_HOLDER", "NOT_ALLOWED"}) {
    EXPECT_EQ(exit_of(code), Exit::NotAllowed) << code;
  }
  for (const std::string_view code :
       {"USAGE", "BAD_NAME", "BAD_VALUE", "OVER_LIMIT", "KEY_REUSED"}) {
    EXPECT_EQ(exit_of(code), Exit::Usage) << code;
  }
  EXPECT_EQ(exit_of("NOT_FOUND"), Exit::NotFound);
  EXPECT_EQ(exit_of("CANCELLED"), Exit::Cancelled);
  EXPECT_EQ(exit_of("DISK_FULL"), Exit::Failed);
  EXPECT_EQ(exit_of("UNAVAILABLE"), Exit::Unavailable);
  EXPECT_EQ(exit_of("of a newer daemon"), Exit::Failed);
}

}  // namespace
}  // namespace reeve::cli
