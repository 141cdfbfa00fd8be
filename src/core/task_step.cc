#include "core/task_step.h"

#include "base/text_part.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/task_hand.h"

#include <algorithm>
#include <utility>

namespace reeve::task {
namespace {

using agent::Sign;

// ── Time ──

// A run to completion is silent by nature: only somebody who wrote `idle_timeout` wants it watched,
// and without that its limit is Duration::max().
bool watches_idle(const Task& task) {
  const bool has_limit = agent_of(task).idle_timeout != Duration::max();
  return has_limit && is_there(task) && !task.asked && !is_stuck_by(task, Reason::NoProgress);
}

// The last moment at which it does not count as idle.
Time idle_limit(const Task& task, Time leases_from) {
  const Time from = std::max({task.last_sign, task.cooldown_until, task.responded_at, leases_from});
  return saturating_add(from, agent_of(task).idle_timeout);
}

std::optional<Time> progress_due(const Task& task) {
  const std::optional<Duration> timeout = agent_of(task).progress_timeout;
  const bool is_stuck = is_stuck_by(task, Reason::NoProgress);
  const bool watched = std::holds_alternative<Running>(task.state) || is_stuck;
  if (!timeout || !watched || task.body != Body::Live || task.asked) return std::nullopt;
  Time from = std::max(task.last_progress, task.cooldown_until);
  if (is_stuck) from = std::max(from, task.responded_at);
  return saturating_add(from, std::max(*timeout, Duration{1}));
}

// Of a run to completion, whoever runs it keeps its time.
std::optional<Time> timeout_due(const Task& task) {
  const std::optional<Duration> timeout = agent_of(task).timeout;
  if (!timeout || !task.first_started || is_done(task)) return std::nullopt;
  if (!agent_of(task).session && task.body == Body::Live) return std::nullopt;
  return saturating_add(*task.first_started, *timeout);
}

// A look at `when` that finds it quiet. One look is no verdict: a sign may be on its way.
void find_quiet(Hand& hand, Time when, Duration apart, Time leases_from) {
  Task& task = hand.task;
  if (!watches_idle(task)) return;
  if (when <= idle_limit(task, leases_from)) {
    task.overdue_since.reset();
  } else if (!task.overdue_since) {
    task.overdue_since = hand.now;
  } else if (when >= saturating_add(*task.overdue_since, apart)) {
    judge(hand, Reason::NoHeartbeat, next_response(task));
  }
}

std::optional<Time> checkpoint_due(const Task& task) {
  return is_there(task) && !is_stuck_by(task, Reason::SessionDead) ? task.checkpoint_at
                                                                   : std::nullopt;
}

// Of two values for one name the later counts: the agent's own come last.
Variables environment_of(const Begin& begin) {
  Variables environment = begin.environment;
  environment.insert(environment.end(), begin.agent.env.begin(), begin.agent.env.end());
  return environment;
}

void run_checkpoint(Hand& hand) {
  Task& task = hand.task;
  const definition::Agent& agent = agent_of(task);
  task.checkpoint_at = saturating_add(hand.now, *agent.checkpoint_every);
  if (std::exchange(task.checkpointing, true)) return;  // the last one is still at it
  hand.start(Shell{agent.checkpoint_run,
                   task.begun->variables,
                   task.begun->workspace,
                   agent.checkpoint_every,
                   task.begun->pipeline,
                   task.begun->name + "#checkpoint",
                   false,
                   environment_of(*task.begun)},
             Part::Checkpoint);
}

// ── Signs ──

void show_life(Hand& hand, Time when) {
  live(hand, when);
  // Life alone is not what one that makes no progress lacks.
  if (!is_stuck_by(hand.task, Reason::NoProgress)) move(hand, when);
}

// Of one that waits to be allowed to go on only what is seen of it says that it goes on: any
// process can beat, or make a commit.
bool waits_for_permission(const Task& task) {
  return task.asked == decision::Cause::AgentPermission;
}

void show_progress(Hand& hand, Time when) {
  hand.task.last_progress = std::max(hand.task.last_progress, when);
  live(hand, when);
  if (!waits_for_permission(hand.task)) move(hand, when);
}

void cool_down(Hand& hand, const agent::AgentState& seen) {
  live(hand, seen.observed_at);
  move(hand, seen.observed_at);
  hand.task.cooldown_until =
      seen.resets_at.value_or(saturating_add(seen.observed_at, limits::rate_limit_pause));
}

// Asking is life; to go on asking is to be idle.
void show_question(Hand& hand, const agent::AgentState& seen) {
  live(hand, seen.observed_at);
  move(hand, seen.observed_at);
  respond(hand,
          agent_of(hand.task).on_permission,
          "asks for permission",
          decision::Cause::AgentPermission);
}

// ── Starting ──

void get_going(Hand& hand) {
  Task& task = hand.task;
  const definition::Agent& agent = agent_of(task);
  task.state = Running{hand.now};
  task.body = Body::Live;
  task.last_sign = task.last_progress = hand.now;
  if (!task.first_started) task.first_started = hand.now;
  if (agent.checkpoint_every && *agent.checkpoint_every > Duration{0} &&
      !agent.checkpoint_run.empty()) {
    task.checkpoint_at = saturating_add(hand.now, *agent.checkpoint_every);
  }
  hand.emit(WasStarted{task.id, task.attempt, task.begun->name});
}

// What a person is told of an end: what it said last is often why.
std::string with_last_words(std::string error, const Outcome& last) {
  const std::size_t end = last.output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return error;
  const std::size_t newline = last.output.find_last_of("\r\n", end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  const std::string_view line = std::string_view(last.output).substr(begin, end + 1 - begin);
  error.append(": ").append(first_bytes(line, limits::name_bytes));
  return std::string(cut(error));
}

// The result of a run to completion.
Result result_of(const Outcome& outcome) {
  if (outcome.ended == reeve::Ended::Unknown) {
    return Failed{"nobody knows what became of it", How::Unknown};
  }
  if (outcome.timed_out) return Failed{"timed out", How::TimedOut};
  if (outcome.ended == reeve::Ended::Done && outcome.exit_code.value_or(0) == 0 &&
      !outcome.signal) {
    return Success{outcome.output};
  }
  if (!outcome.error.empty()) return Failed{outcome.error};
  if (outcome.signal) return Failed{"ended by signal " + std::to_string(*outcome.signal)};
  return Failed{"exit code " + std::to_string(outcome.exit_code.value_or(-1))};
}

// Nobody saw how it ended, or whether it began. What follows is for `on_unknown` of its phase to
// say, and never for `on_exit`; one without a phase asks, as a phase does that says nothing.
void end_unseen(Hand& hand, const std::string& what) {
  Task& task = hand.task;
  if (task.begun->pipeline) return end(hand, Failed{what, How::Unknown});
  task.seen = {agent::Doing::Exited, agent::Source::Process, hand.now, {}, what};
  judge(hand, Reason::SessionDead, definition::DoEscalate{});
}

}  // namespace

Task make(WorkId id, Begin begin) {
  Task task;
  task.id = id;
  task.begun = Boxed<Begin>(std::move(begin));
  return task;
}

bool wants_spawn(const Task& task) {
  return is_pending(task) && task.body == Body::None && !task.checkpointing;
}

Next spawn(Task task, WorkId attempt, Time now) {
  Hand hand{std::move(task), now};
  if (!wants_spawn(hand.task)) return std::move(hand).finish();
  Task& next = hand.task;
  const Begin& begin = *next.begun;
  next.attempt = attempt;
  next.seen = {};
  next.cooldown_until = next.responded_at = Time::min();
  next.last = {};
  next.body = Body::Starting;
  std::optional<Duration> timeout;
  if (!begin.agent.session) {
    timeout = begin.agent.timeout;
    if (timeout && next.first_started) {
      const Time end = saturating_add(*next.first_started, *timeout);
      timeout = std::max(end - now, Duration{1});
    }
  }
  // What a person said with the restart: to a session when it is there, else with the prompt.
  std::string prompt = begin.prompt;
  if (!begin.agent.session && !next.word.empty()) {
    prompt += (prompt.empty() ? "" : "\n\n") + std::exchange(next.word, {});
  }
  hand.start(Spawn{attempt,
                   begin.name,
                   begin.agent.command,
                   std::move(prompt),
                   begin.workspace,
                   begin.variables,
                   begin.agent.session,
                   timeout,
                   environment_of(begin),
                   begin.agent.kind,
                   begin.agent.prompt_file},
             Part::Spawn);
  if (!begin.agent.session) get_going(hand);
  return std::move(hand).finish();
}

Next spawned(Task task, const Outcome& outcome, Time now) {
  Hand hand{std::move(task), now};
  Task& next = hand.task;
  if (!agent_of(next).session) {
    // However it ended: it has, and nothing is left of it.
    if (next.body == Body::None) return std::move(hand).finish();
    if (next.body == Body::Unseen && !next.checkpoint_unseen) hand.said.retire = true;
    next.body = Body::None;
    next.last = outcome;
    if (!is_at_work(next)) return std::move(hand).finish();
    if (outcome.ended == reeve::Ended::Unknown) {
      end_unseen(hand, "nobody knows what became of it");
    } else {
      end(hand, result_of(outcome));
    }
    return std::move(hand).finish();
  }
  if (next.body != Body::Starting) return std::move(hand).finish();
  switch (outcome.ended) {
    case reeve::Ended::Done:
      get_going(hand);
      if (!next.word.empty()) {
        const std::string id = to_text(next.attempt) + "." + std::to_string(++next.messages);
        hand.start(Send{next.attempt, id, std::exchange(next.word, {})}, Part::Send);
      }
      break;
    case reeve::Ended::Failed:
      next.body = Body::None;
      end(hand, Failed{outcome.error.empty() ? "it could not be started" : outcome.error});
      break;
    case reeve::Ended::Unknown:
      // There may be a session or not: it is ended, to make sure.
      next.state = Running{now};
      end_unseen(hand, "nobody knows whether it was started");
      end_body(hand);
      break;
  }
  return std::move(hand).finish();
}

Next heartbeat(Task task, Time now) {
  Hand hand{std::move(task), now};
  if (!is_there(hand.task)) return std::move(hand).finish();
  hand.emit(HasBeaten{hand.task.id});
  if (waits_for_permission(hand.task)) {
    live(hand, now);
  } else {
    show_life(hand, now);
  }
  return std::move(hand).finish();
}

Next observe(Task task, const agent::AgentState& news, bool progress, Time leases_from, Time now) {
  Hand hand{std::move(task), now};
  Task& next = hand.task;
  if (!is_there(next)) return std::move(hand).finish();
  const agent::AgentState seen = agent::judged(news, now);
  if (progress) show_progress(hand, seen.observed_at);
  if (!agent::replaces(seen, next.seen)) return std::move(hand).finish();

  // The same word about something else is news too.
  const bool is_new = seen.doing != next.seen.doing || seen.detail != next.seen.detail;
  next.seen = seen;
  switch (agent::sign_of(seen.doing)) {
    case Sign::Life:
      // Only one that is seen to work is no longer kept from it: any process can beat.
      next.cooldown_until = std::min(next.cooldown_until, seen.observed_at);
      show_life(hand, seen.observed_at);
      break;
    case Sign::Question:
      if (is_new) {
        show_question(hand, seen);
        break;
      }
      [[fallthrough]];
    case Sign::Quiet:
      find_quiet(hand, seen.observed_at, Duration{1}, leases_from);
      break;
    case Sign::Cooling:
      cool_down(hand, seen);
      break;
    case Sign::Trouble:
      if (is_new) judge(hand, Reason::Errored, agent_of(next).on_error);
      break;
    case Sign::Gone:
      if (is_new) judge(hand, Reason::SessionDead, agent_of(next).on_exit);
      break;
    case Sign::Nothing:
      break;
  }
  return std::move(hand).finish();
}

Next progress(Task task, Time now) {
  Hand hand{std::move(task), now};
  if (is_there(hand.task)) show_progress(hand, now);
  return std::move(hand).finish();
}

Next gone(Task task, const Outcome& last, Time now) {
  Hand hand{std::move(task), now};
  Task& next = hand.task;
  if (next.body == Body::None || !agent_of(next).session) return std::move(hand).finish();
  next.last = last;
  // It came and went before anybody heard that it came.
  if (is_pending(next) && next.body == Body::Starting) get_going(hand);
  if (next.body == Body::Unseen && !next.checkpoint_unseen) hand.said.retire = true;
  // What we ended ourselves has not ended by itself.
  const bool was_ended = next.body != Body::Live;
  next.body = Body::None;
  const bool is_known = is_stuck_by(next, Reason::SessionDead) && next.asked;
  if (is_at_work(next) && was_ended) {
    ask(hand, decision::Cause::AgentGone);
  } else if (is_at_work(next) && !is_known) {
    next.seen = {agent::Doing::Exited, agent::Source::Process, now};
    const definition::Agent& agent = agent_of(next);
    const Result result = result_of(last);
    const Failed* failed = std::get_if<Failed>(&result);
    if (failed && failed->how != How::Unknown) {
      // Its program failed, or was ended by somebody: that is no end without a word.
      next.seen.detail = with_last_words(failed->error, last);
      // Nothing is left of it: unless somebody wanted to be asked, its phase has failed as by a
      // step, with its `retry` and `on_fail`. One without a phase has nobody else to say so.
      const bool is_phase = static_cast<bool>(next.begun->pipeline);
      const bool asks = std::holds_alternative<definition::DoEscalate>(agent.on_error);
      const bool fails = asks && !agent.asks_on_error && is_phase;
      judge(hand,
            Reason::SessionDead,
            fails ? definition::Response{definition::DoFail{}} : agent.on_error);
    } else if (failed) {
      end_unseen(hand, failed->error);
    } else {
      judge(hand, Reason::SessionDead, agent.on_exit);
    }
  }
  return std::move(hand).finish();
}

Next killed(Task task, const Outcome& outcome, Time now) {
  Hand hand{std::move(task), now};
  if (hand.task.body != Body::Ending) return std::move(hand).finish();
  if (outcome.ended == reeve::Ended::Unknown) {
    hand.task.body = Body::Live;
    end_body(hand);
    return std::move(hand).finish();
  }
  const bool observed = outcome.ended == reeve::Ended::Done;
  if (observed) hand.task.last = outcome;
  hand.task.body = observed ? Body::None : Body::Unseen;
  if (!observed) {
    hand.said.ask = decision::Cause::ProcessUnobserved;
    hand.task.asked.reset();  // that question is in the place of the other now
  } else if (is_at_work(hand.task)) {
    ask(hand, decision::Cause::AgentGone);
  }
  return std::move(hand).finish();
}

Next checkpointed(Task task, Time now) {
  Hand hand{std::move(task), now};
  Task& next = hand.task;
  if (next.checkpoint_unseen && next.body != Body::Unseen) hand.said.retire = true;
  next.checkpointing = next.checkpoint_unseen = false;
  next.checkpoint = next.checkpoint_kill = {};
  return std::move(hand).finish();
}

// Seen dead: how the checkpoint itself ended says it, too.
Next checkpoint_killed(Task task, const Outcome& outcome, Time now) {
  Hand hand{std::move(task), now};
  hand.task.checkpoint_kill = {};
  if (outcome.ended == reeve::Ended::Unknown) end_checkpoint(hand);
  if (outcome.ended == reeve::Ended::Failed) {
    hand.task.checkpoint_unseen = true;
    hand.said.ask = decision::Cause::ProcessUnobserved;
  }
  return std::move(hand).finish();
}

Next look(Task task, Time leases_from, Time now) {
  Hand hand{std::move(task), now};
  Task& next = hand.task;
  if (const auto due = timeout_due(next); due && now >= *due) {
    end(hand, Failed{"timed out", How::TimedOut});
  }
  if (const auto due = progress_due(next); due && now >= *due) {
    judge(hand, Reason::NoProgress, next_response(next));
  }
  find_quiet(hand, now, limits::second_look, leases_from);
  if (const auto due = checkpoint_due(next); due && now >= *due) run_checkpoint(hand);
  return std::move(hand).finish();
}

std::optional<Time> next_look(const Task& task, Time leases_from) {
  std::optional<Time> first = timeout_due(task);
  const auto consider = [&](std::optional<Time> due) {
    if (due && (!first || *due < *first)) first = due;
  };
  consider(progress_due(task));
  consider(checkpoint_due(task));
  if (watches_idle(task)) {
    consider(task.overdue_since ? saturating_add(*task.overdue_since, limits::second_look)
                                : saturating_add(idle_limit(task, leases_from), Duration{1}));
  }
  return first;
}

}  // namespace reeve::task
