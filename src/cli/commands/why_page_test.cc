#include "cli/commands/why_page.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

// The tests have no terminal: rows are those of 80 columns.

TEST(WhyPage, WhatIsCutEndsInDotsAndHasItsRoom) {
  const std::vector<Words> page{{"one"}, {"two\n  three"}, {"four"}};
  EXPECT_EQ(rows_of(page), 4U);
  EXPECT_EQ(cut(page, 4), page);
  EXPECT_EQ(cut(page, 3), (std::vector<Words>{{"one"}, {"two\n  three …"}}));
  EXPECT_EQ(cut(page, 2), (std::vector<Words>{{"one …"}}));
  EXPECT_EQ(cut({{"two\n  three"}}, 1), (std::vector<Words>{{"two …"}}));
  for (const char* const letter : {"x", "日", "x日"}) {
    std::string word;
    for (int i = 0; i < 300; ++i) word += letter;
    for (std::size_t room = 1; room < 4; ++room) {
      const std::vector<Words> shown = cut({{word}, {word}}, room);
      EXPECT_EQ(rows_of(shown), room);
      EXPECT_TRUE(shown.back().text.ends_with("…"));
    }
  }
}

TEST(WhyPage, ASentenceIsAsLongAsFitsAndKeepsItsCommand) {
  std::string text;
  for (int i = 0; i < 70; ++i) text += "long";
  text += "; `reeve why main`";
  const auto told = [&](std::size_t most) { return std::vector<Words>{{in_short(text, 0, most)}}; };
  EXPECT_EQ(as_long_as_fits(4, told), (std::vector<Words>{{text}}));
  for (std::size_t room = 1; room < 4; ++room) {
    const std::string shown = as_long_as_fits(room, told).front().text;
    EXPECT_EQ(rows_of(shown), room);
    EXPECT_TRUE(shown.ends_with("…; `reeve why main`")) << shown;
  }
}

TEST(WhyPage, OfWhatAProgramSaidTheLastLinesAreShown) {
  const auto shown = [](std::string_view text, std::size_t room) {
    return last_lines(marked_lines(text, " "), " ", room);
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(shown("a\nb\nc\n", any_rows), (Lines{"   | a", "   | b", "   | c"}));
  EXPECT_EQ(shown("a\nb\nc\n", 3), (Lines{"   | a", "   | b", "   | c"}));
  EXPECT_EQ(shown("a\nb\nc\n", 2), (Lines{"   | …", "   | c"}));
  EXPECT_EQ(shown("a\nb\nc\n", 1), (Lines{"   | … c"}));
  EXPECT_EQ(shown("a\nb\nc\n", 0), Lines{});
  const std::string cut = "   | " + std::string(74, 'x') + "…";
  EXPECT_EQ(shown("a\n" + std::string(200, 'x'), 2), (Lines{"   | …", cut}));
  EXPECT_EQ(shown(std::string(200, 'x'), 2), Lines{cut});
}

}  // namespace
}  // namespace reeve::cli
