#pragma once

#include "base/time.h"
#include "runbook/document.h"
#include "runbook/mistake.h"
#include "runbook/runbook.h"

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

// clang-format off
// `reeve runbook test FILE`: a scenario says how everything that a run starts ends, and which way
// it is to take. It is played on the real machines with a clock of its own: no program is run, no
// file is written, and a week passes at once.
//
//     [[scenario]]
//     name    = "a guard that passes at the third look"
//     run     = ["release", "1.2"]   # as behind `reeve run`; or pipeline = "…", inputs = {…}
//     path    = ["build", "publish"] # the phases it is to enter, in order
//     ends    = "done"               # done | failed | cancelled | blocked
//     within  = "10m"                # of the scenario's clock; default: no limit
//     error   = "no route"           # a part of what it failed with
//     answers = ["retry"]            # to the questions it asks, in order; 1 s each
//
//     [[scenario.step]]
//     step    = "guard is_clean"            # a phase, `PHASE APPROACH`, `guard NAME`, `agent NAME`
//     exit    = 1                           # default: 0
//     times   = 2                           # then the next entry of this step; the last one stays
//     output  = "dirty"
//     takes   = "30s"                       # default: 1s
//     outputs = { url = "…" }               # what it publishes
//
// What is not mentioned ends well after a second.
// clang-format on
namespace reeve::tools {

struct StepResult {
  int exit = 0;
  std::uint32_t times = 1;
  std::string output;
  Duration takes{1000};
  definition::Map outputs;
};

struct Scenario {
  std::string name;
  runbook::Where where;
  std::string pipeline;
  definition::Map inputs;
  std::vector<std::string> run;  // words, instead of a pipeline
  std::vector<std::string> path;
  std::string ends = "done";
  std::optional<Duration> within;
  std::string error;
  std::vector<std::string> answers;
  std::map<std::string, std::vector<StepResult>> steps;
};

std::expected<std::vector<Scenario>, std::vector<runbook::Mistake>> read_scenarios(
    const runbook::Document& document);

struct Played {
  std::vector<std::string> path;
  std::string ended;  // done, failed, cancelled, blocked
  std::string why;    // the error, or what it is blocked on
  Duration took{0};
  std::vector<std::string> wrong;  // sentences; none: as it was to be
};

// The scenario's `run` has been turned into a pipeline and its inputs.
Played play(const runbook::Runbook& runbook, const Scenario& scenario);

}  // namespace reeve::tools
