#pragma once

#include "core/answer.h"
#include "core/holder.h"

#include <optional>

// What everybody who takes something, be it a lock, a slot or an item, may say of itself.
namespace reeve {

// What is wrong with this holder of a request that came over `asking`, or nothing. A holder that
// is bound belongs to the connection that asks.
std::optional<Refused> mistake_in(const Holder& holder,
                                  const Boxed<HolderMeta>& meta,
                                  SessionId asking);

// Long texts are kept to a bound.
Boxed<HolderMeta> tidied(Boxed<HolderMeta> meta);

}  // namespace reeve
