#include "core/json_object.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::json {
namespace {

using Members = std::vector<Member>;

TEST(JsonObject, MembersAreReadInTheirOrder) {
  EXPECT_EQ(
      read_object(R"( { "b" : "x" , "a" : 7 , "c":null,"d":true } )"),
      (Members{{"b", "x", true}, {"a", "7", false}, {"c", "null", false}, {"d", "true", false}}));
  EXPECT_EQ(read_object("{}"), Members{});
}

TEST(JsonObject, NestedValuesAreTakenAsTheyStand) {
  EXPECT_EQ(read_object(R"({"a":{"x":[1, "}"]},"b":["\"]", {}]})"),
            (Members{{"a", R"({"x":[1, "}"]})", false}, {"b", R"(["\"]", {}])", false}}));
}

TEST(JsonObject, StringsSayWhatTheyMean) {
  EXPECT_EQ(read_string(R"("a\"\\\/\b\f\n\r\té")"), "a\"\\/\b\f\n\r\t\u00e9");
  EXPECT_EQ(read_string(R"("\u20ac \ud83d\ude00 \u0041")"), "\u20ac \U0001f600 A");
  EXPECT_EQ(read_string(R"( "x" )"), "x");
  EXPECT_EQ(read_object(R"({"\u0061":"\n"})"), (Members{{"a", "\n", true}}));
}

TEST(JsonObject, WhatIsNotOfTheShapeIsNone) {
  for (const char* text : {"",
                           " ",
                           "7",
                           "[]",
                           "\"x\"",
                           "{",
                           "}",
                           "{]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\":1}x",
                           "{\"a\":1 2}",
                           "{\"a\":[}",
                           "{\"a\":[}]}",
                           "{\"a\":\"}",
                           "{\"a\":{\"}",
                           "{\"a\":[1,2}",
                           "{\"\\x\":1}",
                           "{,}"}) {
    EXPECT_EQ(read_object(text), std::nullopt) << text;
  }
  for (const char* text : {"",
                           "x",
                           "\"",
                           "\"a",
                           "\"a\"b",
                           "\"\\",
                           "\"\\u12\"",
                           "\"\\u123g\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\n\""}) {
    EXPECT_EQ(read_string(text), std::nullopt) << text;
  }
}

TEST(JsonObject, ElementsOfAnArrayAreTakenAsTheyStand) {
  using Elements = std::vector<std::string>;
  EXPECT_EQ(read_array(R"( [ 1 , "a, ]" ,{"b": [2, "]"]},[ ],null] )"),
            (Elements{"1", R"("a, ]")", R"({"b": [2, "]"]})", "[ ]", "null"}));
  EXPECT_EQ(read_array("[]"), Elements{});
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(read_array("[" + deep + "]"), Elements{deep}) << "depth costs nothing";
  for (const char* text : {"",
                           "7",
                           "{}",
                           "[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1]]",
                           "[1]x",
                           "[\"a]",
                           "[\"\\x\"]",
                           "[{]}]",
                           "[1}"}) {
    EXPECT_EQ(read_array(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(JsonObject, AnyTextIsAnswered, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('{', '}', '[', ']', '"', ':', ',', '\\', 'u', 'd', '8', '0', ' ', 'n'));
  (void)read_object(text);
  (void)read_string(text);
  (void)read_array(text);
}

// Whatever a string says, it is read back from its simplest spelling.
RC_GTEST_PROP(JsonObject, AStringIsReadBack, (const std::string& said)) {
  std::string spelled = "\"";
  for (const char letter : said) {
    if (static_cast<unsigned char>(letter) < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      spelled += "\\u00";
      spelled += kDigits[static_cast<unsigned char>(letter) >> 4];
      spelled += kDigits[static_cast<unsigned char>(letter) & 15];
    } else {
      if (letter == '"' || letter == '\\') spelled += '\\';
      spelled += letter;
    }
  }
  spelled += '"';
  RC_ASSERT(read_string(spelled) == said);
  const auto members = read_object("{" + spelled + ":" + spelled + "}");
  RC_ASSERT(members == (Members{{said, said, true}}));
}

}  // namespace
}  // namespace reeve::json
