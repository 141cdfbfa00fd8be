#include "codec/json.h"

#include "base/reflect.h"
#include "codec/golden_testing.h"
#include "codec/json_text.h"
#include "codec/text_forms.h"
#include "core/input.h"
#include "core/reply.h"
#include "core/turn.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reeve::codec::json_sample {

enum class Mood : std::uint8_t { Calm, VeryAngry };

struct Nothing {
  bool operator==(const Nothing&) const = default;
};

struct Word {
  std::string text = "default";

  bool operator==(const Word&) const = default;
};

struct ThingKind {};
using ThingId = Number<ThingKind>;
constexpr std::string_view prefix_of(ThingId) { return "thing-"; }

struct Kinds {
  std::uint8_t small = 0;
  std::int64_t number = 0;
  Mood mood = Mood::Calm;
  std::string text;
  Bytes data;
  Duration delay{0};
  std::chrono::duration<std::int32_t> offset{0};
  Time time;
  Wall wall;
  ThingId id;
  std::optional<ThingId> maybe;
  std::variant<Nothing, Word, std::string> sum;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::pair<std::uint32_t, bool>> pairs;
  PersistentMap<std::string, Word> map;
  PersistentMap<Mood, std::uint32_t> moods;
  PersistentSet<std::uint32_t> set;
  std::vector<bool> bits;

  bool operator==(const Kinds&) const = default;
};

}  // namespace reeve::codec::json_sample

namespace reeve::codec {
namespace {

using namespace json_sample;
using namespace std::chrono_literals;

std::string json_of(const Kinds& value) { return to_json(reflect::shape<Kinds>, &value); }

Result<Kinds> value_of(std::string_view text) {
  Kinds value;
  if (auto read = from_json(reflect::shape<Kinds>, text, &value); !read) return fail(read.error());
  return value;
}

std::string problem_of(std::string_view text) {
  const Result<Kinds> value = value_of(text);
  return value ? "none" : value.error().message;
}

Kinds some() {
  Kinds kinds;
  kinds.small = 255;
  kinds.number = -9'007'199'254'740'993;
  kinds.mood = Mood::VeryAngry;
  kinds.text = "a\"\\\n\x01\u00e9";
  kinds.data = Bytes("\xff");
  kinds.delay = 1h + 30min;
  kinds.offset = -3600s;
  kinds.time = Time{5s};
  kinds.wall = Wall{1h + 1ms};
  kinds.id = ThingId{7};
  kinds.maybe = ThingId{0};
  kinds.sum = Word{"w"};
  kinds.env = {{"B", "1"}, {"A", "2"}};
  kinds.pairs = {{3, true}};
  kinds.map.set("k", Word{"v"});
  kinds.moods.set(Mood::VeryAngry, 1);
  kinds.set.insert(4);
  kinds.bits = {true, false};
  return kinds;
}

TEST(Json, IsWhatPeopleWouldWrite) {
  EXPECT_EQ(json_of(some()),
            R"({"small":255,"number":-9007199254740993,"mood":"very_angry",)"
            R"("text":"a\"\\\n\u0001é","data":{"base64":"/w=="},"delay":"1h30m","offset":"-1h",)"
            R"("time":5000,"wall":"1970-01-01T01:00:00.001Z","id":"thing-)" +
                encode_id(7) + R"(","maybe":"thing-)" + encode_id(0) +
                R"(","sum":{"word":{"text":"w"}},"env":{"B":"1","A":"2"},"pairs":{"3":true},)"
                R"("map":{"k":{"text":"v"}},"moods":{"very_angry":1},"set":[4],)"
                R"("bits":[true,false]})");
  EXPECT_EQ(value_of(json_of(some())), some());
}

TEST(Json, NothingIsSaidOfWhatIsNotThere) {
  const std::string text = json_of(Kinds{});
  EXPECT_EQ(text.find("maybe"), std::string::npos);
  EXPECT_NE(text.find(R"("id":null)"), std::string::npos) << "zero is the id of nothing";
  EXPECT_NE(text.find(R"("sum":"nothing")"), std::string::npos) << "no fields, no object";
  EXPECT_EQ(value_of(text), Kinds{});
}

TEST(Json, MissingFieldsKeepTheirDefaultsAndUnknownOnesArePassedOver) {
  const Result<Kinds> value =
      value_of(R"( { "new" : [1, {"x": [true, null, 1.5e3, "\ud83d\ude00"]}], "small" : 3 } )");
  ASSERT_TRUE(value) << value.error().message;
  Kinds expected;
  expected.small = 3;
  EXPECT_EQ(*value, expected);
  EXPECT_EQ(std::get<Word>(value_of(R"({"sum":"word"})")->sum).text, "default");
  EXPECT_EQ(std::get<Word>(value_of(R"({"sum":{"word":{}}})")->sum).text, "default");
}

TEST(Json, KeysMayComeInAnyOrderButOnce) {
  const Result<Kinds> value = value_of(R"({"map":{"b":{},"a":{}},"set":[9,2]})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->map.begin()->first, "a");
  EXPECT_EQ(*value->set.begin(), 2u);
  EXPECT_EQ(problem_of(R"({"map":{"b":{},"b":{}}})"), "map.b: a key given twice, at character 22");
  EXPECT_EQ(problem_of(R"({"set":[1,1]})"), "set[1]: a key given twice, at character 12");
  EXPECT_EQ(problem_of(R"({"small":1,"small":1})"), "small: given twice, at character 20");
}

TEST(Json, KeysThatAreNotUtf8MakeAListOfPairs) {
  Kinds kinds;
  kinds.map.set("\xff", Word{"v"});
  kinds.env = {{"\xfe", "x"}};
  EXPECT_NE(json_of(kinds).find(R"("map":[[{"base64":"/w=="},{"text":"v"}]])"), std::string::npos);
  EXPECT_EQ(value_of(json_of(kinds)), kinds);
}

TEST(Json, ErrorsNameThePlaceAndWhatBelongsThere) {
  EXPECT_EQ(problem_of("[]"), "expected an object, found an array, at character 1");
  EXPECT_EQ(problem_of(R"({"small":256})"),
            "small: 256 is not a whole number of unsigned 8 bits, at character 13");
  EXPECT_EQ(problem_of(R"({"small":1.5})"),
            "small: 1.5 is not a whole number of unsigned 8 bits, at character 13");
  EXPECT_EQ(problem_of(R"({"delay":5})"),
            R"(delay: expected a duration such as "1h30m", found a number, at character 10)");
  EXPECT_EQ(problem_of(R"({"delay":"soon"})"),
            R"(delay: "soon" is not a duration such as "1h30m", at character 16)");
  EXPECT_EQ(problem_of(R"({"offset":"1500ms"})"),
            R"(offset: "1500ms" is not a duration such as "1h30m", at character 19)");
  EXPECT_EQ(problem_of(R"({"mood":"sad"})"),
            R"(mood: "sad" is not one of codec::json_sample::Mood, at character 14)");
  EXPECT_EQ(problem_of(R"({"id":"item-000000"})"),
            R"(id: "item-000000" is not an id such as "thing-4f7kq2", at character 20)");
  EXPECT_EQ(problem_of(R"({"sum":{"worb":{}}})"),
            R"(sum: "worb" is none of nothing, word, text, at character 16)");
  EXPECT_EQ(problem_of(R"({"sum":{"word":{"text":1}}})"),
            "sum.word.text: expected a string, found a number, at character 24");
  EXPECT_EQ(problem_of(R"({"pairs":[[1,true],[2]]})"),
            "pairs[1]: expected an array of two, found fewer, at character 23");
  EXPECT_EQ(problem_of(R"({"small":1} x)"),
            "something behind the end of the value, at character 13");
  EXPECT_EQ(problem_of(R"({"wall":"2031-02-29T00:00:00.000Z"})").substr(0, 5), "wall:");
}

TEST(Json, WhatIsNotJsonIsRefused) {
  for (const std::string_view text : {"",
                                      "{",
                                      "{\"small\"}",
                                      "{\"small\":01}",
                                      "{\"small\":1,}",
                                      "{'small':1}",
                                      "{\"text\":\"\n\"}",
                                      "{\"text\":\"\\x\"}",
                                      "{\"text\":\"\\ud800\"}",
                                      "{\"text\":\"\xff\"}",
                                      "{\"text\":\"open",
                                      "{\"x\":tru}",
                                      "{\"x\":+1}",
                                      "{\"data\":{\"base64\":\"/x==\"}}",
                                      "{\"data\":{\"base64\":\"/w=\"}}",
                                      "{\"data\":{}}"}) {
    EXPECT_FALSE(value_of(text)) << text;
  }
}

TEST(Json, NestingHasAnEnd) {
  const std::string deep = R"({"x":)" + std::string(100'000, '[');
  EXPECT_TRUE(problem_of(deep).starts_with("nested too deep")) << problem_of(deep).substr(0, 100);
}

TEST(Json, TimesOutsideOfTheCalendarAreNumbers) {
  Kinds kinds;
  for (const std::int64_t moment : {std::int64_t{253402300799999},
                                    std::int64_t{253402300800000},
                                    std::int64_t{-62167219200000},
                                    std::int64_t{-62167219200001},
                                    std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()}) {
    kinds.wall = Wall(Duration(moment));
    kinds.delay = Duration(moment);
    EXPECT_EQ(value_of(json_of(kinds)), kinds) << moment;
  }
  EXPECT_EQ(format_wall(253402300799999), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_wall(253402300800000), std::nullopt);
}

TEST(Json, Base64IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  for (const std::string_view text : {"", "f", "fo", "foo", "foob"}) {
    EXPECT_EQ(from_base64(to_base64(text)), text);
  }
  EXPECT_EQ(from_base64("Zh=="), std::nullopt) << "bits that stand for nothing";
  EXPECT_EQ(from_base64("Z==="), std::nullopt);
  EXPECT_EQ(from_base64("=Zg="), std::nullopt);
}

// Programs that talk to Reeve rely on these.
TEST(GoldenJson, OfWhatGoesInAndOut) {
  Request request;
  request.session = SessionId{4};
  queue::NewItem item;
  item.data = Bytes("{\"n\":1}");
  item.delay = 90s;
  request.command = queue::Push{{default_project, "jobs"}, {item}};
  const Holder ana{default_project, "ana", SessionId{4}};
  const Wall wall = Wall{} + std::chrono::hours{24 * 365 * 60};
  const Event event{12,
                    1,
                    wall,
                    default_project,
                    queue::WasTaken{{default_project, "jobs"}, ItemId{7}, ana, Token{9}, 2}};
  Shell shell;
  shell.text = "make";
  shell.variables = {{"branch", "main"}};
  shell.pipeline = PipelineId{9};
  const std::string all = to_json<Input>(request) + "\n" + to_json<Input>(Tick{}) + "\n" +
                          to_json<Reply>(Ok{}) + "\n" +
                          to_json<Reply>(Refused{Why::NotFound, "jobs"}) + "\n" +
                          to_json<Reply>(queue::Counted{3}) + "\n" + to_json(event) + "\n" +
                          to_json(Start{EffectId{12, 0}, Outgoing{shell, ToNobody{}}}) + "\n";
  testing::expect_golden("codec/values.json", all);
}

}  // namespace
}  // namespace reeve::codec
