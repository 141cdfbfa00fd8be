#pragma once

#include "base/shape.h"
#include "core/arbitrary.h"
#include "core/shapes.h"

// Any value of any shape, made from a seed, as core/arbitrary.h makes them of types.
namespace reeve::testing {

void fill(Dice& dice, const Shape& shape, void* value);

template <class T>
T arbitrary(Dice& dice) {
  T value = Blank<T>::make();
  fill(dice, shape_of<T>(), &value);
  return value;
}

}  // namespace reeve::testing
