#include "core/dispatch_release.h"

#include "base/die_testing.h"
#include "core/dispatch_testing.h"
#include "core/outcome.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace reeve::dispatch {
namespace {

using reeve::testing::die;

constexpr ReleasePolicy policies[] = {
    ReleasePolicy::NoLock, ReleasePolicy::AfterSendFinal, ReleasePolicy::AfterSpawnObservation};

struct Row {
  std::string name;
  std::vector<ReleaseEvent> events;
  bool releases[3];  // by policy, in the order of `policies`
};

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {"send-final",
       {SendFinal{SendOutcome::Sent},
        SendFinal{SendOutcome::FallbackSent},
        SendFinal{SendOutcome::Rejected},
        SendFinal{SendOutcome::Failed},
        SendFinal{SendOutcome::Unknown}},
       {false, true, false}},
      {"spawn-started", {SpawnStarted{7}}, {false, false, false}},
      {"spawn-start-failed", {SpawnStartFailed{"no such file"}}, {false, false, true}},
      {"socket-alive", {SocketAlive{}}, {false, false, true}},
      {"child-exited",
       {ChildExited{0}, ChildExited{1}, ChildExited{std::nullopt}},
       {false, false, true}},
      {"mailbox-enqueued", {MailboxEnqueued{}}, {false, false, false}},
  };
  return rows;
}

TEST(Release, TheTableIsTheSeedsTable) {
  for (const Row& row : table()) {
    for (std::size_t policy = 0; policy < 3; ++policy) {
      for (const ReleaseEvent& event : row.events) {
        const bool releases = row.releases[policy];
        EXPECT_EQ(reduce_release(policies[policy], {false}, event), (Reduced{{releases}, releases}))
            << row.name << " under policy " << policy;
        EXPECT_EQ(reduce_release(policies[policy], {true}, event), (Reduced{{true}, false}))
            << row.name << " under policy " << policy << ", released before";
      }
    }
  }
}

const Target bo{default_project, "bo"};

std::variant<ReleasePolicy, MisPaired> paired(Transport transport, std::optional<Claim> claim) {
  return decide_release_policy({transport, ana}, claim);
}

TEST(Release, EveryTransportHasItsPolicy) {
  using Answer = std::variant<ReleasePolicy, MisPaired>;
  const Claim claim{ana, {1}};

  EXPECT_EQ(paired(Transport::Mailbox, std::nullopt), Answer{ReleasePolicy::NoLock});
  EXPECT_EQ(paired(Transport::ControlSocket, claim), Answer{ReleasePolicy::AfterSendFinal});
  EXPECT_EQ(paired(Transport::SpawnBg, claim), Answer{ReleasePolicy::AfterSpawnObservation});
}

TEST(Release, AMisPairedPlanAndClaimAreRefused) {
  using Answer = std::variant<ReleasePolicy, MisPaired>;
  const Claim mine{ana, {1}};
  const Claim others{bo, {1}};
  const Claim of_another_project{{{2}, "ana"}, {1}};

  EXPECT_EQ(paired(Transport::Mailbox, mine), Answer{MisPaired::MailboxWithClaim});
  EXPECT_EQ(paired(Transport::ControlSocket, std::nullopt), Answer{MisPaired::WithoutClaim});
  EXPECT_EQ(paired(Transport::SpawnBg, std::nullopt), Answer{MisPaired::WithoutClaim});
  EXPECT_EQ(paired(Transport::ControlSocket, others), Answer{MisPaired::ClaimOfAnother});
  EXPECT_EQ(paired(Transport::SpawnBg, others), Answer{MisPaired::ClaimOfAnother});
  EXPECT_EQ(paired(Transport::SpawnBg, of_another_project), Answer{MisPaired::ClaimOfAnother});
}

TEST(Release, ThePlanFollowsFromLivenessAndFromWhatTheCallerWants) {
  using Answer = std::variant<Transport, LookAgain>;
  for (const bool wants : {false, true}) {
    EXPECT_EQ(decide_transport(Liveness::Alive, wants), Answer{Transport::ControlSocket});
    EXPECT_EQ(decide_transport(Liveness::Indeterminate, wants), Answer{LookAgain{}});
    EXPECT_EQ(decide_transport(Liveness::Unsupported, wants), Answer{Transport::Mailbox});
  }
  EXPECT_EQ(decide_transport(Liveness::Dead, true), Answer{Transport::SpawnBg});
  EXPECT_EQ(decide_transport(Liveness::Dead, false), Answer{Transport::Mailbox});
}

TEST(Release, TheOutcomeOfASendReadsAsAFinalOne) {
  Outcome fallback;
  fallback.values = {{"fallback", "mailbox"}};
  Outcome failed;
  failed.ended = reeve::Ended::Failed;
  Outcome rejected = failed;
  rejected.exit_code = 1;
  Outcome said_no;  // it ran to its end
  said_no.exit_code = 1;
  Outcome said_yes;
  said_yes.exit_code = 0;
  Outcome cut_off = failed;
  cut_off.timed_out = true;
  Outcome cut_off_with_code = cut_off;
  cut_off_with_code.exit_code = 1;
  Outcome ended_by_signal = failed;
  ended_by_signal.signal = 15;
  Outcome died;
  died.signal = 9;
  Outcome unknown;
  unknown.ended = reeve::Ended::Unknown;

  EXPECT_EQ(send_outcome({}), SendOutcome::Sent);
  EXPECT_EQ(send_outcome(fallback), SendOutcome::FallbackSent);
  EXPECT_EQ(send_outcome(said_yes), SendOutcome::Sent);
  EXPECT_EQ(send_outcome(rejected), SendOutcome::Rejected);
  EXPECT_EQ(send_outcome(said_no), SendOutcome::Rejected);
  EXPECT_EQ(send_outcome(failed), SendOutcome::Failed);
  for (const Outcome& outcome : {unknown, cut_off, cut_off_with_code, ended_by_signal, died}) {
    EXPECT_EQ(send_outcome(outcome), SendOutcome::Unknown);
  }

  EXPECT_EQ(result_of(SendOutcome::Sent), Result::Delivered);
  EXPECT_EQ(result_of(SendOutcome::FallbackSent), Result::Delivered);
  EXPECT_EQ(result_of(SendOutcome::Rejected), Result::NotDelivered);
  EXPECT_EQ(result_of(SendOutcome::Failed), Result::NotDelivered);
  EXPECT_EQ(result_of(SendOutcome::Unknown), Result::Unknown);
}

RC_GTEST_PROP(Release, InAnyOrderOfEventsThereIsAtMostOneReleaseAndNoneWithoutACause, ()) {
  const std::size_t policy = *die<std::size_t>(3);
  const auto choices = *rc::gen::container<std::vector<std::size_t>>(die<std::size_t>(6));
  ReleaseState state;
  int releases = 0;
  bool qualified = false;

  for (const std::size_t choice : choices) {
    const Row& row = table()[choice];
    const Reduced reduced =
        reduce_release(policies[policy], state, row.events[*die<std::size_t>(row.events.size())]);
    qualified = qualified || row.releases[policy];
    if (reduced.should_release) {
      ++releases;
      RC_ASSERT(row.releases[policy]);
    }
    state = reduced.state;
    RC_ASSERT(state.released == qualified);
  }
  RC_ASSERT(releases == (qualified ? 1 : 0));
}

}  // namespace
}  // namespace reeve::dispatch
