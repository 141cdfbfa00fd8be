#include "core/invariants.h"

namespace reeve::lock {

void check(const State&, Violations&) {}

}  // namespace reeve::lock
