#pragma once

#include "core/grant.h"
#include "core/id.h"

#include <deque>
#include <optional>
#include <variant>

// The inside of core/grant: places in lines, and what a change elsewhere makes possible.
namespace reeve::grant {

// For every name a request asks for, locks first.
template <class See>
void each_name(const Request& request, See see) {
  for (const LockWant& want : request.locks) see(want.name);
  for (const SlotWant& want : request.slots) see(want.name);
}

// The first thing in the way of a request that is not granted.
std::variant<Busy, Full> in_the_way(const State& state,
                                    const Request& request,
                                    std::optional<WaiterId> self,
                                    Time now);

// Everything it asks for becomes its holder's.
Granted give(Turn& turn, const Request& request);

WaiterId join(Turn& turn, Request request);
Waiter take_out(Turn& turn, WaiterId waiter);

// The answer to somebody who waited.
void tell(Turn& turn, WaiterId waiter, const Origin& origin, reeve::Reply reply);

// Whatever may have become possible, looked at one after the other until nothing is left, or
// the step has no room: then each rest is left to a timer that is due now. A grant makes more
// possible (a slot that is left over, somebody who may now go ahead), and that is added.
class Rounds {
 public:
  explicit Rounds(Turn& turn) : turn_(turn) {}

  // A name that may be free, or whose line has become shorter.
  void look_at(const LockName& name) { rest_.emplace_back(name); }
  void look_at(const SemaphoreName& name) { rest_.emplace_back(name); }
  // A holder who, or for whom somebody, has begun to wait.
  void look_at(const Holder& holder) { rest_.emplace_back(holder); }

  // A line in which somebody, from this place on, may be waiting for more than there can be.
  void look_at(const SlotPlace& from) { rest_.emplace_back(from); }

  // Ends a wait without a grant.
  void leave(WaiterId waiter, Left left);

  // Of a request that was granted.
  void after_grant(const Request& request);

  void run();

 private:
  void serve(const LockName& name);
  void serve(const SemaphoreName& name);
  void serve(const Holder& holder);
  void serve(const SlotPlace& from);
  void leave_to_timer(const LockName& name);
  void leave_to_timer(const SemaphoreName& name);
  void leave_to_timer(const Holder& holder);

  // The head of a line, else the first who may pass it. Whether somebody left the line.
  template <class Lines, class Name>
  bool advance(const Lines& lines, const Name& name, bool may_pass);
  bool has_left(WaiterId waiter);
  void expire_wants(WaiterId waiter);
  void send_away(WaiterId waiter, Left left, reeve::Reply reply);

  Turn& turn_;
  std::deque<std::variant<LockName, SemaphoreName, Holder, SlotPlace>> rest_;
};

}  // namespace reeve::grant
