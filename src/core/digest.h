#pragma once

#include "core/apply.h"
#include "core/input.h"
#include "core/state.h"

#include <cstdint>
#include <memory>
#include <string_view>

// 64 bits that stand for a value: equal values give equal digests, in every process and on
// every machine, so a replay can be compared with the past. A digest is the XXH3 of the value's
// bytes (base/value_bytes), which are made from the fields in their order, never from memory
// layout.
namespace reeve {

std::uint64_t digest_of(const Command& command);

// Of what a step said: reply, answers, events and effects. Journaled beside its input.
std::uint64_t digest_of(const Said& said);

// Of everything, part after part. Takes as long as the state is large.
std::uint64_t digest_of(const State& state);

// The digest of bytes that come in pieces: that of a state, if they are those of its parts.
class StateDigest {
 public:
  StateDigest();
  StateDigest(const StateDigest&) = delete;
  StateDigest& operator=(const StateDigest&) = delete;
  ~StateDigest();

  void add(std::string_view bytes);
  std::uint64_t value() const;

 private:
  struct Hash;
  std::unique_ptr<Hash> hash_;
};

}  // namespace reeve
