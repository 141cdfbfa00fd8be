#pragma once

#include "core/holder.h"
#include "core/id.h"

#include <compare>
#include <variant>

namespace reeve {

// Something that is held under a lease, by whatever finds it again. A process and a
// session keep these of all they hold, so that their end frees all of it.
struct LockLease {
  LockName name;

  auto operator<=>(const LockLease&) const = default;
};

struct SlotLease {
  SemaphoreName name;
  Holder holder;

  auto operator<=>(const SlotLease&) const = default;
};

struct ItemLease {
  ItemId item;

  auto operator<=>(const ItemLease&) const = default;
};

using LeaseRef = std::variant<LockLease, SlotLease, ItemLease>;

}  // namespace reeve
