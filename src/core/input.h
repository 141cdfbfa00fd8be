#pragma once

#include "base/time.h"
#include "core/board.h"
#include "core/cron.h"
#include "core/custody.h"
#include "core/decision.h"
#include "core/definition.h"
#include "core/dispatch.h"
#include "core/event.h"
#include "core/grant.h"
#include "core/lock.h"
#include "core/mailbox.h"
#include "core/outcome.h"
#include "core/pipeline.h"
#include "core/project.h"
#include "core/queue.h"
#include "core/reply.h"
#include "core/semaphore.h"
#include "core/session.h"
#include "core/task.h"
#include "core/walled.h"
#include "core/worker.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Everything that enters the core. This is the one header that knows all of it.
namespace reeve {

// `reeve emit category:action key=value...`
struct EmitCustom {
  std::string name;
  std::vector<std::pair<std::string, std::string>> data;

  bool operator==(const EmitCustom&) const = default;
};

// Ends a request of the same connection that waits.
struct CancelRequest {
  WaiterId waiter;

  bool operator==(const CancelRequest&) const = default;
};

using CommandSum = std::variant<lock::Command,
                                semaphore::Command,
                                queue::Command,
                                task::Command,
                                pipeline::Command,
                                dispatch::Command,
                                worker::Command,
                                cron::Command,
                                board::Command,
                                decision::Command,
                                mailbox::Command,
                                definition::Command,
                                project::Command,
                                EmitCustom,
                                CancelRequest>;

// What a client asks for: one small variant a noun, behind a wall (core/walled).
struct Command : CommandSum {
  Command();
  Command(lock::Command command);
  Command(semaphore::Command command);
  Command(queue::Command command);
  Command(task::Command command);
  Command(pipeline::Command command);
  Command(dispatch::Command command);
  Command(worker::Command command);
  Command(cron::Command command);
  Command(board::Command command);
  Command(decision::Command command);
  Command(mailbox::Command command);
  Command(definition::Command command);
  Command(project::Command command);
  Command(EmitCustom command);
  Command(CancelRequest command);
  template <walled::WordOf<CommandSum> Word>
  Command(Word word) : Command(walled::NounFor<Word, CommandSum>(std::move(word))) {}
  Command(const Command& other);
  Command(Command&& other) noexcept;
  Command& operator=(const Command& other);
  Command& operator=(Command&& other) noexcept;
  ~Command();

  friend bool operator==(const Command& a, const Command& b);
};

// A client's word, or what an adapter saw. What is due is settled before a word is judged; what was
// seen (is_observation) comes before what is due, for it may have been so in time.
struct Request {
  ProjectNo project = default_project;
  SessionId session = {};  // the connection; what binds to it, and where a wait is answered
  bool can_return = true;  // whether that connection can be resumed after a restart
  std::string key = {};    // idempotency; empty: none
  Command command = {};

  bool operator==(const Request&) const = default;
};

bool is_observation(const Command& command);

// Time has passed: settle what is due, go on with what is left over.
struct Tick {
  bool operator==(const Tick&) const = default;
};

// The daemon listens again: after a restart, a suspend, a stall. Heartbeat leases count from
// now. `Ready`, after a restart: connections are gone and have ten seconds to come back.
struct Resumed {
  System::What what = System::What::Ready;

  bool operator==(const Resumed&) const = default;
};

// The machine's wall clock was set; no lease knows.
struct ClockStepped {
  Duration by{0};

  bool operator==(const ClockStepped&) const = default;
};

// The outcome of an outer effect. An unknown, repeated or stale id changes nothing.
struct EffectEnded {
  EffectId effect;
  Outcome outcome;

  bool operator==(const EffectEnded&) const = default;
};

// A request that waited was answered when its connection was gone: what the answer gave is taken
// back and goes to the next, and its key, if it had one, may be used again.
struct Undelivered {
  ProjectNo project = default_project;
  std::string key = {};
  Reply reply = {};

  bool operator==(const Undelivered&) const = default;
};

using Input = std::variant<Request,
                           Tick,
                           Resumed,
                           ClockStepped,
                           EffectEnded,
                           session::Ended,
                           session::Returned,
                           custody::ProcessGone,
                           Undelivered>;

}  // namespace reeve
