#include "core/semaphore.h"

#include "core/turn.h"

namespace reeve::semaphore {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
EventName name_of(const Event&) { return {}; }
void settle(Turn&, const SemaphoreName&) {}
void lease_gone(Turn&, const SlotKey&) {}

}  // namespace reeve::semaphore
