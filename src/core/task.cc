#include "core/task.h"

#include "base/match.h"
#include "core/decision.h"
#include "core/interpolate.h"
#include "core/names.h"
#include "core/pipeline.h"
#include "core/task_step.h"
#include "core/turn.h"

#include <utility>

namespace reeve::task {
namespace {

const Task* find_task(const Turn& turn, WorkId id) { return turn.state().tasks.tasks.find(id); }

// ── Writing ──

void forget(Turn& turn, const FinishedKey<WorkId>& key) {
  Table& table = turn.change().tasks;
  const Task& task = *table.tasks.find(key.id);
  WorkId attempt = task.attempt;
  table.of_pipeline.erase({task.begun->pipeline, task.id});
  table.tasks.erase(key.id);
  while (attempt) {
    const WorkId previous = table.attempts.find(attempt)->previous;
    table.attempts.erase(attempt);
    attempt = previous;
  }
  remove(table.ended, key);
}

// One in any case: as many go as come, also where this step has no room for more.
void forget_overdue(Turn& turn, ProjectNo project, WorkId newest = {}) {
  do {
    const auto key = overdue(turn.state().tasks.ended, project, turn.now(), newest);
    if (!key) break;
    turn.touch();
    forget(turn, *key);
  } while (turn.may_touch());
  turn.arm(Due{{}, project}, next_overdue(turn.state().tasks.ended, project));
}

// The one place where a task is written; what is derived from it follows.
void put(Turn& turn, Task task) {
  const WorkId id = task.id;
  const std::optional<Time> look = next_look(task, turn.leases_from());
  turn.change().tasks.tasks.set(id, std::move(task));
  turn.arm(Due{id, {}}, look);
}

// The effects of a step; the task remembers which effect is its run, and which its end.
void start(Turn& turn, Task& task, Effects effects) {
  for (Effect& effect : effects) {
    Outgoing* outgoing = std::get_if<Outgoing>(&effect.value);
    if (!outgoing) {
      // What it is told of stands before what follows from it, as with pipelines.
      const Emit& emit = std::get<Emit>(std::get<Inner>(effect.value));
      turn.emit(emit.project, emit.event);
      continue;
    }
    const Part part = std::get<Address>(outgoing->to).part;
    const EffectId id = turn.start(std::move(outgoing->what), std::move(outgoing->to));
    if (part == Part::Spawn) task.run = id;
    if (part == Part::Kill) task.kill = id;
    if (part == Part::Checkpoint) task.checkpoint = id;
    if (part == Part::EndCheckpoint) task.checkpoint_kill = id;
  }
}

// Somebody else can only be told when everything of ours is written.
void report(Turn& turn, WorkId id) {
  turn.change().tasks.tasks.edit(id)->over_at = turn.now();
  const Task task = *find_task(turn, id);
  const Begin& begin = *task.begun;
  turn.change().tasks.tasks.edit(id)->last = {};
  add(turn.change().tasks.ended, {begin.project, turn.now(), id});
  forget_overdue(turn, begin.project, id);
  if (begin.pipeline) {
    pipeline::agent_ended(
        turn, begin.pipeline, begin.entry, id, outcome_of(task), was_told_to_fail(task));
  }
}

// Carries a step out. A restart whose old body is gone goes on at once with the next attempt.
void carry_out(Turn& turn, Next step) {
  const WorkId id = step.next.id;
  const Task* before = find_task(turn, id);
  if (before && *before == step.next && step.effects.empty() && step.outcome == Said{}) return;
  const bool was_over = before && is_over(*before);

  start(turn, step.next, std::move(step.effects));
  put(turn, step.next);
  if (step.outcome.ask) {
    decision::open(turn, question_about(step.next, *step.outcome.ask));
  } else if (step.outcome.retire) {
    decision::retire(turn, decision::WorkOwner{id});
  }
  if (wants_spawn(step.next)) {
    const WorkId attempt = step.next.attempt ? turn.next_id<WorkId>() : id;
    turn.change().tasks.attempts.set(attempt, {id, step.next.attempt});
    return carry_out(turn, spawn(std::move(step.next), attempt, turn.now()));
  }
  if (!was_over && is_over(step.next)) report(turn, id);
}

// What is due comes before what is new.
void settle(Turn& turn, WorkId id) {
  const Task* task = find_task(turn, id);
  if (!task) return;
  const std::optional<Time> due = next_look(*task, turn.leases_from());
  if (due && turn.now() >= *due) carry_out(turn, look(*task, turn.leases_from(), turn.now()));
}

// The task of any of its attempts, or null: also if it is only kept because no tick has come to
// forget it.
const Task* task_of(const Turn& turn, WorkId work) {
  const Attempt* attempt = turn.state().tasks.attempts.find(work);
  const Task* task = attempt ? find_task(turn, attempt->work) : nullptr;
  if (!task) return nullptr;
  return task->over_at && turn.now() >= kept_until(*task->over_at) ? nullptr : task;
}

const Task* settled(Turn& turn, WorkId work) {
  if (const Attempt* attempt = turn.state().tasks.attempts.find(work)) settle(turn, attempt->work);
  return task_of(turn, work);
}

// The word of an attempt: of another than the present one it is dropped.
template <class Verb>
reeve::Reply from_inside(WorkId work, const Task* task, Verb verb) {
  if (!task) return refused(Why::NotFound, to_text(work));
  if (std::holds_alternative<Pending>(task->state) && task->body != Body::Starting) {
    return {Reply{Superseded{{}}}};
  }
  if (task->attempt != work) return {Reply{Superseded{task->attempt}}};
  return verb(*task);
}

// Of one that has ended only the end may be asked for: the rest would not happen.
template <class Verb>
reeve::Reply by_hand(Turn& turn, WorkId work, Verb verb) {
  const Task* task = settled(turn, work);
  if (!task) return refused(Why::NotFound, to_text(work));
  if (std::holds_alternative<Done>(task->state)) {
    return refused(Why::NotAllowed, to_text(work) + " has ended");
  }
  return verb(*task);
}

// ── Commands ──

// An agent by itself, its texts filled in as those of a phase are.
std::variant<Begin, Refused> begun_by(const Turn& turn,
                                      const Run& command,
                                      const definition::Set& set,
                                      const definition::Agent& agent) {
  Begin begun;
  begun.project = turn.project();
  begun.name = command.agent;
  begun.agent = agent;
  begun.variables = command.variables;
  begun.environment = command.environment;
  begun.workspace = command.workspace.empty() ? set.root : command.workspace;
  begun.variables.emplace_back("id", to_text(WorkId{turn.state().last_number + 1}));
  begun.variables.emplace_back("name", command.agent);
  begun.variables.emplace_back("workspace", begun.workspace);
  if (const auto* project = turn.state().projects.projects.find(turn.project())) {
    begun.variables.emplace_back("project", project->name);
    begun.environment.emplace_back("REEVE_PROJECT", project->name);
  }
  std::optional<std::string> unknown;
  const auto fill = [&](std::string& text) {
    auto filled = interpolate(text, begun.variables);
    if (const UnknownName* name = std::get_if<UnknownName>(&filled)) {
      if (!unknown) unknown = name->name;
    } else {
      text = std::get<std::string>(std::move(filled));
    }
  };
  fill(begun.agent.cwd);
  fill(begun.agent.prompt_file);
  for (auto& [name, value] : begun.agent.env) fill(value);
  begun.prompt = command.prompt.empty() ? agent.prompt : command.prompt;
  fill(begun.prompt);
  if (unknown) return Refused{Why::BadValue, *unknown};
  begun.workspace = path_within(begun.workspace, begun.agent.cwd);
  return begun;
}

reeve::Reply run(Turn& turn, const Run& command) {
  if (!is_good_name(command.agent)) return refused(Why::BadName, command.agent);
  if (command.prompt.size() > limits::text_bytes) return refused(Why::OverLimit, "prompt");
  for (const auto& [name, value] : command.variables) {
    if (!is_good_value(value)) return refused(Why::BadValue, name);
  }
  const definition::Set* set = definition::current(turn.state().definitions, turn.project());
  const definition::Agent* agent = set ? set->agents.find(command.agent) : nullptr;
  if (!agent) return refused(Why::NotFound, command.agent);
  const auto begun = begun_by(turn, command, *set, *agent);
  if (const Refused* refusal = std::get_if<Refused>(&begun)) return {*refusal};
  return {Reply{Begun{begin(turn, std::get<Begin>(begun))}}};
}

reeve::Reply beat(Turn& turn, const Heartbeat& command) {
  const Task* found = settled(turn, command.work);
  return from_inside(command.work, found, [&](const Task& task) -> reeve::Reply {
    const pipeline::Pipeline* owner = turn.state().pipelines.pipelines.find(task.begun->pipeline);
    const bool paused = owner && owner->paused;
    if (std::holds_alternative<Done>(task.state)) return {Reply{Beat{true, std::nullopt, paused}}};
    const Duration limit = task.begun->agent.idle_timeout;
    std::optional<Time> expires_at;
    if (limit != Duration::max()) expires_at = saturating_add(turn.now(), limit);
    carry_out(turn, heartbeat(task, turn.now()));
    return {Reply{Beat{false, expires_at, paused}}};
  });
}

// ── Observations: what is due is settled after them, see input.h ──

reeve::Reply observed(Turn& turn, const Observed& command) {
  const Task* found = task_of(turn, command.work);
  return from_inside(command.work, found, [&](const Task& task) -> reeve::Reply {
    const Time from = turn.leases_from();
    carry_out(turn, observe(task, command.seen, command.progress, from, turn.now()));
    return {Ok{}};
  });
}

// Proof of the end concerns the body, whatever the verdict on the work was.
reeve::Reply session_gone(Turn& turn, const SessionGone& command) {
  const Task* task = task_of(turn, command.work);
  if (!task) return refused(Why::NotFound, to_text(command.work));
  if (task->attempt != command.work) return {Reply{Superseded{task->attempt}}};
  carry_out(turn, gone(*task, command.outcome, turn.now()));
  return {Ok{}};
}

reeve::Reply report_done(Turn& turn, const Report& command) {
  const Task* found = settled(turn, command.work);
  return from_inside(command.work, found, [&](const Task& task) -> reeve::Reply {
    if (std::holds_alternative<Done>(task.state)) return {Reply{AlreadyDone{}}};
    Result result = Success{command.output};
    if (command.error) result = Failed{*command.error};
    carry_out(turn, finish(task, std::move(result), turn.now()));
    return {Ok{}};
  });
}

// Something is said to its session; if there is none, that is refused.
template <class Say>
reeve::Reply tell(Turn& turn, WorkId work, const std::string& text, Say say) {
  if (text.size() > limits::text_bytes) return refused(Why::OverLimit, "text");
  if (!text.empty() && !can_be_typed(text)) return refused(Why::BadValue, "text");
  return by_hand(turn, work, [&](const Task& task) -> reeve::Reply {
    Next step = say(task);
    if (step.effects.empty()) {
      return refused(Why::NotAllowed, to_text(work) + " has no session to hear it");
    }
    carry_out(turn, std::move(step));
    return {Ok{}};
  });
}

reeve::Reply send_text(Turn& turn, const SendText& command) {
  if (!command.message_id.empty() && !is_good_name(command.message_id)) {
    return refused(Why::BadName, command.message_id);
  }
  if (command.text.empty()) return refused(Why::BadValue, "text");
  return tell(turn, command.work, command.text, [&](const Task& task) {
    return send(task, command.message_id, command.text, turn.now());
  });
}

reeve::Reply restart_it(Turn& turn, const Restart& command) {
  return by_hand(turn, command.work, [&](const Task& task) -> reeve::Reply {
    carry_out(turn, restart(task, turn.now()));
    return {Ok{}};
  });
}

reeve::Reply kill_it(Turn& turn, const Kill& command) {
  const Task* task = settled(turn, command.work);
  if (!task) return refused(Why::NotFound, to_text(command.work));
  if (std::holds_alternative<Done>(task->state)) return {Reply{AlreadyDone{}}};
  carry_out(turn, finish(*task, Cancelled{}, turn.now()));
  return {Ok{}};
}

}  // namespace

reeve::Reply apply(Turn& turn, const Command& command) {
  return match(
      command,
      [&](const Run& it) { return run(turn, it); },
      [&](const Heartbeat& it) { return beat(turn, it); },
      [&](const Observed& it) { return observed(turn, it); },
      [&](const SessionGone& it) { return session_gone(turn, it); },
      [&](const Report& it) { return report_done(turn, it); },
      [&](const Nudge& it) {
        return tell(turn, it.work, it.text, [&](const Task& task) {
          return nudge(task, it.text, turn.now());
        });
      },
      [&](const SendText& it) { return send_text(turn, it); },
      [&](const Restart& it) { return restart_it(turn, it); },
      [&](const Kill& it) { return kill_it(turn, it); });
}

void due(Turn& turn, const Due& due) {
  if (!due.work) return forget_overdue(turn, due.project);
  const Task* task = find_task(turn, due.work);
  if (!task) return;
  settle(turn, due.work);
  // A lease that is still good is looked at when it no longer may be.
  task = find_task(turn, due.work);
  if (task) turn.arm(due, next_look(*task, turn.leases_from()));
}

void finished(Turn& turn, EffectId effect, const Address& to, const Outcome& outcome) {
  // How it ended, or that it is there, may have been so before anything was due.
  if (to.part != Part::Spawn) settle(turn, to.work);
  const Task* task = find_task(turn, to.work);
  if (!task || task->attempt != to.attempt) return;
  switch (to.part) {
    case Part::Spawn:
      if (task->run == effect) carry_out(turn, spawned(*task, outcome, turn.now()));
      return;
    case Part::Kill:
      if (task->kill != effect) return;
      return carry_out(turn, killed(*task, outcome, turn.now()));
    case Part::Nudge:
    case Part::Send:
      if (strategy::has_succeeded(outcome) || std::holds_alternative<Done>(task->state)) return;
      turn.emit(task->begun->project, Event{WasUnreached{task->id, strategy::error_of(outcome)}});
      return;
    case Part::Checkpoint:
      return carry_out(turn, checkpointed(*task, turn.now()));
    case Part::EndCheckpoint:
      if (task->checkpoint_kill != effect) return;
      return carry_out(turn, checkpoint_killed(*task, outcome, turn.now()));
  }
}

void decided(Turn& turn, WorkId work, const decision::Answer& word) {
  const Task* task = settled(turn, work);
  if (!task) return;
  const PipelineId pipeline = task->begun->pipeline;
  std::vector<EffectId> released;
  if (word.choice == decision::Choice::ReleaseAnyway) {
    if (task->body == Body::Unseen) released.push_back(task->run);
    if (task->checkpoint_unseen) released.push_back(task->checkpoint);
  }
  // To cancel what works for a pipeline is to cancel that.
  if (pipeline && word.choice == decision::Choice::Cancel) {
    pipeline::cancel(turn, pipeline);
    task = find_task(turn, work);
    if (!task) return;
  }
  // Nobody waits for a run any more that cannot be seen to end.
  for (const EffectId run : released) {
    if (turn.state().outbox.contains(run)) turn.change().outbox.erase(run);
  }
  carry_out(turn, answer(*task, word, turn.now()));
}

WorkId begin(Turn& turn, const Begin& begin) {
  const WorkId id = turn.next_id<WorkId>();
  if (begin.pipeline) turn.change().tasks.of_pipeline.insert({begin.pipeline, id});
  carry_out(turn, {make(id, begin), {}});
  return id;
}

void cancel(Turn& turn, WorkId work) {
  if (const Task* task = settled(turn, work))
    carry_out(turn, finish(*task, Cancelled{}, turn.now()));
}

void progressed(Turn& turn, WorkId work) {
  if (const Task* task = settled(turn, work)) carry_out(turn, progress(*task, turn.now()));
}

EventName name_of(const Event& event) {
  const auto name = [](WorkId work, const char* verb) {
    return EventName{"task", to_text(work), verb};
  };
  return match(
      event,
      [&](const WasStarted& it) { return name(it.work, "started"); },
      [&](const WasStuck& it) { return name(it.work, "stuck"); },
      [&](const WasRecovered& it) { return name(it.work, "recovered"); },
      [&](const WasNudged& it) { return name(it.work, "nudged"); },
      [&](const WasRestarting& it) { return name(it.work, "restarting"); },
      [&](const WasCompleted& it) { return name(it.work, "complete"); },
      [&](const WasFailed& it) { return name(it.work, "failed"); },
      [&](const WasCancelled& it) { return name(it.work, "cancelled"); },
      [&](const WasUnreached& it) { return name(it.work, "unreached"); },
      [&](const HasBeaten& it) { return name(it.work, "heartbeat"); });
}

}  // namespace reeve::task
