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

// Whether it looks for work only after a pause: a pipeline could not begin, or nobody knows what
// its source said.
bool rests(const Turn& turn, const Worker& worker);

reeve::Reply working(const Worker& worker);

// Takes while there is room, as far as the step has room too; not while it rests.
void fill(Turn& turn, const WorkerName& name);

// Whoever polled the source of this queue does so no more: another of its workers does, for what
// they were woken for may not be in the answer, which nobody hears.
void poll_instead(Turn& turn, const QueueName& queue);

// A worker that was stopped goes when its last work has ended.
void forget_if_done(Turn& turn, const WorkerName& name);

}  // namespace reeve::worker
