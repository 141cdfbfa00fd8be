#include "codec/shell_word.h"

#include <gtest/gtest.h>

namespace reeve::codec {
namespace {

TEST(ShellWord, PlainNamesStayAsTheyAre) {
  for (const char* name : {"main", "//shared/x", "a-b_c.d:e@f%g+h=i,j", "wärme"}) {
    EXPECT_EQ(shell_word(name), name);
  }
}

TEST(ShellWord, WhatAShellWouldReadIsQuoted) {
  EXPECT_EQ(shell_word("$(id)"), "'$(id)'");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("`id`"), "'`id`'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("=ls"), "'=ls'");
  EXPECT_EQ(shell_word("~root"), "'~root'");
  EXPECT_EQ(shell_word("#"), "'#'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace reeve::codec
