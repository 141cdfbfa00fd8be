#include "core/queue.h"

#include "core/turn.h"

namespace reeve::queue {

reeve::Reply apply(Turn&, const Command&) { return {Ok{}}; }
void due(Turn&, const Due&) {}
void due(Turn&, const TakerDue&) {}
void due(Turn&, const PauseDue&) {}
void decided(Turn&, ItemId, const decision::Answer&) {}
EventName name_of(const Event&) { return {}; }
bool go_on(Turn&, RedriveAll&) { return true; }
bool go_on(Turn&, PurgeAll&) { return true; }
void lease_gone(Turn&, ItemId) {}
void leave(Turn&, WaiterId, Left) {}
void move_to(Turn&, ItemId, const QueueName&) {}
std::optional<TakenItem> take_for_pipeline(Turn&, const QueueName&, const Holder&) { return {}; }
void give_back(Turn&, ItemId, Token) {}
void finish(Turn&, ItemId, Token) {}
void fail(Turn&, ItemId, Token, const std::string&) {}

}  // namespace reeve::queue
