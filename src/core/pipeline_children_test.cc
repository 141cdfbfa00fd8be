#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// Pipelines within pipelines, and pipelines after pipelines.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using definition::Join;

PipelineId child(const Play& play, PipelineId parent, std::uint32_t index) {
  const PipelineId* found = play.state.pipelines.children.find({parent, index});
  if (!found) ADD_FAILURE() << "no open child " << index;
  return found ? *found : PipelineId{};
}

EffectId step_of(const Play& play, PipelineId id) {
  for (const auto& [effect, entry] : play.state.outbox) {
    const Address* to = std::get_if<Address>(&entry.effect.to);
    if (to && to->pipeline == id && !to->kill) return effect;
  }
  ADD_FAILURE() << "nothing of it is under way";
  return {};
}

// The child's step ends, and the parent attends to that.
void end_child(Play& play, PipelineId child, int code) {
  play.finish(step_of(play, child), exit_code(code));
  play.pass(0s);
}

Play parallel(Join join) {
  definition::Phase all = phase("all", definition::RunParallel{{"a", "b", "c"}, join});
  all.on_fail = definition::Fail{};
  Play play({all});
  for (const char* name : {"a", "b", "c"}) {
    definition::Pipeline each = in_phases({shell(name)});
    each.on_fail = definition::Fail{};
    play.set.pipelines.set(name, each);
  }
  return play;
}

TEST(PipelineChildren, AllAreStartedAndAllMustBeDone) {
  Play play = parallel(Join::All);
  const PipelineId id = play.start();
  EXPECT_EQ(play.all_under_way<Shell>().size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(play.state_of(id), (Status{Running{"all", 1}}));
    end_child(play, child(play, id, i), 0);
  }
  EXPECT_EQ(play.state_of(id), Status{Done{}});
}

// The caller's values lie in one file for all of them.
TEST(PipelineChildren, EachSeesOfTheCallersEnvironmentWhatItsOwnDefinitionNames) {
  definition::Phase all = phase("all", definition::RunParallel{{"a", "b"}, Join::All});
  definition::Pipeline parent = in_phases({all});
  parent.pass_env = {"URL"};
  Play play(parent);
  definition::Pipeline a = in_phases({shell("a")});
  a.pass_env = {"HOST"};
  a.secret = {"TOKEN"};
  play.set.pipelines.set("a", a);
  play.set.pipelines.set("b", in_phases({shell("b")}));
  play.load();

  const auto seen_by = [&](const PipelineId id) {
    const Shell step = play.under_way_as<Shell>(step_of(play, id));
    for (const auto& [name, value] : step.environment) {
      if (name == "REEVE_PASSED") return value;
    }
    return std::string("nothing is said of it");
  };
  const reeve::Reply reply = play.ask(Start{"fix", {}, {{"REEVE_SECRETS", "/secrets/x"}}});
  PipelineId id = as<Started>(reply).pipeline;
  EXPECT_EQ(seen_by(child(play, id, 0)), "HOST TOKEN");
  EXPECT_EQ(seen_by(child(play, id, 1)), "");
  id = play.start();
  EXPECT_EQ(seen_by(child(play, id, 0)), "nothing is said of it");
}

TEST(PipelineChildren, AllEndBeforeAFailureCounts) {
  Play play = parallel(Join::All);
  const PipelineId id = play.start();
  const PipelineId first = child(play, id, 0);
  end_child(play, first, 1);
  EXPECT_EQ(play.state_of(id), (Status{Running{"all", 1}}));
  end_child(play, child(play, id, 1), 0);
  end_child(play, child(play, id, 2), 0);
  EXPECT_EQ(play.state_of(id), (Status{Failed{"all", 1, to_text(first) + ": exit code 1", true}}));
}

TEST(PipelineChildren, TheFirstSuccessWinsAndTheOthersAreCancelledObserved) {
  Play play = parallel(Join::Any);
  const PipelineId id = play.start();
  const PipelineId b = child(play, id, 1);
  const PipelineId c = child(play, id, 2);
  end_child(play, child(play, id, 0), 0);
  EXPECT_EQ(play.state_of(id), (Status{Running{"all", 1}}));
  end_child(play, b, 143);
  EXPECT_EQ(play.state_of(id), (Status{Running{"all", 1}}));
  end_child(play, c, 143);
  EXPECT_EQ(play.state_of(b), Status{Cancelled{}});
  EXPECT_EQ(play.state_of(id), Status{Done{}});
}

TEST(PipelineChildren, WithoutAnySuccessAnyHasFailed) {
  Play play = parallel(Join::Any);
  const PipelineId id = play.start();
  for (std::uint32_t i = 0; i < 3; ++i) end_child(play, child(play, id, i), 1);
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
}

TEST(PipelineChildren, TheFirstFailureCancelsTheOthers) {
  Play play = parallel(Join::FirstFailure);
  const PipelineId id = play.start();
  const PipelineId a = child(play, id, 0);
  const PipelineId c = child(play, id, 2);
  end_child(play, child(play, id, 1), 1);
  EXPECT_EQ(play.all_under_way<Kill>().size(), 2u);
  end_child(play, a, 143);
  end_child(play, c, 143);
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
}

TEST(PipelineChildren, CancellingTheParentCancelsThemFirst) {
  Play play = parallel(Join::All);
  const PipelineId id = play.start();
  const std::vector<PipelineId> all = {child(play, id, 0), child(play, id, 1), child(play, id, 2)};
  play.ask(Cancel{id});
  for (const PipelineId each : all) {
    EXPECT_EQ(play.state_of(id), (Status{Running{"all", 1}}));
    end_child(play, each, 143);
    EXPECT_EQ(play.state_of(each), Status{Cancelled{}});
  }
  EXPECT_EQ(play.state_of(id), Status{Cancelled{}});
}

TEST(PipelineChildren, ThePhasesTimeoutCancelsThemToo) {
  Play play = parallel(Join::All);
  play.set.pipelines.edit("fix")->phases[0].timeout = 1min;
  const PipelineId id = play.start();
  const std::vector<PipelineId> all = {child(play, id, 0), child(play, id, 1), child(play, id, 2)};
  play.pass(1min - 1ms);
  EXPECT_TRUE(play.all_under_way<Kill>().empty());
  play.pass(1ms);
  for (const PipelineId each : all) end_child(play, each, 143);
  EXPECT_EQ(play.state_of(id), (Status{Failed{"all", 1, "timed out", true}}));
}

// The outcome is heard before what is due; and so is what follows from it, through all that run
// within one another.
TEST(PipelineChildren, ThoseThatEndedInTimeAreNotTimedOutBecauseTheNewsIsLate) {
  for (const bool by_lock : {false, true}) {
    const auto runs = [](const char* name) {
      return phase("run", definition::RunPipeline{name, {}});
    };
    definition::Phase outer = runs("middle");
    if (!by_lock) outer.timeout = 1h;
    if (by_lock) outer.locks = {"main"};
    Play play({outer});
    lock::Config config;
    config.max_hold = 1h;
    play.set.locks.set("main", config);
    play.set.pipelines.set("middle", in_phases({runs("inner")}));
    play.set.pipelines.set("inner", in_phases({runs("a")}));
    play.set.pipelines.set("a", in_phases({shell("a")}));
    const PipelineId id = play.start();
    play.stamp.now += 62min;
    play.succeeds();
    play.input(Tick{});
    EXPECT_EQ(play.state_of(id), Status{Done{}});
  }
}

TEST(PipelineChildren, ThoseThatHaveNotEndedAreTimedOutByTheNextTick) {
  Play play = parallel(Join::All);
  play.set.pipelines.edit("fix")->phases[0].timeout = 1h;
  const PipelineId id = play.start();
  play.stamp.now += 62min;
  play.finish(step_of(play, child(play, id, 0)), exit_code(0));
  play.input(Tick{});
  EXPECT_EQ(play.all_under_way<Kill>().size(), 2u);
  for (const std::uint32_t left : {1u, 2u}) {
    play.finish(step_of(play, child(play, id, left)), exit_code(143));
  }
  play.pass(0s);
  EXPECT_EQ(play.state_of(id), (Status{Failed{"all", 1, "timed out", true}}));
}

TEST(PipelineChildren, AChildGetsItsInputsElseTheParentsOfTheSameName) {
  Play play({phase("sub", definition::RunPipeline{"child", {{"what", "x{bug}"}}})});
  definition::Pipeline sub = in_phases({shell("work")});
  sub.inputs = {"what", "bug"};
  play.set.pipelines.set("child", sub);
  const PipelineId id = play.start("fix", {{"bug", "42"}, {"other", "y"}});
  EXPECT_EQ(play.of(child(play, id, 0)).origin->inputs,
            (definition::Map{{"what", "x42"}, {"bug", "42"}}));
  EXPECT_EQ(play.of(child(play, id, 0)).origin->environment,
            (definition::Map{{"HOME", "/home/ana"}}));
  end_child(play, child(play, id, 0), 0);
  EXPECT_EQ(play.state_of(id), Status{Done{}});
}

TEST(PipelineChildren, OneThatCannotBeStartedHasFailed) {
  definition::Phase sub = phase("sub", definition::RunPipeline{"child", {}});
  sub.on_fail = definition::Fail{};
  Play play({sub});
  definition::Pipeline needs = in_phases({shell("work")});
  needs.inputs = {"what"};
  play.set.pipelines.set("child", needs);
  const PipelineId id = play.start();
  EXPECT_EQ(play.state_of(id), (Status{Failed{"sub", 1, "could not be started: what", true}}));
}

TEST(PipelineChildren, ANameThatNobodyKnowsIsNamed) {
  definition::Phase sub =
      phase("sub", definition::RunPipeline{"child", {{"what", "{build.commit}"}}});
  sub.on_fail = definition::Fail{};
  Play play({sub});
  definition::Pipeline needs = in_phases({shell("work")});
  needs.inputs = {"what"};
  play.set.pipelines.set("child", needs);
  const PipelineId id = play.start();
  EXPECT_EQ(play.state_of(id), (Status{Failed{"sub", 1, "unknown name {build.commit}", true}}));
}

TEST(PipelineChildren, AChildIsNotRetriedBehindItsParentsBack) {
  Play play = parallel(Join::All);
  const PipelineId id = play.start();
  const PipelineId first = child(play, id, 0);
  end_child(play, first, 1);
  EXPECT_EQ(play.ask(Retry{first, true}), refused(Why::NotAllowed, "a child of " + to_text(id)));
}

TEST(PipelineChildren, APipelineThatRunsItselfEnds) {
  definition::Phase again = phase("again", definition::RunPipeline{"fix", {}});
  again.on_fail = definition::Fail{};
  Play play({again});
  const PipelineId id = play.start();
  play.pass(1s);
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));
  EXPECT_EQ(play.state.pipelines.open, 0u);
  EXPECT_EQ(play.state.pipelines.pipelines.size(), limits::pipelines_within + 1);
  EXPECT_EQ(play.state_of((*play.state.pipelines.pipelines.last()).first),
            (Status{Failed{"again", 1, "could not be started: pipelines within", true}}));
}

// ── for_each ──

Play for_each(std::uint32_t max, Join join = Join::All) {
  definition::Phase each = phase("each", definition::RunForEach{"{items}", "child", max, join});
  each.on_fail = definition::Fail{};
  Play play({each});
  definition::Pipeline sub = in_phases({shell("work")});
  sub.inputs = {"what"};
  sub.on_fail = definition::Fail{};
  play.set.pipelines.set("child", sub);
  return play;
}

TEST(PipelineChildren, EachValueGetsAPipelineSoManyAtATime) {
  Play play = for_each(2);
  const PipelineId id = play.start("fix", {{"items", R"(["a", {"what": "b", "more": 1}, 3])"}});
  EXPECT_EQ(play.state.pipelines.children.size(), 2u);
  EXPECT_EQ(play.of(child(play, id, 0)).origin->inputs, (definition::Map{{"what", "a"}}));
  EXPECT_EQ(play.of(child(play, id, 1)).origin->inputs, (definition::Map{{"what", "b"}}));
  end_child(play, child(play, id, 1), 0);
  EXPECT_EQ(play.of(child(play, id, 2)).origin->inputs, (definition::Map{{"what", "3"}}));
  end_child(play, child(play, id, 0), 0);
  end_child(play, child(play, id, 2), 0);
  EXPECT_EQ(play.state_of(id), Status{Done{}});
}

TEST(PipelineChildren, WithoutValuesItIsDone) {
  Play play = for_each(2);
  EXPECT_EQ(play.state_of(play.start("fix", {{"items", "[]"}})), Status{Done{}});
}

TEST(PipelineChildren, WhatIsNoListFailsThePhase) {
  Play play = for_each(2);
  const PipelineId id = play.start("fix", {{"items", "a, b"}});
  EXPECT_EQ(std::get<Failed>(play.state_of(id)).error, "for_each needs a JSON array");
}

TEST(PipelineChildren, MoreThanAStepHasRoomForAreStartedAPartATick) {
  Play play = for_each(1000);
  std::string items = "[0";
  for (int i = 1; i < 600; ++i) items += "," + std::to_string(i);
  const PipelineId id = play.start("fix", {{"items", items + "]"}});
  EXPECT_LE(play.state.pipelines.children.size(), limits::touched_a_step);
  play.pass(0s);
  EXPECT_EQ(play.state.pipelines.children.size(), 600u);
  play.ask(Cancel{id});
  EXPECT_LE(play.all_under_way<Kill>().size(), limits::touched_a_step);
  play.pass(0s);
  EXPECT_EQ(play.all_under_way<Kill>().size(), 600u);
}

TEST(PipelineChildren, AWinnerStartsNoMore) {
  Play play = for_each(1, Join::Any);
  const PipelineId id = play.start("fix", {{"items", "[1, 2, 3]"}});
  end_child(play, child(play, id, 0), 0);
  EXPECT_EQ(play.state_of(id), Status{Done{}});
  EXPECT_EQ(play.state.pipelines.pipelines.size(), 2u);
}

// ── Dependencies ──

Play after_each_other() {
  definition::Pipeline fix = in_phases({shell("build")});
  fix.inputs = {"after", "too"};
  fix.defaults = {{"after", ""}, {"too", ""}};
  fix.after = {"{after}", "{too}"};
  fix.on_fail = definition::Fail{};
  return Play(fix);
}

TEST(PipelineAfter, WaitsUntilAllItsDependenciesAreDone) {
  Play play = after_each_other();
  const PipelineId first = play.start();
  const PipelineId second = play.start();
  const PipelineId third = play.start("fix", {{"after", to_text(first)}, {"too", to_text(second)}});
  EXPECT_EQ(play.state_of(third), (Status{Blocked{Reason::Dependency, "build", 1, start}}));
  end_child(play, first, 0);
  EXPECT_EQ(play.state_of(third), (Status{Blocked{Reason::Dependency, "build", 1, start}}));
  end_child(play, second, 0);
  EXPECT_EQ(play.state_of(third), (Status{Running{"build", 1}}));
  EXPECT_TRUE(play.state.pipelines.awaited.empty());
}

TEST(PipelineAfter, OneThatIsDoneAlreadyIsNotWaitedFor) {
  Play play = after_each_other();
  const PipelineId first = play.start();
  play.succeeds();
  const PipelineId second = play.start("fix", {{"after", to_text(first)}});
  EXPECT_EQ(play.state_of(second), (Status{Running{"build", 1}}));
}

TEST(PipelineAfter, AFailedDependencyKeepsItBlockedUntilItIsDoneAfterAll) {
  Play play = after_each_other();
  const PipelineId first = play.start();
  const PipelineId second = play.start("fix", {{"after", to_text(first)}});
  end_child(play, first, 1);
  EXPECT_EQ(play.state_of(second), (Status{Blocked{Reason::Dependency, "build", 1, start}}));
  play.pass(48h);
  EXPECT_NE(play.state.pipelines.pipelines.find(first), nullptr) << "somebody waits for it";
  play.ask(Retry{first, false});
  end_child(play, first, 0);
  EXPECT_EQ(play.state_of(second), (Status{Running{"build", 1}}));
}

TEST(PipelineAfter, ItNeedNotWaitIfSomebodySaysSo) {
  Play play = after_each_other();
  const PipelineId first = play.start();
  const PipelineId second = play.start("fix", {{"after", to_text(first)}});
  play.ask(Unblock{second});
  EXPECT_EQ(play.state_of(second), (Status{Running{"build", 1}}));
  const PipelineId third = play.start("fix", {{"after", to_text(first)}});
  play.ask(Cancel{third});
  EXPECT_EQ(play.state_of(third), Status{Cancelled{}});
  EXPECT_TRUE(play.state.pipelines.awaited.empty());
}

TEST(PipelineChildren, ThoseThatAreRefusedTakeRoomInAStepToo) {
  std::string values = "[1";
  for (std::size_t i = 1; i < 3 * limits::touched_a_step; ++i) values += ",1";
  Play play(
      {phase("fan", definition::RunForEach{values + "]", "nobody", 8, definition::Join::All})});
  const PipelineId id = play.start();
  const Acting* acting = std::get_if<Acting>(&play.of(id).course);
  ASSERT_TRUE(acting);
  EXPECT_LE(std::get<Children>(acting->what).next, limits::touched_a_step);
  play.pass(0s);
  EXPECT_EQ(play.state.decisions.open_of.size(), 1u) << "all of them have failed";
}

TEST(PipelineChildren, ManyThatHaveToWaitAreBegunAPartATick) {
  Play play = after_each_other();
  const PipelineId first = play.start();
  std::string values = "[1";
  for (std::size_t i = 0; i < 3 * limits::touched_a_step; ++i) values += ",1";
  definition::Pipeline fan = in_phases(
      {phase("fan", definition::RunForEach{values + "]", "each", 10'000, definition::Join::All})});
  fan.inputs = {"after"};
  play.set.pipelines.set("fan", fan);
  definition::Pipeline each = in_phases({shell("step")});
  each.inputs = {"value", "after"};
  each.after = {"{after}"};
  play.set.pipelines.set("each", each);
  play.load();
  play.start("fan", {{"after", to_text(first)}});
  EXPECT_LE(play.state.pipelines.open, 2 + limits::touched_a_step);
  play.pass(0s);
  EXPECT_EQ(play.state.pipelines.open, 3 + 3 * limits::touched_a_step);
}

TEST(PipelineChildren, WhoIsSentToAPhaseInsteadOfWaitingHasStarted) {
  Play play = after_each_other();
  const PipelineId first = play.start();
  const PipelineId second = play.start("fix", {{"after", to_text(first)}});
  play.forget();
  EXPECT_TRUE(is<Ok>(play.ask(Transition{second, phase_of(play.of(second))})));
  EXPECT_EQ(play.names(),
            (std::vector<std::string>{"pipeline:unblocked", "pipeline:started", "pipeline:phase"}));
}

}  // namespace
}  // namespace reeve::pipeline
