#include "base/id.h"

#include "base/die_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace reeve {
namespace {

using reeve::testing::die;
using ItemNumber = Number<struct ItemKind>;
using PipelineNumber = Number<struct PipelineKind>;

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

// The first numbers of each width, and 2^63, with what lies around them.
std::vector<std::uint64_t> interesting() {
  std::vector<std::uint64_t> numbers;
  for (unsigned bits = 0; bits < 64; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t number : {power - 2, power - 1, power, power + 1, power * 3 / 2}) {
      numbers.push_back(number);
    }
  }
  numbers.push_back(most - 1);
  numbers.push_back(most);
  return numbers;
}

TEST(Id, KindsDoNotMix) {
  static_assert(!std::is_convertible_v<ItemNumber, PipelineNumber>);
  EXPECT_EQ(ItemNumber{1}, ItemNumber{1});
}

TEST(Id, NumberZeroIsNone) {
  EXPECT_FALSE(ItemNumber());
  EXPECT_TRUE(ItemNumber{1});
  EXPECT_LT(ItemNumber{1}, ItemNumber{2});
}

// These stand in journals and in people's notes.
TEST(Id, TheTextsOfNumbersNeverChange) {
  EXPECT_EQ(encode_id(0), "000000");
  EXPECT_EQ(encode_id(1), "krvqkf");
  EXPECT_EQ(encode_id(2), "7hqf6y");
  EXPECT_EQ(encode_id(1'000'000), "zn2ee0");
  EXPECT_EQ(encode_id((1U << 30) - 1), "c748ch");
  EXPECT_EQ(encode_id(1U << 30), "b000000");
  EXPECT_EQ(encode_id(most), "63j468t0bb0zb");
}

TEST(Id, EveryNumberIsReadBack) {
  for (const std::uint64_t number : interesting()) {
    EXPECT_EQ(decode_id(encode_id(number)), number) << encode_id(number);
  }
  for (std::uint64_t number = 0; number < 100'000; ++number) {
    ASSERT_EQ(decode_id(encode_id(number)), number);
  }
}

RC_GTEST_PROP(Id, AnyNumberIsReadBack, ()) {
  const auto bits = *die(1, 65);
  const auto number = *rc::gen::arbitrary<std::uint64_t>() * 0x9E3779B97F4A7C15 >> (64 - bits);
  RC_ASSERT(decode_id(encode_id(number)) == number);
}

RC_GTEST_PROP(Id, TextThatIsReadIsTheTextOfThatNumberAndOfNoOther, ()) {
  const auto text = *rc::gen::resize(
      14,
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789abcdefghjkz"))));
  const std::optional<std::uint64_t> number = decode_id(text);
  if (number) RC_ASSERT(encode_id(*number) == text);
}

TEST(Id, SixCharactersServeTheFirstBillionAndEachFurtherOneThirtyTwoTimesMore) {
  EXPECT_EQ(encode_id(0).size(), 6U);
  for (unsigned width = 6; width < 13; ++width) {
    const std::uint64_t next = std::uint64_t{1} << (5 * width);
    EXPECT_EQ(encode_id(next - 1).size(), width);
    EXPECT_EQ(encode_id(next).size(), width + 1);
  }
  EXPECT_EQ(encode_id(most).size(), 13U);
}

TEST(Id, NeighboursDifferAtTheFirstCharacter) {
  std::vector<std::uint64_t> starts = interesting();
  for (std::uint64_t number = 0; number < 200'000; ++number) starts.push_back(number);
  for (const std::uint64_t number : starts) {
    if (number == most) continue;
    const std::string one = encode_id(number);
    const std::string next = encode_id(number + 1);
    if (one.size() != next.size()) continue;
    ASSERT_NE(one[0], next[0]) << number;
  }
}

TEST(Id, NoTwoNumbersShareAText) {
  std::unordered_set<std::string> seen;
  for (std::uint64_t number = 0; number < 300'000; ++number) seen.insert(encode_id(number));
  for (std::uint64_t number = 0; number < 100'000; ++number) {
    seen.insert(encode_id((1U << 30) - 50'000 + number));
  }
  EXPECT_EQ(seen.size(), 400'000U);
}

TEST(Id, TextThatNoNumberHasIsRefused) {
  const std::string good = encode_id(1);
  ASSERT_TRUE(decode_id(good));
  EXPECT_FALSE(decode_id(""));
  EXPECT_FALSE(decode_id(good.substr(1)));
  EXPECT_FALSE(decode_id("krvqk "));
  EXPECT_FALSE(decode_id("KRVQKF"));
  EXPECT_FALSE(decode_id("krvqkF"));
  EXPECT_FALSE(decode_id("krvqki"));
  EXPECT_FALSE(decode_id("krvqkl"));
  EXPECT_FALSE(decode_id("krvqko"));
  EXPECT_FALSE(decode_id("krvqku"));
  EXPECT_FALSE(decode_id(std::string("krvqk\0", 6)));
  EXPECT_FALSE(decode_id("0000000"));        // zero has six characters
  EXPECT_FALSE(decode_id("g000000000000"));  // needs a 65th bit
  EXPECT_FALSE(decode_id("zzzzzzzzzzzzz"));
  EXPECT_FALSE(decode_id("00000000000000"));  // fourteen
}

}  // namespace
}  // namespace reeve
