#include "core/invariants.h"

namespace reeve::session {

void check(const State&, Violations&) {}

}  // namespace reeve::session
