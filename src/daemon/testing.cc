#include "adapters/hold.h"

#include <gtest/gtest.h>

#include <span>
#include <string_view>
#include <vector>

// The test program is its own `reeve hold`: with that as its first word it is nothing else.
int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "hold") {
    return reeve::adapters::hold(std::span(words).subspan(1));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
