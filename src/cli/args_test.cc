#include "cli/args.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string_view>
#include <vector>

namespace reeve::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::array<Argument, 1> names{{{.name = "NAME", .count = Count::Some}}};
constexpr std::array<Option, 6> options{{
    {.name = "wait", .takes = Takes::MaybeDuration, .value = "D"},
    {.name = "weight", .letter = 'w', .takes = Takes::Number, .value = "N"},
    {.name = "label", .takes = Takes::Text, .value = "TEXT"},
    {.name = "holder", .takes = Takes::Text, .value = "H"},
    {.name = "follow", .letter = 'f'},
    {.name = "state", .takes = Takes::Text, .value = "S", .choices = "pending|dead"},
}};
constexpr std::array<Argument, 1> one_name{{{.name = "NAME"}}};
constexpr std::array<Command, 2> commands{{
    {.name = "lock acquire", .arguments = names, .options = options},
    {.name = "lock run", .arguments = names, .options = options, .takes_command = true},
}};
constexpr std::array<Command, 2> plain{{
    {.name = "why", .arguments = one_name},
    {.name = "run", .arguments = names, .options = options, .passes_options = true},
}};
constexpr std::array<Group, 2> groups{{
    {.word = "", .commands = plain},
    {.word = "lock", .commands = commands},
}};

using Words = std::vector<std::string_view>;

Result<Parsed> parsed(const Words& words) {
  const Found found = find_command(groups, words);
  if (found.command == nullptr) return fail(Error::Code::NotFound, "no command");
  return parse(*found.command, found.words, words);
}

TEST(Args, TheWordsOfACommandMayHaveOptionsBetweenThem) {
  const Result<Parsed> said = parsed({"--json", "lock", "--project", "p", "acquire", "-q", "main"});

  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->command, &commands[0]);
  EXPECT_EQ(said->words, (std::vector<std::string>{"main"}));
  EXPECT_TRUE(said->has("json"));
  EXPECT_TRUE(said->has("quiet"));
  EXPECT_EQ(said->text("project"), "p");
}

TEST(Args, AValueStandsBehindItsOptionOrInTheSameWord) {
  for (const Words& words : {Words{"lock", "acquire", "a", "--weight", "3"},
                             Words{"lock", "acquire", "a", "--weight=3"},
                             Words{"lock", "acquire", "a", "-w", "3"},
                             Words{"lock", "acquire", "a", "-w3"},
                             Words{"lock", "acquire", "a", "-fw3"}}) {
    const Result<Parsed> said = parsed(words);
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_EQ(said->number("weight"), 3);
  }
  EXPECT_EQ(parsed({"lock", "acquire", "a", "--weight", "-5"})->number("weight"), -5);
}

TEST(Args, TheWordAfterWaitIsADurationOnlyIfItParsesAsOne) {
  const Result<Parsed> with = parsed({"lock", "acquire", "--wait", "30s", "main"});
  ASSERT_TRUE(with);
  EXPECT_EQ(with->duration("wait"), 30s);
  EXPECT_EQ(with->words, (std::vector<std::string>{"main"}));

  const Result<Parsed> without = parsed({"lock", "acquire", "--wait", "main"});
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->has("wait"));
  EXPECT_EQ(without->duration("wait"), std::nullopt);
  EXPECT_EQ(without->words, (std::vector<std::string>{"main"}));

  EXPECT_FALSE(parsed({"lock", "acquire", "--wait=main", "main"}));
}

TEST(Args, TheLastOfTheSameOptionWins) {
  EXPECT_EQ(parsed({"lock", "acquire", "a", "--label", "x", "--label=y"})->text("label"), "y");
}

TEST(Args, ACommandBehindTwoDashesIsLeftAlone) {
  const Result<Parsed> said = parsed({"lock", "run", "a", "--wait", "--", "make", "-j", "--", "x"});

  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->words, (std::vector<std::string>{"a"}));
  EXPECT_EQ(said->tail, (std::vector<std::string>{"make", "-j", "--", "x"}));
}

TEST(Args, ACommandThatPassesOptionsOnKeepsOnlyItsOwn) {
  const Result<Parsed> said = parsed(
      {"run", "--json", "fix", "-p", "3", "--note=x", "--follow", "-fz", "-5", "--", "--json"});

  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->words,
            (std::vector<std::string>{"fix", "-p", "3", "--note=x", "-fz", "-5", "--", "--json"}));
  EXPECT_TRUE(said->has("json"));
  EXPECT_TRUE(said->has("follow"));
  EXPECT_FALSE(parsed({"run", "fix", "--weight", "x"}));
}

TEST(Args, EveryValueOfARepeatedOptionIsThere) {
  const Result<Parsed> said = parsed({"lock", "acquire", "a", "--label", "x", "--label=y"});
  EXPECT_EQ(said->texts("label"), (std::vector<std::string_view>{"x", "y"}));
}

TEST(Args, ComplaintsSayWhatWasWanted) {
  const auto complaint = [](const Words& words) { return parsed(words).error().message; };

  EXPECT_EQ(complaint({"lock", "acquire"}), "lock acquire wants NAME");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "--holder", ""}),
            "--holder wants a name, and was given nothing");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "--wait", "-5s"}),
            "--wait wants a duration such as 30s or 1h30m, not \"-5s\"");
  EXPECT_EQ(complaint({"lock", "run", "a"}), "lock run wants a command behind --");
  EXPECT_EQ(complaint({"why", "a", "b"}), "unexpected argument \"b\"");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "--lable", "x"}),
            "unknown option --lable; did you mean --label?");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "--zzz"}), "unknown option --zzz");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "-z"}), "unknown option -z");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "--label"}), "--label wants a value: TEXT");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "-w", "x"}),
            "--weight wants a whole number, not \"x\"");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "--state", "new"}),
            "--state is one of: pending dead; not \"new\"");
  EXPECT_EQ(complaint({"lock", "acquire", "a", "--json=1"}), "--json takes no value");
}

TEST(Args, NegativeDataIsAnArgumentAndNotAnOption) {
  EXPECT_EQ(parsed({"why", "-5"})->words, (std::vector<std::string>{"-5"}));
  EXPECT_EQ(parsed({"why", "-"})->words, (std::vector<std::string>{"-"}));
}

TEST(Args, HelpNeedsNoArguments) { EXPECT_TRUE(parsed({"lock", "run", "--help"})); }

TEST(Args, TheNearestIsOneThatATypingMistakeMakes) {
  const std::array<std::string_view, 4> candidates{"lock", "queue", "status", "events"};
  EXPECT_EQ(nearest("lokc", candidates), "lock");
  EXPECT_EQ(nearest("stauts", candidates), "status");
  EXPECT_EQ(nearest("ev", candidates), "events");
  EXPECT_EQ(nearest("banana", candidates), "");
}

TEST(Args, AGroupIsFoundWithoutItsVerb) {
  const Words words{"lock", "aquire"};
  const Found found = find_command(groups, words);
  EXPECT_EQ(found.group, &groups[1]);
  EXPECT_EQ(found.command, nullptr);
}

}  // namespace
}  // namespace reeve::cli
