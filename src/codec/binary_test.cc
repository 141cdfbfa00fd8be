#include "codec/binary.h"

#include "base/reflect.h"
#include "base/value_bytes.h"
#include "codec/golden_testing.h"
#include "core/apply.h"
#include "core/input.h"
#include "core/reply.h"
#include "core/state.h"
#include "core/turn.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reeve::codec::sample {

struct Small {
  std::uint32_t number = 0;
  std::string text = "default";

  bool operator==(const Small&) const = default;
};

// What Small may be like in a later version.
struct Larger {
  std::uint32_t number = 0;
  std::string text;
  std::vector<Small> more;
  std::optional<std::int64_t> last;

  bool operator==(const Larger&) const = default;
};

struct HasSmall {
  std::vector<Small> list;
  std::int32_t behind = 0;

  bool operator==(const HasSmall&) const = default;
};

struct HasLarger {
  std::vector<Larger> list;
  std::int32_t behind = 0;

  bool operator==(const HasLarger&) const = default;
};

enum class Mood : std::uint8_t { Calm, Angry };

struct Kinds {
  bool flag = false;
  std::uint8_t small = 0;
  std::int16_t number = 0;
  Mood mood = Mood::Calm;
  std::variant<Small, std::string> sum;
  PersistentMap<std::uint32_t, std::string> map;
  PersistentSet<std::string> set;
  std::vector<bool> bits;
  Bytes data;

  bool operator==(const Kinds&) const = default;
};

struct Deep {
  Boxed<Deep> below;

  bool operator==(const Deep&) const = default;
};

}  // namespace reeve::codec::sample

namespace reeve::codec {
namespace {

using namespace sample;

template <class T>
std::string bytes_of(const T& value) {
  return to_bytes(reflect::shape<T>, &value);
}

template <class T>
Result<T> value_of(std::string_view bytes) {
  T value;
  if (auto read = from_bytes(reflect::shape<T>, bytes, &value); !read) return fail(read.error());
  return value;
}

template <class T>
std::string problem_of(std::string_view bytes) {
  const Result<T> value = value_of<T>(bytes);
  return value ? "none" : value.error().message;
}

std::string_view literal(const char* text, std::size_t size) { return {text, size}; }

TEST(Binary, EveryKindIsWrittenAsTheFormatSays) {
  Kinds kinds;
  kinds.flag = true;
  kinds.small = 200;
  kinds.number = -2;
  kinds.mood = Mood::Angry;
  kinds.sum = Small{300, "ab"};
  kinds.map.set(1, "x");
  kinds.map.set(128, "");
  kinds.set.insert("k");
  kinds.bits = {true, false};
  kinds.data = Bytes(std::string_view("\0\xff", 2));

  EXPECT_EQ(testing::to_hex(bytes_of(kinds)),
            "01"      // the format
            "1c"      // bytes that follow
            "01"      // flag
            "c801"    // small
            "03"      // number
            "01"      // mood
            "00"      // sum: the first alternative
            "05"      // of five bytes
            "ac02"    // 300
            "026162"  // ab
            "02"      // map: two entries
            "010178"
            "800100"
            "01016b"  // set: one
            "020100"  // bits: two
            "0200ff"  // data
            "\n");
}

TEST(Binary, WhatALaterVersionAppendedIsSkipped) {
  const HasLarger later{{{1, "a", {{2, "b"}}, 7}, {3, "c", {}, {}}}, -9};
  const Result<HasSmall> earlier = value_of<HasSmall>(bytes_of(later));
  ASSERT_TRUE(earlier);
  EXPECT_EQ(*earlier, (HasSmall{{{1, "a"}, {3, "c"}}, -9}));
}

TEST(Binary, WhatAnEarlierVersionDidNotHaveKeepsItsDefault) {
  const HasSmall earlier{{{1, "a"}, {3, "c"}}, -9};
  const Result<HasLarger> later = value_of<HasLarger>(bytes_of(earlier));
  ASSERT_TRUE(later);
  EXPECT_EQ(*later, (HasLarger{{{1, "a", {}, {}}, {3, "c", {}, {}}}, -9}));

  EXPECT_EQ(value_of<Small>(literal("\1\1\5", 3)), (Small{5, "default"}));
  EXPECT_EQ(value_of<Small>(literal("\1\0", 2)), (Small{}));
}

TEST(Binary, WhatIsUnknownIsAnErrorThatNamesIt) {
  EXPECT_EQ(problem_of<Kinds>(literal("\1\4\1\1\1\2", 6)),
            "mood: unknown value 2 of codec::sample::Mood, at byte 6");
  EXPECT_EQ(problem_of<Kinds>(literal("\1\5\1\1\1\1\7", 7)),
            "sum: unknown alternative 7 of (Small, text), at byte 7");
  EXPECT_EQ(problem_of<HasSmall>(literal("\1\4\2\0\1\xff", 6)),
            "list[1].number: the bytes end too early, at byte 6");
  EXPECT_EQ(problem_of<Small>(literal("\2\0", 2)),
            "values in format 2; this program reads format 1");
}

TEST(Binary, WhatCannotBeIsAnError) {
  EXPECT_EQ(problem_of<Small>(""), "the bytes end too early, at byte 0");
  EXPECT_EQ(problem_of<Small>(literal("\1\0\0", 3)), "bytes behind the end of the value");
  EXPECT_EQ(problem_of<Small>(literal("\1\2\x80\0", 4)),
            "number: a number that is not written as it must be, at byte 4");
  EXPECT_EQ(problem_of<Small>(literal("\1\6\xff\xff\xff\xff\x1f\0", 8)),
            "number: 8589934591 does not fit 32 bits, at byte 7");
  EXPECT_EQ(problem_of<Small>(literal("\1\3\1\7x", 5)),
            "text: 7 bytes are told of, 1 left, at byte 4");
  EXPECT_EQ(problem_of<Small>(literal("\1\7\1\0", 4)), "7 bytes are told of, 2 left, at byte 2");
  EXPECT_EQ(problem_of<Kinds>(literal("\1\1\2", 3)), "flag: neither 0 nor 1, at byte 2");
}

TEST(Binary, ACountIsBelievedOnlyAsFarAsThereAreBytes) {
  EXPECT_EQ(problem_of<HasSmall>(literal("\1\6\xff\xff\xff\xff\xf\0", 8)),
            "list: 4294967295 things are told of, 1 bytes left, at byte 7");
  EXPECT_EQ(problem_of<Kinds>(literal("\1\xe\0\0\0\0\1\0\xff\xff\xff\xff\xf\0\0\0", 16)),
            "map: 4294967295 entries are told of, 3 bytes left, at byte 13");
}

TEST(Binary, KeysComeInAscendingOrder) {
  EXPECT_EQ(problem_of<Kinds>(literal("\1\xb\0\0\0\0\1\0\2\2\0\2\0", 13)),
            "map[1]: a key that is not above the one before, at byte 13");
}

TEST(Binary, NestingHasAnEnd) {
  Deep deep;
  for (int i = 0; i < 40; ++i) {
    Deep outer;
    outer.below = Boxed(deep);
    deep = outer;
  }
  EXPECT_EQ(value_of<Deep>(bytes_of(deep)), deep);
  for (int i = 0; i < 40; ++i) {
    Deep outer;
    outer.below = Boxed(deep);
    deep = outer;
  }
  EXPECT_NE(problem_of<Deep>(bytes_of(deep)).find("nested too deep"), std::string::npos);
}

TEST(Binary, ANumberThatGrowsMovesWhatStandsBehindIt) {
  ByteBuffer buffer;
  for (const std::size_t size : {0u, 1u, 127u, 128u, 1010u, 1020u, 16383u, 16384u, 70000u}) {
    buffer.clear();
    buffer.raw("before");
    const std::size_t from = buffer.size();
    buffer.raw(std::string(size, 'x'));
    buffer.put_size_before(from);
    ByteBuffer expected;
    expected.raw("before");
    expected.text(std::string(size, 'x'));
    EXPECT_EQ(buffer.view(), expected.view());
  }
}

// ── Bytes that were written once and must be read for ever ──

template <class T>
void expect_same_for_ever(const std::string& name, const T& value) {
  testing::expect_golden("codec/" + name + ".hex", testing::to_hex(to_bytes(value)));
  const Result<T> read =
      from_bytes<T>(testing::from_hex(testing::read_golden("codec/" + name + ".hex")));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, value);
}

const Time now = Time{} + std::chrono::hours{5};
const Wall wall = Wall{} + std::chrono::hours{24 * 365 * 60};
const Holder ana{default_project, "ana", SessionId{4}};

queue::NewItem item(std::string_view data) {
  queue::NewItem item;
  item.data = Bytes(data);
  item.priority = -3;
  item.delay = Duration{1500};
  item.dedupe_key = std::string(data);
  return item;
}

Input some_push() {
  Request request;
  request.session = SessionId{4};
  request.key = "retry-1";
  request.command = queue::Push{{default_project, "jobs"}, {item("{\"n\":1}"), item("")}};
  return request;
}

TEST(GoldenBytes, OfInputs) {
  expect_same_for_ever<Input>("input_push", some_push());
  expect_same_for_ever<Input>("input_tick", Tick{});
  expect_same_for_ever<Input>("input_clock_stepped", ClockStepped{Duration{-250}});
  Outcome outcome;
  outcome.exit_code = -1;
  outcome.output = "no\n";
  outcome.values = {{"path", "/tmp/x"}};
  expect_same_for_ever<Input>("input_effect_ended", EffectEnded{EffectId{300, 2}, outcome});
}

// Also in docs/value_format.md.
TEST(GoldenBytes, OfTheExampleInTheDocument) {
  queue::NewItem item;
  item.data = Bytes("{\"n\":1}");
  item.priority = -3;
  item.delay = Duration{1500};
  Request request;
  request.session = SessionId{4};
  request.command = queue::Push{{default_project, "jobs"}, {item}};
  EXPECT_EQ(testing::to_hex(to_bytes<Input>(request)),
            "01"
            "00"
            "1d"
            "01040100"
            "0201"
            "16"
            "01046a6f6273"
            "01"
            "0e"
            "077b226e223a317d"
            "01"
            "05"
            "b8"
            "17"
            "0000"
            "\n");
}

TEST(GoldenBytes, OfReplies) {
  expect_same_for_ever<Reply>("reply_ok", Ok{});
  expect_same_for_ever<Reply>("reply_refused", Refused{Why::OverLimit, "items"});
  expect_same_for_ever<Reply>("reply_pushed",
                              queue::Pushed{{ItemId{7}, ItemId{300}}, {false, true}});
}

TEST(GoldenBytes, OfEvents) {
  expect_same_for_ever<Event>(
      "event_taken",
      Event{12,
            1,
            wall,
            default_project,
            queue::WasTaken{{default_project, "jobs"}, ItemId{7}, ana, Token{9}, 2}});
}

// What came of a few inputs: not what they do is at stake here, but how it is written.
TEST(GoldenBytes, OfAState) {
  const std::string before = testing::read_golden("codec/state.hex");
  State state = initial_state(now);
  const auto step = [&](Command command) {
    Request request;
    request.session = SessionId{4};
    request.command = std::move(command);
    state = apply(std::move(state), request, Stamp{now, wall}).state;
  };
  step(queue::Create{{default_project, "jobs"}, {}});
  step(queue::Push{{default_project, "jobs"}, {item("one"), item("two")}});
  step(queue::Take{{{default_project, "jobs"}}, ana, {}, 1, std::nullopt});
  EXPECT_EQ(from_bytes<State>(to_bytes(state)), state);
  if (before.empty()) testing::expect_golden("codec/state.hex", testing::to_hex(to_bytes(state)));

  const std::string golden = testing::from_hex(testing::read_golden("codec/state.hex"));
  const Result<State> read = from_bytes<State>(golden);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_bytes(*read), golden);
  EXPECT_EQ(read->queues.items.size(), 2u);
  EXPECT_EQ(read->queues.items.begin()->second.data, Bytes("one"));
  EXPECT_EQ(read->now, now);
}

// Written when queues did not know yet what their sources had listed.
TEST(GoldenBytes, OfAStateOfBefore) {
  const std::string golden = testing::from_hex(testing::read_golden("codec/state_older.hex"));
  const Result<State> read = from_bytes<State>(golden);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->queues.items.size(), 2u);
  EXPECT_TRUE(read->queues.listed.empty());
  EXPECT_EQ(to_bytes(*read), testing::from_hex(testing::read_golden("codec/state.hex")));
}

}  // namespace
}  // namespace reeve::codec
