#include "core/dispatch.h"

#include "core/turn.h"

namespace reeve::dispatch {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void finished(Turn&, EffectId, const Address&, const Outcome&) {}
void decided(Turn&, DispatchId, const decision::Answer&) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::dispatch
