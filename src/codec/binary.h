#pragma once

#include "base/result.h"
#include "base/shape.h"
#include "core/shapes.h"

#include <cstdint>
#include <string>
#include <string_view>

// Values as bytes: docs/value_format.md says which. A document is the number of the format
// followed by one value:
//
//     const std::string bytes = codec::to_bytes(input);
//     const Result<Input> again = codec::from_bytes<Input>(bytes);
//
// Reading is safe whatever the bytes are: it ends with a value or with an error that names the
// place ("items[3].phase: unknown alternative 7 of pipeline::At, at byte 812"). Fields that a
// later version has appended are skipped, fields that an earlier one did not have keep their
// defaults. An alternative or enumerator that this version does not know is an error: guessing
// at it would be another value.
namespace reeve::codec {

inline constexpr std::uint64_t format_version = 1;

std::string to_bytes(const Shape& shape, const void* value);
Result<void> from_bytes(const Shape& shape, std::string_view bytes, void* value);

template <class T>
std::string to_bytes(const T& value) {
  return to_bytes(shape_of<T>(), &value);
}

template <class T>
Result<T> from_bytes(std::string_view bytes) {
  T value = Blank<T>::make();
  if (auto read = from_bytes(shape_of<T>(), bytes, &value); !read) return fail(read.error());
  return value;
}

}  // namespace reeve::codec
