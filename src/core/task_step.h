#pragma once

#include "base/time.h"
#include "core/decision.h"
#include "core/step.h"
#include "core/task.h"

#include <optional>
#include <string>
#include <string_view>

// The machine of a task, as a value: what each thing that can happen makes of it.
//
// **Idle.** Idle time counts from the last sign of life, the end of a rate limit, the last
// nudge, or the moment the daemon could listen again, whichever came last. An agent that was
// seen idle for longer than `idle_timeout` on two looks is stuck. So is one that shows life but
// no progress for `progress_timeout`, one that says it failed, and one that is gone.
//
// **Responses.** `on_idle = ["nudge:2", "restart:1", "escalate"]` is a list of budgets: the
// first with something left is used. Nudges and restarts are counted apart; a restart resets
// the nudges; to be asked for once is enough for a person, until the task moves again. A list
// that is used up ends as the seed has it: after its restarts the task fails, else somebody is
// asked. What a person does by hand costs nothing.
//
// **A run to completion** (`mode = "print"`) has no session to nudge: that response is passed over.
// Most say nothing until they are done, so a runbook that writes no `idle_timeout` for one has
// none.
namespace reeve::task {

// What the wiring has to do about a step besides its effects.
struct Said {
  bool retire = false;                      // what was asked about it has cleared
  std::optional<decision::Cause> ask = {};  // somebody must look

  bool operator==(const Said&) const = default;
};

using Next = Step<Task, Said>;

Task make(WorkId id, Begin begin);

// Pending, and nothing left of the attempt before: the next one can be spawned.
bool wants_spawn(const Task& task);
Next spawn(Task task, WorkId attempt, Time now);

// The outcome of the spawn: the session is there or not; or of a run to completion, its result.
Next spawned(Task task, const Outcome& outcome, Time now);

Next heartbeat(Task task, Time now);
Next observe(Task task, const agent::AgentState& seen, bool progress, Time leases_from, Time now);

// A checkpoint was made of what it works on.
Next progress(Task task, Time now);

// Proof that nothing of its session is left, and what it said last.
Next gone(Task task, const Outcome& last, Time now);

// The outcome of the kill: whether the end of its body was observed. If nobody knows, it is done
// again.
Next killed(Task task, const Outcome& outcome, Time now);

// Time has passed.
Next look(Task task, Time leases_from, Time now);

// The first moment at which `look` has something to do.
std::optional<Time> next_look(const Task& task, Time leases_from);

// By hand: costs no budget. A nudge of what has no session, and a restart of what is being
// started, change nothing.
Next nudge(Task task, const std::string& text, Time now);
Next restart(Task task, Time now);
Next send(Task task, const std::string& message_id, const std::string& text, Time now);
Next answer(Task task, const decision::Answer& answer, Time now);

// The verdict; the first one stands.
Next finish(Task task, Result result, Time now);

// Its checkpoint has ended; and the outcome of the kill of one, as with `killed`.
Next checkpointed(Task task, Time now);
Next checkpoint_killed(Task task, const Outcome& outcome, Time now);

// Over, and the end of its body was observed.
bool is_over(const Task& task);

// A person said `fail`.
bool was_told_to_fail(const Task& task);

// Whether anything is left of it at a terminal, where only text is typed: no control characters,
// neither those of one byte nor the C1 ones.
bool can_be_typed(std::string_view text);

// What somebody is asked about it.
decision::Question question_about(const Task& task, decision::Cause cause);

// What whoever began it is told.
Outcome outcome_of(const Task& task);

}  // namespace reeve::task
