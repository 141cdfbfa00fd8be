#pragma once

#include "base/persistent_map.h"
#include "base/time.h"
#include "core/answer.h"
#include "core/dispatch_release.h"
#include "core/finished.h"
#include "core/holder.h"
#include "core/id.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

// Delivering a message to an agent: over its session if it lives, by resuming it in the
// background if it sleeps and the caller wants the outcome, else through its mailbox.
//
//     target ─▶ claim ─▶ liveness ─▶ plan
//
// Liveness is looked at outside and comes with the request, so it may be older than the claim: a
// look from before the target was last let go of counts for nothing, and is to be had again.
//
//     Sending ──────────────────────────────────────────────▶ Ended
//                                                               ▲
//     Starting ──▶ Started ──30 s──▶ Killing ──5 s──▶ Retained  │ outcome of the spawn
//        │            │                 │                 │     │
//        └────────────┴──── proof ──────┴─────────────────┴──▶ Seen
//
// Two dispatches never act on one target at a time: whoever sends or resumes holds the claim
// of the target. When it is released is the business of core/dispatch_release, by proof and
// never by time: a resumed agent that shows neither life nor exit is killed, and if even then
// nobody can say what became of it, the claim is *retained* with all that is known, and a
// person decides. A machine that was started anew is proof enough: no child outlives its boot.
namespace reeve {
class Turn;
struct EventName;
struct Outcome;
struct Reply;
}  // namespace reeve

namespace reeve::decision {
struct Answer;
}

namespace reeve::dispatch {

// What is known of a resumed agent, for whoever has to decide what became of it.
struct Evidence {
  Process process;
  std::string socket;
  Time asked_at;
  std::optional<Time> started_at = {};
  std::optional<Time> killed_at = {};

  bool operator==(const Evidence&) const = default;
};

// ── States ──

struct Sending {
  bool operator==(const Sending&) const = default;
};

// The spawn was asked for, and nobody has seen a child yet.
struct Starting {
  bool operator==(const Starting&) const = default;
};

// There is a child that has shown neither life nor exit.
struct Started {
  Time at;

  bool operator==(const Started&) const = default;
};

struct Killing {
  Time since;
  EffectId kill;

  bool operator==(const Killing&) const = default;
};

struct Retained {
  Time since;

  bool operator==(const Retained&) const = default;
};

// It was seen alive, or to have ended, or a person let go of it; its outcome is to come.
struct Seen {
  Time at;

  bool operator==(const Seen&) const = default;
};

enum class Result : std::uint8_t {
  Delivered,  // sent, or the resumed agent ended with `code`
  Mailed,
  NotDelivered,  // certainly not: the same message may be dispatched again
  Unknown,       // perhaps, also of a send that was cut off: not again
};

struct Ended {
  Time at;
  Result result = Result::Unknown;
  std::optional<int> code = {};
  std::string output = {};

  bool operator==(const Ended&) const = default;
};

struct Dispatch {
  Target to;
  std::string message_id;
  std::string text;
  Transport transport = Transport::Mailbox;
  ReleasePolicy policy = ReleasePolicy::NoLock;
  ReleaseState release;
  EffectId effect;              // the send or the spawn
  bool awaits_outcome = false;  // of that effect
  Evidence evidence;
  std::variant<Sending, Starting, Started, Killing, Retained, Seen, Ended> state;

  bool operator==(const Dispatch&) const = default;
};

struct MessageKey {
  Target to;
  std::string id;

  auto operator<=>(const MessageKey&) const = default;
};

// Children that nobody has seen alive or ended, by the boot they were started in.
struct ChildKey {
  std::string boot_id;
  DispatchId dispatch;

  auto operator<=>(const ChildKey&) const = default;
};

// The claim of a target was released: whoever looked at it before does not know what that left
// behind. Kept as long as the dispatch.
struct Released {
  DispatchId dispatch;
  Time at;

  bool operator==(const Released&) const = default;
};

struct Table {
  PersistentMap<DispatchId, Dispatch> dispatches;
  PersistentMap<Target, DispatchId> claims;
  PersistentMap<MessageKey, DispatchId> by_message;  // the last one of each message
  PersistentSet<ChildKey> children;
  std::string boot_id;  // of the machine, as last seen
  Finished<DispatchId> ended;
  PersistentMap<Target, Released> released;  // the last time each target was let go of

  bool operator==(const Table&) const = default;
};

// ── Commands ──

struct Send {
  std::string to;
  std::string message_id;  // empty: one is made
  std::string from;
  std::string text;
  Liveness seen = Liveness::Indeterminate;  // of the target, looked at for this request
  WorkId session = {};                      // of a living one
  std::string resume;                       // how a dormant one is resumed: Shell text
  std::string workspace;
  bool wants_outcome = false;
  Time seen_at = Time::min();  // when it was looked at, in engine time; a look grows old

  bool operator==(const Send&) const = default;
};

// What was seen of the child of a dispatch. That it did not start, and how it ended, also come
// with the outcome of the spawn.
struct SawStarted {
  DispatchId dispatch;
  Process process;
  std::string socket;

  bool operator==(const SawStarted&) const = default;
};

struct SawAlive {
  DispatchId dispatch;

  bool operator==(const SawAlive&) const = default;
};

struct SawExit {
  DispatchId dispatch;
  std::optional<int> code;

  bool operator==(const SawExit&) const = default;
};

// The boot the machine is in: at every start of the daemon.
struct SawBoot {
  std::string boot_id;

  bool operator==(const SawBoot&) const = default;
};

// A person lets go of a retained claim.
struct Clear {
  DispatchId dispatch;

  bool operator==(const Clear&) const = default;
};

using Command = std::variant<Send, SawStarted, SawAlive, SawExit, SawBoot, Clear>;

// ── Replies ──

struct Planned {
  DispatchId dispatch;
  std::string message_id;
  Transport transport = Transport::Mailbox;

  bool operator==(const Planned&) const = default;
};

// The same message was dispatched before, and not in vain.
struct Again {
  DispatchId dispatch;

  bool operator==(const Again&) const = default;
};

// Another dispatch has the claim of the target.
struct Busy {
  DispatchId dispatch;
  bool retained = false;

  bool operator==(const Busy&) const = default;
};

using Reply = std::variant<Planned, Again, Busy, LookAgain>;

// ── Events: dispatch:planned, dispatch:released, dispatch:retained, dispatch:ended ──

struct WasPlanned {
  DispatchId dispatch;
  Target to;
  Transport transport = Transport::Mailbox;

  bool operator==(const WasPlanned&) const = default;
};

struct WasReleased {
  DispatchId dispatch;
  Target to;
  std::optional<ReleaseEvent> proof;  // none: a person let go of it

  bool operator==(const WasReleased&) const = default;
};

struct WasRetained {
  DispatchId dispatch;
  Target to;
  Evidence evidence;

  bool operator==(const WasRetained&) const = default;
};

struct WasEnded {
  DispatchId dispatch;
  Target to;
  Result result = Result::Unknown;

  bool operator==(const WasEnded&) const = default;
};

using Event = std::variant<WasPlanned, WasReleased, WasRetained, WasEnded>;

// A dispatch is to be looked at; or, without one, the oldest ended ones of a project are to be
// forgotten; or, without either, there are children of a former boot left.
struct Due {
  DispatchId dispatch = {};
  std::optional<ProjectNo> project = {};

  auto operator<=>(const Due&) const = default;
};

enum class Part : std::uint8_t { Send, Spawn, Kill };

// Where the outcome of an effect goes.
struct Address {
  DispatchId dispatch;
  Part part = Part::Send;

  bool operator==(const Address&) const = default;
};

reeve::Reply apply(Turn& turn, const Command& command);
void due(Turn& turn, const Due& due);
void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome);
void decided(Turn& turn, DispatchId dispatch, const decision::Answer& answer);
EventName name_of(const Event& event);

// ── Of the value alone ──

// When the dispatch has to be looked at; none: nothing of it depends on time.
std::optional<Time> next_look(const Dispatch& dispatch);

// Whether a child may be there that nobody has seen alive or ended.
bool has_child(const Dispatch& dispatch);

// How the outcome of a send reads as a final one, and what that means for the message.
SendOutcome send_outcome(const Outcome& outcome);
Result result_of(SendOutcome outcome);

}  // namespace reeve::dispatch
