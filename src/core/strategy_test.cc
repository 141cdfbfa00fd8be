#include "core/strategy.h"

#include "base/die_testing.h"
#include "core/event_name.h"
#include "core/limits.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace reeve::strategy {
namespace {

using reeve::testing::die;
using namespace std::chrono_literals;
using Facts = std::vector<Fact>;

Outcome done(std::string output = {}) { return {.exit_code = 0, .output = std::move(output)}; }

Outcome failed_with(int code, std::string output = {}) {
  return {.ended = Ended::Failed, .exit_code = code, .output = std::move(output)};
}

Outcome timed_out(std::string output = {}) {
  return {.ended = Ended::Failed, .signal = 15, .timed_out = true, .output = std::move(output)};
}

Outcome unknown() { return {.ended = Ended::Unknown}; }

definition::Approach approach(std::string name,
                              std::string rollback = {},
                              std::vector<std::string> fallback_on = {}) {
  definition::Approach result;
  result.action = definition::RunShell{"run " + name};
  result.name = std::move(name);
  result.rollback = std::move(rollback);
  result.fallback_on = std::move(fallback_on);
  return result;
}

// ff falls back on conflicts and has nothing to roll back; rebase on anything, and has.
definition::Strategy merge() {
  return {"git rev-parse HEAD",
          {approach("ff", "", {"conflict"}), approach("rebase", "git reset"), approach("agent")},
          definition::Fail{}};
}

Strategy trying(std::uint32_t number) { return {Trying{number}, "c0ffee"}; }

RunApproach run(const definition::Strategy& definition, std::uint32_t number) {
  const definition::Approach& what = definition.approaches[number];
  return {number, what.name, what.action, what.timeout};
}

TEST(Strategy, BeginsWithItsCheckpoint) {
  EXPECT_EQ(start(merge()), (Step{{Checkpointing{}, ""}, RunCheckpoint{"git rev-parse HEAD"}}));
}

TEST(Strategy, WithoutACheckpointBeginsWithTheFirstApproach) {
  definition::Strategy definition = merge();
  definition.checkpoint = "";
  definition.approaches[0].timeout = 1min;

  EXPECT_EQ(start(definition),
            (Step{{Trying{0}, ""},
                  RunApproach{0, "ff", definition::RunShell{"run ff"}, Duration{1min}},
                  {WasTried{"ff"}}}));
}

TEST(Strategy, WithoutApproachesIsExhaustedAtOnce) {
  const Step step = start({});

  EXPECT_EQ(step.next, (Next{Exhausted{"there is no approach to try"}}));
  EXPECT_EQ(step.facts, (Facts{WasExhausted{"there is no approach to try"}}));
  EXPECT_EQ(finished({Checkpointing{}, ""}, {}, done()).next, step.next);
}

TEST(Strategy, KeepsWhatTheCheckpointPrintedWithoutTheLastNewline) {
  EXPECT_EQ(finished({Checkpointing{}, ""}, merge(), done("c0ffee\n")),
            (Step{trying(0), run(merge(), 0), {WasTried{"ff"}}}));
  EXPECT_EQ(finished({Checkpointing{}, ""}, merge(), done("a\nb\r\n\n")).strategy.checkpoint,
            "a\nb");
}

TEST(Strategy, AFailingCheckpointFailsIt) {
  const Failed failed{"the checkpoint failed: exit code 128: not a git repository"};

  EXPECT_EQ(finished({Checkpointing{}, ""}, merge(), failed_with(128, "not a git repository\n")),
            (Step{{failed, ""}, failed}));
}

TEST(Strategy, ACheckpointOfUnknownEndIsToldUpward) {
  const Unclear unclear{"nobody knows whether the checkpoint was made"};

  EXPECT_EQ(finished({Checkpointing{}, ""}, merge(), unknown()), (Step{{unclear, ""}, unclear}));
}

TEST(Strategy, AnApproachThatSucceedsEndsIt) {
  const Succeeded succeeded{1, "merged"};

  EXPECT_EQ(finished(trying(1), merge(), done("merged")), (Step{{succeeded, "c0ffee"}, succeeded}));
}

TEST(Strategy, AnExpectedFailureWithoutRollbackTriesTheNext) {
  EXPECT_EQ(finished(trying(0), merge(), failed_with(1, "a\nCONFLICT in b\n")),
            (Step{trying(1),
                  run(merge(), 1),
                  {FellBack{"ff", "rebase", "exit code 1: CONFLICT in b"}, WasTried{"rebase"}}}));
}

TEST(Strategy, AnExpectedFailureIsRolledBackBeforeTheNext) {
  const RollingBack back{1, "exit code 1"};

  EXPECT_EQ(finished(trying(1), merge(), failed_with(1)),
            (Step{{back, "c0ffee"}, RunRollback{1, "git reset"}}));
  EXPECT_EQ(finished({back, "c0ffee"}, merge(), done()),
            (Step{trying(2),
                  run(merge(), 2),
                  {FellBack{"rebase", "agent", "exit code 1"}, WasTried{"agent"}}}));
}

TEST(Strategy, AnUnexpectedFailureFailsItWithApproachesLeft) {
  const Failed failed{"exit code 1: disk full"};

  EXPECT_EQ(finished(trying(0), merge(), failed_with(1, "disk full")),
            (Step{{failed, "c0ffee"}, failed}));
}

TEST(Strategy, TheLastApproachExhaustsItWhetherExpectedOrNot) {
  definition::Strategy definition = merge();
  definition.approaches[2].rollback = "git reset";
  const Exhausted exhausted{"exit code 1"};
  const Step expected{{exhausted, "c0ffee"}, exhausted, {WasExhausted{"exit code 1"}}};

  EXPECT_EQ(finished(trying(2), definition, failed_with(1)), expected);
  definition.approaches[2].fallback_on = {"conflict"};
  EXPECT_EQ(finished(trying(2), definition, failed_with(1)), expected);
}

TEST(Strategy, AFailingRollbackIsFatalAndSaysSo) {
  const Failed failed{"the rollback of rebase failed: exit code 3, after: exit code 1", true};

  EXPECT_EQ(finished({RollingBack{1, "exit code 1"}, "c0ffee"}, merge(), failed_with(3)),
            (Step{{failed, "c0ffee"}, failed}));
}

TEST(Strategy, ARollbackOfUnknownEndIsToldUpward) {
  const Unclear unclear{"nobody knows whether rebase was rolled back, after: exit code 1"};

  EXPECT_EQ(finished({RollingBack{1, "exit code 1"}, "c0ffee"}, merge(), unknown()),
            (Step{{unclear, "c0ffee"}, unclear}));
}

TEST(Strategy, AnAttemptOfUnknownEndIsToldUpward) {
  const Unclear unclear{"nobody knows how ff ended"};

  EXPECT_EQ(finished(trying(0), merge(), unknown()), (Step{{unclear, "c0ffee"}, unclear}));
}

TEST(Strategy, WhatIsOverStaysAsItIs) {
  for (const Strategy& over : {Strategy{Succeeded{1, "x"}, "c"},
                               Strategy{Exhausted{"x"}, "c"},
                               Strategy{Failed{"x"}, "c"},
                               Strategy{Unclear{"x"}, "c"}}) {
    EXPECT_TRUE(is_over(over));
    for (const Outcome& outcome : {done(), failed_with(1), timed_out(), unknown()}) {
      EXPECT_EQ(finished(over, merge(), outcome), (Step{over, Nothing{}}));
    }
  }
}

TEST(Strategy, AnOutcomeThatNobodyWaitsForChangesNothing) {
  EXPECT_EQ(finished({}, merge(), done()), (Step{{}, Nothing{}}));
  EXPECT_EQ(finished(trying(3), merge(), done()), (Step{trying(3), Nothing{}}));
  const Strategy back{RollingBack{2, "x"}, ""};
  EXPECT_EQ(finished(back, merge(), done()), (Step{back, Nothing{}}));
  EXPECT_FALSE(is_over({}));
  EXPECT_FALSE(is_over({Checkpointing{}, ""}));
  EXPECT_FALSE(is_over(trying(0)));
  EXPECT_FALSE(is_over(back));
}

TEST(Strategy, WithoutAListAnyErrorFallsBack) {
  EXPECT_TRUE(falls_back(approach("a"), failed_with(1)));
  EXPECT_TRUE(falls_back(approach("a"), timed_out()));
}

TEST(Strategy, ATimeoutIsMatchedByItsWordByAnyAndByNoOther) {
  EXPECT_TRUE(falls_back(approach("a", "", {"timeout"}), timed_out()));
  EXPECT_TRUE(falls_back(approach("a", "", {"any"}), timed_out()));
  EXPECT_FALSE(falls_back(approach("a", "", {"conflict", "/./"}), timed_out("conflict")));
  EXPECT_FALSE(falls_back(approach("a", "", {"timeout"}), failed_with(1, "timeout")));
}

TEST(Strategy, AnyOfThePatternsIsEnough) {
  EXPECT_TRUE(falls_back(approach("a", "", {"x", "any"}), failed_with(1)));
  EXPECT_TRUE(falls_back(approach("a", "", {"x", "Con"}), failed_with(1, "a conflict")));
  EXPECT_TRUE(falls_back(approach("a", "", {"/^con.*t$/"}), failed_with(1, "x\nCONFLICT\n")));
  EXPECT_FALSE(falls_back(approach("a", "", {"/con(/", ""}), failed_with(1, "con(")));
}

TEST(Strategy, WhatTheAdapterSaidIsMatchedAsWell) {
  Outcome outcome = failed_with(1, "output");
  outcome.error = "not possible to fast-forward";

  EXPECT_TRUE(falls_back(approach("a", "", {"fast-forward"}), outcome));
  EXPECT_TRUE(falls_back(approach("a", "", {"output"}), outcome));
}

TEST(Strategy, OnlyTheLast64KibibytesAreLookedAt) {
  const std::string rest(limits::text_bytes - 4, '.');

  EXPECT_TRUE(falls_back(approach("a", "", {"word"}), failed_with(1, "word" + rest)));
  EXPECT_FALSE(falls_back(approach("a", "", {"word"}), failed_with(1, "word" + rest + ".")));
}

TEST(Strategy, SuccessIsDoneWithCodeZeroOrNone) {
  EXPECT_TRUE(has_succeeded(done()));
  EXPECT_TRUE(has_succeeded({}));
  EXPECT_FALSE(has_succeeded({.exit_code = 1}));
  EXPECT_FALSE(has_succeeded({.signal = 9}));
  EXPECT_FALSE(has_succeeded({.exit_code = 0, .timed_out = true}));
  EXPECT_FALSE(has_succeeded({.ended = Ended::Failed, .exit_code = 0}));
  EXPECT_FALSE(has_succeeded(unknown()));
}

TEST(Strategy, AnErrorIsToldInOneLine) {
  EXPECT_EQ(error_of(failed_with(2)), "exit code 2");
  EXPECT_EQ(error_of(failed_with(2, "a\nb\n\n")), "exit code 2: b");
  EXPECT_EQ(error_of({.ended = Ended::Failed, .output = "up\n", .error = "exit code 3: up"}),
            "exit code 3: up");
  EXPECT_EQ(error_of(timed_out()), "timed out");
  EXPECT_EQ(error_of({.ended = Ended::Failed, .signal = 9}), "signal 9");
  EXPECT_EQ(error_of({.ended = Ended::Failed, .error = "no such file"}), "no such file");
  EXPECT_EQ(error_of({.ended = Ended::Failed}), "failed");
  EXPECT_EQ(error_of(failed_with(2, std::string(limits::text_bytes, 'x'))).size(),
            limits::text_bytes);
}

TEST(Strategy, ItsEventsAreNamedAfterIt) {
  const auto name = [](Fact what) { return name_of(Event{PipelineId{7}, "land", "merge", what}); };

  EXPECT_EQ(name(WasTried{"ff"}), (EventName{"strategy", "merge", "attempt", "land"}));
  EXPECT_EQ(name(FellBack{}), (EventName{"strategy", "merge", "fallback", "land"}));
  EXPECT_EQ(name(WasExhausted{}), (EventName{"strategy", "merge", "exhausted", "land"}));
}

// Whatever happens: it ends after at most two runs an approach and one before; each approach is
// tried at most once and in order; a fallback is told of exactly if there is a next attempt.
RC_GTEST_PROP(Strategy, AlwaysEnds, ()) {
  definition::Strategy definition;
  definition.checkpoint = *rc::gen::element<std::string>("", "mark");
  const int approaches = *die(5);
  for (int i = 0; i < approaches; ++i) {
    definition.approaches.push_back(
        approach(std::to_string(i),
                 *rc::gen::element<std::string>("", "undo"),
                 *rc::gen::container<std::vector<std::string>>(
                     rc::gen::element<std::string>("any", "timeout", "x", "/y/"))));
  }
  Step step = start(definition);
  std::vector<std::uint32_t> tried;
  std::size_t fallbacks = 0;
  std::size_t steps = 0;
  while (true) {
    if (const RunApproach* attempt = std::get_if<RunApproach>(&step.next)) {
      RC_ASSERT(attempt->approach == tried.size());
      tried.push_back(attempt->approach);
    }
    for (const Fact& fact : step.facts)
      fallbacks += std::holds_alternative<FellBack>(fact) ? 1u : 0u;
    RC_ASSERT(!std::holds_alternative<Nothing>(step.next));
    if (is_over(step.strategy)) break;
    RC_ASSERT(++steps <= 2 * definition.approaches.size() + 1);
    step = finished(step.strategy,
                    definition,
                    *rc::gen::element(done("z"),
                                      failed_with(1, "x"),
                                      failed_with(1, "y"),
                                      failed_with(1),
                                      timed_out("x"),
                                      unknown()));
  }
  RC_ASSERT(fallbacks == (tried.empty() ? 0 : tried.size() - 1));
}

}  // namespace
}  // namespace reeve::strategy
