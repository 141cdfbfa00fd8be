#include "core/invariants.h"

namespace reeve::definition {

void check(const State&, Violations&) {}

}  // namespace reeve::definition
