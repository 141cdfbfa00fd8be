#pragma once

#include "runbook/load.h"
#include "tools/run_plan.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

// The runbooks of a project, read and checked.
namespace reeve::tools {

struct OpenRunbooks {
  std::vector<runbook::File> files;
  runbook::Runbook runbook;
};

// Whether bash is asked about every program: that takes a process for each.
enum class Shell : std::uint8_t { Checked, Unchecked };

// These files, or without any those of the project. Files are called as they lie below it.
std::expected<OpenRunbooks, runbook::Mistakes> open_runbooks(const RunbookPlace& place,
                                                             std::vector<std::string> paths = {},
                                                             Shell shell = Shell::Checked);

// plan_run() of runbooks that are open.
std::expected<RunPlan, CannotRun> plan_run(const runbook::Runbook& runbook,
                                           std::span<const std::string> words,
                                           const RunbookPlace& place);

// A JSON array of them.
std::string mistakes_json(const runbook::Mistakes& mistakes);

}  // namespace reeve::tools
