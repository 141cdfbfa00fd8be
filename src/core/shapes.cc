#include "core/shapes_detail.h"
#include "core/turn.h"

namespace reeve {

template <>
const Shape& shape_of<Input>() {
  return reflect::shape<Input>;
}
template <>
const Shape& shape_of<Command>() {
  return reflect::shape<Command>;
}
template <>
const Shape& shape_of<Reply>() {
  return reflect::shape<Reply>;
}
template <>
const Shape& shape_of<EventBody>() {
  return reflect::shape<EventBody>;
}
template <>
const Shape& shape_of<Event>() {
  return reflect::shape<Event>;
}
template <>
const Shape& shape_of<Start>() {
  return reflect::shape<Start>;
}
template <>
const Shape& shape_of<Answer>() {
  return reflect::shape<Answer>;
}
template <>
const Shape& shape_of<Outcome>() {
  return reflect::shape<Outcome>;
}

}  // namespace reeve
