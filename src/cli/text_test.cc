#include "cli/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

TEST(Text, AWideCharacterTakesTwoCellsAndAMarkNone) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("é"), 1U);
  EXPECT_EQ(display_width("日本"), 4U);
  EXPECT_EQ(display_width("✅✓⌚⭐"), 7U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);
}

TEST(Text, RowsAreCountedAsATerminalBreaksLines) {
  EXPECT_EQ(rows_on_screen("", 4), 1U);
  EXPECT_EQ(rows_on_screen("abcd", 4), 1U);
  EXPECT_EQ(rows_on_screen("abcde", 4), 2U);
  EXPECT_EQ(rows_on_screen("abcd\n\nabcdefghi", 4), 5U);
  EXPECT_EQ(rows_on_screen("日本", 4), 1U);
  EXPECT_EQ(rows_on_screen("日本日", 5), 2U);
  EXPECT_EQ(rows_on_screen("日本日本", 5), 2U);
  EXPECT_EQ(rows_on_screen("a日本日本", 4), 3U);
}

TEST(Text, WhatCouldDriveATerminalIsShownAndNotSent) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("two\nlines\there"), "two lines here");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("a\xff"), "a?");
  EXPECT_EQ(printable("é日"), "é日");
  EXPECT_EQ(printable("a\u202eb\u200b"), "a\\u{202e}b\\u{200b}");
}

TEST(Text, WhatDoesNotFitEndsInDots) {
  EXPECT_EQ(fitted("abcdef", 6), "abcdef");
  EXPECT_EQ(fitted("abcdef", 4), "abc…");
  EXPECT_EQ(fitted("日本語", 4), "日…");
  EXPECT_EQ(fitted("abc", 0), "");
}

TEST(Text, LinesBreakBetweenWordsAndNeverWithinACommand) {
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("input  one two three four", 8, 7, 7),
            "input  one two\n       three\n       four");
  EXPECT_EQ(wrapped("it waits; try `reeve why deploy`, or wait", 24, 2),
            "it waits; try\n  `reeve why deploy`, or\n  wait");
  EXPECT_EQ(wrapped("say `reeve decision resolve ask-4f7kq2` now", 12, 0),
            "say\n`reeve decision resolve ask-4f7kq2`\nnow");
  // Backquotes of others mean nothing.
  EXPECT_EQ(wrapped("near `a b c d` end", 8, 0), "near `a\nb c d`\nend");
  EXPECT_EQ(wrapped("see `reeve why", 8, 0), "see\n`reeve\nwhy");
}

TEST(Text, WhatIsLongIsToldInBriefWithTheCommandAtItsEnd) {
  const std::string many(100, 'x');
  EXPECT_EQ(in_brief("short; try `reeve why it`", 30), "short; try `reeve why it`");
  EXPECT_EQ(in_brief(fmt::format("it said {}; `reeve why it`", many), 40),
            "it said xxxxxxxxxxxxxxx…; `reeve why it`");
  EXPECT_EQ(in_brief(fmt::format("{} (answer: `reeve a`, or b, or c)", many), 40),
            "xxxxxxxxxxxxxxxxxxx… (answer: `reeve a`…");
  EXPECT_EQ(in_brief(many, 9), "xxxxxxxx…");
  // A command that has no room is not cut: there is none.
  EXPECT_EQ(in_brief(fmt::format("`reeve why {}`", many), 12), "`reeve why …");
  EXPECT_EQ(in_brief("a xxxxxxxxxxxx `reeve why something` b", 80, 5),
            "a xxxx… `reeve why something` b");
}

TEST(Text, MomentsAreReadAndWrittenTheSame) {
  EXPECT_EQ(parse_moment("1970-01-01T00:00:01.250Z"), 1250);
  EXPECT_EQ(parse_moment("2024-02-29T12:00:00Z"), 1709208000000);
  EXPECT_EQ(format_moment(1709208000001), "2024-02-29T12:00:00.001Z");
  EXPECT_EQ(parse_moment("2024-02-30T12:00:00Z"), std::nullopt);
  EXPECT_EQ(parse_moment("2024-02-28"), std::nullopt);
  EXPECT_EQ(parse_moment("2024-02-28T12:00:00+01:00"), std::nullopt);
}

TEST(Text, DistancesAreToldInTwoUnitsAtMost) {
  EXPECT_EQ(relative(0, 500), "now");
  EXPECT_EQ(relative(0, 3'000), "3s ago");
  EXPECT_EQ(relative(65'000, 0), "in 1m5s");
  EXPECT_EQ(relative(59'990, 0), "in 1m");
  EXPECT_EQ(relative(0, 59'990), "59s ago");
  EXPECT_EQ(relative(0, 7'200'000), "2h ago");
  EXPECT_EQ(relative(0, 90'061'000), "1d1h ago");
}

TEST(Text, LinesAreWithoutTheirEnds) {
  EXPECT_EQ(split_lines(""), std::vector<std::string_view>{});
  EXPECT_EQ(split_lines("a\n\nb"), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_lines("a\nb\n"), (std::vector<std::string_view>{"a", "b"}));
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
  EXPECT_EQ(counted(1, "item"), "1 item");
  EXPECT_EQ(counted(2000, "item"), "2,000 items");
  EXPECT_EQ(byte_size(512), "512 B");
  EXPECT_EQ(byte_size(1536), "1.5 KiB");
}

}  // namespace
}  // namespace reeve::cli
