#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/definition.h"
#include "core/id.h"
#include "core/pipeline.h"
#include "core/queue.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// A worker turns the items of a queue into pipelines, so many at a time. It is not a process: it
// takes an item when there is one and there is room, and the end of the pipeline is the end of the
// item, in the same input.
//
//             ready item, room                   done: completed
//     queue ───────────────────▶ pipeline ─────▶ failed: failed, tried again or dead
//       ▲                            │           cancelled: given back
//       └────────────────────────────┘
//
// It looks when it is started or woken, when its queue has something ready, and when one of its
// pipelines ended. Starting it twice is a wake. Stopping lets running work finish.
//
// The item is held by the pipeline, without a visibility timeout. The claim is made before the
// pipeline has a number, so the holder is called after the worker and the claim:
// `worker bugfix#1234`.
//
// An item's data becomes the inputs: the members of a JSON object that the pipeline has inputs
// for; a string, or anything else, goes to the first input. So does the whole object if none of
// its members is called like the first input. A pipeline that cannot begin fails its item with the
// reason, and the worker looks again after a second.
//
// A queue with an outside source is polled while a worker of it is started, by one of them at a
// time: the answers come in the order of the questions. What comes is pushed under its outside id,
// and once for as long as the source has it. If the source wants to be told
// who takes an item, it is asked (TakeQueueItem) before the pipeline begins; meanwhile the item
// counts like a pipeline. One that cannot be had there fails like any other. It is asked again with
// every attempt, and when nobody knows what it said, so that whoever has an item may ask for it
// once more.
namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}  // namespace reeve

namespace reeve::worker {

inline constexpr std::uint32_t most_concurrent = 10'000;

// An item that is being taken at its source.
struct Taking {
  QueueName queue;
  ItemId item;
  Token claim;

  bool operator==(const Taking&) const = default;
};

struct Worker {
  bool started = false;  // else it only waits for its pipelines to end
  definition::SetKey set;
  QueueName queue;
  std::string pipeline;
  definition::Map environment;
  std::uint32_t concurrency = 1;
  std::optional<definition::Source> source;
  PersistentSet<PipelineId> active;
  bool starting = false;  // only within a step: a pipeline is being begun
  bool idle = false;      // there was nothing to do, and that was announced
  std::optional<EffectId> polling;
  std::optional<Time> poll_at;
  std::optional<Time> look_at;  // when a step had no room, or a pipeline could not begin
  PersistentMap<EffectId, Taking> taking;
  std::string poll_error = {};                // of the last poll, until one succeeds
  std::optional<Time> polls_fail_since = {};  // with `poll_error`
  bool asks_again = false;  // woken while it asks: what it was woken for may not be in the answer

  bool operator==(const Worker&) const = default;
};

struct QueueWorker {
  QueueName queue;
  WorkerName worker;

  auto operator<=>(const QueueWorker&) const = default;
};

struct Table {
  PersistentMap<WorkerName, Worker> workers;
  PersistentSet<QueueWorker> by_queue;  // those that are started

  bool operator==(const Table&) const = default;
};

// ── What can be asked ──

// As the set defines it. With another set than before, it goes on by that.
struct Start {
  WorkerName name;
  definition::SetKey set;
  definition::Map environment;

  bool operator==(const Start&) const = default;
};

struct Stop {
  WorkerName name;

  bool operator==(const Stop&) const = default;
};

struct Wake {
  WorkerName name;

  bool operator==(const Wake&) const = default;
};

struct Resize {
  WorkerName name;
  std::uint32_t concurrency = 1;

  bool operator==(const Resize&) const = default;
};

using Command = std::variant<Start, Stop, Wake, Resize>;

// ── What is answered ──

struct Working {
  std::uint64_t active = 0;
  std::uint32_t concurrency = 1;

  bool operator==(const Working&) const = default;
};

using Reply = std::variant<Working>;

// ── Facts ──

struct WasStarted {
  WorkerName worker;

  bool operator==(const WasStarted&) const = default;
};

struct WasStopped {
  WorkerName worker;

  bool operator==(const WasStopped&) const = default;
};

struct WasResized {
  WorkerName worker;
  std::uint32_t concurrency = 1;

  bool operator==(const WasResized&) const = default;
};

struct HasTaken {
  WorkerName worker;
  ItemId item;
  PipelineId pipeline;

  bool operator==(const HasTaken&) const = default;
};

// The pipeline for this item could not begin.
struct WasRefused {
  WorkerName worker;
  ItemId item;
  Refused refused;

  bool operator==(const WasRefused&) const = default;
};

struct IsIdle {
  WorkerName worker;

  bool operator==(const IsIdle&) const = default;
};

struct PollFailed {
  WorkerName worker;
  std::string error;

  bool operator==(const PollFailed&) const = default;
};

// The item could not be had at its source.
struct TakeFailed {
  WorkerName worker;
  ItemId item;
  std::string error;

  bool operator==(const TakeFailed&) const = default;
};

// worker:started, :stopped, :resized, :took, :refused, :idle, :poll_failed, :take_failed
using Event = std::variant<WasStarted,
                           WasStopped,
                           WasResized,
                           HasTaken,
                           WasRefused,
                           IsIdle,
                           PollFailed,
                           TakeFailed>;

struct Due {
  WorkerName worker;

  auto operator<=>(const Due&) const = default;
};

// Where the outcome of a poll goes, and that of a take.
struct Address {
  WorkerName worker;

  bool operator==(const Address&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome);

// A pipeline that this worker started ended: its item is completed, failed or released in the
// same input, and there is room for the next.
void pipeline_ended(Turn& turn,
                    const pipeline::ByWorker& by,
                    PipelineId pipeline,
                    pipeline::Ending ending,
                    const std::string& error);

// One that had failed goes on: it is to have its item again, if nobody else has. The claim it has
// from now on, or nothing.
std::optional<Token> reopen(Turn& turn, const pipeline::ByWorker& by, PipelineId pipeline);
void wake(Turn& turn, const WorkerName& name);

// The queue has an item that can be taken: its workers with room are woken, later in this step.
void queue_ready(Turn& turn, const QueueName& queue);
EventName name_of(const Event& event);

// The inputs of a pipeline from an item's data.
definition::Map inputs_from(const std::vector<std::string>& names,
                            std::string_view data,
                            bool json);

}  // namespace reeve::worker
