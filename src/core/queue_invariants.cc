#include "core/invariants.h"

namespace reeve::queue {

void check(const State&, Violations&) {}

}  // namespace reeve::queue
