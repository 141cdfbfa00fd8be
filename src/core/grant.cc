#include "core/grant.h"

#include "core/turn.h"

namespace reeve::grant {

reeve::Reply ask(Turn&, Request) { return {Ok{}}; }
void serve(Turn&, const LockName&) {}
void serve(Turn&, const SemaphoreName&) {}
void leave(Turn&, WaiterId, Left) {}
void leave_all(Turn&, const Holder&, Left) {}
void due(Turn&, const Due&) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::grant
