#pragma once

#include "cli/commands/parts.h"
#include "cli/commands/snapshot.h"

// What `status` shows: runs, agents, workers, crons, locks, semaphores, queues, the board. What is
// stale, waited for, dead, paused or full comes before what moves, and that before what is idle.
namespace reeve::cli {

std::vector<Part> status_parts(const Output& output, const Snapshot& seen, std::size_t width);

// How the run of a cron that ended last did; none ended yet: when it was last time for one.
Table::Cell last_of_cron(const Output& output, const Json& cron);

// What of it runs: the first by its id, if it has one; a program has none that any command takes.
std::string runs_of_cron(const Json& cron);

}  // namespace reeve::cli
