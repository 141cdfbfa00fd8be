#include "core/invariants.h"

namespace reeve::grant {

void check(const State&, Violations&) {}

}  // namespace reeve::grant
