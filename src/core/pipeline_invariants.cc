#include "core/invariants.h"

namespace reeve::pipeline {

void check(const State&, Violations&) {}

}  // namespace reeve::pipeline
