#include "core/task_hand.h"

#include "base/match.h"
#include "core/limits.h"
#include "core/names.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace reeve::task {
namespace {

using definition::Response;

Event event_of(WorkId id, const Result& result) {
  return match(
      result,
      [&](const Success&) -> Event { return WasCompleted{id}; },
      [&](const Failed& failed) -> Event { return WasFailed{id, failed.error}; },
      [&](const Cancelled&) -> Event { return WasCancelled{id}; });
}

Result kept_short(Result result) {
  match(
      result,
      [](Success& success) { success.output.resize(cut(success.output).size()); },
      [](Failed& failed) { failed.error.resize(cut(failed.error).size()); },
      [](Cancelled&) {});
  return result;
}

void get_stuck(Hand& hand, Reason reason) {
  Task& task = hand.task;
  if (is_stuck_by(task, reason)) return;
  if (const Running* running = std::get_if<Running>(&task.state)) {
    task.state = Stuck{hand.now, reason, running->started_at};
  } else if (Stuck* stuck = std::get_if<Stuck>(&task.state)) {
    stuck->reason = reason;
  } else {
    return;
  }
  hand.emit(WasStuck{task.id, reason});
}

std::string text_of(Reason reason) {
  switch (reason) {
    case Reason::NoHeartbeat:
      return "idle";
    case Reason::NoProgress:
      return "no progress";
    case Reason::SessionDead:
      return "exited";
    case Reason::Errored:
      return "errored";
  }
  return "stuck";
}

std::string with_detail(const Task& task, const std::string& what) {
  const std::string& detail = task.seen.detail;
  return detail.empty() ? what : what + ": " + detail;
}

}  // namespace

void Hand::emit(Event event) {
  effects.push_back({Inner{Emit{task.begun->project, std::move(event)}}});
}

void Hand::start(Outer what, Part part) {
  effects.push_back({Outgoing{std::move(what), Address{task.id, task.attempt, part}}});
}

const definition::Agent& agent_of(const Task& task) { return task.begun->agent; }

bool is_done(const Task& task) { return std::holds_alternative<Done>(task.state); }
bool is_pending(const Task& task) { return std::holds_alternative<Pending>(task.state); }
bool is_at_work(const Task& task) { return !is_done(task) && !is_pending(task); }
bool is_there(const Task& task) { return is_at_work(task) && task.body == Body::Live; }

bool is_stuck_by(const Task& task, Reason reason) {
  const Stuck* stuck = std::get_if<Stuck>(&task.state);
  return stuck && stuck->reason == reason;
}

bool can_be_told(const Task& task) { return agent_of(task).session && task.body == Body::Live; }

// ── The end ──

void end_body(Hand& hand) {
  Task& task = hand.task;
  if (task.body != Body::Starting && task.body != Body::Live && task.body != Body::Unseen) return;
  reeve::Kill kill{task.attempt, limits::kill_grace};
  if (!agent_of(task).session) kill.target = task.run;
  hand.start(std::move(kill), Part::Kill);
  task.body = Body::Ending;
  // Somebody is asked about one that cannot be seen dead, and ends it again if he wants to.
  if (!task.checkpoint_unseen) end_checkpoint(hand);
}

// One that is under way when its agent ends by itself is waited for: half a commit would be in the
// way of whoever comes next.
void end_checkpoint(Hand& hand) {
  Task& task = hand.task;
  if (!task.checkpointing || task.checkpoint_kill != EffectId{}) return;
  task.checkpoint_unseen = false;
  hand.start(reeve::Kill{task.checkpoint, limits::kill_grace}, Part::EndCheckpoint);
}

bool is_unseen(const Task& task) { return task.body == Body::Unseen || task.checkpoint_unseen; }

void end(Hand& hand, Result result) {
  if (is_done(hand.task)) return;
  result = kept_short(std::move(result));
  hand.emit(event_of(hand.task.id, result));
  hand.task.state = Done{std::move(result), hand.now};
  hand.task.overdue_since.reset();
  hand.task.checkpoint_at.reset();
  hand.task.asked.reset();
  // What cannot be seen dead is still asked about: that question is another one.
  if (is_unseen(hand.task)) return;
  hand.said = {true, std::nullopt};
  end_body(hand);
}

// ── Getting stuck, and out of it ──

void move(Hand& hand, Time when) {
  Task& task = hand.task;
  if (const Stuck* stuck = std::get_if<Stuck>(&task.state)) {
    if (when < stuck->since) return;
    task.state = Running{stuck->started_at};
    hand.emit(WasRecovered{task.id});
  }
  if (std::exchange(task.asked, std::nullopt)) hand.said.retire = true;
}

void live(Hand& hand, Time when) {
  Task& task = hand.task;
  if (when < task.last_sign) return;
  task.overdue_since.reset();
  task.last_sign = when;
}

// ── Responses ──

void ask(Hand& hand, decision::Cause cause) {
  if (hand.task.asked == cause) return;
  // Whether it may is no longer the question when it is gone or has failed; and of one that is gone
  // the choices are others.
  if (hand.task.asked && hand.task.asked != decision::Cause::AgentPermission &&
      cause != decision::Cause::AgentGone) {
    return;
  }
  hand.task.asked = cause;
  hand.said.ask = cause;
}

void tell(Hand& hand, const std::string& text, bool by_hand) {
  Task& task = hand.task;
  hand.start(reeve::Nudge{task.attempt, text}, Part::Nudge);
  hand.emit(WasNudged{task.id, by_hand});
  task.responded_at = hand.now;
  task.overdue_since.reset();
}

void begin_again(Hand& hand, bool by_hand) {
  Task& task = hand.task;
  hand.emit(WasRestarting{task.id, by_hand});
  task.state = Pending{};
  task.nudges = 0;
  task.asked.reset();
  task.overdue_since.reset();
  task.checkpoint_at.reset();
  hand.said = {true, std::nullopt};
  end_body(hand);
}

void respond(Hand& hand, const Response& response, const std::string& what, decision::Cause cause) {
  Task& task = hand.task;
  task.responded_at = hand.now;
  task.overdue_since.reset();
  match(
      response,
      [&](const definition::DoNudge& nudge) {
        if (!can_be_told(task) || task.nudges >= nudge.times) return ask(hand, cause);
        ++task.nudges;
        tell(hand, "", false);
      },
      [&](const definition::DoRestart& restart) {
        if (task.restarts >= restart.times) {
          return end(hand, Failed{with_detail(task, what) + ", and its restarts are used up"});
        }
        ++task.restarts;
        begin_again(hand, false);
      },
      [&](const definition::DoEscalate&) { ask(hand, cause); },
      [&](const definition::DoDone&) { end(hand, Success{}); },
      [&](const definition::DoFail&) { end(hand, Failed{with_detail(task, what)}); });
}

void judge(Hand& hand, Reason reason, const Response& response) {
  // What ends at once was never stuck.
  const bool ends = std::holds_alternative<definition::DoDone>(response) ||
                    std::holds_alternative<definition::DoFail>(response);
  if (!ends) get_stuck(hand, reason);
  respond(hand, response, text_of(reason), cause_of(hand.task, reason));
}

decision::Cause cause_of(const Task& task, Reason reason) {
  const bool is_gone = reason == Reason::SessionDead || !can_be_told(task);
  return is_gone ? decision::Cause::AgentGone : decision::Cause::AgentStuck;
}

// The budgets of several entries of a kind add up.
Response next_response(const Task& task) {
  const std::vector<Response>& list = agent_of(task).on_idle;
  std::uint32_t nudges = 0;
  std::uint32_t restarts = 0;
  const auto plus = [](std::uint32_t a, std::uint32_t b) { return a + std::min(b, ~a); };
  for (const Response& response : list) {
    if (const auto* nudge = std::get_if<definition::DoNudge>(&response)) {
      nudges = plus(nudges, nudge->times);
      if (can_be_told(task) && task.nudges < nudges) return definition::DoNudge{nudges};
    } else if (const auto* restart = std::get_if<definition::DoRestart>(&response)) {
      restarts = plus(restarts, restart->times);
      if (task.restarts < restarts) return definition::DoRestart{restarts};
    } else {
      return response;
    }
  }
  const bool restarted =
      !list.empty() && std::holds_alternative<definition::DoRestart>(list.back());
  return restarted ? Response{definition::DoRestart{restarts}} : Response{definition::DoEscalate{}};
}

}  // namespace reeve::task
