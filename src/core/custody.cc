#include "core/custody.h"

#include "core/turn.h"

namespace reeve::custody {

void keep(Turn&, const Process&, LeaseRef) {}
void let_go(Turn&, const Process&, const LeaseRef&) {}
void end(Turn&, const Process&, Cause) {}
void gone(Turn&, const Process&, bool) {}
void kill_finished(Turn&, const Process&, bool) {}
void due(Turn&, const Due&) {}
void decided(Turn&, const Process&, const decision::Answer&) {}
EventName name_of(const Event&) { return {}; }

}  // namespace reeve::custody
