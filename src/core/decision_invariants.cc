#include "core/invariants.h"

namespace reeve::decision {

void check(const State&, Violations&) {}

}  // namespace reeve::decision
