#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reeve {

// A number with a kind, taken from the one counter of the state. Zero is none. The kind exists
// only at compile time: an ItemId where a PipelineId belongs does not compile.
template <class Kind>
struct Number {
  std::uint64_t value = 0;

  auto operator<=>(const Number&) const = default;
  explicit operator bool() const { return value != 0; }
};

// Numbers as people see and type them: six characters or more of the digits and small
// letters without i, l, o and u, scattered so that neighbours differ at the first character.
// Six characters serve the first 2^30 numbers, seven those up to 2^35, and so on to thirteen.
// The text of a number is part of the formats: it never changes.
std::string encode_id(std::uint64_t number);

// The number that encode_id writes as exactly this text, if there is one.
std::optional<std::uint64_t> decode_id(std::string_view text);

}  // namespace reeve
