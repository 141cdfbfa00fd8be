#include "config/settings.h"

#include "config/testing.h"

#include <gtest/gtest.h>

namespace reeve::config {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

Layer layer(Origin origin, std::string file, std::string_view text) {
  return read_layer(origin, std::move(file), text).value();
}

TEST(Settings, TheProjectCountsMoreThanTheUserAndTheUserMoreThanTheDefault) {
  const Settings settings(
      layer(Origin::User, "u", "[locking]\ntask_timeout = \"5m\"\nwait_timeout = \"1m\""),
      layer(Origin::Project, "p", "[locking]\ntask_timeout = \"7m\""));
  EXPECT_EQ(settings.duration("locking.task_timeout"), 7min);
  EXPECT_EQ(settings.duration("locking.wait_timeout"), 1min);
  EXPECT_EQ(settings.duration("locking.section_timeout"), 2h);
}

TEST(Settings, SayWhereEachStands) {
  const Settings settings(layer(Origin::User, "u", "\n[locking]\ntask_timeout = \"5m\""),
                          layer(Origin::Project, "p", "locking.task_timeout = \"60m\""));
  const auto all = settings.all_of(*find_key("locking.task_timeout"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].origin, Origin::Project);
  EXPECT_EQ(all[0].file, "p");
  EXPECT_EQ(all[0].place.line, 1U);
  EXPECT_EQ(all[0].text, "60m");
  EXPECT_EQ(all[1].origin, Origin::User);
  EXPECT_EQ(all[1].place.line, 3U);
  EXPECT_EQ(all[2].origin, Origin::Default);
  EXPECT_EQ(all[2].text, "60m");
}

TEST(Settings, EveryKindIsRead) {
  const Settings settings(layer(Origin::User,
                                "u",
                                "[limits]\nrun_output = 65536\nruns_bytes = \"3GiB\"\n"
                                "running_effects = 3\n[notify]\non = [\"a:b\"]\ndesktop = false\n"
                                "command = 'cat'\n[ui]\ntime = \"iso\""),
                          {});
  EXPECT_EQ(settings.size("limits.run_output"), 65536U);
  EXPECT_EQ(settings.size("limits.runs_bytes"), std::uint64_t{3} << 30U);
  EXPECT_EQ(settings.integer("limits.running_effects"), 3);
  EXPECT_EQ(settings.list("notify.on"), Lines{"a:b"});
  EXPECT_FALSE(settings.truth("notify.desktop"));
  EXPECT_EQ(settings.text("notify.command"), "cat");
  EXPECT_EQ(settings.text("ui.time"), "iso");
}

TEST(Settings, AllMistakesAreToldAtOnceFromTopToBottom) {
  EXPECT_EQ(mistakes_in("[ui]\n"
                        "color = \"red\"\n"
                        "[locking]\n"
                        "task_timeout = 5\n"
                        "task_timout = \"5m\"\n"
                        "wait_timeout = \"1m\"\n"
                        "[project]\n"
                        "name = \"x\"\n"),
            (Lines{"config.toml:2:9: ui.color: expected auto, always or never, found \"red\"",
                   "config.toml:4:16: locking.task_timeout: expected a duration from 1ms to 3650d, "
                   "found 5",
                   "config.toml:5:1: there is no key locking.task_timout; did you mean "
                   "locking.task_timeout?",
                   "config.toml:8:1: project.name may stand in the project's file only"}));
}

TEST(Settings, APatternThatNoEventCanMatchIsAMistake) {
  const std::string expected =
      "config.toml:2:6: notify.on: expected patterns of events such as \"pipeline:failed\" or "
      "\"ci:*:green\", found ";
  for (const std::string pattern : {"",
                                    ":",
                                    "pipeline",
                                    "pipeline failed",
                                    "pipeline: failed",
                                    "pipe line:failed",
                                    "pipeline:",
                                    "pipe*:failed",
                                    "**:failed",
                                    "a::d"}) {
    EXPECT_EQ(mistakes_in("[notify]\non = [\"a:b\", \"" + pattern + "\"]\n"),
              Lines{expected + "\"" + pattern + "\""});
  }
  EXPECT_EQ(mistakes_in("[notify]\non = [\"a:b\", 5]\n"), Lines{expected + "5"});
  EXPECT_EQ(
      mistakes_in("[notify]\non = [\"escalate\", \"*\", \"**\", \"ci:**\", \"ci:my branch:*\",\n"
                  "  \"pipeline:phase(my phase)\"]\n"),
      Lines{});
}

TEST(Settings, AKeyOfTheUserIsAMistakeInAProject) {
  EXPECT_EQ(mistakes_in("ui.time = \"iso\"", Origin::Project),
            Lines{"config.toml:1:4: ui.time may stand in the user's file only"});
}

TEST(Settings, ATableInThePlaceOfAValueIsAMistakeAndAnEmptyTableIsNone) {
  EXPECT_EQ(mistakes_in("[locking]\n[ui]\n"), Lines{});
  EXPECT_EQ(mistakes_in("[locking.task_timeout]\n").size(), 1U);
  EXPECT_EQ(mistakes_in("[locking.task_timeout]\nx = 1\n"),
            Lines{"config.toml:2:1: there is no key locking.task_timeout.x; did you mean "
                  "locking.task_timeout?"});
  EXPECT_EQ(mistakes_in("[nothing]\n").size(), 1U);
  EXPECT_EQ(mistakes_in("\"project.name\" = \"x\"\n", Origin::Project).size(), 1U);
}

TEST(Settings, WhatIsNoTomlIsToldByLineAndColumn) {
  const Lines mistakes = mistakes_in("[locking]\ntask_timeout = \n");
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_TRUE(mistakes[0].starts_with("config.toml:2:")) << mistakes[0];
  EXPECT_NE(mistakes[0].find("not TOML"), std::string::npos) << mistakes[0];
}

TEST(Settings, ManyMistakesInOneLineAreTheFirstAndACount) {
  const Mistakes two{{"f", {1, 2}, "a"}, {"f", {3, 4}, "b"}};
  EXPECT_EQ(in_one_line({two[0]}), "f:1:2: a");
  EXPECT_EQ(in_one_line(two), "f:1:2: a (and 1 more: `reeve config list`)");
}

}  // namespace
}  // namespace reeve::config
