#include "cli/json.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

TEST(CliJson, WhatIsReadIsWrittenInTheSameOrder) {
  const std::string text =
      R"({"b":1,"a":[true,null,"x\n"],"c":{},"d":18446744073709551615,"e":1.50})";
  const auto json = parse_json(text);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->write(), text);
  EXPECT_EQ((*json)["d"].natural(), 18446744073709551615U);
}

TEST(CliJson, WhatIsMissingIsNothing) {
  const auto json = parse_json(R"({"a":"x"})");
  ASSERT_TRUE(json);
  EXPECT_TRUE((*json)["b"].is_null());
  EXPECT_TRUE((*json)["b"]["c"].is_null());
  EXPECT_EQ((*json)["a"].number(), 0);
  EXPECT_TRUE((*json)["a"].items().empty());
}

TEST(CliJson, WhatIsNotJsonIsRefused) {
  for (const std::string_view text : {"", "{", "[1,]", "{\"a\"}", "nul", "1 2", "\"\xff\"", "01"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
}

TEST(CliJson, AnAnswerIsReadDeeperThanWhatMayBeWrittenIntoIt) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(json_depth - 1)));
  EXPECT_FALSE(parse_json(nested(json_depth + 1)));
  EXPECT_TRUE(parse_json(nested(json_depth + 8), answer_depth));
  EXPECT_FALSE(parse_json(nested(answer_depth + 1), answer_depth));
}

TEST(CliJson, AMemberIsReplacedWhereItStands) {
  Json json = json_of({{"a", 1}, {"gone", Json()}, {"b", "x"}});
  json.set("a", 2);
  EXPECT_EQ(json.write(), R"({"a":2,"b":"x"})");
}

TEST(CliJson, ATextThatIsNotUtf8IsStillWrittenAsJson) {
  EXPECT_EQ(Json(std::string("a\xff"
                             "b"))
                .write(),
            "\"a\xef\xbf\xbd"
            "b\"");
}

}  // namespace
}  // namespace reeve::cli
