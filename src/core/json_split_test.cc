#include "core/json_split.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve {
namespace {

using Values = std::vector<std::string>;
using Fields = std::vector<std::pair<std::string, std::string>>;

TEST(JsonSplit, AnArrayBecomesItsElements) {
  EXPECT_EQ(split_array(R"([1, "a b", true, null, -2.5e3])"),
            (Values{"1", "a b", "true", "null", "-2.5e3"}));
  EXPECT_EQ(split_array(" [ ] "), Values{});
  EXPECT_EQ(split_array(R"([{"a": [1, "]"]}, [2, [3]]])"),
            (Values{R"({"a": [1, "]"]})", "[2, [3]]"}));
}

TEST(JsonSplit, AnObjectBecomesItsFields) {
  EXPECT_EQ(split_object(R"({"id": 7, "title": "x", "more": {"y": "}"}})"),
            (Fields{{"id", "7"}, {"title", "x"}, {"more", R"({"y": "}"})"}}));
  EXPECT_EQ(split_object("{}"), Fields{});
}

TEST(JsonSplit, AStringBecomesWhatItSays) {
  EXPECT_EQ(split_array(R"(["\"\\\/\b\f\n\r\t"])"), (Values{"\"\\/\b\f\n\r\t"}));
  EXPECT_EQ(split_array(R"(["\u0041\u00e9\u20ac\ud83d\ude00"])"), (Values{"Aé€😀"}));
}

TEST(JsonSplit, WhatIsNotThatIsNothing) {
  for (const char* text : {"",
                           " ",
                           "1",
                           "\"a\"",
                           "{}",
                           "[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1]]",
                           "[1] x",
                           "[\"a]",
                           "[\"\\x\"]",
                           "[\"\\u12\"]",
                           "[\"\\ud800\"]",
                           "[\"\\udc00\"]",
                           "[\"\\ud800\\u0041\"]",
                           "[\"a\nb\"]",
                           "[yes]",
                           "[1}",
                           "[{]}]",
                           "[a[1]]",
                           "[\"a\"\"b\"]",
                           "[-]",
                           "[.]"}) {
    EXPECT_EQ(split_array(text), std::nullopt) << text;
  }
  for (const char* text :
       {"", "[]", "{", "{1: 2}", "{\"a\"}", "{\"a\":}", "{\"a\": 1,}", "{\"a\" 1}"}) {
    EXPECT_EQ(split_object(text), std::nullopt) << text;
  }
}

TEST(JsonSplit, DepthCostsNothing) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(split_array("[" + deep + "]"), (Values{deep}));
}

RC_GTEST_PROP(JsonSplit, AnyTextIsAnswered, (const std::string& text)) {
  (void)split_array(text);
  (void)split_array("[" + text + "]");
  (void)split_object("{" + text + "}");
}

}  // namespace
}  // namespace reeve
