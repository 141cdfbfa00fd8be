#include "core/digest.h"

#include "base/value_bytes.h"
#include "core/shapes.h"
#include "core/testing.h"
#include "core/turn.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstddef>
#include <string>

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

// A digest is written beside every record: if it changes, every journal is unreadable. So the bytes
// it is taken of are spelled out here, as docs/value_format.md has them.
TEST(Digest, IsTheXxh3OfTheBytesOfTheValue) {
  const std::string bytes =
      "\x0d"  // the alternative of Command: EmitCustom
      "\x16"  // how many bytes of it follow
      "\x08"
      "ci:green"  // name
      "\x01"      // data: one pair
      "\x06"
      "branch"
      "\x04"
      "main";
  EXPECT_EQ(digest_of(Command{EmitCustom{"ci:green", {{"branch", "main"}}}}),
            XXH3_64bits(bytes.data(), bytes.size()));
}

TEST(Digest, OfAStepIsTheXxh3OfItsFourParts) {
  Said said;
  said.reply = Refused{Why::BadValue, "delay"};
  said.answers = {Answer{WaiterId{200}, Ok{}}};
  const std::string bytes =
      "\x01\x07\x02\x05"
      "delay"                                // the reply: Refused, 7 bytes, BadValue, the subject
      "\x01\x04\xc8\x01"                     // one answer: 4 bytes, to 200,
      + std::string("\x00\x00\x00\x00", 4);  // Ok, of no bytes; no events; no effects
  EXPECT_EQ(digest_of(said), XXH3_64bits(bytes.data(), bytes.size()));
}

TEST(Digest, OfAStateIsThatOfItsBytesInPieces) {
  State state = initial_state(start);
  state.sequence = 300;
  state.last_number = 1;
  StateDigest in_pieces;
  in_pieces.add("\xac\x02\x01");
  ByteBuffer rest;
  for (const Field& part : shape_of<State>().fields.subspan(2)) {
    ByteBuffer value;
    append_value(value, *part.shape, reinterpret_cast<const std::byte*>(&state) + part.offset);
    // Of a struct without the number of its bytes, which is one byte here.
    ASSERT_LT(value.size(), 128u);
    rest.raw(value.view().substr(part.shape->kind == Kind::Struct ? 1 : 0));
  }
  in_pieces.add(rest.view());
  EXPECT_EQ(digest_of(state), in_pieces.value());
}

}  // namespace
}  // namespace reeve
