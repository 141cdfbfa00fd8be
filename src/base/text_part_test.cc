#include "base/text_part.h"

#include <gtest/gtest.h>

#include <string>

namespace reeve {
namespace {

TEST(TextPart, WhatIsShortEnoughIsWhole) {
  EXPECT_EQ(first_bytes("", 3), "");
  EXPECT_EQ(first_bytes("abc", 3), "abc");
  EXPECT_EQ(last_bytes("", 3), "");
  EXPECT_EQ(last_bytes("abc", 3), "abc");
}

TEST(TextPart, WhatIsLongerIsCut) {
  EXPECT_EQ(first_bytes("abcd", 3), "abc");
  EXPECT_EQ(last_bytes("abcd", 3), "bcd");
  EXPECT_EQ(first_bytes("abcd", 0), "");
  EXPECT_EQ(last_bytes("abcd", 0), "");
}

TEST(TextPart, ACharacterIsKeptWholeOrNotAtAll) {
  const std::string text = "aü€😀z";  // of one, two, three, four and one byte
  EXPECT_EQ(first_bytes(text, 2), "a");
  EXPECT_EQ(first_bytes(text, 3), "aü");
  EXPECT_EQ(first_bytes(text, 5), "aü");
  EXPECT_EQ(first_bytes(text, 6), "aü€");
  EXPECT_EQ(first_bytes(text, 9), "aü€");
  EXPECT_EQ(first_bytes(text, 10), "aü€😀");
  EXPECT_EQ(last_bytes(text, 2), "z");
  EXPECT_EQ(last_bytes(text, 4), "z");
  EXPECT_EQ(last_bytes(text, 5), "😀z");
  EXPECT_EQ(last_bytes(text, 7), "😀z");
  EXPECT_EQ(last_bytes(text, 8), "€😀z");
  EXPECT_EQ(first_bytes("😀", 3), "");
  EXPECT_EQ(last_bytes("😀", 3), "");
}

TEST(TextPart, WhatIsNoUtf8IsCutAnywhere) {
  const std::string bytes(10, '\x80');
  EXPECT_EQ(first_bytes(bytes, 6).size(), 6u);
  EXPECT_EQ(last_bytes(bytes, 6).size(), 6u);
}

}  // namespace
}  // namespace reeve
