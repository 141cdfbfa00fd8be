#pragma once

#include "base/time.h"
#include "core/grant.h"
#include "core/holder.h"
#include "core/id.h"

#include <optional>
#include <vector>

// Who waits for whom. Nothing is kept: the graph is read off the lines and leases of a state.
//
//     request ──wants──▶ lock ──held by──▶ holder ──waits in──▶ request ──▶ ...
//                    └─▶ slot ──held by──▶ holders
//
// A wait counts for its holder and for all it runs within: the parent is not done before the child
// is. Whoever stands behind another in a line waits for that one, too. A lease that is over counts
// as over, whether or not a tick has settled it; one whose process is being ended still stands in
// the way.
//
// Two questions are asked of it, and they differ in what a semaphore means:
//
//   - May somebody go ahead of a waiter? If it waits for him by any way at all. Whoever stands
//     in the line of a semaphore waits for each of its holders, whether or not it would fit now:
//     nothing is held for it meanwhile.
//   - Would a new wait never end? Only if nobody in the chain could move: of a semaphore, that
//     those of its holders who are not stuck would not make room for it, all of them together. A
//     holder whose process is being ended is not stuck: its end does not depend on what it waits
//     for. Limits of time are not counted on.
//
// Both take as long as what lies behind the request is large, and no longer: each holder is
// visited once, of a semaphore its holders, of a holder its waits. Nothing recurses, so a chain
// of any length is fine. The common case, a holder who waits for nothing, ends at once.
namespace reeve {
struct State;
}

namespace reeve::wait_graph {

// The holders in a circle, beginning with the asker, each waiting for the next, if the request,
// were it to wait, could never be granted.
std::optional<std::vector<Holder>> would_deadlock(const State& state,
                                                  const grant::Request& request,
                                                  Time now);

// Somebody in the line of a semaphore who waits in a circle in which nobody can move, the last who
// came first. None is, when it was asked for: a capacity that is lowered can make it so.
struct Stuck {
  WaiterId waiter;
  std::vector<Holder> cycle;  // as above
};
std::optional<Stuck> stuck_at(const State& state, const SemaphoreName& name, Time now);

// Whether `waiting` waits, directly or through others, for the holder of `other` or for one that
// runs within.
bool waits_for(const State& state, const Holder& waiting, const grant::Request& other, Time now);

// The waits of all for whom a holder waits, directly or through others, and its own. In the order
// in which they began.
std::vector<WaiterId> waits_behind(const State& state, const Holder& holder, Time now);

}  // namespace reeve::wait_graph
