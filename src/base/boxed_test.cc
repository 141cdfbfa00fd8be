#include "base/boxed.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace reeve {
namespace {

TEST(Boxed, IsEightBytesAndHoldsNothingAtFirst) {
  static_assert(sizeof(Boxed<std::string>) == 8);
  const Boxed<std::string> box;
  EXPECT_FALSE(box);
  EXPECT_EQ(box.get(), nullptr);
}

TEST(Boxed, EditingAnEmptyBoxMakesAValue) {
  Boxed<std::vector<int>> box;
  box.edit().push_back(1);
  EXPECT_TRUE(box);
  EXPECT_EQ(*box, std::vector<int>{1});
  EXPECT_EQ(box->size(), 1U);
}

TEST(Boxed, ACopySharesTheValueUntilOneOfThemIsEdited) {
  Boxed<std::string> box(std::string("old"));
  const Boxed<std::string> copy = box;
  EXPECT_EQ(copy.get(), box.get());

  box.edit() = "new";
  EXPECT_EQ(*copy, "old");
  EXPECT_EQ(*box, "new");
}

TEST(Boxed, AValueNobodyElseHasIsEditedInPlace) {
  Boxed<std::string> box(std::string("one"));
  const std::string* const before = box.get();
  box.edit() = "two";
  Boxed<std::string> passing = box;
  passing.reset();
  box.edit() = "three";
  EXPECT_EQ(box.get(), before);
}

TEST(Boxed, BoxesAreEqualIfTheirValuesAre) {
  const Boxed<std::string> one(std::string("x"));
  const Boxed<std::string> other(std::string("x"));
  EXPECT_EQ(one, other);
  EXPECT_NE(one, Boxed<std::string>(std::string("y")));
  EXPECT_NE(one, Boxed<std::string>());
  EXPECT_NE(Boxed<std::string>(), one);
  EXPECT_NE(Boxed<std::string>(std::string()), Boxed<std::string>());
  EXPECT_EQ(Boxed<std::string>(), Boxed<std::string>());
}

TEST(Boxed, AResetOrMovedFromBoxIsEmpty) {
  Boxed<std::string> box(std::string("x"));
  const Boxed<std::string> taken = std::move(box);
  EXPECT_FALSE(box);  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)

  Boxed<std::string> copy = taken;
  copy.reset();
  EXPECT_FALSE(copy);
  EXPECT_EQ(*taken, "x");
}

// The box is declared while its type is still incomplete.
struct Tree {
  int number = 0;
  Boxed<Tree> left, right;

  bool operator==(const Tree&) const = default;
};

TEST(Boxed, ATypeMayHoldBoxesOfItself) {
  Tree tree;
  tree.left.edit().right.edit().number = 7;
  const Tree copy = tree;
  tree.left.edit().right.edit().number = 8;
  EXPECT_EQ(copy.left->right->number, 7);
  EXPECT_NE(copy, tree);
}

TEST(Boxed, ACopyIsReadByAnotherThreadWhileTheOriginalIsEdited) {
  Boxed<std::string> box(std::string("0"));
  for (int round = 1; round <= 200; ++round) {
    const std::jthread reader([copy = box, round] { EXPECT_EQ(*copy, std::to_string(round - 1)); });
    box.edit() = std::to_string(round);
  }
}

}  // namespace
}  // namespace reeve
