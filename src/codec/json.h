#pragma once

#include "base/result.h"
#include "base/shape.h"
#include "core/shapes.h"

#include <string>
#include <string_view>

// Values as JSON: docs/value_format.md says how. The names are those of the code in snake_case, a
// variant is {"push": {...}}, or "ok" if there is nothing more to say; ids, durations and moments
// are what people write ("item-4f7kq2", "1h30m", "2031-05-04T12:00:00.000Z").
//
//     codec::to_json(reply)                       {"queue": {"counted": {"items": 3}}}
//     codec::from_json<Input>(text)
//
// The reader leaves fields that are not there at their defaults and passes over those it does not
// know. All else must fit: an error names the place ("request.command.queue.push.items[0].delay:
// expected a duration such as \"1h30m\", found a number").
namespace reeve::codec {

std::string to_json(const Shape& shape, const void* value);
Result<void> from_json(const Shape& shape, std::string_view text, void* value);

template <class T>
std::string to_json(const T& value) {
  return to_json(shape_of<T>(), &value);
}

template <class T>
Result<T> from_json(std::string_view text) {
  T value = Blank<T>::make();
  if (auto read = from_json(shape_of<T>(), text, &value); !read) return fail(read.error());
  return value;
}

}  // namespace reeve::codec
