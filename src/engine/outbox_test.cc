#include "engine/outbox.h"

#include "core/apply.h"

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using Ids = std::vector<EffectId>;

constexpr PipelineId pipeline{1};
constexpr PipelineId other_pipeline{2};

EffectId id(std::uint64_t sequence) { return {sequence, 0}; }
template <class Effect>
Outer of_pipeline(PipelineId of) {
  Effect effect;
  effect.pipeline = of;
  return effect;
}
template <class Effect>
Outer of_work(WorkId work) {
  Effect effect;
  effect.work = work;
  return effect;
}

Outer shell(PipelineId of = {}) { return of_pipeline<Shell>(of); }
Outer kill(EffectId run) { return Kill{run}; }
Outgoing to_somebody(const Outer& effect) { return {effect, pipeline::Address{}}; }

struct EngineOutbox : ::testing::Test {
  State state = initial_state(Time{});
  Outbox outbox{2};

  EngineOutbox() {
    for (const PipelineId known : {pipeline, other_pipeline}) {
      pipeline::Pipeline value;
      value.project = default_project;
      state.pipelines.pipelines.set(known, value);
    }
  }
  void add(std::uint64_t sequence, const Outer& effect) { add(sequence, to_somebody(effect)); }
  void add(std::uint64_t sequence, const Outgoing& effect) {
    state.outbox.set(id(sequence), Started{effect, {}});
    outbox.add(id(sequence), effect, state);
  }
};

TEST_F(EngineOutbox, WhatHasNoSubjectInCommonRunsSideBySide) {
  add(1, shell());
  add(2, shell());
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1), id(2)}));
  EXPECT_EQ(outbox.take_ready(), Ids{});
}

TEST_F(EngineOutbox, WhatIsOverTheLimitWaitsForRoomAndWhatIsBehindAnotherForThat) {
  for (const std::uint64_t sequence : {1U, 2U, 3U}) add(sequence, shell());
  add(4, shell(pipeline));
  add(5, shell(pipeline));
  outbox.take_ready();
  EXPECT_FALSE(outbox.waits_for_room(id(2)));
  EXPECT_TRUE(outbox.waits_for_room(id(3)));
  EXPECT_TRUE(outbox.waits_for_room(id(4)));
  EXPECT_FALSE(outbox.waits_for_room(id(5)));
  outbox.ended(id(1));
  outbox.take_ready();
  EXPECT_FALSE(outbox.waits_for_room(id(3)));
}

TEST_F(EngineOutbox, OnOneSubjectTheNextRunsWhenTheOneBeforeHasItsOutcome) {
  add(1, shell(pipeline));
  add(2, shell(pipeline));
  add(3, shell(other_pipeline));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1), id(3)}));
  outbox.ended(id(3));
  EXPECT_EQ(outbox.take_ready(), Ids{});
  outbox.ended(id(1));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(2)}));
}

TEST_F(EngineOutbox, NoMoreThanTheMostRunAtATime) {
  for (std::uint64_t n = 1; n <= 4; ++n) add(n, shell());
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1), id(2)}));
  EXPECT_EQ(outbox.running(), 2U);
  outbox.ended(id(2));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(3)}));
  outbox.ended(id(1));
  outbox.ended(id(3));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(4)}));
  outbox.ended(id(4));
  EXPECT_EQ(outbox.size(), 0U);
  EXPECT_EQ(outbox.running(), 0U);
}

TEST_F(EngineOutbox, WhatIsBriefHasPlacesOfItsOwn) {
  pipeline::Pipeline at_its_guards = *state.pipelines.pipelines.find(pipeline);
  at_its_guards.course = pipeline::Guarding{};
  state.pipelines.pipelines.set(pipeline, at_its_guards);
  for (const std::uint64_t sequence : {1U, 2U, 3U}) add(sequence, shell());
  add(4, shell(pipeline));
  add(5, of_work<Send>(WorkId{8}));
  add(6, Outgoing{shell(), ToNobody{}});  // a hook
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1), id(2), id(4), id(5)}));
  EXPECT_TRUE(outbox.waits_for_room(id(3)));
  EXPECT_TRUE(outbox.waits_for_room(id(6)));
  outbox.ended(id(1));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(3)}));
  outbox.ended(id(4));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(6)}));
  EXPECT_EQ(outbox.running(), 4U);
}

TEST_F(EngineOutbox, AKillWaitsForNobodyAndThoseAfterItWait) {
  add(1, shell(pipeline));
  add(2, shell());
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1), id(2)}));
  add(3, kill(id(1)));
  add(4, shell(pipeline));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(3)}));
  outbox.ended(id(1));
  EXPECT_EQ(outbox.take_ready(), Ids{});
  outbox.ended(id(3));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(4)}));
}

TEST_F(EngineOutbox, OfAnAgentKillObservedThenSpawn) {
  add(1, Kill{WorkId{7}});
  add(2, of_work<Spawn>(WorkId{7}));
  add(3, of_work<Send>(WorkId{8}));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1), id(3)}));
  outbox.ended(id(1));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(2)}));
}

TEST_F(EngineOutbox, WorktreesAndMergesOfOneRepositoryTakeTurns) {
  add(1, of_pipeline<WorktreeAdd>(pipeline));
  add(2, of_pipeline<Merge>(other_pipeline));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1)}));
  outbox.ended(id(1));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(2)}));
}

TEST_F(EngineOutbox, WhatMayHaveBeenStartedStartsOnlyWhenItWasSeenNotTo) {
  outbox.add_to_observe(id(1), to_somebody(shell(pipeline)), state);
  outbox.add_to_observe(id(2), to_somebody(shell()), state);
  add(3, shell(pipeline));
  EXPECT_EQ(outbox.take_ready(), Ids{});
  EXPECT_TRUE(outbox.observing());
  EXPECT_TRUE(outbox.still_running(id(2)));
  EXPECT_TRUE(outbox.observing());
  EXPECT_TRUE(outbox.never_started(id(1)));
  EXPECT_FALSE(outbox.observing());
  EXPECT_EQ(outbox.take_ready(), (Ids{id(1)}));
  EXPECT_EQ(outbox.running(), 2U);
  EXPECT_FALSE(outbox.never_started(id(1)));
  EXPECT_FALSE(outbox.still_running(id(2)));
  outbox.ended(id(1));
  EXPECT_EQ(outbox.take_ready(), (Ids{id(3)}));
}

TEST_F(EngineOutbox, AnOutcomeEndsTheObservation) {
  outbox.add_to_observe(id(1), to_somebody(shell(pipeline)), state);
  outbox.ended(id(1));
  EXPECT_FALSE(outbox.observing());
  EXPECT_EQ(outbox.running(), 0U);
  outbox.ended(id(1));  // and nobody minds being told twice
  EXPECT_EQ(outbox.size(), 0U);
}

}  // namespace
}  // namespace reeve::engine
