#include "core/decision.h"

#include "core/turn.h"

namespace reeve::decision {

std::vector<Choice> choices_of(Cause) { return {}; }
std::string_view text_of(Choice) { return {}; }
reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
EventName name_of(const Event&) { return {}; }
DecisionId open(Turn&, Question) { return {}; }
void retire(Turn&, const Owner&) {}
void leave(Turn&, WaiterId, Left) {}

}  // namespace reeve::decision
