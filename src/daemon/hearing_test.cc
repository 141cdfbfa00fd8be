#include "daemon/hearing.h"

#include "core/apply.h"

#include <gtest/gtest.h>

namespace reeve::daemon {
namespace {

TEST(Hearing, AnOutcomeForWhichNobodyWaitsIsKnownAsSuch) {
  constexpr EffectId open{3, 1};
  constexpr EffectId other{3, 2};
  State state = initial_state(Time{});
  state.outbox.set(open, Started{});
  const engine::Observation running = engine::StillRunning{};

  EXPECT_EQ(unwanted(state, adapters::EffectDone{open, {}}), std::nullopt);
  EXPECT_EQ(unwanted(state, adapters::EffectObserved{open, running}), std::nullopt);
  EXPECT_EQ(unwanted(state, adapters::EffectDone{other, {}}), other) << "never heard of it";
  EXPECT_EQ(unwanted(state, adapters::EffectObserved{other, running}), other);

  state.outbox.erase(open);
  EXPECT_EQ(unwanted(state, adapters::EffectDone{open, {}}), open) << "a second time";
}

}  // namespace
}  // namespace reeve::daemon
