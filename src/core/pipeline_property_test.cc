#include "base/die_testing.h"
#include "core/pipeline_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

// Whatever a runbook of a small family says, whatever happens to its steps and whoever says
// what to its pipelines in between: the invariants hold after every input (the world looks), and
// these laws.
namespace reeve::pipeline {
namespace {

using reeve::testing::die;
using namespace reeve::pipeline::testing;

// ── A family of runbooks in which everything meets everything ──

template <class T>
T any_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

bool maybe() { return *rc::gen::arbitrary<bool>(); }

definition::OnFail any_on_fail() {
  return any_of<definition::OnFail>({definition::AskSomebody{},
                                     definition::Fail{},
                                     definition::GoTo{"p0"},
                                     definition::GoTo{"p1"},
                                     definition::GoTo{"clean"}});
}

definition::Action any_action(bool nested) {
  std::vector<definition::Action> actions = {definition::RunShell{"work"},
                                             definition::RunShell{"work"},
                                             definition::RunStrategy{"ways"},
                                             definition::RunAgent{"fixer"}};
  if (nested) {
    const definition::Join join = any_of<definition::Join>(
        {definition::Join::All, definition::Join::Any, definition::Join::FirstFailure});
    actions.push_back(definition::RunPipeline{"child", {}});
    actions.push_back(definition::RunParallel{{"child", "child"}, join});
    actions.push_back(definition::RunForEach{"[1, 2, 3]", "child", 2, join});
  }
  return any_of(std::move(actions));
}

definition::Phase any_phase(std::string name, bool nested) {
  definition::Phase phase = testing::phase(std::move(name), any_action(nested));
  if (maybe()) phase.pre = {any_of<std::string>({"green", "red"})};
  if (maybe()) phase.post = {"green"};
  if (maybe()) phase.locks = any_of<std::vector<std::string>>({{"a"}, {"b", "a"}, {"{nobody}"}});
  if (maybe()) phase.slots = {{"s", 1}};
  if (maybe()) phase.retry = {1, any_of<Duration>({0s, 5s})};
  if (maybe()) phase.on_fail = any_on_fail();
  if (maybe()) phase.timeout = 20s;
  phase.on_unknown = any_of<definition::OnUnknown>(
      {definition::OnUnknown::Ask, definition::OnUnknown::Retry, definition::OnUnknown::Fail});
  phase.max_visits = 2;
  return phase;
}

definition::Pipeline any_pipeline(bool nested) {
  std::vector<definition::Phase> phases;
  const int count = *die(1, 4);
  for (int i = 0; i < count; ++i) {
    phases.push_back(any_phase("p" + std::to_string(i), nested));
  }
  phases.back().ends = true;
  phases.push_back(shell("clean"));
  if (maybe()) phases.push_back(shell("spare"));
  definition::Pipeline pipeline = in_phases(std::move(phases));
  pipeline.on_fail = any_on_fail();
  if (maybe()) pipeline.on_cancel = "clean";
  pipeline.inputs = {"after"};
  pipeline.defaults = {{"after", ""}};
  if (nested) pipeline.after = {"{after}"};
  if (nested && maybe()) pipeline.workspace = definition::Workspace{true, "b", "main", ""};
  return pipeline;
}

void fill(Play& play) {
  play.set.pipelines.set("fix", any_pipeline(true));
  play.set.pipelines.set("child", any_pipeline(false));
  definition::Guard green{"check"};
  green.wake_on = {"ci:green"};
  play.set.guards.set("green", green);
  definition::Guard red{"check"};
  red.retry = definition::Poll{1, 5s};
  red.timeout = 7s;
  red.on_timeout = any_of<definition::OnTimeout>(
      {definition::OnTimeout::Escalate, definition::OnTimeout::Block, definition::OnTimeout::Fail});
  play.set.guards.set("red", red);
  definition::Strategy ways;
  definition::Approach first;
  first.name = "first";
  first.action = definition::RunShell{"first"};
  first.rollback = maybe() ? "back" : "";
  definition::Approach second = first;
  second.name = "second";
  if (maybe()) second.action = definition::RunAgent{"fixer"};
  ways.approaches = {first, second};
  ways.on_exhaust = any_on_fail();
  play.set.strategies.set("ways", ways);
  definition::Agent fixer;
  fixer.session = maybe();
  fixer.on_exit = any_of<definition::Response>(
      {definition::DoFail{}, definition::DoDone{}, definition::DoEscalate{}});
  fixer.on_error = definition::DoFail{};
  fixer.on_idle = {definition::DoEscalate{}};
  fixer.idle_timeout = 20s;
  play.set.agents.set("fixer", fixer);
  play.set.semaphores.set("s", semaphore::Config{1, std::nullopt});
  lock::Config short_hold;
  if (maybe()) short_hold.max_hold = 15s;
  play.set.locks.set("a", short_hold);
  play.load();
}

Outcome any_outcome(bool good) {
  if (good || *die(3) > 0) return with_values({{"path", "/w"}, {"key", "v"}});
  return any_of<Outcome>({exit_code(1), exit_code(127), unknown()});
}

std::vector<PipelineId> all_of(const Play& play) {
  std::vector<PipelineId> ids;
  for (const auto& [id, pipeline] : play.state.pipelines.pipelines) ids.push_back(id);
  return ids;
}

// ── Laws of a step ──

void check_laws(const State& before, const State& after) {
  for (const auto& [id, pipeline] : before.pipelines.pipelines) {
    const Pipeline* now = after.pipelines.pipelines.find(id);
    if (!now) continue;
    RC_ASSERT(now->entry >= pipeline.entry);
    const bool for_ever = std::holds_alternative<Done>(pipeline.state) ||
                          std::holds_alternative<Cancelled>(pipeline.state);
    if (for_ever) RC_ASSERT(now->state == pipeline.state);
  }
  // Nothing is held by a pipeline that is over, or in a phase that holds nothing.
  for (const auto& [name, lock] : after.locks.locks) {
    const lock::Tenure* tenure = lock::tenure_of(lock);
    if (!tenure) continue;
    const std::optional<PipelineId> id = parse_id<PipelineId>(tenure->holder.name);
    RC_ASSERT(id.has_value());
    const Pipeline* pipeline = after.pipelines.pipelines.find(*id);
    RC_ASSERT(pipeline && pipeline->holding.granted);
    RC_ASSERT(std::ranges::find(pipeline->holding.locks, name) != pipeline->holding.locks.end());
  }
  for (const auto& [key, slot] : after.semaphores.slots) {
    const std::optional<PipelineId> id = parse_id<PipelineId>(key.holder.name);
    const Pipeline* pipeline = id ? after.pipelines.pipelines.find(*id) : nullptr;
    RC_ASSERT(pipeline && pipeline->holding.granted);
  }
  // One thing at a time: of the pipeline's own effects at most one is under way, its kills apart.
  std::set<PipelineId> busy;
  for (const auto& [effect, entry] : after.outbox) {
    const Address* to = std::get_if<Address>(&entry.effect.to);
    if (!to || to->kill) continue;
    RC_LOG() << "   under way " << entry.effect.what.index() << " of " << to_text(to->pipeline)
             << '\n';
    RC_ASSERT(busy.insert(to->pipeline).second);
  }
}

// ── What may happen ──

void say_of_agent(Play& play) {
  std::vector<WorkId> all;
  for (const auto& [id, task] : play.state.tasks.tasks) all.push_back(task.attempt);
  if (all.empty()) return;
  const WorkId work = *rc::gen::elementOf(all);
  play.ask(any_of<task::Command>({task::Heartbeat{work},
                                  task::SessionGone{work, {}},
                                  task::Report{work, {}, "done"},
                                  task::Report{work, "no", ""},
                                  task::Restart{work}}));
}

void happen(Play& play, bool good) {
  const std::vector<EffectId> effects = play.under_way();
  const int what = *die(good ? 3 : 17);
  if (what < 2 || (what < 8 && !effects.empty())) {
    if (!effects.empty()) {
      const EffectId effect = *rc::gen::elementOf(effects);
      const Outcome outcome = any_outcome(good);
      RC_LOG() << "ends: effect " << effect.sequence << "." << effect.index << " as "
               << static_cast<int>(outcome.ended) << '\n';
      play.finish(effect, outcome);
    } else {
      play.pass(5s);
    }
    return;
  }
  const std::vector<PipelineId> ids = all_of(play);
  if (what == 2 || ids.empty()) return play.pass(any_of<Duration>({0s, 5s, 10s}));
  const PipelineId id = *rc::gen::elementOf(ids);
  RC_LOG() << "does: " << what << " to " << to_text(id) << '\n';
  switch (what) {
    case 8:
      play.ask(Cancel{id});
      return;
    case 9:
      play.ask(any_of<pipeline::Command>({Pause{id}, Continue{id}, Unblock{id}}));
      return;
    case 10:
      play.ask(any_of<pipeline::Command>({Retry{id, maybe()},
                                          ResumeFrom{id, "p0", true},
                                          Transition{id, "p1"},
                                          Transition{id, "clean"}}));
      return;
    case 11:
      play.ask(EmitCustom{"ci:green", {}});
      return;
    case 12:
      play.try_start("fix", {{"after", maybe() ? to_text(id) : ""}});
      return;
    case 13:
      play.ask(decision::Ask{"so?", {}, id});
      return;
    case 14:
      play.ask(lock::ForceRelease{{default_project, "a"}, "ana", "", maybe()});
      return;
    case 15:
      return say_of_agent(play);
    default:
      break;
  }
  if (play.state.decisions.open_of.empty()) return;
  const DecisionId decision = (*play.state.decisions.open_of.begin()).second;
  const auto choice = *die<std::uint32_t>(5);
  const bool any_text =
      play.state.decisions.decisions.find(decision)->cause == decision::Cause::Asked;
  RC_LOG() << "says: " << choice << " to " << to_text(decision) << '\n';
  play.ask(any_text ? decision::Resolve{decision, decision::Choice::Text, "so", "ana"}
                    : decision::Resolve{decision, choice, "so", "ana"});
}

RC_GTEST_PROP(PipelineProperty, TheLawsHoldWhateverHappens, ()) {
  Play play;
  fill(play);
  play.try_start();
  play.try_start();
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const State before = play.state;
    play.forget();
    happen(play, false);
    for (const std::string& name : play.names()) RC_LOG() << i << ": " << name << '\n';
    check_laws(before, play.state);
    RC_ASSERT(!::testing::Test::HasFailure());
  }
}

// Cancelled from outside, whatever it is in the middle of, a pipeline ends as soon as what runs
// was observed to have ended; and nothing is left of it but its name.
RC_GTEST_PROP(PipelineProperty, WhatIsCancelledEndsAndLeavesNothing, ()) {
  Play play;
  fill(play);
  play.try_start();
  const int steps = *rc::gen::inRange(0, 30);
  for (int i = 0; i < steps; ++i) happen(play, false);
  for (int i = 0; i < 200 && play.state.pipelines.open > 0; ++i) {
    for (const PipelineId id : all_of(play)) {
      if (!is_over(play.of(id))) play.ask(Cancel{id});
    }
    const std::vector<EffectId> effects = play.under_way();
    for (const EffectId effect : effects) play.finish(effect, exit_code(0));
    // Whoever asks is gone with what it ran in; what cannot be seen dead is looked at again.
    const auto open = play.state.decisions.open_of;
    for (const auto& [owner, id] : open) {
      const decision::Decision& decision = *play.state.decisions.decisions.find(id);
      if (decision.cause == decision::Cause::Asked) {
        play.ask(decision::Resolve{id, decision::Choice::Text, "so", "ana"});
      } else if (decision.cause == decision::Cause::ProcessUnobserved) {
        play.ask(decision::Resolve{id, decision::Choice::LookAgain, "", "ana"});
      }
    }
    play.pass(0s);
  }
  RC_ASSERT(play.state.pipelines.open == 0u);
  RC_ASSERT(play.state.pipelines.children.empty());
  RC_ASSERT(play.state.grants.waiters.empty());
  RC_ASSERT(play.state.semaphores.slots.empty());
  for (const auto& [name, lock] : play.state.locks.locks) RC_ASSERT(!lock::tenure_of(lock));
  // Nothing of theirs is open; whoever asks (`reeve ask`) waits as long as he likes.
  for (const auto& [owner, decision] : play.state.decisions.open_of) {
    RC_ASSERT(std::holds_alternative<decision::AskOwner>(owner));
  }
  RC_ASSERT(!::testing::Test::HasFailure());
}

// When every effect succeeds, everything ends, and nobody is asked.
RC_GTEST_PROP(PipelineProperty, WhenEverythingSucceedsEverythingIsDone, ()) {
  Play play;
  fill(play);
  definition::Pipeline& fix = *play.set.pipelines.edit("fix");
  definition::Pipeline& child = *play.set.pipelines.edit("child");
  for (definition::Pipeline* pipeline : {&fix, &child}) {
    for (definition::Phase& phase : pipeline->phases) {
      phase.timeout.reset();
      if (phase.locks == std::vector<std::string>{"{nobody}"}) phase.locks.clear();
      // A child that waits for what its parent holds is refused, and rightly so.
      if (pipeline == &child) phase.locks.clear(), phase.slots.clear();
    }
  }
  play.set.locks.set("a", {});
  play.set.agents.edit("fixer")->session = false;
  play.load();
  const PipelineId id = play.start();
  for (int i = 0; i < 500 && !is_over(play.of(id)); ++i) {
    const std::vector<EffectId> effects = play.under_way();
    if (effects.empty()) {
      play.pass(0s);
    } else {
      play.finish(effects.front(), any_outcome(true));
    }
  }
  RC_ASSERT(play.state_of(id) == Status{Done{}});
  RC_ASSERT(play.state.pipelines.open == 0u);
  RC_ASSERT(play.state.decisions.decisions.empty());
}

}  // namespace
}  // namespace reeve::pipeline
