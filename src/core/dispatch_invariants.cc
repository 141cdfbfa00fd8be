#include "core/invariants.h"

namespace reeve::dispatch {

void check(const State&, Violations&) {}

}  // namespace reeve::dispatch
