#include "core/pattern.h"

#include "base/die_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <regex>
#include <string>
#include <vector>

namespace reeve::pattern {
namespace {

using reeve::testing::die;

bool finds(std::string_view expression, std::string_view text) {
  return matches("/" + std::string(expression) + "/", text);
}

TEST(Pattern, ASubstringMatchesWhateverItsCase) {
  EXPECT_TRUE(matches("Not Possible", "fatal: not possible to fast-forward"));
  EXPECT_TRUE(matches("x", "X"));
  EXPECT_FALSE(matches("not possible!", "fatal: not possible to fast-forward"));
  EXPECT_FALSE(matches("conflict", ""));
}

TEST(Pattern, ASubstringIsNoExpression) {
  EXPECT_TRUE(matches("a.c", "a.c"));
  EXPECT_FALSE(matches("a.c", "abc"));
  EXPECT_TRUE(matches("(", "(")) << "and needs no good syntax";
  EXPECT_TRUE(matches("/", "a/b")) << "one slash is a character";
  EXPECT_TRUE(matches("//", "http://x")) << "and so are two";
  EXPECT_FALSE(matches("//", "x"));
}

RC_GTEST_PROP(PatternLaw, ASubstringIsFoundWhereStringFindFindsIt, ()) {
  const auto few = rc::gen::container<std::string>(rc::gen::elementOf(std::string("aabAB")));
  const std::string text = *few;
  const std::string pattern = *rc::gen::nonEmpty(few);
  const auto small = [](std::string letters) {
    for (char& letter : letters) letter = letter < 'a' ? static_cast<char>(letter + 32) : letter;
    return letters;
  };
  RC_ASSERT(matches(pattern, text) == (small(text).find(small(pattern)) != std::string::npos));
}

TEST(Pattern, AnEmptyOrEndlessPatternMatchesNothing) {
  EXPECT_FALSE(matches("", "text"));
  EXPECT_FALSE(is_valid(""));
  const std::string longest(max_bytes, 'a');
  EXPECT_TRUE(is_valid(longest));
  EXPECT_TRUE(matches(longest, longest));
  EXPECT_FALSE(is_valid(longest + "a"));
  EXPECT_FALSE(matches(longest + "a", longest + "a"));
}

struct Case {
  const char* expression;
  std::vector<std::string> yes;
  std::vector<std::string> no;
};

TEST(Pattern, AnExpressionMatchesWhatItDescribes) {
  const std::vector<Case> cases{
      {"abc", {"abc", "xABCx"}, {"ab", "a bc"}},
      {"a.c",
       {"abc",
        "a.c",
        "a\xff"
        "c"},
       {"ac", "a\nc"}},
      {"a*", {"", "b", "aaa"}, {}},
      {"ba*c", {"bc", "baac"}, {"bab"}},
      {"ba+c", {"bac", "baaac"}, {"bc"}},
      {"ba?c", {"bc", "bac"}, {"baac"}},
      {"ba+?c", {"bac", "baaac"}, {"bc"}},
      {"ba{2}c", {"baac"}, {"bac", "baaac"}},
      {"ba{2,}c", {"baac", "baaaac"}, {"bac"}},
      {"ba{1,2}c", {"bac", "baac"}, {"bc", "baaac"}},
      {"ba{0,2}c", {"bc", "bac", "baac"}, {"baaac"}},
      {"ba{0}c", {"bc"}, {"bac"}},
      {"^b(a|o)+b$", {"bab", "BOAB", "x\nbob\ny"}, {"bb", "xbob", "bobx"}},
      {"cat|dog|", {"cat", "dog", "anything"}, {}},
      {"^(?:cat|dog)$", {"cat", "dog"}, {"catdog", "ca"}},
      {"(ab)*c", {"c", "ababc"}, {"ab"}},
      {"^(ab){2}$", {"abab"}, {"ab", "ababab"}},
      {"[a-c]x", {"ax", "Cx"}, {"dx"}},
      {"[^a-c]x", {"dx", "\nx"}, {"ax", "BX", "x"}},
      {"[-a]x", {"-x", "ax"}, {"bx"}},
      {"[a-]x", {"-x", "ax"}, {"bx"}},
      {"[a\\]\\-]x", {"]x", "-x", "ax"}, {"bx"}},
      {"[\\d.]x", {"1x", ".x"}, {"ax"}},
      {"[^\\s]x", {"ax"}, {" x", "\tx", "x"}},
      {"[[]x", {"[x"}, {"x"}},
      {"\\d\\D", {"1a"}, {"11", "aa"}},
      {"\\w\\W", {"_-", "Z "}, {"aa", "--"}},
      {"\\s\\S", {" a", "\na"}, {"  ", "aa"}},
      {"\\.\\*\\/\\\\", {".*/\\"}, {"aa/\\"}},
      {"\\bcat\\b", {"cat", "a cat!", "cat\n"}, {"concat", "cats", "cat_"}},
      {"a\\nb\\tc\\r", {"a\nb\tc\r"}, {"anbtcr"}},
      {"]}", {"]}"}, {"]"}},
      {"^", {"", "a"}, {}},
      {"$", {"", "a"}, {}},
      {"^$", {"", "a\n", "a\n\nb"}, {"a"}},
      {"a$b", {}, {"ab", "a\nb"}},
      {"(a*)*b", {"b", "aab"}, {"aac"}},
      {"(|a)+b", {"b", "aab"}, {"c"}},
      {"(^a)+", {"a"}, {"ba"}},
      {"^fatal: .*(conflict|diverged)$",
       {"x\nfatal: branches diverged\ny"},
       {"fatal: branches diverged now", "nonfatal: conflict"}},
  };
  for (const Case& each : cases) {
    EXPECT_TRUE(is_valid_regex(each.expression)) << each.expression;
    for (const std::string& text : each.yes) {
      EXPECT_TRUE(finds(each.expression, text)) << each.expression << " on " << text;
    }
    for (const std::string& text : each.no) {
      EXPECT_FALSE(finds(each.expression, text)) << each.expression << " on " << text;
    }
  }
}

TEST(Pattern, AMistakeIsFoundAndMatchesNothing) {
  for (const char* mistake :
       {"",      "(",       ")",       "a)",          "(a",     "[",    "[a",    "[]",  "[^]",
        "[b-a]", "[\\d-z]", "[a-\\d]", "[[:alpha:]]", "*",      "+a",   "?",     "a**", "a+*",
        "a{",    "a{}",     "a{,3}",   "a{x}",        "a{3,2}", "a{1",  "a{1,2", "{2}", "\\",
        "\\q",   "\\1",     "[\\b]",   "(?=a)",       "(?i)a",  "(*a)", "a|*",   "[a\\"}) {
    EXPECT_FALSE(is_valid_regex(mistake)) << mistake;
    EXPECT_FALSE(finds(mistake, "a")) << mistake;
    EXPECT_FALSE(finds(mistake, mistake)) << mistake;
  }
  EXPECT_FALSE(is_valid("/(/"));
  EXPECT_TRUE(is_valid("/(a)/"));
}

TEST(Pattern, AnExpressionThatIsTooLargeIsAMistake) {
  EXPECT_TRUE(is_valid_regex("a{499}"));
  EXPECT_FALSE(is_valid_regex("a{500}"));
  EXPECT_FALSE(is_valid_regex("a{99999999999999999999999}"));
  EXPECT_FALSE(is_valid_regex("(((a{9}){9}){9}){9}"));
  EXPECT_FALSE(is_valid_regex("((((((((((a?){99}){99}){99}){99}){99}){99}){99}){99}){99}){99}"));
  EXPECT_TRUE(is_valid_regex("((((){99}){99}){99}){99}")) << "nothing, often, is nothing";
}

TEST(Pattern, GroupsMayNestSoDeepAndNoDeeper) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '(') + "a" +
           std::string(static_cast<std::size_t>(depth), ')');
  };
  EXPECT_TRUE(finds(nested(max_depth), "a"));
  EXPECT_FALSE(is_valid_regex(nested(max_depth + 1)));
}

TEST(Pattern, AHostileExpressionOnAHostileTextTakesAsLongAsTheTextIsLong) {
  const std::string text = std::string(64 * 1024, 'a');
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(finds("(a+)+b", text));
  EXPECT_FALSE(finds("(a|a)*b", text));
  EXPECT_FALSE(finds("(.*)*x(.*)*x", text));
  EXPECT_FALSE(finds("(a?){60}a{60}b", text));
  // Seconds where a backtracking matcher needs longer than the sun will burn.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{60});
}

TEST(Pattern, AListIsShortEnoughForAStepOrIsNot) {
  const std::vector<std::string> many(max_patterns, "error");
  EXPECT_TRUE(fits_together(many));
  std::vector<std::string> more = many;
  more.push_back("fatal");
  EXPECT_FALSE(fits_together(more));
  EXPECT_TRUE(fits_together({"/a{499}/", "/b{499}/"}));
  EXPECT_FALSE(fits_together({"/a{499}/", "/b{499}/", "/c/"}));
  EXPECT_TRUE(fits_together({"/a{499}/", "/b{499}/", "c"})) << "a substring is no expression";
}

// An expression that is right, as a tree of so many levels.
std::string any_expression(int levels) {
  if (levels == 0) {
    return *rc::gen::element<std::string>(
        "a", "B", "b", ".", "[ab]", "[^b]", "\\d", "\\w", "^", "$");
  }
  const std::string inside = any_expression(levels - 1);
  switch (*die(5)) {
    case 0:
      return inside + any_expression(levels - 1);
    case 1:
      return "(" + inside + "|" + any_expression(levels - 1) + ")";
    case 2:
      return "(" + inside + ")" + *rc::gen::element<std::string>("*", "+", "?");
    case 3:
      return "(" + inside + ")" + *rc::gen::element<std::string>("{2}", "{1,2}", "{0,2}", "{1,}");
    default:
      return inside;
  }
}

RC_GTEST_PROP(Pattern, AgreesWithTheStandardLibrary, ()) {
  const std::string expression = any_expression(*die(4));
  const std::string text = *rc::gen::resize(
      8, rc::gen::container<std::string>(rc::gen::element('a', 'b', '1', 'A', '-')));
  const std::regex standard(expression, std::regex::ECMAScript | std::regex::icase);
  RC_ASSERT(is_valid_regex(expression));
  RC_ASSERT(finds(expression, text) == std::regex_search(text, standard));
}

RC_GTEST_PROP(Pattern, NothingThrowsOnAnything, (std::string pattern, std::string text)) {
  matches(pattern, text);
  matches("/" + pattern + "/", text);
  RC_ASSERT(is_valid_regex(pattern) || !matches("/" + pattern + "/", text) || pattern.empty());
}

}  // namespace
}  // namespace reeve::pattern
