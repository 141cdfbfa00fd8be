#pragma once

#include "core/testing.h"

#include <type_traits>
#include <variant>

namespace reeve::testing {

// The alternative `T` of an event, or null if it is another.
template <class T>
const T* find_in(const EventSum& sum) {
  using Noun = walled::NounFor<T, EventSum>;
  const Noun* noun = std::get_if<Noun>(&sum);
  if constexpr (std::is_same_v<T, Noun>) {
    return noun;
  } else {
    return noun ? std::get_if<T>(noun) : nullptr;
  }
}

}  // namespace reeve::testing
