#include "core/pipeline_transition.h"

#include "core/effect.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// The table of states, every pair of state and move; and the table of what comes after a failure.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using definition::AskSomebody;
using definition::Fail;
using definition::GoTo;
using definition::OnUnknown;

Pipeline in_state(Status state) {
  Pipeline pipeline;
  pipeline.id = PipelineId{7};
  pipeline.project = default_project;
  pipeline.origin = Boxed<Begin>(Begin{{default_project, "h"}, "fix", {}, {}, ByClient{}});
  pipeline.state = std::move(state);
  pipeline.entry = 3;
  return pipeline;
}

const std::vector<Reason> reasons = {Reason::Dependency,
                                     Reason::Guard,
                                     Reason::Lock,
                                     Reason::Semaphore,
                                     Reason::Decision,
                                     Reason::Paused,
                                     Reason::Backoff};

Blocked blocked(Reason reason) { return {reason, "build", 2, at(1s)}; }

std::vector<Status> all_states() {
  std::vector<Status> states = {Init{},
                                Running{"build", 2},
                                Done{},
                                Failed{"build", 2, "boom", true},
                                Failed{"build", 2, "boom", false},
                                Cancelled{}};
  for (const Reason reason : reasons) states.push_back(blocked(reason));
  return states;
}

const std::vector<Move> all_moves = {
    move::Start{"build", false},
    move::Start{"build", true},
    move::PhaseComplete{"build", 2, "merge"},
    move::PhaseComplete{"build", 2, ""},
    move::PhaseComplete{"build", 1, "merge"},
    move::PhaseComplete{"test", 2, "merge"},
    move::PhaseFailed{"build", 2, {"build", 2, "boom", true}},
    move::PhaseFailed{"build", 1, {"build", 1, "boom", true}},
    move::PhaseFailed{"test", 2, {"test", 2, "boom", true}},
    move::Block{Reason::Lock},
    move::Unblock{},
    move::Retry{false},
    move::Retry{true},
    move::Jump{"merge"},
    move::Cancel{},
};

std::vector<std::string> said(const Effects& effects) {
  std::vector<std::string> names;
  for (const Effect& effect : effects) {
    names.push_back(reeve::name_of(std::get<Emit>(std::get<Inner>(effect.value)).event).verb);
  }
  return names;
}

using Said = std::vector<std::string>;

// The row that the table has for this pair; none: no change.
struct Row {
  Status next;
  Said events;
  bool enters = false;
};

std::optional<Row> row_of(const Status& state, const Move& move, Time now) {
  const auto* blocked_at = std::get_if<Blocked>(&state);
  const auto* running = std::get_if<Running>(&state);
  const auto* failed = std::get_if<Failed>(&state);
  const bool init = std::holds_alternative<Init>(state);
  const bool open = init || blocked_at || running;
  if (std::holds_alternative<move::Cancel>(move) && open) {
    return Row{Cancelled{}, {"cancelled"}};
  }
  if (const auto* start = std::get_if<move::Start>(&move); start && init) {
    if (start->unmet) return Row{Blocked{Reason::Dependency, "build", 1, now}, {"blocked"}};
    return Row{Running{"build", 1}, {"started", "phase"}, true};
  }
  if (const auto* complete = std::get_if<move::PhaseComplete>(&move); complete && running) {
    if (complete->phase != "build" || complete->attempt != 2) return std::nullopt;
    if (complete->next.empty()) return Row{Done{}, {"complete"}};
    return Row{Running{"merge", 1}, {"phase"}, true};
  }
  if (const auto* fail = std::get_if<move::PhaseFailed>(&move); fail && running) {
    if (fail->phase != "build" || fail->attempt != 2) return std::nullopt;
    return Row{Failed{"build", 2, "boom", true}, {"failed"}};
  }
  if (std::holds_alternative<move::Block>(move)) {
    const bool another = blocked_at && blocked_at->reason != Reason::Lock;
    if (running || another) return Row{Blocked{Reason::Lock, "build", 2, now}, {"blocked"}};
  }
  if (std::holds_alternative<move::Unblock>(move) && blocked_at) {
    switch (blocked_at->reason) {
      case Reason::Dependency:
        return Row{Running{"build", 1}, {"unblocked", "started", "phase"}, true};
      case Reason::Backoff:
        return Row{Running{"build", 3}, {"unblocked", "retry"}, true};
      case Reason::Paused:
        return Row{Running{"build", 2}, {"unblocked"}, true};
      case Reason::Guard:
      case Reason::Lock:
      case Reason::Semaphore:
      case Reason::Decision:
        return Row{Running{"build", 2}, {"unblocked"}};
    }
  }
  if (const auto* retry = std::get_if<move::Retry>(&move)) {
    const bool waits = blocked_at && (blocked_at->reason == Reason::Decision ||
                                      blocked_at->reason == Reason::Backoff);
    if (waits) return Row{Running{"build", 3}, {"unblocked", "retry"}, true};
    if (failed && (failed->recoverable || retry->force)) {
      return Row{Running{"build", 3}, {"retry"}, true};
    }
  }
  if (std::holds_alternative<move::Jump>(move) && (blocked_at || running || failed)) {
    if (!blocked_at) return Row{Running{"merge", 1}, {"phase"}, true};
    if (blocked_at->reason != Reason::Dependency) {
      return Row{Running{"merge", 1}, {"unblocked", "phase"}, true};
    }
    return Row{Running{"merge", 1}, {"unblocked", "started", "phase"}, true};
  }
  return std::nullopt;
}

TEST(PipelineTransition, EveryPairOfStateAndMoveDoesWhatTheTableSays) {
  for (const Status& state : all_states()) {
    for (const Move& move : all_moves) {
      SCOPED_TRACE(std::to_string(state.index()) + " x " + std::to_string(move.index()));
      const Pipeline before = in_state(state);
      const std::optional<Row> row = row_of(state, move, at(5s));

      const Step<Pipeline, bool> step = transition(before, move, at(5s));

      EXPECT_EQ(step.outcome, row.has_value());
      if (!row) {
        EXPECT_EQ(step.next, before);
        EXPECT_TRUE(step.effects.empty());
        continue;
      }
      EXPECT_EQ(step.next.state, row->next);
      EXPECT_EQ(said(step.effects), row->events);
      EXPECT_EQ(step.next.entry, before.entry + (row->enters ? 1 : 0));
      EXPECT_EQ(std::holds_alternative<Entering>(step.next.course), row->enters);
    }
  }
}

TEST(PipelineTransition, TheEndsAbsorbEverythingButTheRetryOfAFailure) {
  for (const Status& end : {Status{Done{}}, Status{Cancelled{}}}) {
    for (const Move& move : all_moves) {
      EXPECT_FALSE(transition(in_state(end), move, at(5s)).outcome);
    }
  }
}

TEST(PipelineTransition, AVisitIsCountedAndARetryIsNot) {
  const auto first = transition(in_state(Init{}), move::Start{"build", false}, at(0s));
  EXPECT_EQ(*first.next.visits.find("build"), 1u);

  const auto retried = transition(in_state(Failed{"build", 1, "", true}), move::Retry{}, at(0s));
  EXPECT_EQ(retried.next.visits.find("build"), nullptr);

  const auto back = transition(first.next, move::Jump{"build"}, at(0s));
  EXPECT_EQ(*back.next.visits.find("build"), 2u);
}

TEST(PipelineTransition, AnEntryForgetsTheFailureBeforeIt) {
  Pipeline pipeline = in_state(blocked(Reason::Decision));
  pipeline.failure = Failure{"boom"};
  pipeline.retries = 2;

  const auto step = transition(pipeline, move::Retry{}, at(0s));

  EXPECT_EQ(step.next.failure, std::nullopt);
  EXPECT_EQ(step.next.retries, 0u);
}

TEST(PipelineTransition, NoNumberRunsOver) {
  constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  const auto step = transition(in_state(Failed{"build", most, "", true}), move::Retry{}, at(0s));
  EXPECT_EQ(step.next.state, (Status{Running{"build", most}}));
}

// ── What comes after a failure ──

struct Failing {
  definition::Pipeline definition = in_phases({shell("build"), shell("cleanup"), shell("mend")});
  definition::Strategy strategy;
  Pipeline pipeline = in_state(Running{"build", 1});
  bool by_strategy = false;

  Failing() { definition.phases[2].next = "build"; }
  definition::Phase& phase() { return definition.phases[0]; }
  Then then(Cause cause) {
    return after_failure(
        pipeline, definition, phase(), by_strategy ? &strategy : nullptr, {"boom", cause});
  }
};

TEST(PipelineFailure, WithoutAWordAboutItSomebodyIsAsked) {
  Failing failing;
  EXPECT_EQ(failing.then(Cause::Ordinary), Then{AskFirst{}});
  EXPECT_EQ(failing.then(Cause::Guard), Then{AskFirst{}});
}

TEST(PipelineFailure, RetryComesBeforeOnFailAsOftenAsItMayAndNoMore) {
  Failing failing;
  failing.phase().retry = {2, 30s};
  failing.phase().on_fail = Fail{};
  failing.pipeline.retries = 1;
  EXPECT_EQ(failing.then(Cause::Ordinary), (Then{TryAgain{30s, true}}));
  EXPECT_EQ(failing.then(Cause::Guard), (Then{TryAgain{30s, true}}));
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{TryAgain{30s, true}}));
  failing.pipeline.retries = 2;
  EXPECT_EQ(failing.then(Cause::Ordinary), (Then{GiveUp{true}}));
}

TEST(PipelineFailure, ThePhasesOnFailHidesThePipelines) {
  Failing failing;
  failing.definition.on_fail = Fail{};
  EXPECT_EQ(failing.then(Cause::Ordinary), (Then{GiveUp{true}}));
  failing.phase().on_fail = AskSomebody{};
  EXPECT_EQ(failing.then(Cause::Ordinary), Then{AskFirst{}});
}

TEST(PipelineFailure, ATargetWithoutItsOwnNextIsCleanupAndWithOneItIsRecovery) {
  Failing failing;
  failing.phase().on_fail = GoTo{"cleanup"};
  EXPECT_EQ(failing.then(Cause::Ordinary), (Then{CleanUp{"cleanup", true}}));
  failing.phase().on_fail = GoTo{"mend"};
  EXPECT_EQ(failing.then(Cause::Ordinary), (Then{Recover{"mend"}}));
  failing.phase().on_fail = GoTo{"nowhere"};
  EXPECT_EQ(failing.then(Cause::Ordinary), (Then{GiveUp{true}}));
}

TEST(PipelineFailure, AFailedRollbackIsFatal) {
  Failing failing;
  failing.phase().retry = {9, 0s};
  EXPECT_EQ(failing.then(Cause::Fatal), (Then{GiveUp{false}}));
  failing.phase().on_fail = GoTo{"mend"};
  EXPECT_EQ(failing.then(Cause::Fatal), (Then{GiveUp{false}}));
  failing.phase().on_fail = GoTo{"cleanup"};
  EXPECT_EQ(failing.then(Cause::Fatal), (Then{CleanUp{"cleanup", false}}));
}

TEST(PipelineFailure, APersonsFailIsNotTriedAgainNorAskedAbout) {
  Failing failing;
  failing.phase().retry = {9, 0s};
  EXPECT_EQ(failing.then(Cause::Told), (Then{GiveUp{false}}));
  failing.phase().on_fail = GoTo{"cleanup"};
  EXPECT_EQ(failing.then(Cause::Told), (Then{CleanUp{"cleanup", false}}));
}

TEST(PipelineFailure, AnOpenCircuitGoesNowhereElse) {
  Failing failing;
  failing.phase().retry = {9, 0s};
  EXPECT_EQ(failing.then(Cause::Circuit), Then{AskFirst{}});
  failing.phase().on_fail = GoTo{"mend"};
  EXPECT_EQ(failing.then(Cause::Circuit), (Then{GiveUp{true}}));
  failing.phase().on_fail = Fail{};
  EXPECT_EQ(failing.then(Cause::Circuit), (Then{GiveUp{true}}));
}

TEST(PipelineFailure, AnOpenCircuitIsCleanedUpAfterLikeAnyOtherFailure) {
  Failing failing;
  failing.definition.on_fail = GoTo{"cleanup"};
  EXPECT_EQ(failing.then(Cause::Circuit), (Then{CleanUp{"cleanup", true}}));
}

TEST(PipelineFailure, AnUnknownOutcomeFollowsOnUnknown) {
  Failing failing;
  failing.phase().retry = {9, 30s};
  failing.phase().on_fail = GoTo{"cleanup"};
  EXPECT_EQ(failing.then(Cause::Unknown), Then{AskFirst{}});
  failing.phase().on_unknown = OnUnknown::Retry;
  EXPECT_EQ(failing.then(Cause::Unknown), (Then{TryAgain{30s, false}}));
  failing.phase().on_unknown = OnUnknown::Fail;
  EXPECT_EQ(failing.then(Cause::Unknown), (Then{CleanUp{"cleanup", true}}));
}

TEST(PipelineFailure, AnExhaustedStrategyFollowsOnExhaust) {
  Failing failing;
  failing.by_strategy = true;
  failing.phase().on_fail = GoTo{"cleanup"};
  failing.strategy.on_exhaust = AskSomebody{};
  EXPECT_EQ(failing.then(Cause::Exhausted), Then{AskFirst{}});
  failing.strategy.on_exhaust = GoTo{"mend"};
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{Recover{"mend"}}));
  failing.strategy.on_exhaust = Fail{};
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{CleanUp{"cleanup", true}}));
  failing.phase().on_fail.reset();
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{GiveUp{true}}));
}

TEST(PipelineFailure, AnExhaustedStrategyThatFailsLeavesTheRestToOnFailButForAQuestion) {
  Failing failing;
  failing.by_strategy = true;
  failing.strategy.on_exhaust = Fail{};
  failing.definition.on_fail = GoTo{"cleanup"};
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{CleanUp{"cleanup", true}}));
  failing.definition.on_fail = GoTo{"mend"};
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{Recover{"mend"}}));
  failing.definition.on_fail = Fail{};
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{GiveUp{true}}));
  // That everybody is asked who says nothing is not said of what says `fail`.
  failing.definition.on_fail = AskSomebody{};
  EXPECT_EQ(failing.then(Cause::Exhausted), (Then{GiveUp{true}}));
  failing.phase().on_fail = AskSomebody{};
  EXPECT_EQ(failing.then(Cause::Exhausted), Then{AskFirst{}});
}

TEST(PipelineFailure, ACleanupThatFailsMayBeTriedAgainAndChangesNothingElse) {
  Failing failing;
  failing.pipeline.verdict = Verdict{};
  for (const Cause cause : {Cause::Ordinary,
                            Cause::Guard,
                            Cause::Circuit,
                            Cause::Unknown,
                            Cause::Exhausted,
                            Cause::Fatal,
                            Cause::Told}) {
    EXPECT_TRUE(std::holds_alternative<GiveUp>(failing.then(cause)));
  }
  failing.phase().retry = {1, 5s};
  EXPECT_EQ(failing.then(Cause::Ordinary), (Then{TryAgain{5s, true}}));
}

TEST(PipelinePlan, TheNextPhaseIsTheOneNamedElseTheOneThatFollows) {
  definition::Pipeline pipeline = in_phases({shell("a"), shell("b"), shell("c")});
  EXPECT_EQ(phase_after(pipeline, pipeline.phases[0]), &pipeline.phases[1]);
  EXPECT_EQ(phase_after(pipeline, pipeline.phases[2]), nullptr);
  pipeline.phases[0].next = "c";
  EXPECT_EQ(phase_after(pipeline, pipeline.phases[0]), &pipeline.phases[2]);
  pipeline.phases[1].ends = true;
  EXPECT_EQ(phase_after(pipeline, pipeline.phases[1]), nullptr);
}

}  // namespace
}  // namespace reeve::pipeline
