#include "base/match.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace reeve {
namespace {

TEST(Match, TakesTheArmOfTheAlternativeThatIsThere) {
  const auto told = [](const std::variant<int, std::string>& thing) {
    return match(
        thing,
        [](int number) { return "the number " + std::to_string(number); },
        [](const std::string& text) { return "the text " + text; });
  };
  EXPECT_EQ(told(7), "the number 7");
  EXPECT_EQ(told("x"), "the text x");
}

TEST(Match, AnArmMayChangeWhatItMatched) {
  std::variant<int, std::string> thing = 1;
  match(thing, [](int& number) { number = 2; }, [](std::string& text) { text.clear(); });
  EXPECT_EQ(thing, (std::variant<int, std::string>(2)));
}

}  // namespace
}  // namespace reeve
