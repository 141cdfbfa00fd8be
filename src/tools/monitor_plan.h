#pragma once

#include "runbook/runbook.h"
#include "tools/run_plan.h"

// What a monitor of the runbooks does, as `reeve monitor run` takes it.
namespace reeve::tools {

MonitorPlan plan_of(const runbook::Runbook& runbook, const runbook::Monitor& monitor);

// The set of the runbooks, in which a cron that runs monitors has them as they are now, like
// everything else it was enabled with: they travel in its program. (Too large for one word of a
// command line, they are read anew.)
definition::Set with_monitors(const runbook::Runbook& runbook);

}  // namespace reeve::tools
