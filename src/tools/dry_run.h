#pragma once

#include "runbook/runbook.h"

#include <string>
#include <utility>
#include <vector>

// `reeve run --dry-run`: what would happen, with every interpolation done. Looks at nothing but
// its arguments, and touches nothing.
namespace reeve::tools {

// What is known only when it happens is shown as <name>.
struct DryRun {
  struct Line {
    std::string what;  // run, agent, pre, lock, timeout ...
    std::string text;

    bool operator==(const Line&) const = default;
  };
  struct Step {
    std::string name;  // of the phase
    std::vector<Line> lines;

    bool operator==(const Step&) const = default;
  };

  std::string summary;     // one sentence
  runbook::Values values;  // arguments, or the inputs of the pipeline
  std::vector<Line> lines;
  std::vector<Step> steps;

  bool operator==(const DryRun&) const = default;
};

// The command `name` of the runbook with these values of its arguments.
DryRun dry_run(const runbook::Runbook& runbook,
               const std::string& name,
               const runbook::Values& values,
               const std::string& project);

std::string to_text(const DryRun& run);
std::string to_json(const DryRun& run);

}  // namespace reeve::tools
