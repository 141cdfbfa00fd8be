#include "core/invariants.h"

namespace reeve::custody {

void check(const State&, Violations&) {}

}  // namespace reeve::custody
