#pragma once

#include "tools/journal_tool.h"
#include "tools/run_plan.h"

#include <span>
#include <string>
#include <string_view>

// `reeve runbook check|list|show|test|example` and `reeve run NAME --dry-run`, from their words to
// their exit code. None of it needs a daemon, and none of it changes anything.
namespace reeve::tools {

// `words` come after `reeve runbook`. Lines for stdout go to `out`, others to `err`, without their
// last newline. 0 ok, 1 there are mistakes, 2 usage, 3 there is nothing of that name.
int runbook_command(std::span<const std::string_view> words,
                    const RunbookPlace& place,
                    const Sink& out,
                    const Sink& err);

// `words` come after `reeve run`: NAME, its arguments and --dry-run (and --json).
int dry_run_command(std::span<const std::string_view> words,
                    const RunbookPlace& place,
                    const Sink& out,
                    const Sink& err);

}  // namespace reeve::tools
