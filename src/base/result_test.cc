#include "base/result.h"

#include <gtest/gtest.h>

#include <string>

namespace reeve {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return fail(Error::Code::BadRequest, "give an even number");
  return number / 2;
}

Result<std::string> half_as_text(int number) {
  const Result<int> half = half_of(number);
  if (!half) return fail(half.error());
  return std::to_string(*half);
}

TEST(Result, IsTheValueOrTheReasonWhyThereIsNone) {
  EXPECT_EQ(half_of(4), 2);
  EXPECT_EQ(half_of(5).error(), (Error{Error::Code::BadRequest, "give an even number"}));
}

TEST(Result, AFailureIsPassedOnWhole) {
  EXPECT_EQ(half_as_text(4), "2");
  EXPECT_EQ(half_as_text(5).error(), half_of(5).error());
}

}  // namespace
}  // namespace reeve
