#pragma once

#include "base/shape.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

// All types that a value can consist of, as a text for people to read and for a test to compare:
//
//     queue::Item (
//       queue u32,
//       priority i32,
//       ...
//     queue::ItemState (pending, processing, completed, dead)
//     Scoped<LockKind> {project u32, name text}
//
// What stands in round brackets may be continued at its end and in no other way, what stands in
// braces never: bytes that were written before must read the same ever after.
namespace reeve::codec {

std::string schema_of(std::span<const Shape* const> roots);

// What is in `before` and not any more, or otherwise: for each such type the two lines.
std::vector<std::string> broken_promises(std::string_view before, std::string_view now);

}  // namespace reeve::codec
