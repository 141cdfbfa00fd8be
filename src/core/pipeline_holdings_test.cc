#include "core/pipeline_testing.h"

#include <gtest/gtest.h>

// Locks and slots of phases.
namespace reeve::pipeline {
namespace {

using namespace reeve::pipeline::testing;
using decision::Choice;

const LockName main_lock{default_project, "main"};
const LockName docs_lock{default_project, "docs"};
const SemaphoreName agents{default_project, "agents"};

Holder as_holder(PipelineId id) { return {default_project, to_text(id), {}}; }

const Holder* holder_of_lock(const Play& play, const LockName& name) {
  const lock::Lock* lock = play.state.locks.locks.find(name);
  const lock::Tenure* tenure = lock ? lock::tenure_of(*lock) : nullptr;
  return tenure ? &tenure->holder : nullptr;
}

bool holds(const Play& play, PipelineId id, const LockName& name) {
  const Holder* holder = holder_of_lock(play, name);
  return holder && *holder == as_holder(id);
}

// Somebody outside takes the lock, and gives it back.
void take(Play& play, const LockName& name) {
  lock::Acquire acquire;
  acquire.names = {name};
  acquire.holder = {default_project, "ana", {}};
  acquire.timeout = 24h;
  ASSERT_TRUE(is<grant::Granted>(play.ask(acquire)));
}
void give(Play& play, const LockName& name) {
  play.ask(lock::Release{name, {default_project, "ana", {}}, std::nullopt});
}

definition::Phase locked(std::string name, std::vector<std::string> locks) {
  definition::Phase phase = shell(std::move(name));
  phase.locks = std::move(locks);
  return phase;
}

TEST(PipelineHoldings, ThePipelineHoldsThemFromTheGrantToTheEndOfThePhase) {
  Play play({locked("build", {"main", "//docs"}), shell("merge")});
  const PipelineId id = play.start();
  EXPECT_TRUE(holds(play, id, main_lock));
  EXPECT_TRUE(holds(play, id, {shared_project, "docs"}));
  const Variables environment = play.step_shell().environment;
  EXPECT_EQ(environment.back().first, "REEVE_FENCE");
  EXPECT_EQ(
      environment.back().second,
      std::to_string(lock::tenure_of(*play.state.locks.locks.find(main_lock))->lease.token.value));
  play.pass(48h);
  EXPECT_TRUE(holds(play, id, main_lock)) << "the daemon does not fall silent";
  play.succeeds();
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
  EXPECT_EQ(holder_of_lock(play, {shared_project, "docs"}), nullptr);
  EXPECT_EQ(play.count("pipeline:blocked"), 0u);
}

TEST(PipelineHoldings, AllOrNoneAndInLine) {
  Play play({locked("build", {"main", "docs"})});
  play.load();
  take(play, docs_lock);
  const PipelineId id = play.start();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Lock, "build", 1, start}}));
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
  EXPECT_TRUE(play.under_way().empty());
  EXPECT_EQ(play.ask(Unblock{id}), refused(Why::NotAllowed, to_text(id) + " waits for its locks"));
  give(play, docs_lock);
  EXPECT_EQ(play.state_of(id), (Status{Running{"build", 1}}));
  EXPECT_TRUE(holds(play, id, main_lock));
  EXPECT_TRUE(holds(play, id, docs_lock));
  EXPECT_EQ(play.step_shell().text, "run build");
}

TEST(PipelineHoldings, ReleasedOnEveryWayOut) {
  definition::Phase build = locked("build", {"main"});
  build.retry = {1, 1min};
  Play play({build, shell("merge")});
  const PipelineId id = play.start();
  play.fails();
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr) << "backoff";
  play.pass(1min);
  EXPECT_TRUE(holds(play, id, main_lock));
  play.fails();
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr) << "while somebody is asked";
  play.decide(Choice::Retry);
  EXPECT_TRUE(holds(play, id, main_lock));
  const EffectId step = play.step();
  play.ask(Cancel{id});
  EXPECT_TRUE(holds(play, id, main_lock)) << "not before the end was observed";
  play.finish(step, exit_code(143));
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
}

TEST(PipelineHoldings, OneThatWaitsInLineLeavesItWhenCancelledOrPaused) {
  Play play({locked("build", {"main"})});
  play.load();
  take(play, main_lock);
  const PipelineId cancelled = play.start();
  play.ask(Cancel{cancelled});
  EXPECT_EQ(play.state_of(cancelled), Status{Cancelled{}});
  const PipelineId paused = play.start();
  play.ask(Pause{paused});
  EXPECT_EQ(play.state_of(paused), (Status{Blocked{Reason::Paused, "build", 1, start}}));
  EXPECT_TRUE(play.state.grants.waiters.empty());
  give(play, main_lock);
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
  play.ask(Continue{paused});
  EXPECT_TRUE(holds(play, paused, main_lock));
}

TEST(PipelineHoldings, AfterAWaitTheGuardsAreCheckedOnceMoreWithTheLocksHeld) {
  definition::Phase build = locked("build", {"main"});
  build.pre = {"green"};
  Play play({build});
  play.set.guards.set("green", definition::Guard{"check"});
  play.load();
  take(play, main_lock);
  const PipelineId id = play.start();
  play.succeeds();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Lock, "build", 1, start}}));
  give(play, main_lock);
  EXPECT_EQ(play.step_shell().text, "check");
  EXPECT_TRUE(holds(play, id, main_lock));

  play.fails();
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Guard, "build", 1, start}}));
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr) << "given back";
  play.pass(10s);
  EXPECT_EQ(play.step_shell().text, "check");
  play.succeeds();
  EXPECT_TRUE(holds(play, id, main_lock));
  EXPECT_EQ(play.step_shell().text, "run build") << "without waiting once is enough";
}

// How its step ended is heard before what is due; but the first in the line of its lock wanted
// another lock, too, and whoever stands behind him there had it long before.
TEST(PipelineHoldings, WhatWasOverBeforeThePhaseEndedWasGivenOnBefore) {
  for (const bool ticked : {false, true}) {
    Play play({locked("build", {"main"})});
    play.start();
    const auto ask = [&](const char* who, std::vector<LockName> names, Duration wait) {
      lock::Acquire acquire;
      acquire.names = std::move(names);
      acquire.holder = {default_project, who, {}};
      acquire.timeout = 50ms;
      if (wait > 0ms) acquire.wait = wait;
      return play.ask(acquire);
    };
    ask("cy", {docs_lock}, 0ms);
    const WaiterId both = as<Waiting>(ask("di", {main_lock, docs_lock}, 100ms)).waiter;
    const WaiterId behind = as<Waiting>(ask("bo", {docs_lock}, 150ms)).waiter;
    play.stamp.now += 200ms;
    if (ticked) play.input(Tick{});
    play.succeeds();

    std::vector<WaiterId> granted;
    for (const Answer& answer : play.answers) {
      if (is<grant::Granted>(answer.reply)) granted.push_back(answer.waiter);
    }
    EXPECT_EQ(granted, std::vector{behind}) << ticked;
    EXPECT_EQ(play.answers.size(), 2u) << ticked;
    EXPECT_TRUE(is<grant::NotGranted>(play.answers.front().reply)) << ticked;
    EXPECT_EQ(play.answers.front().waiter, both) << ticked;
  }
}

TEST(PipelineHoldings, AGuardThatNoLongerPassesGivesTheLocksBackAlsoIfAWakeHasItCheckedAtOnce) {
  definition::Phase build = locked("build", {"main"});
  build.pre = {"green"};
  Play play({build});
  definition::Guard green{"check"};
  green.wake_on = {"ci:green"};
  play.set.guards.set("green", green);
  play.load();
  take(play, main_lock);
  const PipelineId id = play.start();
  play.succeeds();
  give(play, main_lock);
  EXPECT_TRUE(holds(play, id, main_lock));

  play.ask(EmitCustom{"ci:green", {}});
  play.fails();
  EXPECT_EQ(play.step_shell().text, "check") << "once more, for the wake";
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr) << "given back all the same";
  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Guard, "build", 1, start}}));
  play.succeeds();
  EXPECT_TRUE(holds(play, id, main_lock));
  EXPECT_EQ(play.step_shell().text, "run build");
}

TEST(PipelineHoldings, GuardsThatStillPassLeadToTheAction) {
  definition::Phase build = locked("build", {"main"});
  build.pre = {"green"};
  Play play({build});
  play.set.guards.set("green", definition::Guard{"check"});
  play.load();
  take(play, main_lock);
  const PipelineId id = play.start();
  play.succeeds();
  give(play, main_lock);
  play.succeeds();
  EXPECT_EQ(play.step_shell().text, "run build");
  EXPECT_TRUE(holds(play, id, main_lock));
}

TEST(PipelineHoldings, MaxHoldEndsThePhaseFirstAndThenTheLease) {
  definition::Phase build = locked("build", {"main"});
  build.on_fail = definition::Fail{};
  Play play({build});
  lock::Config config;
  config.max_hold = 30min;
  play.set.locks.set("main", config);
  const PipelineId id = play.start();
  const EffectId step = play.step();
  play.pass(30min);
  EXPECT_TRUE(play.all_under_way<Kill>().empty()) << "good at its limit";
  play.pass(1ms);
  EXPECT_EQ(play.all_under_way<Kill>().size(), 1u);
  EXPECT_TRUE(holds(play, id, main_lock));
  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id), (Status{Failed{"build", 1, "max_hold exceeded", true}}));
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
}

TEST(PipelineHoldings, SlotsAreHeldLikeLocks) {
  definition::Phase build = shell("build");
  build.slots = {{"agents", 2}};
  Play play({build});
  play.set.semaphores.set("agents", semaphore::Config{3, std::nullopt});
  const PipelineId first = play.start();
  const PipelineId second = play.start();
  EXPECT_EQ(play.state_of(first), (Status{Running{"build", 1}}));
  EXPECT_EQ(play.state_of(second), (Status{Blocked{Reason::Semaphore, "build", 1, start}}));
  EXPECT_EQ(play.state.semaphores.slots.find({agents, as_holder(first)})->weight, 2u);
  play.succeeds();
  EXPECT_EQ(play.state_of(second), (Status{Running{"build", 1}}));
  play.succeeds();
  EXPECT_TRUE(play.state.semaphores.slots.empty());
}

TEST(PipelineHoldings, ASemaphoreThatDoesNotExistIsNamedAsTheRunbookDoes) {
  definition::Phase build = shell("build");
  build.on_fail = definition::Fail{};
  build.slots = {{"//nosuch", 1}};
  Play play({build});
  const PipelineId id = play.start();
  EXPECT_EQ(play.state_of(id),
            (Status{Failed{"build", 1, "semaphore //nosuch does not exist", true}}));
}

TEST(PipelineHoldings, WhatCannotBeHadFailsThePhase) {
  definition::Phase build = shell("build");
  build.on_fail = definition::Fail{};
  build.slots = {{"agents", 9}};
  Play play({build});
  play.set.semaphores.set("agents", semaphore::Config{3, std::nullopt});
  const PipelineId id = play.start();
  EXPECT_TRUE(std::holds_alternative<Failed>(play.state_of(id)));

  build.slots = {};
  build.locks = {"-bad"};
  play.set.pipelines.set("fix", in_phases({build}));
  play.load();
  EXPECT_EQ(std::get<Failed>(play.state_of(play.start())).error, "bad name of a lock: -bad");
}

TEST(PipelineHoldings, AChildThatWouldWaitForItsParentFailsInstead) {
  definition::Phase outer = phase("outer", definition::RunPipeline{"child", {}});
  outer.locks = {"main"};
  outer.on_fail = definition::Fail{};
  definition::Phase inner = locked("inner", {"main"});
  inner.on_fail = definition::Fail{};
  Play play({outer});
  play.set.pipelines.set("child", in_phases({inner}));
  const PipelineId id = play.start();
  play.pass(0s);
  const std::string error = std::get<Failed>(play.state_of(id)).error;
  EXPECT_NE(error.find("would never end"), std::string::npos) << error;
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
}

// A step has no room for a phase to ask: its word waits for the next tick.
void ask_later(Play& play, PipelineId id, std::uint64_t entry) {
  grant::Request request;
  request.holder = as_holder(id);
  request.locks = {{main_lock, {}, {}}};
  request.origin = grant::ToPhase{id, entry};
  request.wait = Duration::max();
  play.state.chores.waiting.set(++play.state.chores.last, CarryOn{{AcquireLock{request}}, {}});
}

// Before the tick the pipeline ended.
void ask_too_late(Play& play, PipelineId id) {
  ask_later(play, id, 1);
  play.forget();
  play.input(Tick{});
}

TEST(PipelineHoldings, APhaseThatWasLeftDoesNotAskAnyMore) {
  Play play({locked("build", {"main"})});
  const PipelineId id = play.start();
  play.succeeds();
  ASSERT_EQ(play.state_of(id), Status{Done{}});

  ask_too_late(play, id);

  EXPECT_EQ(play.names(), std::vector<std::string>{});
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
}

TEST(PipelineHoldings, APhaseThatWasLeftDoesNotWaitForWhatAnotherHolds) {
  Play play({locked("build", {"main"})});
  const PipelineId id = play.start();
  play.succeeds();
  const PipelineId other = play.start();

  ask_too_late(play, id);

  EXPECT_TRUE(play.state.grants.waiters.empty());
  EXPECT_EQ(*holder_of_lock(play, main_lock), as_holder(other));
}

// Nor had the step room for the phase before to leave the line: it is served, and the phase at
// hand, which wants the same, keeps what came. Then that one is left too.
TEST(PipelineHoldings, AGrantThatCameTooLateEndsWithThePhaseThatKeptIt) {
  Play play({locked("build", {"main"})});
  play.load();
  take(play, main_lock);
  const PipelineId id = play.start();
  const std::uint64_t entry = ++play.state.pipelines.pipelines.edit(id)->entry;
  ask_later(play, id, entry);
  give(play, main_lock);
  ASSERT_TRUE(holds(play, id, main_lock));
  ASSERT_FALSE(play.of(id).holding.granted);

  play.ask(Pause{id});
  play.pass(0s);

  EXPECT_EQ(play.state_of(id), (Status{Blocked{Reason::Paused, "build", 1, start}}));
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
}

// Twenty phases end in one tick and give sixty locks back each: more than a step carries out. The
// next phase of the last has then not asked for its lock yet.
TEST(PipelineHoldings, OneThatIsCancelledBeforeItCouldAskWaitsForNothing) {
  definition::Phase held = phase("held", definition::RunPipeline{"child", {}});
  for (int i = 0; i < 60; ++i) held.locks.push_back("{id}-" + std::to_string(i));
  Play play({held, locked("next", {"main"})});
  play.set.pipelines.set("child", in_phases({shell("step")}));
  PipelineId last;
  for (int i = 0; i < 20; ++i) last = play.start();
  for (const EffectId step : play.all_under_way<Shell>()) play.finish(step, exit_code(0));
  play.input(Tick{});
  ASSERT_TRUE(std::holds_alternative<Acquiring>(play.of(last).course));
  ASSERT_FALSE(play.state.chores.waiting.empty());

  play.ask(Cancel{last});
  play.pass(0s);

  EXPECT_EQ(play.state_of(last), Status{Cancelled{}});
  for (const auto& [number, waiter] : play.state.grants.waiters) {
    EXPECT_NE(waiter.request.holder, as_holder(last));
  }
}

// ── By force ──

// For the lock of the step that runs.
WaiterId bo_waits(Play& play) {
  lock::Acquire acquire;
  acquire.names = {main_lock};
  acquire.holder = {default_project, "bo", {}};
  acquire.timeout = 24h;
  acquire.wait = 24h;
  return as<Waiting>(play.ask(acquire)).waiter;
}

TEST(PipelineHoldings, TakenBackByForceItIsGivenOnWhenTheStepWasSeenToEnd) {
  definition::Phase build = locked("build", {"main"});
  build.on_fail = definition::Fail{};
  Play play({build});
  const PipelineId id = play.start();
  const EffectId step = play.step();
  bo_waits(play);
  play.forget();

  EXPECT_TRUE(is<lock::Released>(play.ask(lock::ForceRelease{main_lock, "ana", "urgent", false})));
  EXPECT_TRUE(holds(play, id, main_lock));
  EXPECT_EQ(play.count("lock:forced"), 1u);
  ASSERT_EQ(play.all_under_way<Kill>().size(), 1u);
  EXPECT_TRUE(is<lock::Released>(play.ask(lock::ForceRelease{main_lock, "ana", "urgent", false})));
  EXPECT_FALSE(play.last.changed) << "it is on its way";

  play.finish(step, exit_code(143));
  EXPECT_EQ(play.state_of(id),
            (Status{Failed{"build", 1, "lock main was taken back by force", true}}));
  EXPECT_EQ(*holder_of_lock(play, main_lock), (Holder{default_project, "bo", {}}));
}

TEST(PipelineHoldings, TakenBackAtOnceItIsGivenOnWithTheStepStillRunning) {
  Play play({locked("build", {"main"})});
  const PipelineId id = play.start();
  bo_waits(play);
  play.forget();
  play.ask(lock::ForceRelease{main_lock, "ana", "urgent", true});
  EXPECT_EQ(*holder_of_lock(play, main_lock), (Holder{default_project, "bo", {}}));
  const lock::WasForced* forced = nullptr;
  for (const EventBody& body : play.heard) {
    const lock::Event* event = std::get_if<lock::Event>(&body);
    if (event && std::holds_alternative<lock::WasForced>(*event)) {
      forced = &std::get<lock::WasForced>(*event);
    }
  }
  ASSERT_TRUE(forced);
  EXPECT_TRUE(forced->now);
  play.succeeds();
  EXPECT_EQ(play.state_of(id), Status{Done{}});
  EXPECT_EQ(*holder_of_lock(play, main_lock), (Holder{default_project, "bo", {}}));
}

// ── By name ──

TEST(PipelineHoldings, NobodyReleasesThemByTheirHoldersName) {
  definition::Phase build = locked("build", {"main"});
  build.slots = {{"agents", 1}};
  Play play({build});
  play.set.semaphores.set("agents", {1, {}});
  const PipelineId id = play.start();
  bo_waits(play);
  const Refused no{Why::NotAllowed, "held by a phase"};
  EXPECT_EQ(as<Refused>(play.ask(lock::Release{main_lock, as_holder(id), {}})), no);
  EXPECT_EQ(as<Refused>(play.ask(lock::Release{main_lock, as_holder(id), Token{1}})), no);
  EXPECT_EQ(as<Refused>(play.ask(semaphore::Release{agents, as_holder(id), {}})), no);
  EXPECT_TRUE(holds(play, id, main_lock));

  play.succeeds();
  EXPECT_EQ(*holder_of_lock(play, main_lock), (Holder{default_project, "bo", {}}));
  EXPECT_TRUE(play.state.semaphores.slots.empty());
}

// A step that asks under $REEVE_HOLDER for what its phase holds has it; it stays the phase's.
TEST(PipelineHoldings, AStepIsToldThatWhatItsPhaseHoldsIsItsOwn) {
  Play play({locked("build", {"main"})});
  const PipelineId id = play.start();
  lock::Acquire acquire;
  acquire.names = {main_lock};
  acquire.holder = as_holder(id);
  EXPECT_EQ(as<grant::Granted>(play.ask(acquire)).how, grant::How::Extended);
  play.pass(1h);
  EXPECT_TRUE(holds(play, id, main_lock));
}

// What a step took under its pipeline's name lives by heartbeats; what a phase holds does not.
TEST(PipelineHoldings, WhatAStepLeftBehindBecomesThePhasesOwn) {
  definition::Phase merge = locked("merge", {"main"});
  merge.slots = {{"agents", 1}};
  Play play({shell("build"), merge});
  play.set.semaphores.set("agents", {2, {}});
  const PipelineId id = play.start();
  lock::Acquire acquire;
  acquire.names = {main_lock};
  acquire.holder = as_holder(id);
  play.ask(acquire);
  play.ask(semaphore::Acquire{agents, 2, as_holder(id), {}, {}, {}, {}});
  play.succeeds();
  bo_waits(play);
  play.pass(1h);
  EXPECT_TRUE(holds(play, id, main_lock));
  EXPECT_EQ(play.state.semaphores.slots.size(), 1u);
  play.succeeds();
  EXPECT_EQ(*holder_of_lock(play, main_lock), (Holder{default_project, "bo", {}}));
  EXPECT_TRUE(play.state.semaphores.slots.empty());
}

// ── From within: $REEVE_HOLDER ──

std::string holder_in(const Shell& shell) {
  for (const auto& [name, value] : shell.environment) {
    if (name == "REEVE_HOLDER") return value;
  }
  return {};
}

// What `lock run` asks for in a step.
reeve::Reply run_inside(Play& play, const std::string& within) {
  HolderMeta meta;
  meta.within = {{default_project, within}};
  lock::Acquire acquire;
  acquire.names = {main_lock};
  acquire.holder = {default_project, "run-1"};
  acquire.meta = Boxed<HolderMeta>(meta);
  acquire.wait = 24h;
  return play.ask(acquire);
}

TEST(PipelineHoldings, AStepThatWouldWaitForItsOwnPhaseIsFoundOut) {
  Play play({locked("build", {"main"})});
  const PipelineId id = play.start();
  const std::string within = holder_in(play.step_shell());
  EXPECT_EQ(within, as_holder(id).name);
  EXPECT_TRUE(is<grant::WouldDeadlock>(run_inside(play, within)));
}

TEST(PipelineHoldings, SoIsOneThatWouldWaitForTheParentOfIt) {
  definition::Phase outer = phase("outer", definition::RunPipeline{"child", {}});
  outer.locks = {"main"};
  Play play({outer});
  play.set.pipelines.set("child", in_phases({shell("inner")}));
  const PipelineId id = play.start();
  play.pass(0s);
  const std::string within = holder_in(play.step_shell());
  EXPECT_NE(within, as_holder(id).name);
  EXPECT_TRUE(is<grant::WouldDeadlock>(run_inside(play, within)));
}

TEST(PipelineHoldings, SomebodyWhoseNameIsAPipelinesHasNoPhase) {
  Play play({shell("build")});
  const PipelineId id = play.start();
  lock::Acquire acquire;
  acquire.names = {main_lock};
  acquire.holder = as_holder(id);
  play.ask(acquire);
  play.ask(lock::ForceRelease{main_lock, "ana", "urgent", false});
  EXPECT_EQ(holder_of_lock(play, main_lock), nullptr);
  EXPECT_TRUE(play.all_under_way<Kill>().empty());
}

}  // namespace
}  // namespace reeve::pipeline
