#pragma once

#include "cli/commands/parts.h"
#include "cli/commands/snapshot.h"

// What `status` shows: runs, workers, crons, locks, semaphores, queues, the board. What is stale,
// waited for, dead, paused or full comes before what moves, and that before what is idle.
namespace reeve::cli {

std::vector<Part> status_parts(const Output& output, const Snapshot& seen, std::size_t width);

}  // namespace reeve::cli
