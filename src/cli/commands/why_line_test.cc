#include "cli/commands/why_line.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

// A run that is the last of so many.
Json last_of(int count, const std::string& label = "") {
  Json line = Json::array();
  for (int place = 1; place <= count; ++place) {
    Json one = json_of({{"holder", "h"}, {"place", place}, {"since", "once"}});
    if (!label.empty()) one.set("label", label);
    line.push(std::move(one));
  }
  return json_of({{"line", line}, {"waiting", count}, {"line_of", "main"}, {"place", count}});
}

std::string told(const Json& why, std::size_t room) {
  std::string text;
  for (const Words& words : line_in_words(Output(), why, room)) text += words.text + "\n";
  return text;
}

TEST(WhyLine, IsToldByItsFirstTheAskerAndTheNumberAndWithLessRoomByLess) {
  const std::string whole =
      "in line for main, at place 9 of 9\n    1. h  since once\n    2. h  since once\n"
      "    3. h  since once\n    …\n    9. h  since once\n";
  EXPECT_EQ(told(last_of(9), any_rows), whole);
  EXPECT_EQ(told(last_of(9), 6), whole);
  EXPECT_EQ(told(last_of(9), 5),
            "in line for main, at place 9 of 9\n    1. h  since once\n    2. h  since once\n"
            "    …\n    9. h  since once\n");
  EXPECT_EQ(told(last_of(9), 3), "in line for main, at place 9 of 9\n");
  EXPECT_EQ(told(last_of(2), 3),
            "in line for main, at place 2\n    1. h  since once\n    2. h  since once\n");
  EXPECT_EQ(told(last_of(2), 2), "in line for main, at place 2 of 2\n");
  EXPECT_EQ(told(last_of(0), 2), "");
}

TEST(WhyLine, HasItsRoomWhateverTheNamesAre) {
  for (const char* const letter : {"x", "日", "x ", "x日 "}) {
    std::string label;
    for (int i = 0; i < 150; ++i) label += letter;
    for (const int count : {1, 3, 6, 7, 50}) {
      Json why = last_of(count, label);
      why.set("line_of", label);
      for (std::size_t room = 1; room < 12; ++room) {
        EXPECT_LE(rows_of(line_in_words(Output(), why, room)), room) << count << label;
        EXPECT_NE(told(why, room).find("at place " + std::to_string(count)), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace reeve::cli
