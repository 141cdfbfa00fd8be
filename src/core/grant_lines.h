#pragma once

#include "core/grant.h"
#include "core/id.h"

#include <cstdint>
#include <deque>
#include <limits>
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

inline constexpr WaiterId behind_all{std::numeric_limits<std::uint64_t>::max()};

inline LockPlace first_place(const LockName& name) { return {name, {}}; }
inline SlotPlace first_place(const SemaphoreName& name) { return {name, false, {}}; }

// Where a waiter stands for a semaphore, if it does.
SlotPlace place_in_line(const Table& table, const SemaphoreName& name, WaiterId waiter);
inline LockPlace place_in_line(const Table&, const LockName& name, WaiterId waiter) {
  return {name, waiter};
}
inline bool stands_in(const Table& table, const LockName& name, WaiterId waiter) {
  return table.lock_lines.contains({name, waiter});
}
inline bool stands_in(const Table& table, const SemaphoreName& name, WaiterId waiter) {
  return table.slot_lines.contains(place_in_line(table, name, waiter));
}

// Its own place in the line, or, if it has none, the one it would be given.
LockPlace place_of(const State& state,
                   const LockWant& want,
                   const Request& request,
                   std::optional<WaiterId> self);
SlotPlace place_of(const State& state,
                   const SlotWant& want,
                   const Request& request,
                   std::optional<WaiterId> self);

// The first who stands before a place in its line. A wait that is over counts as over, whether or
// not a tick has taken it out.
const Waiter* first_ahead(const State& state,
                          const PersistentSet<LockPlace>& lines,
                          const LockPlace& place,
                          Time now);
const Waiter* first_ahead(const State& state,
                          const PersistentSet<SlotPlace>& lines,
                          const SlotPlace& place,
                          Time now);

// Whether it asks for more than there can ever be.
bool is_impossible(const State& state, const Request& request, Time now);

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

  // Ends a wait without a grant: by saying what is in its way, or with this answer.
  void leave(WaiterId waiter, Left left);
  void send_away(WaiterId waiter, Left left, reeve::Reply reply);

  // Of a request that was granted.
  void after_grant(const Request& request);

  // A holder who has come to hold something, or to wait: whichever of its waits could never end.
  void give_up_hopeless(const Holder& holder);

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
  enum class Own : std::uint8_t { Excluded, Included };  // other waits of the head's holder
  template <class Name>
  bool let_pass(const Holder& holder, WaiterId head, const Name& name, Own own);
  void look_at_heads(const Request& request);
  void expire_wants(WaiterId waiter);

  Turn& turn_;
  std::deque<std::variant<LockName, SemaphoreName, Holder, SlotPlace>> rest_;
};

}  // namespace reeve::grant
