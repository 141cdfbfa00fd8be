#include "codec/arbitrary_testing.h"
#include "codec/binary.h"
#include "codec/json.h"
#include "core/input.h"
#include "core/reply.h"
#include "core/state.h"
#include "core/turn.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>

namespace reeve {
namespace {

using testing::arbitrary;
using testing::Dice;

template <class T>
void comes_back(Dice& dice) {
  const T value = arbitrary<T>(dice);

  const std::string bytes = codec::to_bytes(value);
  const Result<T> from_bytes = codec::from_bytes<T>(bytes);
  if (!from_bytes) RC_FAIL(from_bytes.error().message);
  RC_ASSERT(*from_bytes == value);
  RC_ASSERT(codec::to_bytes(*from_bytes) == bytes);

  const std::string json = codec::to_json(value);
  const Result<T> from_json = codec::from_json<T>(json);
  if (!from_json) RC_FAIL(from_json.error().message + "\n" + json);
  RC_ASSERT(*from_json == value);
}

RC_GTEST_PROP(CodecProperty, WhatIsWrittenIsReadBackInBytesAndInJson, (std::uint64_t seed)) {
  Dice dice(seed);
  for (int i = 0; i < 20; ++i) {
    comes_back<Input>(dice);
    comes_back<Reply>(dice);
    comes_back<Event>(dice);
    comes_back<Start>(dice);
    comes_back<Answer>(dice);
    comes_back<Outcome>(dice);
  }
}

RC_GTEST_PROP(CodecProperty, AWholeStateIsReadBackInBytesAndInJson, (std::uint64_t seed)) {
  Dice dice(seed);
  comes_back<State>(dice);
}

// Bytes that were tampered with: an error or a value, and that value is one of which the same can
// be said.
template <class T>
void is_answered(Dice& dice, std::string bytes) {
  for (std::uint64_t damage = dice.below(4); damage > 0; --damage) {
    const std::size_t at = dice.below(bytes.size() + 1);
    switch (dice.below(4)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.insert(at, 1, static_cast<char>(dice.roll()));
        break;
      case 2:
        if (at < bytes.size()) bytes.erase(at, 1);
        break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(dice.roll());
    }
  }
  const Result<T> value = codec::from_bytes<T>(bytes);
  if (!value) {
    RC_ASSERT(value.error().code == Error::Code::Corrupt);
    return;
  }
  const Result<T> again = codec::from_bytes<T>(codec::to_bytes(*value));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *value);
}

RC_GTEST_PROP(CodecProperty, AnyBytesAreAnswered, (std::uint64_t seed)) {
  Dice dice(seed);
  for (int i = 0; i < 50; ++i) {
    is_answered<Input>(dice, codec::to_bytes(arbitrary<Input>(dice)));
    is_answered<Reply>(dice, codec::to_bytes(arbitrary<Reply>(dice)));
  }
  const std::string state = codec::to_bytes(arbitrary<State>(dice));
  for (int i = 0; i < 20; ++i) is_answered<State>(dice, state);
}

RC_GTEST_PROP(CodecProperty, AnyTextIsAnsweredAsJson, (std::uint64_t seed)) {
  Dice dice(seed);
  for (int i = 0; i < 50; ++i) {
    std::string text = codec::to_json(arbitrary<Input>(dice));
    for (std::uint64_t damage = dice.below(4); damage > 0 && !text.empty(); --damage) {
      const std::size_t at = dice.below(text.size());
      constexpr std::string_view letters = "{}[]\",:0-9eE.\\unltrue \xff";
      if (dice.one_in(2)) {
        text[at] = letters[dice.below(letters.size())];
      } else {
        text.erase(at, dice.below(3));
      }
    }
    const Result<Input> value = codec::from_json<Input>(text);
    if (!value) continue;
    const Result<Input> again = codec::from_json<Input>(codec::to_json(*value));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == *value);
  }
}

}  // namespace
}  // namespace reeve
