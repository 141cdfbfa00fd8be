#include "core/invariants.h"

namespace reeve::cron {

void check(const State&, Violations&) {}

}  // namespace reeve::cron
