#pragma once

#include "core/worker.h"

#include <cstdint>

// The inside of core/worker: what its commands and its work share.
namespace reeve::worker {

const Worker* find(const Turn& turn, const WorkerName& name);
Worker& edit(Turn& turn, const WorkerName& name);

// Sets its timer to the first thing it waits for.
void arm(Turn& turn, const WorkerName& name);

// Pipelines, and what is on the way to become one.
std::uint64_t busy_with(const Worker& worker);

reeve::Reply working(const Worker& worker);

// Takes while there is room, as far as the step has room too.
void fill(Turn& turn, const WorkerName& name);

// A worker that was stopped goes when its last work has ended.
void forget_if_done(Turn& turn, const WorkerName& name);

}  // namespace reeve::worker
