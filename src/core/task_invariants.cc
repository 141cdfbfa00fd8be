#include "core/invariants.h"
#include "core/task_step.h"

#include <string>

namespace reeve::task {
namespace {

// A verdict and a body that can be together: what is at work has one, or has lost it.
bool fit(const Task& task) {
  switch (task.body) {
    case Body::None:
      // One that begins anew waits for the checkpoint that is still being made.
      return std::holds_alternative<Pending>(task.state)
                 ? task.checkpointing
                 : !std::holds_alternative<Running>(task.state);
    case Body::Starting:
      return std::holds_alternative<Pending>(task.state);
    case Body::Live:
      return std::holds_alternative<Running>(task.state) ||
             std::holds_alternative<Stuck>(task.state);
    case Body::Ending:
    case Body::Unseen: {
      // One of which nobody knows whether it was started is ended, to make sure.
      const Stuck* stuck = std::get_if<Stuck>(&task.state);
      return std::holds_alternative<Pending>(task.state) ||
             std::holds_alternative<Done>(task.state) ||
             (stuck && stuck->reason == Reason::SessionDead);
    }
  }
  return false;
}

void check_task(const State& state, const Task& task, Violations& violations) {
  const Table& table = state.tasks;
  const auto complain = [&](const char* what) {
    violations.push_back("task: " + to_text(task.id) + " " + what);
  };
  if (!task.begun) return complain("was never begun");
  if (!fit(task)) complain("has a body that does not fit its state");
  if (task.body == Body::Starting && !state.outbox.contains(task.run)) {
    complain("waits for a start that nobody carries out");
  }
  if (task.body == Body::Ending && !state.outbox.contains(task.kill)) {
    complain("waits for an end that nobody carries out");
  }
  if (task.checkpointing && !state.outbox.contains(task.checkpoint)) {
    complain("waits for a checkpoint that nobody makes");
  }
  if (task.checkpoint_kill != EffectId{} && !state.outbox.contains(task.checkpoint_kill)) {
    complain("waits for the end of a checkpoint that nobody carries out");
  }
  const DecisionId* open = state.decisions.open_of.find(decision::WorkOwner{task.id});
  const decision::Decision* question = open ? state.decisions.decisions.find(*open) : nullptr;
  std::optional<decision::Cause> cause = task.asked;
  const bool is_unseen = task.body == Body::Unseen || task.checkpoint_unseen;
  if (is_unseen) cause = decision::Cause::ProcessUnobserved;
  if (cause != (question ? std::optional(question->cause) : std::nullopt)) {
    complain("waits for an answer to no question, or asks and does not wait");
  }
  if (is_over(task) != task.over_at.has_value()) complain("is over, and nobody was told");
  const Attempt* attempt = table.attempts.find(task.attempt);
  if (!attempt || attempt->work != task.id) complain("is not found by its attempt");
  if ((task.begun->pipeline.value != 0) !=
      table.of_pipeline.contains({task.begun->pipeline, task.id})) {
    complain("is not found by its pipeline");
  }
  // A lease that was moved by the grace is still looked at by its old timer.
  const std::optional<Time> armed = deadline_of(state.timers, Due{task.id, {}});
  const std::optional<Time> look = next_look(task, state.leases_from);
  if (armed.has_value() != look.has_value() || (armed && *armed > *look)) {
    complain("is not looked at when it should be");
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  const Table& table = state.tasks;
  std::size_t over = 0;
  std::size_t attempts = 0;
  std::size_t of_pipelines = 0;
  for (const auto& [id, task] : table.tasks) {
    if (task.id != id) violations.push_back("task: " + to_text(id) + " has another's id");
    check_task(state, task, violations);
    if (is_over(task)) ++over;
    if (task.begun && task.begun->pipeline) ++of_pipelines;
    WorkId attempt = task.attempt;
    while (const Attempt* found = table.attempts.find(attempt)) {
      ++attempts;
      attempt = found->previous;
    }
  }
  if (over != table.ended.by_age.size() || attempts != table.attempts.size() ||
      of_pipelines != table.of_pipeline.size()) {
    violations.push_back("task: an index has more, or less, than the table");
  }
  for (const FinishedKey<WorkId>& key : table.ended.by_age) {
    const Task* task = table.tasks.find(key.id);
    if (!task || task->over_at != key.at || task->begun->project != key.project) {
      violations.push_back("task: " + to_text(key.id) + " is to be forgotten and is not over");
    }
  }
  for (const auto& [project, count] : table.ended.counts) {
    if (count > limits::finished_kept) violations.push_back("task: too many are kept");
    if (deadline_of(state.timers, Due{{}, project}) != next_overdue(table.ended, project)) {
      violations.push_back("task: the oldest has no timer of its own");
    }
  }
}

}  // namespace reeve::task
