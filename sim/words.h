#pragma once

#include "core/reply.h"

#include <type_traits>
#include <variant>

namespace reeve::sim {

// The alternative `T` of a reply, if it is that.
template <class T>
const T* word(const Reply& reply) {
  using Noun = walled::noun_of<T, ReplySum>;
  const Noun* noun = std::get_if<Noun>(&reply.value);
  if constexpr (std::is_same_v<T, Noun>) {
    return noun;
  } else {
    return noun ? std::get_if<T>(noun) : nullptr;
  }
}

}  // namespace reeve::sim
