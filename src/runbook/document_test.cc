#include "runbook/document.h"

#include <gtest/gtest.h>

namespace reeve::runbook {
namespace {

std::string mistake_in(std::string source) {
  const auto document = parse_document("f.toml", std::move(source));
  return document ? "" : to_text(document.error());
}

TEST(Document, AKeyInOtherLettersMustBeInQuotes) {
  const std::string must =
      "a key in other letters than A-Z, a-z, 0-9, - and _ must be in quotes, and so must a text";
  EXPECT_EQ(mistake_in("[queue.bugs]\nk\u00e4se = 1\n"), "f.toml:2:2: " + must);
  EXPECT_EQ(mistake_in("[queue.\ufe7f]\n"), "f.toml:1:8: " + must);
  EXPECT_EQ(mistake_in("a = 1\u3042\n"), "f.toml:1:6: " + must);
  EXPECT_EQ(mistake_in("\"k\u00e4se\" = 'caf\u00e9' # caf\u00e9\n"), "");
}

// The library has a place that it calls unreachable for most letters behind such a backslash.
TEST(Document, BehindABackslashThatEndsALineAnyLetterMayBegin) {
  for (const std::string letter : {"\u00e4", "\u0499", "\u3042", "\ufe7f", "\U0001F600"}) {
    const auto document = parse_document("f", "a = \"\"\"x \\\n  " + letter + "\"\"\"");
    ASSERT_TRUE(document) << letter;
    EXPECT_EQ(find(document->root, "a")->text, "x " + letter);
    // An escape that there is not.
    EXPECT_NE(mistake_in("a = \"\"\"\\" + letter + "\"\"\""), "");
  }
}

TEST(Document, HoweverDeepATextGoesItIsReadOrRefused) {
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  EXPECT_EQ(mistake_in(key + " = 1"), "f.toml:1:64: a key has more than 32 parts");
  EXPECT_EQ(mistake_in("[" + key + "]"), "f.toml:1:65: a key has more than 32 parts");
  EXPECT_NE(mistake_in("a = " + std::string(500'000, '[')), "");

  // As deep as it goes.
  key.resize(63);
  std::string deep = "[[" + key + "]]\n" + key + " = ";
  for (int i = 0; i < 31; ++i) deep += "{" + key + " = ";
  deep += "1" + std::string(31, '}');
  EXPECT_EQ(mistake_in(deep), "");
}

}  // namespace
}  // namespace reeve::runbook
