#include "base/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace reeve {
namespace {

TEST(Bytes, AreEightBytesAndEmptyOnesNeedNoMore) {
  static_assert(sizeof(Bytes) == 8);
  EXPECT_TRUE(Bytes().empty());
  EXPECT_TRUE(Bytes("").empty());
  EXPECT_EQ(Bytes("").view(), "");
  EXPECT_EQ(Bytes(), Bytes(""));
}

TEST(Bytes, HoldWhateverTheyWereGiven) {
  const std::string content("a\0b\xff", 4);
  const Bytes bytes(content);
  EXPECT_EQ(bytes.view(), content);
  EXPECT_EQ(bytes.size(), 4U);
  EXPECT_FALSE(bytes.empty());
}

TEST(Bytes, ACopyIsTheSameBlockAndOutlivesTheOriginal) {
  Bytes copy;
  {
    const Bytes original("payload");
    copy = original;
    EXPECT_EQ(copy.view().data(), original.view().data());
  }
  EXPECT_EQ(copy.view(), "payload");
}

TEST(Bytes, AssigningToThemselvesChangesNothing) {
  Bytes bytes("payload");
  const Bytes& same = bytes;
  bytes = same;
  EXPECT_EQ(bytes.view(), "payload");
}

TEST(Bytes, MovedFromBytesAreEmpty) {
  Bytes bytes("payload");
  const Bytes taken = std::move(bytes);
  EXPECT_EQ(taken.view(), "payload");
  EXPECT_TRUE(bytes.empty());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
}

RC_GTEST_PROP(Bytes, CompareAsTheirContentsDo, (const std::string& a, const std::string& b)) {
  RC_ASSERT((Bytes(a) == Bytes(b)) == (a == b));
  RC_ASSERT((Bytes(a) <=> Bytes(b)) == (a <=> b));
  RC_ASSERT(Bytes(a) == Bytes(a));
}

TEST(Bytes, CopiesComeAndGoOnSeveralThreads) {
  Bytes bytes("payload");
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([bytes] {
      for (int i = 0; i < 1000; ++i) {
        Bytes copy = bytes;
        EXPECT_EQ(copy.view(), "payload");
        copy = Bytes();
      }
    });
  }
  bytes = Bytes();
}

}  // namespace
}  // namespace reeve
