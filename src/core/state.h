#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/board.h"
#include "core/chore.h"
#include "core/cron.h"
#include "core/custody.h"
#include "core/decision.h"
#include "core/definition.h"
#include "core/dispatch.h"
#include "core/effect.h"
#include "core/event_bus.h"
#include "core/grant.h"
#include "core/key.h"
#include "core/lock.h"
#include "core/mailbox.h"
#include "core/pipeline.h"
#include "core/project.h"
#include "core/queue.h"
#include "core/semaphore.h"
#include "core/session.h"
#include "core/task.h"
#include "core/timer.h"
#include "core/worker.h"

#include <cstdint>
#include <optional>
#include <tuple>

// All that Reeve knows, as one value. Things refer to each other by id; there is no pointer
// in it. Its maps share their nodes between copies, so a snapshot is a copy:
//
//     const State snapshot = state;   // O(1), whatever the size
namespace reeve {

// An outer effect that was asked for and has no outcome yet.
struct Started {
  Outgoing effect;
  Time since;

  bool operator==(const Started&) const = default;
};

struct State {
  State();
  State(const State& other);
  State(State&& other) noexcept;
  State& operator=(const State& other);
  State& operator=(State&& other) noexcept;
  ~State();

  bool operator==(const State& other) const;

  std::uint64_t sequence = 0;     // of the last input that changed anything
  std::uint64_t last_number = 0;  // the one counter of ids
  std::uint64_t last_token = 0;
  Time now;          // the stamp of the last input; never runs backwards
  Time leases_from;  // heartbeat leases count from here at the earliest

  lock::Table locks;
  semaphore::Table semaphores;
  grant::Table grants;
  custody::Table custody;
  session::Table sessions;
  queue::Table queues;
  task::Table tasks;
  pipeline::Table pipelines;
  dispatch::Table dispatches;
  worker::Table workers;
  cron::Table crons;
  board::Table board;
  decision::Table decisions;
  mailbox::Table mail;
  definition::Table definitions;
  project::Table projects;
  event_bus::Table subscriptions;
  key::Table keys;
  Timers timers;
  Chores chores;
  PersistentMap<EffectId, Started> outbox;
};

// All of it, in order: whoever compares, digests or writes a state goes through this.
template <class AState>
auto parts_of(AState& state) {
  return std::tie(state.sequence,
                  state.last_number,
                  state.last_token,
                  state.now,
                  state.leases_from,
                  state.locks,
                  state.semaphores,
                  state.grants,
                  state.custody,
                  state.sessions,
                  state.queues,
                  state.tasks,
                  state.pipelines,
                  state.dispatches,
                  state.workers,
                  state.crons,
                  state.board,
                  state.decisions,
                  state.mail,
                  state.definitions,
                  state.projects,
                  state.subscriptions,
                  state.keys,
                  state.timers,
                  state.chores,
                  state.outbox);
}

// The earliest moment at which a tick has something to do; at once if a chore is left over.
struct Deadlines {
  std::optional<Time> engine;
  std::optional<Wall> wall;

  bool operator==(const Deadlines&) const = default;
};

Deadlines next_deadline(const State& state);

}  // namespace reeve
