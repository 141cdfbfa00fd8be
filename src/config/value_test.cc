#include "config/value.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reeve::config {
namespace {

using namespace std::chrono_literals;

const Key& key(std::string_view name) { return *find_key(name); }

std::expected<Value, std::string> said(std::string_view name, std::vector<std::string> words) {
  return value_of_words(key(name), words);
}

TEST(ConfigValue, SizesAreBytesOrUnitsOf1024) {
  EXPECT_EQ(parse_size("512").value(), 512U);
  EXPECT_EQ(parse_size("512B").value(), 512U);
  EXPECT_EQ(parse_size("16MiB").value(), std::uint64_t{16} << 20U);
  EXPECT_EQ(parse_size("16M").value(), std::uint64_t{16} << 20U);
  EXPECT_EQ(parse_size("2GB").value(), std::uint64_t{2} << 30U);
  EXPECT_EQ(parse_size("16777215TiB").value(), std::uint64_t{16777215} << 40U);
  for (const char* bad : {"", "MiB", "-1", "1.5MiB", "16 MiB", "16mb", "16MiBs", "16777216TiB"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
}

TEST(ConfigValue, ASizeIsShownInTheLargestUnitThatFits) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1000), "1000");
  EXPECT_EQ(format_size(1024), "1KiB");
  EXPECT_EQ(format_size(std::uint64_t{3} << 40U), "3TiB");
}

TEST(ConfigValue, WordsAreCheckedByTheirKey) {
  EXPECT_EQ(said("locking.task_timeout", {"90m"}).value(), Value{Duration(90min)});
  EXPECT_EQ(said("limits.run_output", {"1MiB"}).value(), Value{Size{1 << 20}});
  EXPECT_EQ(said("limits.running_effects", {"8"}).value(), Value{std::int64_t{8}});
  EXPECT_EQ(said("notify.desktop", {"false"}).value(), Value{false});
  EXPECT_EQ(said("ui.time", {"iso"}).value(), Value{std::string("iso")});
  EXPECT_EQ(said("notify.on", {"a:b", "c:**"}).value(),
            (Value{std::vector<std::string>{"a:b", "c:**"}}));
}

TEST(ConfigValue, WhatIsNoneIsToldWhatWasExpected) {
  EXPECT_EQ(said("locking.task_timeout", {"5"}).error(),
            "expected a duration from 1ms to 3650d, found \"5\"");
  EXPECT_EQ(said("limits.running_effects", {"0"}).error(),
            "expected a whole number from 1 to 10000, found 0");
  EXPECT_EQ(said("limits.running_effects", {"8x"}).error(),
            "expected a whole number from 1 to 10000, found \"8x\"");
  EXPECT_EQ(said("limits.run_output", {"1KiB"}).error(),
            "expected a size from 64KiB to 1TiB, found \"1KiB\"");
  EXPECT_EQ(said("notify.desktop", {"yes"}).error(), "expected true or false, found \"yes\"");
  EXPECT_EQ(said("ui.color", {"alway"}).error(),
            "expected auto, always or never, found \"alway\"; did you mean always?");
  EXPECT_EQ(said("notify.on", {"a:b", "pipe*:x"}).error(),
            "expected patterns of events such as \"pipeline:failed\" or \"ci:*:green\", found "
            "\"pipe*:x\"");
  EXPECT_EQ(said("ui.time", {"iso", "rel"}).error(), "expected rel or iso, found 2 words");
  EXPECT_FALSE(said("project.name", {"-x"}));
  EXPECT_FALSE(said("project.name", {"a..b"}));
}

TEST(ConfigValue, TheEndsOfARangeAreGoodAndWhatIsBeyondThemIsNot) {
  EXPECT_TRUE(said("limits.running_effects", {"1"}));
  EXPECT_TRUE(said("limits.running_effects", {"10000"}));
  EXPECT_FALSE(said("limits.running_effects", {"10001"}));
  EXPECT_TRUE(said("locking.poll_interval", {"1s"}));
  EXPECT_FALSE(said("locking.poll_interval", {"999ms"}));
  EXPECT_TRUE(said("limits.run_output", {"64KiB"}));
  EXPECT_FALSE(said("limits.run_output", {"65535"}));
}

TEST(ConfigValue, IsWrittenAsItWasSaid) {
  const auto written = [](std::string_view name, std::vector<std::string> words) {
    return toml_of_words(key(name), words);
  };
  EXPECT_EQ(written("locking.task_timeout", {"60m"}), "\"60m\"");
  EXPECT_EQ(written("limits.running_effects", {"8"}), "8");
  EXPECT_EQ(written("notify.desktop", {"true"}), "true");
  EXPECT_EQ(written("notify.on", {"a:b", "c:**"}), "[\"a:b\", \"c:**\"]");
  EXPECT_EQ(written("notify.command", {"echo \"a\\b\"\n\x01"}),
            "\"echo \\\"a\\\\b\\\"\\n\\u0001\"");
}

}  // namespace
}  // namespace reeve::config
