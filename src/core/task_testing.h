#pragma once

#include "core/decision.h"
#include "core/effect.h"
#include "core/task_step.h"
#include "core/testing.h"
#include "core/turn.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Words that the tests of tasks share.
namespace reeve::task {

using namespace reeve::testing;
using definition::DoDone;
using definition::DoEscalate;
using definition::DoFail;
using definition::DoNudge;
using definition::DoRestart;

// An agent in a session: idle after 3 min, nudged twice, restarted once, then somebody is asked.
inline Begin fixer() {
  Begin begin;
  begin.project = default_project;
  begin.name = "fixer";
  begin.agent.command = "claude";
  begin.agent.idle_timeout = 3min;
  begin.agent.on_idle = {DoNudge{2}, DoRestart{1}, DoEscalate{}};
  begin.agent.on_exit = DoEscalate{};
  begin.agent.on_error = DoEscalate{};
  begin.agent.on_permission = DoEscalate{};
  begin.prompt = "Fix it.";
  begin.workspace = "/ws";
  return begin;
}

// Run to completion.
inline Begin resolver() {
  Begin begin = fixer();
  begin.name = "resolver";
  begin.agent.session = false;
  return begin;
}

inline Outcome ended(reeve::Ended how, std::string error = {}) {
  Outcome outcome;
  outcome.ended = how;
  outcome.error = std::move(error);
  return outcome;
}

inline Outcome exit_with(int code, std::string output = {}) {
  Outcome outcome;
  outcome.ended = code == 0 ? reeve::Ended::Done : reeve::Ended::Failed;
  outcome.exit_code = code;
  outcome.output = std::move(output);
  return outcome;
}

// Of a kill: it was done, and the end was not observed.
inline Outcome unseen_dead() { return ended(reeve::Ended::Failed); }

inline Task with_last(Task task, Outcome last) {
  task.last = std::move(last);
  return task;
}

inline agent::AgentState seen(agent::Doing doing, Time when, std::string detail = {}) {
  return {doing, agent::Source::Log, when, {}, std::move(detail)};
}

inline const WorkId work{1};

inline Task starting(Begin begin = fixer()) {
  return spawn(make(work, std::move(begin)), work, start).next;
}

inline Task running(Begin begin = fixer()) {
  const bool session = begin.agent.session;
  Task task = starting(std::move(begin));
  return session ? spawned(task, {}, start).next : task;
}

// What a step did, in few words: "Stuck(idle) stuck nudged Nudge", or "-" if nothing.
inline std::string state_of(const Task& task) {
  if (std::holds_alternative<Pending>(task.state)) return "Pending";
  if (std::holds_alternative<Running>(task.state)) return "Running";
  if (const Stuck* stuck = std::get_if<Stuck>(&task.state)) {
    const char* reasons[] = {"idle", "no progress", "dead", "errored"};
    return std::string("Stuck(") + reasons[static_cast<int>(stuck->reason)] + ")";
  }
  const Result& result = std::get<Done>(task.state).result;
  const char* results[] = {"Success", "Failed", "Cancelled"};
  return results[result.index()];
}

inline std::string body_of(const Task& task) {
  const char* bodies[] = {"None", "Starting", "Live", "Ending", "Unseen"};
  return bodies[static_cast<int>(task.body)];
}

inline std::string effects_of(const Effects& effects) {
  std::string result;
  for (const Effect& effect : effects) {
    if (const Inner* inner = std::get_if<Inner>(&effect.value)) {
      result += " " + name_of(std::get<Emit>(*inner).event).verb;
    } else {
      const char* names[] = {"Shell", "Spawn", "Send", "Kill", "Nudge"};
      result += std::string(" ") + names[std::get<Outgoing>(effect.value).what.index()];
    }
  }
  return result;
}

inline std::string told(const Task& before, const Next& step) {
  std::string result = effects_of(step.effects);
  if (step.outcome.ask) result += " ask";
  if (state_of(before) != state_of(step.next)) result = " " + state_of(step.next) + result;
  if (before.body != step.next.body) result += " (" + body_of(step.next) + ")";
  return result.empty() ? "-" : result.substr(1);
}

// A task, a clock, and what the last step did: as the engine would drive it.
struct Drive {
  Task task = running();
  Time now = start;
  Time leases_from = start;
  std::string last = "-";
  Next step = {{}, {}};
  int asked = 0;

  explicit Drive(Begin begin = fixer()) : task(running(std::move(begin))) {}

  Drive& take(Next next) {
    last = told(task, next);
    asked += next.outcome.ask ? 1 : 0;
    step = next;
    task = std::move(next.next);
    return *this;
  }
  std::string look_at(Duration since_start) {
    now = at(since_start);
    return take(look(task, leases_from, now)).last;
  }
  std::string see(agent::Doing doing, Duration since_start, bool progress = false) {
    now = std::max(now, at(since_start));
    return take(observe(task, seen(doing, at(since_start)), progress, leases_from, now)).last;
  }
  // The old body is gone, the next attempt is there.
  void come_back() {
    take(killed(task, {}, now));
    take(spawn(task, WorkId{task.attempt.value + 1}, now));
    take(spawned(task, {}, now));
  }
  // Two looks that find it idle.
  std::string idle_out() {
    const Time limit = *next_look(task, leases_from);
    take(look(task, leases_from, limit));
    now = limit + limits::second_look;
    return take(look(task, leases_from, now)).last;
  }
};

// What other nouns do in their turn.
template <class Verb>
void in_turn(World& world, Verb verb) {
  Turn turn(world.state, world.stamp);
  verb(turn);
  const std::uint64_t sequence = turn.sequence();
  world.state.sequence = sequence;
  world.state.now = world.stamp.now;
  for (const std::string& violation : check_state(world.state)) ADD_FAILURE() << violation;
}

inline WorkId begin_in(World& world, const Begin& begun = fixer()) {
  WorkId id;
  in_turn(world, [&](Turn& turn) { id = begin(turn, begun); });
  return id;
}

inline const Task& the(const World& world, WorkId id) { return *world.state.tasks.tasks.find(id); }

// The effect of this kind that has no outcome yet.
template <class T>
EffectId open_effect(const World& world) {
  for (const auto& [id, started] : world.state.outbox) {
    if (std::holds_alternative<T>(started.effect.what)) return id;
  }
  ADD_FAILURE() << "no such effect";
  return {};
}

inline WorkId begin_running(World& world, const Begin& begun = fixer()) {
  const WorkId id = begin_in(world, begun);
  if (begun.agent.session) world.finish(open_effect<Spawn>(world));
  world.forget();
  return id;
}

inline std::vector<std::string> task_events(const World& world) {
  std::vector<std::string> result;
  for (const EventBody& body : world.heard) {
    if (const Event* event = std::get_if<Event>(&body)) result.push_back(name_of(*event).verb);
  }
  return result;
}

using Verbs = std::vector<std::string>;

// What somebody is asked about it.
inline std::optional<decision::Cause> asked_about(const World& world, WorkId id) {
  const DecisionId* open = world.state.decisions.open_of.find(decision::WorkOwner{id});
  if (!open) return std::nullopt;
  return world.state.decisions.decisions.find(*open)->cause;
}

// The open question about it is answered.
inline void decide(World& world, WorkId id, decision::Choice choice, std::string text = {}) {
  const DecisionId* open = world.state.decisions.open_of.find(decision::WorkOwner{id});
  ASSERT_TRUE(open);
  world.ask(decision::Resolve{*open, choice, std::move(text), "ana"});
}

}  // namespace reeve::task
