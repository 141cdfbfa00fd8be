#include "core/dispatch_release.h"

#include "base/match.h"

namespace reeve::dispatch {
namespace {

// Whether the event is one that the policy waits for.
bool qualifies(ReleasePolicy policy, const ReleaseEvent& event) {
  const bool after_send = policy == ReleasePolicy::AfterSendFinal;
  const bool after_spawn = policy == ReleasePolicy::AfterSpawnObservation;
  return match(
      event,
      [&](const SendFinal&) { return after_send; },
      [](const SpawnStarted&) { return false; },
      // No child to watch: to hold on would hold for ever.
      [&](const SpawnStartFailed&) { return after_spawn; },
      [&](const SocketAlive&) { return after_spawn; },
      [&](const ChildExited&) { return after_spawn; },
      [](const MailboxEnqueued&) { return false; });
}

}  // namespace

Reduced reduce_release(ReleasePolicy policy, ReleaseState state, const ReleaseEvent& event) {
  if (state.released || !qualifies(policy, event)) return {state, false};
  return {{true}, true};
}

std::variant<ReleasePolicy, MisPaired> decide_release_policy(const Plan& plan,
                                                             const std::optional<Claim>& claim) {
  if (plan.transport == Transport::Mailbox) {
    if (claim) return MisPaired::MailboxWithClaim;
    return ReleasePolicy::NoLock;
  }
  if (!claim) return MisPaired::WithoutClaim;
  if (claim->target != plan.target) return MisPaired::ClaimOfAnother;
  return plan.transport == Transport::ControlSocket ? ReleasePolicy::AfterSendFinal
                                                    : ReleasePolicy::AfterSpawnObservation;
}

std::variant<Transport, LookAgain> decide_transport(Liveness seen, bool wants_outcome) {
  switch (seen) {
    case Liveness::Alive:
      return Transport::ControlSocket;
    case Liveness::Dead:
      return wants_outcome ? Transport::SpawnBg : Transport::Mailbox;
    case Liveness::Indeterminate:
      return LookAgain{};
    case Liveness::Unsupported:
      return Transport::Mailbox;
  }
  return LookAgain{};
}

}  // namespace reeve::dispatch
