#include "core/names.h"

#include <gtest/gtest.h>

namespace reeve {
namespace {

TEST(Names, HaveOneToTwoHundredBytes) {
  EXPECT_FALSE(is_good_name(""));
  EXPECT_TRUE(is_good_name("a"));
  EXPECT_TRUE(is_good_name(std::string(200, 'a')));
  EXPECT_FALSE(is_good_name(std::string(201, 'a')));
}

TEST(Names, MayHaveBlanksButNotBeBlank) {
  EXPECT_TRUE(is_good_name("a b"));
  EXPECT_TRUE(is_good_name(" a"));
  EXPECT_FALSE(is_good_name(" "));
  EXPECT_FALSE(is_good_name("   "));
}

TEST(Names, AreNoOptionsNoPathsUpwardsAndNotOfAllProjects) {
  EXPECT_FALSE(is_good_name("-a"));
  EXPECT_TRUE(is_good_name("a-b"));
  EXPECT_FALSE(is_good_name("a/../b"));
  EXPECT_TRUE(is_good_name("a/b.c"));
  EXPECT_FALSE(is_good_name("//a"));
  EXPECT_TRUE(is_good_name("a//b"));
}

TEST(Names, HaveNoControlCharacters) {
  EXPECT_FALSE(is_good_name("a\tb"));
  EXPECT_FALSE(is_good_name("a\nb"));
  EXPECT_FALSE(is_good_name(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_good_name("a\x7f"));
  EXPECT_TRUE(is_good_name("gr\u00fcn"));
}

TEST(Names, AValueHasAtMostAHundredKiBAndNoNul) {
  EXPECT_TRUE(is_good_value(""));
  EXPECT_TRUE(is_good_value(std::string(limits::value_bytes, 'x')));
  EXPECT_FALSE(is_good_value(std::string(limits::value_bytes + 1, 'x')));
  EXPECT_FALSE(is_good_value(std::string_view("a\0b", 3)));
}

TEST(Names, ALongTextIsCutBetweenItsCharacters) {
  const std::string most(limits::text_bytes - 1, 'a');
  EXPECT_EQ(cut(most + "\u00fc"), most);
  EXPECT_EQ(cut(most + "bc"), most + "b");
}

}  // namespace
}  // namespace reeve
