#pragma once

#include "core/effect.h"
#include "core/interpolate.h"
#include "core/names.h"
#include "core/pipeline.h"
#include "core/pipeline_transition.h"
#include "core/turn.h"

#include <optional>
#include <string>
#include <string_view>

// How the parts of core/pipeline call each other; nobody else includes this. A function that
// takes (turn, id) is about a pipeline that exists, and may leave it in any state: whoever calls
// it looks again instead of holding on to what he saw before.
namespace reeve::pipeline {

// ── Looking, and moving ──

const Pipeline* find(const Turn& turn, PipelineId id);
Pipeline& edit(Turn& turn, PipelineId id);

// Null also if it is to be forgotten by now: whether a tick has come round to that, or to a part of
// it, makes no difference to whoever asks.
const Pipeline* known(const Turn& turn, PipelineId id);

// Moves it by the table and announces that; false: no change.
bool moved(Turn& turn, PipelineId id, const Move& move);

// The runbook it is pinned to. Any of these may be null: a state is never trusted to be whole.
struct Plan {
  const definition::Set* set = nullptr;
  const definition::Pipeline* pipeline = nullptr;
  const definition::Phase* phase = nullptr;
};
Plan plan_of(const Turn& turn, const Pipeline& pipeline);

bool is_blocked_by(const Pipeline& pipeline, Reason reason);

// Has it attend to what was noted for it, or to what the step has no room for, with the next tick.
void attend_soon(Turn& turn, PipelineId id);

// ── Values (pipeline_values.cc) ──

// Inputs, and what is in those that are JSON objects: {bug.id} is the `id` of the input `bug`.
Variables with_members(const Variables& inputs);

// Inputs, built-in names, outputs: in this order, so that an input hides a built-in name.
Variables variables_of(const Turn& turn, const Pipeline& pipeline);

// Fills in texts. After the first unknown name all there is to know is which one it was.
class Filler {
 public:
  Filler(const Turn& turn, const Pipeline& pipeline) : Filler(variables_of(turn, pipeline)) {}
  explicit Filler(Variables variables) : variables_(std::move(variables)) {}

  std::string operator()(std::string_view text);
  definition::Map operator()(const definition::Map& map);

  const Variables& variables() const { return variables_; }
  void add(std::string name, std::string value);
  const std::optional<std::string>& unknown() const { return unknown_; }

 private:
  Variables variables_;
  std::optional<std::string> unknown_;
};

Failure unknown_name(const Filler& fill);

// What the environment of its steps is made of, later ones over earlier ones.
Variables environment_of(const Turn& turn,
                         const Pipeline& pipeline,
                         const Plan& plan,
                         Filler& fill);
std::string directory_of(const Pipeline& pipeline, const Plan& plan, Filler& fill);
// The same by another `cwd` than the phase's.
std::string directory_of(const Pipeline& pipeline,
                         const Plan& plan,
                         Filler& fill,
                         const std::string& cwd);
Shell shell_of(const Turn& turn,
               const Pipeline& pipeline,
               const Plan& plan,
               Filler& fill,
               std::string text,
               std::string label);

// Keeps what a phase published; all of it, or says what is wrong with it.
std::optional<Failure> publish(Turn& turn,
                               PipelineId id,
                               const std::string& phase,
                               const definition::Map& values);

// ── The course of a phase, in its order ──

void enter(Turn& turn, PipelineId id);
void watch(Turn& turn, PipelineId id);       // the guard whose turn it is, or what follows them
void acquire(Turn& turn, PipelineId id);     // locks and slots
void begin_work(Turn& turn, PipelineId id);  // its workspace, if that is still to be made; then:
void act(Turn& turn, PipelineId id);
void acted(Turn& turn, PipelineId id);
void complete_phase(Turn& turn, PipelineId id);

void guard_checked(Turn& turn, PipelineId id, const Outcome& outcome);
bool is_check_being_ended(const Turn& turn, const Pipeline& pipeline);
void guard_due(Turn& turn, PipelineId id);
void poke_guard(Turn& turn, PipelineId id);  // checks it now
void prepared(Turn& turn, PipelineId id, const Outcome& outcome);
void shell_ended(Turn& turn, PipelineId id, const Outcome& outcome);
void strategy_ended(Turn& turn, PipelineId id, const Outcome& outcome);
void keep_workspace(Turn& turn, PipelineId id, const Outcome& outcome);
// A person has it tried again, perhaps after tidying up: the next phase makes sure of it first.
void doubt_workspace(Turn& turn, PipelineId id);

// Of a pipeline that is over: its workspace goes, and it has gone, or not.
void clear_workspace(Turn& turn, PipelineId id, bool force);
void workspace_cleared(Turn& turn, PipelineId id, const Outcome& outcome);
std::optional<WorkId> agent_of(const Pipeline& pipeline);  // that is at work for it

void act_by_children(Turn& turn, PipelineId id);
void attend_children(Turn& turn, PipelineId id);
void cancel_children(Turn& turn, PipelineId id);
// One within it has ended, and it, or one in between, attends to that with this tick. What is due
// comes behind that: it may have been so in time, and we away. Of those within it, as many are
// looked at as a step may touch.
bool has_news(const Turn& turn, PipelineId id);
void child_began(Turn& turn, PipelineId child, const ByParent& by);
void child_ended(
    Turn& turn, PipelineId child, const ByParent& by, Ending ending, const std::string& error);

// ── Ways out ──

// Nothing of the phase runs any more: what it held is given back, and nobody waits for it.
void leave_phase(Turn& turn, PipelineId id);
void give_back(Turn& turn, PipelineId id);
void unwatch(Turn& turn, PipelineId id);

void fail_phase(Turn& turn, PipelineId id, Failure failure);

// The whole tree. That it ended says the outcome of the target itself.
void kill(Turn& turn, PipelineId id, EffectId target);

// A person sends it to this phase, and has seen how often it was there, or it is to clean up, which
// it does however often it did: its visits are counted anew.
void close_circuit(Turn& turn, PipelineId id, const std::string& phase);

// Ends what runs; once that was observed, takes the exit.
void wind_down(Turn& turn, PipelineId id, Exit exit);
void take_exit(Turn& turn, PipelineId id);  // of one that is leaving
void take_exit(Turn& turn, PipelineId id, const Outcome& outcome);
void take(Turn& turn, PipelineId id, Exit exit);
void be_cancelled(Turn& turn, PipelineId id);
void stop_waiting(Turn& turn, PipelineId id);  // for its dependencies
void kill_ended(Turn& turn, PipelineId id, const Outcome& outcome);
void answer_unobserved(Turn& turn, PipelineId id, decision::Choice choice);

// Something of what runs asks somebody: blocked while it does.
void mind_questions(Turn& turn, PipelineId id);
void retire_question(Turn& turn, PipelineId id);

// Ends it as the verdict says, or as failed.
void conclude(Turn& turn, PipelineId id, Failed failed);

// It has just become Done, Failed or Cancelled.
void settle_end(Turn& turn, PipelineId id);
void tell_dependants(Turn& turn, PipelineId id);
bool reopen(Turn& turn, PipelineId id);
void forget(Turn& turn, PipelineId id);

// Of those that are over and that nobody needs, a number is kept. One that others wait for, or
// whose workspace is being removed, does not count and is not forgotten: to be called when it
// begins or ceases to be needed.
void mind_place(Turn& turn, PipelineId id);

}  // namespace reeve::pipeline
