#pragma once

#include "base/shape.h"

#include <optional>
#include <string>
#include <string_view>

// Values as people write them: ids, durations, moments, names.
namespace reeve::codec {

// TakenItem is taken_item, queue::Due is queue_due, Scoped<LockKind> is scoped_lock_kind.
std::string snake_case(std::string_view name);

// Whether every value of this shape has a text of its own, so that it can be the key of an object.
bool has_text(const Shape& shape);

// Of an integer, an enumerator, an id, a duration, a text, a dashed struct.
std::string text_of(const Shape& shape, const void* value);

// The other way round; false: it is the text of no such value.
bool parse_text(const Shape& shape, std::string_view text, void* value);

// 2031-05-04T12:00:00.000Z, of the years 0 to 9999; none outside of them.
std::optional<std::string> format_wall(std::int64_t milliseconds);
std::optional<std::int64_t> parse_wall(std::string_view text);

}  // namespace reeve::codec
