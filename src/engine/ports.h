#pragma once

#include "base/id.h"
#include "base/result.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/holder.h"
#include "core/id.h"
#include "core/outcome.h"
#include "core/reply.h"
#include "core/turn.h"

#include <cstdint>
#include <string>
#include <variant>

// The only door from the engine to the outside. The engine calls these from Engine::deliver() and
// from nowhere else, on its own thread, when everything that caused the call is durable. None of
// them may block, and none may call the engine back from within: what comes of it is an input of
// a later moment (Engine::effect_ended, observed, process_gone, ...).
namespace reeve::engine {

// Of a request, chosen by whoever submits it; unique among those that are open.
using Ticket = Number<struct TicketKind>;

// Counts the inputs that changed anything; the journal's sequence of the same name.
using Sequence = std::uint64_t;

// What became of an effect that may have been started before a crash.
struct NeverStarted {  // for certain: it can be started now
  bool operator==(const NeverStarted&) const = default;
};
struct StillRunning {  // and adopted: its outcome comes as that of any other
  bool operator==(const StillRunning&) const = default;
};
struct Finished {
  Outcome outcome;

  bool operator==(const Finished&) const = default;
};
struct CannotKnow {  // it was started, and nothing tells what became of it
  std::string evidence;

  bool operator==(const CannotKnow&) const = default;
};
using Observation = std::variant<NeverStarted, StillRunning, Finished, CannotKnow>;

// Does what the core asked for. Every effect handed to start() gets exactly one outcome, through
// Engine::effect_ended(): at its limit it is ended and has failed.
class Hands {
 public:
  Hands() = default;
  Hands(const Hands&) = delete;
  Hands& operator=(const Hands&) = delete;
  virtual ~Hands() = default;

  virtual void start(const Start& effect) = 0;

  // The effect stood in the outbox when the daemon stopped. Looks, changes nothing but what it
  // takes to adopt something that runs, and answers with Engine::observed().
  virtual void observe(const Start& effect) = 0;

  // From now on the end of this process (or group) is wanted, by Engine::process_gone(), also if
  // it has ended already; from now on it no longer is.
  virtual void watch(const Process& process) = 0;
  virtual void forget(const Process& process) = 0;
};

// Hears what requests came to. Replies come in the order of the sequences they were judged after.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  // Exactly one of replied(), queried() and unavailable() comes for every ticket. `sequence` is
  // that of the request if it changed anything, else the one it was judged after.
  virtual void replied(Ticket ticket, Sequence sequence, const Reply& reply) = 0;

  // A request that was answered Waiting before now has what it waited for, or will not.
  virtual void answered(WaiterId waiter, Sequence sequence, const Reply& reply) = 0;

  // The state that was asked for: all it contains is durable. Nobody changes it any more; it may
  // go to another thread.
  virtual void queried(Ticket ticket, const State& state, Stamp stamp) = 0;

  // Nobody knows whether it is on disk: the first failure of the journal was the last. Repeating
  // the request with its key after the restart tells.
  virtual void unavailable(Ticket ticket, const Error& error) = 0;

  // Events were added to Engine::events().
  virtual void news() = 0;
};

// Keeps events in a form of its own (history). It gets every event in order, takes what it has
// already (the same sequence and index) as said, and reports what it has made durable with
// Engine::projected(). Recovery shows it again what it may have missed.
class Projector {
 public:
  Projector() = default;
  Projector(const Projector&) = delete;
  Projector& operator=(const Projector&) = delete;
  virtual ~Projector() = default;

  // `now` is the engine time of `event.at`: by the two of them a moment in the event can be told.
  // The state, which may be a later one, knows what projects are called.
  virtual void project(const Event& event, Time now, const State& state) = 0;

  // All events of sequences up to this one were shown; not every sequence has some.
  virtual void reached(Sequence sequence) = 0;
};

}  // namespace reeve::engine
