#include "core/invariants.h"

namespace reeve::worker {

void check(const State&, Violations&) {}

}  // namespace reeve::worker
