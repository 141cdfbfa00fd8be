#include "base/toml_keys.h"

#include <gtest/gtest.h>

namespace reeve {
namespace {

constexpr auto in_quotes =
    "a key in other letters than A-Z, a-z, 0-9, - and _ must be in quotes, and so must a text";

std::string key_of(int parts) {
  std::string key = "a";
  for (int i = 1; i < parts; ++i) key += i % 2 == 0 ? ".a" : " . \"b.c\"";
  return key;
}

TEST(TomlKeys, OtherLettersOutsideOfQuotesAreRefusedWithTheirPlace) {
  EXPECT_EQ(refused_key("a = 1\nk\u00e4se = 1\n"), (RefusedKey{2, 2, in_quotes}));
  EXPECT_EQ(refused_key("[a.\ufe7f]\n"), (RefusedKey{1, 4, in_quotes}));
  EXPECT_EQ(refused_key("a = caf\u00e9"), (RefusedKey{1, 8, in_quotes}));
  EXPECT_EQ(refused_key("a = '''\u00e4\n\u00e4''' \u3042"), (RefusedKey{2, 6, in_quotes}));
  EXPECT_EQ(refused_key("\xEF\xBB\xBF\xEF\xBB\xBF"), (RefusedKey{1, 1, in_quotes}));
  EXPECT_EQ(refused_key("a\xff"), (RefusedKey{1, 2, in_quotes}));
}

TEST(TomlKeys, InQuotesAndCommentsAnyLetterIsGood) {
  for (const std::string_view text : {"",
                                      "\xEF\xBB\xBF"
                                      "a = 1",
                                      "# \u00e4\na = 1 # \u00e4",
                                      "\"\u00e4\".'\u00f6' = 1",
                                      "a = \"\\\"\u00e4\\\\\"",
                                      "a = '\u00e4\\'",
                                      "a = \"\"\"\\\n  \u00e4 \"\" \u00f6\"\"\"\"\"",
                                      "a = '''\n'\u00e4''\n\u00f6'''''",
                                      "a = [\"\", \"\u00e4\", '', '\u00f6']"}) {
    EXPECT_EQ(refused_key(text), std::nullopt) << text;
  }
}

TEST(TomlKeys, BehindATextWithoutAnEndNothingIsLookedAt) {
  EXPECT_EQ(refused_key("a = \"b\n\u00e4 = 1\n"), std::nullopt);
  EXPECT_EQ(refused_key("a = '''b\n\u00e4 = 1\n"), std::nullopt);
  EXPECT_EQ(refused_key("a = \"\\"), std::nullopt);
}

TEST(TomlKeys, AKeyHas32PartsAtMost) {
  const std::string deep = key_of(32);
  EXPECT_EQ(refused_key(deep + "=1\n[" + deep + "]\n" + deep + "={" + deep + "=1," + deep + "=1}"),
            std::nullopt);
  EXPECT_EQ(
      refused_key("\n[a" + deep.substr(1) + ".x]"),
      (RefusedKey{2, static_cast<std::uint32_t>(deep.size() + 2), "a key has more than 32 parts"}));
}

}  // namespace
}  // namespace reeve
