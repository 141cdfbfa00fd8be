#include "config/key.h"

#include "config/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace reeve::config {
namespace {

TEST(ConfigKey, TheTableIsInTheOrderOfTheNamesAndHasEachOnce) {
  const auto names = [](const Key& key) { return key.name; };
  EXPECT_TRUE(std::ranges::is_sorted(keys(), std::ranges::less{}, names));
  EXPECT_EQ(std::ranges::adjacent_find(keys(), {}, names), keys().end());
}

TEST(ConfigKey, EveryOneSaysInASentenceWhatItIs) {
  for (const Key& key : keys()) {
    EXPECT_TRUE(key.says.ends_with('.')) << key.name;
    EXPECT_NE(key.name.find('.'), std::string_view::npos) << key.name;
    EXPECT_LE(key.says.size(), 90U) << key.name;
    EXPECT_EQ(key.kind == Kind::Choice, !key.choices.empty()) << key.name;
  }
}

// standard_of() stops the program if it is none.
TEST(ConfigKey, EveryDefaultIsAGoodValue) {
  for (const Key& key : keys()) {
    const Value value = standard_of(key);
    if (key.standard.empty()) continue;
    const std::string word(key.standard);
    EXPECT_EQ(value, value_of_words(key, std::span(&word, 1)).value()) << key.name;
  }
}

TEST(ConfigKey, TheNearestIsFoundBySlipsAndByItsLastWord) {
  EXPECT_EQ(nearest_key("locking.task_timout"), "locking.task_timeout");
  EXPECT_EQ(nearest_key("task_timeout"), "locking.task_timeout");
  EXPECT_EQ(nearest_key("lock.task_timeout"), "locking.task_timeout");
  EXPECT_EQ(nearest_key("something.else"), "");
}

}  // namespace
}  // namespace reeve::config
