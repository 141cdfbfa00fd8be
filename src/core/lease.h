#pragma once

#include "base/time.h"
#include "core/id.h"

#include <algorithm>
#include <optional>

namespace reeve {

// One lease model everywhere: a lock, a slot, a claim on an item or a task is held under
// a token, kept by signs of life, and over
//
//   - when there was none for longer than `timeout`, counted from the later of the last
//     sign and `leases_from`: the moment the daemon could listen again;
//   - when it has been held for longer than `max_hold`, whatever happened meanwhile.
//
// It is good up to and at its limit, and over one millisecond later. Without `timeout`
// the holder is the daemon itself, which does not fall silent.
struct Lease {
  Token token;
  Time acquired_at;
  Time last_sign;
  std::optional<Duration> timeout;
  std::optional<Duration> max_hold;
  bool confirmed = false;  // its holder asked for it again and was told so, or has beaten

  bool operator==(const Lease&) const = default;
};

// The last moment at which the lease is good; none if it has no end.
inline std::optional<Time> limit_of(const Lease& lease, Time leases_from) {
  std::optional<Time> limit;
  if (lease.timeout) {
    limit = saturating_add(std::max(lease.last_sign, leases_from), *lease.timeout);
  }
  if (lease.max_hold) {
    const Time held = saturating_add(lease.acquired_at, *lease.max_hold);
    limit = limit ? std::min(*limit, held) : held;
  }
  return limit;
}

// Whether its end is that it was held too long. When that was noticed does not matter.
inline bool ends_by_max_hold(const Lease& lease, Time leases_from) {
  return lease.max_hold &&
         limit_of(lease, leases_from) == saturating_add(lease.acquired_at, *lease.max_hold);
}

inline bool is_over(const Lease& lease, Time leases_from, Time now) {
  const std::optional<Time> limit = limit_of(lease, leases_from);
  return limit && now > *limit;
}

// When a timer has to look: the first moment at which the lease is over.
inline std::optional<Time> over_at(const Lease& lease, Time leases_from) {
  const std::optional<Time> limit = limit_of(lease, leases_from);
  if (!limit) return std::nullopt;
  return saturating_add(*limit, Duration{1});
}

}  // namespace reeve
