#include "runbook/arguments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::runbook {
namespace {

constexpr std::string_view fix =
    "<bug> [-p/--priority <n>] [--after <id>] [-v/--verbose] [files...]";

std::expected<Values, std::string> given(std::string_view spec,
                                         std::vector<std::string_view> words,
                                         const Values& defaults = {}) {
  return read_words(*parse_arguments(spec), defaults, words);
}

std::string complaint(std::string_view spec, std::vector<std::string_view> words) {
  const auto values = given(spec, std::move(words));
  return values ? "none" : values.error();
}

std::string mistake(std::string_view spec) {
  const auto arguments = parse_arguments(spec);
  if (arguments) return "none";
  std::string all;
  for (const SpecMistake& each : arguments.error()) {
    all += (all.empty() ? "" : "\n") + std::to_string(each.offset) + ": " + each.message;
  }
  return all;
}

TEST(Arguments, ASpecIsReadIntoItsArguments) {
  using Kind = Argument::Kind;
  EXPECT_EQ(*parse_arguments(fix),
            (Arguments{{{Kind::Positional, "bug", "", '\0', "", true},
                        {Kind::Option, "priority", "priority", 'p', "n", false},
                        {Kind::Option, "after", "after", '\0', "id", false},
                        {Kind::Flag, "verbose", "verbose", 'v', "", false},
                        {Kind::Rest, "files", "", '\0', "", false}}}));
  EXPECT_EQ(usage_of(*parse_arguments(fix)), fix);
  EXPECT_EQ(usage_of(*parse_arguments("--to <x>  <a> [ <b> ] [ <c...> ]")),
            "--to <x> <a> [b] [c...]");
  EXPECT_EQ(parse_arguments("[--dry-er]")->all[0].name, "dry_er");
}

TEST(Arguments, AMistakeInASpecSaysWhereItIs) {
  EXPECT_EQ(mistake("<bug"), "4: expected `>` here");
  EXPECT_EQ(mistake("bug"), "0: expected <name>, [name], [name...] or [-o/--option <value>]");
  EXPECT_EQ(mistake("<a> [--wait]"), "5: `reeve run` has an option of this name itself: --wait");
  EXPECT_EQ(mistake("[-q/--quick]"),
            "1: `reeve run` has an option of this name itself: -q/--quick");
  EXPECT_EQ(mistake("<a> <a>"), "4: `a` stands here twice");
  EXPECT_EQ(mistake("[-p/--a] [-p/--b]"), "9: -p stands here twice");
  EXPECT_EQ(mistake("[a...] <b>"), "7: nothing can follow `a...`");
  EXPECT_EQ(mistake("[a] <b>"), "4: `b` must be given, so it cannot follow `a`, which need not be");
  EXPECT_EQ(mistake("--all"), "5: an option without a value cannot be required: put it in [ ]");
  EXPECT_EQ(mistake("[-p/x]"), "4: expected --name after the slash");
  EXPECT_EQ(mistake("<Bug>"),
            "0: `Bug` cannot be a placeholder: a name begins with a small letter and has letters, "
            "digits and _ after it");
}

TEST(Arguments, EveryMistakeInASpecIsTold) {
  EXPECT_EQ(mistake("<a> [--wait] [-p/--one] [-p/--two] [more...] [more...] <b"),
            "5: `reeve run` has an option of this name itself: --wait\n"
            "24: -p stands here twice\n"
            "45: `more` stands here twice\n"
            "57: expected `>` here");
  EXPECT_EQ(mistake("a [--help <x>] b <C>"),
            "0: expected <name>, [name], [name...] or [-o/--option <value>]\n"
            "3: `reeve run` has an option of this name itself: --help\n"
            "15: expected <name>, [name], [name...] or [-o/--option <value>]\n"
            "17: `C` cannot be a placeholder: a name begins with a small letter and has letters, "
            "digits and _ after it");
}

TEST(Arguments, WordsBecomeValues) {
  EXPECT_EQ(*given(fix, {"42"}), (Values{{"bug", "42"}, {"verbose", "false"}, {"files", "[]"}}));
  EXPECT_EQ(*given(fix, {"-p3", "42", "--after=x", "-v", "a", "b\"c"}),
            (Values{{"priority", "3"},
                    {"bug", "42"},
                    {"after", "x"},
                    {"verbose", "true"},
                    {"files", R"(["a","b\"c"])"}}));
  EXPECT_EQ(*given("[-a] [-b <x>]", {"-ab", "1"}), (Values{{"a", "true"}, {"b", "1"}}));
  EXPECT_EQ(*given("<a> <b>", {"--", "-x", "--y"}), (Values{{"a", "-x"}, {"b", "--y"}}));
  EXPECT_EQ(*given("<n>", {"-5"}), (Values{{"n", "-5"}})) << "a number is no option";
}

TEST(Arguments, WhatWasLeftOutTakesItsDefault) {
  EXPECT_EQ(
      *given(fix, {"42"}, {{"priority", "0"}, {"after", ""}}),
      (Values{
          {"bug", "42"}, {"priority", "0"}, {"after", ""}, {"verbose", "false"}, {"files", "[]"}}));
}

TEST(Arguments, WrongWordsAreAnsweredWithASentence) {
  EXPECT_EQ(complaint(fix, {}), "missing <bug>");
  EXPECT_EQ(complaint(fix, {"1", "--prioritty", "2"}),
            "unknown option --prioritty; did you mean `--priority`?");
  EXPECT_EQ(complaint(fix, {"1", "-x"}), "unknown option -x");
  EXPECT_EQ(complaint(fix, {"1", "-p"}), "-p/--priority wants a value: <n>");
  EXPECT_EQ(complaint(fix, {"1", "-p1", "--priority=2"}), "-p/--priority was given twice");
  EXPECT_EQ(complaint(fix, {"1", "--verbose=yes"}), "--verbose takes no value");
  EXPECT_EQ(complaint("<a>", {"1", "2"}), "unexpected argument 2");
  EXPECT_EQ(complaint("--to <x>", {}), "missing --to <x>");
  EXPECT_EQ(complaint("<c...>", {}), "missing <c...>");
}

RC_GTEST_PROP(Arguments, AnySpecAndAnyWordsAreAnswered, ()) {
  const auto letters =
      rc::gen::element('<', '>', '[', ']', '-', '/', '.', ' ', 'a', 'b', '=', '\n');
  const auto text = rc::gen::container<std::string>(letters);
  const auto piece = rc::gen::element<std::string>(
      "<a>", "[b]", "[c...]", "[-d/--dd <x>]", "[-e]", "--f <y>", "<g...>", "[ <h> ]", "[--i-j]");
  const auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
  std::string spec =
      *rc::gen::weightedOneOf<std::string>({{1, text}, {1, rc::gen::just(std::string())}});
  for (const std::string& each : pieces) spec += " " + each;
  const auto arguments = parse_arguments(spec);
  if (!arguments) {
    RC_ASSERT(!arguments.error().empty());
    for (const SpecMistake& each : arguments.error()) RC_ASSERT(each.offset <= spec.size());
    return;
  }
  const std::vector<std::string> words = *rc::gen::container<std::vector<std::string>>(text);
  const std::vector<std::string_view> views(words.begin(), words.end());
  const auto values = read_words(*arguments, {}, views);
  RC_ASSERT((values || !values.error().empty()));
  RC_ASSERT(*parse_arguments(usage_of(*arguments)) == *arguments);
}

}  // namespace
}  // namespace reeve::runbook
