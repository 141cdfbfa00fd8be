#include "core/task.h"

#include "core/turn.h"

namespace reeve::task {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void finished(Turn&, EffectId, const Address&, const Outcome&) {}
void decided(Turn&, WorkId, const decision::Answer&) {}
WorkId begin(Turn&, const Begin&) { return {}; }
void cancel(Turn&, WorkId) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::task
