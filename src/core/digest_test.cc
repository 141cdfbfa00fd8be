#include "core/digest.h"

#include "core/testing.h"

#include <gtest/gtest.h>

namespace reeve {
namespace {

using namespace reeve::testing;

TEST(Digest, EqualValuesHaveEqualDigests) {
  EXPECT_EQ(digest_of(initial_state(start)), digest_of(initial_state(start)));
  EXPECT_EQ(digest_of(Command{EmitCustom{"ci:green", {}}}),
            digest_of(Command{EmitCustom{"ci:green", {}}}));
}

TEST(Digest, AnyFieldMakesADifference) {
  const Command green = EmitCustom{"ci:green", {{"branch", "main"}}};
  EXPECT_NE(digest_of(green), digest_of(Command{EmitCustom{"ci:red", {{"branch", "main"}}}}));
  EXPECT_NE(digest_of(green), digest_of(Command{EmitCustom{"ci:green", {{"branch", "dev"}}}}));
  EXPECT_NE(digest_of(green), digest_of(Command{EmitCustom{"ci:green", {}}}));
}

TEST(Digest, TextThatMovesFromOneFieldToTheNextMakesADifference) {
  const lock::ForceRelease one{{default_project, "main"}, "ab", "c", false};
  const lock::ForceRelease other{{default_project, "main"}, "a", "bc", false};

  EXPECT_NE(digest_of(Command{lock::Command{one}}), digest_of(Command{lock::Command{other}}));
}

TEST(Digest, TheAlternativeCountsEvenIfItsFieldsAreTheSame) {
  const queue::Pause pause{{default_project, "jobs"}, {}};
  const queue::Remove remove{{default_project, "jobs"}};

  EXPECT_NE(digest_of(Command{queue::Command{pause}}), digest_of(Command{queue::Command{remove}}));
}

TEST(Digest, OfAStepItIsWhatWasSaidAndAskedFor) {
  const State state = initial_state(start);
  const Stamp stamp{start, Wall{}};
  const Applied green = apply(state, Request{.command = EmitCustom{"ci:green", {}}}, stamp);
  Applied other = green;
  other.state.last_number = 99;

  EXPECT_EQ(digest_of(green), digest_of(other)) << "the state has a digest of its own";
  other.events.clear();
  EXPECT_NE(digest_of(green), digest_of(other));
}

// A digest is written beside every record: if this number changes, every journal is unreadable.
TEST(Digest, IsTheSameOnEveryMachineAndInEveryVersion) {
  EXPECT_EQ(digest_of(Command{EmitCustom{"ci:green", {{"branch", "main"}}}}),
            15110647169747580574u);
}

}  // namespace
}  // namespace reeve
