#pragma once

#include "core/apply.h"
#include "core/input.h"
#include "core/state.h"

#include <cstdint>

// 64 bits that stand for a value: equal values give equal digests, in every process and on
// every machine, so a replay can be compared with the past. They are made from the fields in
// their order (integers as little-endian 64 bit, strings with their length, variants with
// their index), never from memory layout.
namespace reeve {

std::uint64_t digest_of(const Command& command);

// Of what a step said: reply, answers, events and effects. Journaled beside its input.
std::uint64_t digest_of(const Said& said);

// Of everything. Takes as long as the state is large.
std::uint64_t digest_of(const State& state);

}  // namespace reeve
