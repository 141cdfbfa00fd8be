#include "core/invariants.h"

namespace reeve::key {

void check(const State&, Violations&) {}

}  // namespace reeve::key
