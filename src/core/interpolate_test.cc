#include "core/interpolate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reeve {
namespace {

const Variables known{{"bug", "42"}, {"bug.id", "b-1"}, {"_x", "x"}, {"aB9_", "mixed"}, {"e", ""}};

std::string filled(std::string_view text, const Variables& variables = known) {
  const auto result = interpolate(text, variables);
  const std::string* done = std::get_if<std::string>(&result);
  return done ? *done : "unknown: " + std::get<UnknownName>(result).name;
}

TEST(Interpolate, APlaceholderBecomesItsValue) {
  EXPECT_EQ(filled("Fix bug {bug}."), "Fix bug 42.");
  EXPECT_EQ(filled("{bug}"), "42");
  EXPECT_EQ(filled("{bug}{bug.id}{_x}"), "42b-1x");
  EXPECT_EQ(filled("{aB9_}"), "mixed");
  EXPECT_EQ(filled("<{e}>"), "<>");
}

TEST(Interpolate, WhatIsNotANameInBracesIsText) {
  for (const std::string text :
       {"{",        "}",     "{}",       "{ bug }",  "{Bug}",  "{9}",       "{\"bug\": 1}",
        "{bug",     "bug}",  "{bug-id}", "{bug.}",   "{.bug}", "{bug..id}", "{bug.9}",
        "{bug:-1}", "a { b", "} {",      "{bug.Id}", "{b g}",  "{büg}"}) {
    EXPECT_EQ(filled(text), text);
    EXPECT_EQ(placeholders_in(text), std::vector<std::string>{}) << text;
  }
}

TEST(Interpolate, DoubleBracesPrintThePlaceholderItself) {
  EXPECT_EQ(filled("{{bug}}"), "{bug}");
  EXPECT_EQ(filled("{{nobody.knows}}"), "{nobody.knows}");
  EXPECT_EQ(filled("{{bug}} is {bug}"), "{bug} is 42");
  EXPECT_EQ(filled("{{{bug}}}"), "{{bug}}");
  EXPECT_EQ(placeholders_in("{{bug}}"), std::vector<std::string>{});
}

TEST(Interpolate, BracesInBracesThatAreNotDoubledStandForThemselves) {
  EXPECT_EQ(filled("{ {bug} }"), "{ 42 }");
  EXPECT_EQ(filled("{{bug}"), "{42");
  EXPECT_EQ(filled("{bug}}"), "42}");
  EXPECT_EQ(filled("{{bug} }"), "{42 }");
}

TEST(Interpolate, ShellAndRubyBracesAreLeftAlone) {
  EXPECT_EQ(filled("${bug} #{bug}"), "${bug} #{bug}");
  EXPECT_EQ(filled("${HOME:-{bug}}/{bug}"), "${HOME:-{bug}}/42");
  EXPECT_EQ(filled("${{bug}} {bug}"), "${{bug}} 42");
  EXPECT_EQ(filled("$ {bug} # {bug}"), "$ 42 # 42");
}

TEST(Interpolate, AShellBraceThatIsNeverClosedHidesNothing) {
  EXPECT_EQ(filled("${ {bug}"), "${ 42");
  EXPECT_EQ(filled("${"), "${");
}

TEST(Interpolate, TheFirstUnknownNameIsNamed) {
  EXPECT_EQ(interpolate("{bug} {who} {what}", known),
            (std::variant<std::string, UnknownName>{UnknownName{"who"}}));
  EXPECT_EQ(filled("{bug.name}"), "unknown: bug.name");
}

TEST(Interpolate, OfTwoValuesOfOneNameTheFirstWins) {
  EXPECT_EQ(filled("{id}", {{"id", "mine"}, {"id", "built in"}}), "mine");
}

TEST(Interpolate, TheNamesOfATextAreListedOnceInOrder) {
  EXPECT_EQ(placeholders_in("{b} {a.c} {b} ${d} {{e}} {a}"),
            (std::vector<std::string>{"b", "a.c", "a"}));
}

TEST(Interpolate, NothingButBracesIsReadInLinearTime) {
  const std::string braces(1 << 20, '{');
  std::string dollars;
  for (int i = 0; i < 1 << 18; ++i) dollars += "${";
  EXPECT_EQ(filled(braces), braces);
  EXPECT_EQ(filled(dollars), dollars);
}

std::string any_text() {
  return *rc::gen::container<std::string>(rc::gen::element('{', '}', '$', '#', 'a', 'b', '.', '9'));
}

RC_GTEST_PROP(Interpolate, AValueIsNeverLookedInto, ()) {
  const std::string value = any_text();
  RC_ASSERT(filled("<{a}{b}>", {{"a", value}, {"b", value}}) == "<" + value + value + ">");
}

RC_GTEST_PROP(Interpolate, TextWithoutBracesIsUnchanged, (std::string text)) {
  std::erase_if(text, [](char letter) { return letter == '{' || letter == '}'; });
  RC_ASSERT(filled(text) == text);
  RC_ASSERT(placeholders_in(text).empty());
}

RC_GTEST_PROP(Interpolate, ItSucceedsExactlyIfEveryNameIsKnown, ()) {
  const std::string text = any_text();
  Variables variables;
  for (const std::string& name : placeholders_in(text)) variables.emplace_back(name, "value");
  RC_ASSERT(std::holds_alternative<std::string>(interpolate(text, variables)));
  if (!variables.empty()) {
    const UnknownName missing{variables.front().first};
    variables.erase(variables.begin());
    RC_ASSERT(interpolate(text, variables) == (std::variant<std::string, UnknownName>{missing}));
  }
}

}  // namespace
}  // namespace reeve
