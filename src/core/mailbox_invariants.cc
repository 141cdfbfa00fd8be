#include "core/invariants.h"

namespace reeve::mailbox {

void check(const State&, Violations&) {}

}  // namespace reeve::mailbox
