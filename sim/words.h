#pragma once

#include "core/holder.h"
#include "core/input.h"
#include "core/reply.h"

#include <optional>
#include <type_traits>
#include <variant>

namespace reeve::sim {

// The alternative `T` of a reply, if it is that.
template <class T>
const T* word(const Reply& reply) {
  using Noun = walled::NounFor<T, ReplySum>;
  const Noun* noun = std::get_if<Noun>(&reply.value);
  if constexpr (std::is_same_v<T, Noun>) {
    return noun;
  } else {
    return noun ? std::get_if<T>(noun) : nullptr;
  }
}

// Whether what is due is settled before this is judged. What was seen is heard first, and grace is
// decided before what it is for.
inline bool settles(const Input& input) {
  if (const auto* request = std::get_if<Request>(&input)) return !is_observation(request->command);
  return std::holds_alternative<Tick>(input) || std::holds_alternative<session::Returned>(input);
}

// Whether what is over may be found so before this is judged: what ends may give something on, and
// whoever is first in that line may want what somebody else had until then.
inline bool may_settle(const Input& input) {
  return !settles(input) && !std::holds_alternative<Resumed>(input) &&
         !std::holds_alternative<ClockStepped>(input);
}

// The process that a holder names.
inline std::optional<Process> named_process(const Boxed<HolderMeta>& meta) {
  return meta ? meta->process : std::nullopt;
}

}  // namespace reeve::sim
