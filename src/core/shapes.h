#pragma once

#include "base/shape.h"
#include "core/event.h"
#include "core/input.h"
#include "core/outcome.h"

// The shapes of what leaves and enters the core. They are made in a few files of their own,
// because nothing takes the compiler longer.
namespace reeve {

struct Answer;
struct Reply;
struct Start;
struct State;

// Of the types below only: of any other it is a mistake that the linker finds.
template <class T>
const Shape& shape_of();

template <>
const Shape& shape_of<Input>();
template <>
const Shape& shape_of<Command>();
template <>
const Shape& shape_of<Reply>();
template <>
const Shape& shape_of<EventBody>();
template <>
const Shape& shape_of<Event>();
template <>
const Shape& shape_of<Start>();
template <>
const Shape& shape_of<Answer>();
template <>
const Shape& shape_of<Outcome>();

// The fields of the state are its parts (`parts_of`), in their order and by their names.
template <>
const Shape& shape_of<State>();

// What an event is before it is read.
template <>
struct Blank<EventBody> {
  static EventBody make() { return Escalate{}; }
};
template <>
struct Blank<Event> {
  static Event make() {
    return {.sequence = 0, .index = 0, .at = {}, .project = {}, .body = Escalate{}};
  }
};

}  // namespace reeve
