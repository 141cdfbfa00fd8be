#include "cli/commands/board.h"

#include <gtest/gtest.h>

namespace reeve::cli::board {
namespace {

TEST(BoardWords, TheBarIsTheSeeds) {
  EXPECT_EQ(elapsed_bar(45'000), "[=====>                    ] 45s elapsed");
  EXPECT_EQ(elapsed_bar(0), "[>                         ] 0s elapsed");
}

TEST(BoardWords, TheBarBeginsAgainAtItsEnd) {
  EXPECT_EQ(elapsed_bar(233'999), "[=========================>] 233s elapsed");
  EXPECT_EQ(elapsed_bar(234'000), "[>                         ] 234s elapsed");
}

TEST(BoardWords, AMomentIsToldToTheSecond) {
  EXPECT_EQ(to_the_second("2024-01-15T11:30:00.999Z"), "2024-01-15T11:30:00Z");
  EXPECT_EQ(to_the_second("soon"), "soon");
}

TEST(BoardWords, WhatAnotherHasIsLockedAndNothingElseIs) {
  EXPECT_TRUE(is_locked({"TASK_LOCKED", ""}));
  EXPECT_TRUE(is_locked({"SECTION_LOCKED", ""}));
  EXPECT_FALSE(is_locked({"TASK_FINISHED", ""}));
  EXPECT_FALSE(is_locked({"LOST", ""}));
}

}  // namespace
}  // namespace reeve::cli::board
