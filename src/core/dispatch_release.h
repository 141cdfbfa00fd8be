#pragma once

#include "core/id.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

// When the claim of a dispatch is released. Pure, and apart from everything that sends or
// spawns, because here lies the danger: a claim that is released when a child was *started*,
// instead of when it was *seen*, lets a second one be started beside it.
//
// |                       | NoLock | AfterSendFinal | AfterSpawnObservation |
// |-----------------------|--------|----------------|-----------------------|
// | send-final, any       | hold   | release        | hold                  |
// | spawn-started         | hold   | hold           | hold                  |
// | spawn-start-failed    | hold   | hold           | release               |
// | socket-alive          | hold   | hold           | release               |
// | child-exited, any     | hold   | hold           | release               |
// | mailbox-enqueued      | hold   | hold           | hold                  |
//
// A claim is released at most once: whichever of two racing observations comes first releases
// it, the other changes nothing. A timeout is not an event.
namespace reeve::dispatch {

// To whom: an agent, by the name its mailbox has.
using Target = Scoped<struct TargetKind>;

// How a message gets there.
enum class Transport : std::uint8_t {
  ControlSocket,  // sent over the session of a living agent
  SpawnBg,        // a dormant one is resumed in the background, and its outcome observed
  Mailbox,        // left for it
};

struct Plan {
  Transport transport = Transport::Mailbox;
  Target target;

  bool operator==(const Plan&) const = default;
};

// While one dispatch has the claim of a target, no other acts on that target.
struct Claim {
  Target target;
  DispatchId dispatch;

  bool operator==(const Claim&) const = default;
};

enum class ReleasePolicy : std::uint8_t { NoLock, AfterSendFinal, AfterSpawnObservation };

// ── The six events ──

enum class SendOutcome : std::uint8_t {
  Sent,
  FallbackSent,  // delivered by another way: final like any other
  Rejected,
  Failed,   // it was never begun
  Unknown,  // the sender was cut off or died in between, and it may have arrived; nothing is being
            // sent any more
};

struct SendFinal {
  SendOutcome outcome = SendOutcome::Sent;

  bool operator==(const SendFinal&) const = default;
};

struct SpawnStarted {
  std::int64_t pid = 0;

  bool operator==(const SpawnStarted&) const = default;
};

struct SpawnStartFailed {
  std::string error;

  bool operator==(const SpawnStartFailed&) const = default;
};

struct SocketAlive {
  bool operator==(const SocketAlive&) const = default;
};

struct ChildExited {
  std::optional<int> code;  // none: by a signal, or with a former life of the machine

  bool operator==(const ChildExited&) const = default;
};

struct MailboxEnqueued {
  bool operator==(const MailboxEnqueued&) const = default;
};

using ReleaseEvent = std::
    variant<SendFinal, SpawnStarted, SpawnStartFailed, SocketAlive, ChildExited, MailboxEnqueued>;

// ── The reducer ──

struct ReleaseState {
  bool released = false;

  auto operator<=>(const ReleaseState&) const = default;
};

struct Reduced {
  ReleaseState state;
  bool should_release = false;

  bool operator==(const Reduced&) const = default;
};

Reduced reduce_release(ReleasePolicy policy, ReleaseState state, const ReleaseEvent& event);

// A plan and a claim that do not belong together; a later release would free nothing, or
// another's claim. Refused before anything happens.
enum class MisPaired : std::uint8_t {
  MailboxWithClaim,
  WithoutClaim,
  ClaimOfAnother,  // of another target
};

std::variant<ReleasePolicy, MisPaired> decide_release_policy(const Plan& plan,
                                                             const std::optional<Claim>& claim);

// ── The decider ──

enum class Liveness : std::uint8_t {
  Alive,
  Dead,
  Indeterminate,  // never acted on
  Unsupported,    // there is no channel to it
};

// Nobody knows if the target lives: look again, and ask then.
struct LookAgain {
  bool operator==(const LookAgain&) const = default;
};

// |               | wants the outcome | does not      |
// |---------------|-------------------|---------------|
// | alive         | ControlSocket     | ControlSocket |
// | dead          | SpawnBg           | Mailbox       |
// | indeterminate | LookAgain         | LookAgain     |
// | unsupported   | Mailbox           | Mailbox       |
std::variant<Transport, LookAgain> decide_transport(Liveness seen, bool wants_outcome);

}  // namespace reeve::dispatch
