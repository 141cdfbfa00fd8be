#include "core/lock.h"

#include "core/turn.h"

namespace reeve::lock {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void decided(Turn&, const LockName&, const decision::Answer&) {}
EventName name_of(const Event&) { return {}; }
void settle(Turn&, const LockName&) {}
void lease_gone(Turn&, const LockName&) {}

}  // namespace reeve::lock
