#include "core/board.h"

#include "core/turn.h"

namespace reeve::board {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void finished(Turn&, EffectId, const Address&, const Outcome&) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::board
