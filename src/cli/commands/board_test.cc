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

TEST(BoardWords, TheHolderStandsBesideTheBarAndItFits) {
  EXPECT_EQ(waiting_line(11'000, "ana", "in 59m", 80),
            "[=>                        ] 11s elapsed  held by ana, expires in 59m");
  EXPECT_EQ(waiting_line(11'000, "f47ac10b-58cc-4372-a567-0e02b2c3d479", "in 59m", 79),
            "[=>                        ] 11s elapsed  held by f47ac10b-58c…, expires in 59m");
  EXPECT_EQ(waiting_line(0, "", "-", 79), elapsed_bar(0)) << "nobody in particular";
}

TEST(BoardWords, ARunnerOfAnotherProjectIsNamedWithIt) {
  EXPECT_EQ(runner_in_words(json_of({{"runner", "ana"}})), "ana");
  EXPECT_EQ(runner_in_words(json_of({{"runner", "ana"}, {"runner_project", "shop"}})),
            "ana of shop");
  EXPECT_EQ(
      runner_in_words(json_of({{"lockedBy", "ana"}, {"lockedByProject", "shop"}}), "lockedBy"),
      "ana of shop");
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
