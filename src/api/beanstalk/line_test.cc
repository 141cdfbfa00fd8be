#include "api/beanstalk/line.h"

#include <gtest/gtest.h>

#include <string>

namespace reeve::api::beanstalk {
namespace {

using Parsed = std::expected<Line, Fault>;

const Parsed bad = std::unexpected(Fault::BadFormat);
const Parsed unknown = std::unexpected(Fault::UnknownCommand);

TEST(BeanstalkLine, APutHasFourNumbers) {
  const Line expected{
      .op = Op::Put, .priority = 4294967295, .delay = 2, .time_to_run = 3, .body = 4};
  EXPECT_EQ(parse_line("put 4294967295 2 3 4"), Parsed(expected));
  EXPECT_EQ(parse_line("put  4294967295  2  3  4"), Parsed(expected));

  for (const char* line : {"put ",
                           "put 1",
                           "put 1 2 3",
                           "put a 2 3 4",
                           "put 1 2 3 x",
                           "put -1 2 3 4",
                           "put +1 2 3 4",
                           "put 4294967296 2 3 4",
                           "put 1\t2 3 4",
                           "put 1 2 3 4294967296",
                           "put 1 2 3 99999999999999999999"}) {
    EXPECT_EQ(parse_line(line), bad) << line;
  }
  EXPECT_EQ(parse_line("put"), unknown);
  EXPECT_TRUE(parse_line("put 1 2 3 4 ")->garbage);
}

TEST(BeanstalkLine, AnIdIsDigitsAndNothingElse) {
  EXPECT_EQ(parse_line("delete 7"), Parsed(Line{.op = Op::Delete, .id = 7}));
  EXPECT_EQ(parse_line("peek 18446744073709551615"),
            Parsed(Line{.op = Op::Peek, .id = 18446744073709551615U}));
  for (const char* line : {"delete ",
                           "delete x",
                           "delete 7 ",
                           "delete 7x",
                           "delete -7",
                           "delete 18446744073709551616",
                           "reserve-job x",
                           "touch 7 8"}) {
    EXPECT_EQ(parse_line(line), bad) << line;
  }
  EXPECT_EQ(parse_line("delete\t7"), unknown);
}

TEST(BeanstalkLine, ATimeoutIsReadAsGenerouslyAsByTheOriginal) {
  const auto with = [](std::optional<std::uint32_t> timeout) {
    return Parsed(Line{.op = Op::ReserveWithTimeout, .timeout = timeout});
  };
  EXPECT_EQ(parse_line("reserve-with-timeout 5"), with(5));
  EXPECT_EQ(parse_line("reserve-with-timeout "), with(0));
  EXPECT_EQ(parse_line("reserve-with-timeout abc"), with(0));
  EXPECT_EQ(parse_line("reserve-with-timeout \t7x"), with(7));
  EXPECT_EQ(parse_line("reserve-with-timeout -1"), with(std::nullopt));
  EXPECT_EQ(parse_line("reserve-with-timeout 2147483648"), with(std::nullopt));
  EXPECT_EQ(parse_line("reserve-with-timeout 99999999999999999999"), bad);
  EXPECT_EQ(parse_line("reserve-with-timeout"), bad);  // a reserve, and garbage
}

TEST(BeanstalkLine, ACountIsReadAsGenerouslyAsByTheOriginal) {
  const auto kick = [](std::uint64_t count) { return Parsed(Line{.op = Op::Kick, .id = count}); };
  EXPECT_EQ(parse_line("kick 3"), kick(3));
  EXPECT_EQ(parse_line("kick 3x"), kick(3));
  EXPECT_EQ(parse_line("kick +3"), kick(3));
  EXPECT_EQ(parse_line("kick -1"), kick(4294967295));
  EXPECT_EQ(parse_line("kick 4294967296"), kick(0));
  EXPECT_EQ(parse_line("kick "), bad);
  EXPECT_EQ(parse_line("kick x"), bad);
  EXPECT_EQ(parse_line("kick 99999999999999999999"), bad);
}

TEST(BeanstalkLine, ATubeNameHasItsLettersAndItsLength) {
  EXPECT_EQ(parse_line("use A_b-+/;.$()9"), Parsed(Line{.op = Op::Use, .name = "A_b-+/;.$()9"}));
  EXPECT_TRUE(is_tube_name(std::string(200, 'n')));
  EXPECT_FALSE(is_tube_name(std::string(201, 'n')));
  for (const char* line :
       {"use ", "use -a", "use a b", "use a%b", "use  a", "use a..b", "watch \xc3\xa4", "use a "}) {
    EXPECT_EQ(parse_line(line), bad) << line;
  }
}

TEST(BeanstalkLine, PauseTubeHasANameAndAnAmountOfTime) {
  EXPECT_EQ(parse_line("pause-tube a 5"),
            Parsed(Line{.op = Op::PauseTube, .delay = 5, .name = "a"}));
  EXPECT_EQ(parse_line("pause-tube  a  5"),
            Parsed(Line{.op = Op::PauseTube, .delay = 5, .name = "a"}));
  for (const char* line :
       {"pause-tube", "pause-tube a", "pause-tube a x", "pause-tube a 5 ", "pause-tube a -1"}) {
    EXPECT_EQ(parse_line(line), bad) << line;
  }
}

TEST(BeanstalkLine, TheLongestWordCounts) {
  EXPECT_EQ(parse_line("list-tubes")->op, Op::ListTubes);
  EXPECT_EQ(parse_line("list-tube-used")->op, Op::ListTubeUsed);
  EXPECT_EQ(parse_line("list-tubes-watched")->op, Op::ListTubesWatched);
  EXPECT_EQ(parse_line("stats")->op, Op::Stats);
  EXPECT_EQ(parse_line("stats-tube a")->op, Op::StatsTube);
  EXPECT_EQ(parse_line("reserve")->op, Op::Reserve);
  EXPECT_EQ(parse_line("quitting")->op, Op::Quit);
  for (const char* line : {"reserveX", "stats ", "stats-job", "list-tubes-foo", "peek-readyx"}) {
    EXPECT_EQ(parse_line(line), bad) << line;
  }
  for (const char* line : {"", " ", "foo", "PUT 1 1 1 1", "peek", "peek-foo", "kick", "touch"}) {
    EXPECT_EQ(parse_line(line), unknown) << line;
  }
}

TEST(BeanstalkLine, ANulIsBadWhereverItStands) {
  EXPECT_EQ(parse_line(std::string_view("use a\0b", 7)), bad);
  EXPECT_EQ(parse_line(std::string_view("\0", 1)), bad);
}

TEST(BeanstalkLine, WhatABrowserSendsIsKnownByItsFirstLine) {
  EXPECT_TRUE(looks_like_http("GET / HTTP/1.1", true));
  EXPECT_TRUE(looks_like_http("POST /put HTTP/1.0", true));
  EXPECT_TRUE(looks_like_http("GET /" + std::string(220, 'a'), false));
  EXPECT_FALSE(looks_like_http("PUT 1 1 1 1", true));
  EXPECT_FALSE(looks_like_http("put 1 1 1 1", true));
  EXPECT_FALSE(looks_like_http("use HTTP/1.1", true));
  EXPECT_FALSE(looks_like_http(std::string(224, 'A'), false));
}

}  // namespace
}  // namespace reeve::api::beanstalk
