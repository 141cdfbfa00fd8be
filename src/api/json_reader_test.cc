#include "api/json_reader.h"

#include "codec/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace reeve::api {
namespace {

bool is_json(const std::string& text) {
  JsonReader reader(text);
  Raw raw;
  return reader.value(raw) && reader.is_at_end();
}

TEST(JsonReader, TakesWhatIsJson) {
  for (const char* text : {"0",
                           "-0",
                           "12.5e+3",
                           "true",
                           "false",
                           "null",
                           "\"\"",
                           "\"a\\u00e9\\n\"",
                           "{}",
                           "[]",
                           " { \"a\" : [ 1 , { } , [ ] ] } ",
                           "[[[]],{\"b\":{\"c\":[]}}]",
                           "\"a long text with more than eight letters in it\""}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
}

TEST(JsonReader, RefusesWhatIsNot) {
  for (const char* text : {"",
                           " ",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "-",
                           "tru",
                           "nul",
                           "\"",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"a\tb\"",
                           "{",
                           "}",
                           "[",
                           "]",
                           "{a:1}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\":1 \"b\":2}",
                           "[}",
                           "{]",
                           "{\"a\":1]",
                           "[1}",
                           "1 2",
                           "\"a long text without \x01 end\""}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonReader, GoesAsDeepAsTheLimitAndNoDeeper) {
  const std::string deep(limits::json_depth, '[');
  const std::string ends(limits::json_depth, ']');
  EXPECT_TRUE(is_json(deep + ends));
  EXPECT_FALSE(is_json("[" + deep + ends + "]"));
  EXPECT_FALSE(is_json(std::string(10'000, '[')));
}

TEST(JsonReader, GivesAValueAsItStands) {
  JsonReader reader(R"( {"a" : [1, "x"] , "b":"y\u0021"} )");
  ASSERT_TRUE(reader.enter('{'));
  Raw name;
  Raw value;
  std::string scratch;
  ASSERT_TRUE(reader.next('}') && reader.name(name) && reader.value(value));
  EXPECT_EQ(text_of(name, scratch), "a");
  EXPECT_EQ(value.text, R"([1, "x"])");
  ASSERT_TRUE(reader.next('}') && reader.name(name) && reader.value(value));
  EXPECT_EQ(text_of(value, scratch), "y!");
  EXPECT_FALSE(reader.next('}'));
  EXPECT_EQ(reader.problem(), nullptr);
}

TEST(JsonReader, AWholeNumberIsOneThatFits) {
  EXPECT_EQ(integer_of({JsonKind::Number, "-9223372036854775808"}), INT64_MIN);
  EXPECT_EQ(integer_of({JsonKind::Number, "9223372036854775808"}), std::nullopt);
  EXPECT_EQ(integer_of({JsonKind::Number, "1.0"}), std::nullopt);
  EXPECT_EQ(integer_of({JsonKind::String, "\"1\""}), std::nullopt);
}

// The reader of codec is another program for the same language.
RC_GTEST_PROP(JsonReaderProperty, AgreesWithTheOtherReader, ()) {
  static const std::string letters = "{}[]:,\"\\u0aetrfnl1-.+ eE\n\t";
  const auto indexes = *rc::gen::container<std::vector<std::size_t>>(
      rc::gen::inRange<std::size_t>(0, letters.size()));
  std::string text;
  for (const std::size_t index : indexes) text += letters[index];
  codec::JsonCursor cursor(text);
  const bool theirs = cursor.skip_value(limits::json_depth) && cursor.is_at_end();
  RC_ASSERT(is_json(text) == theirs);
}

}  // namespace
}  // namespace reeve::api
