#pragma once

#include "core/effect.h"
#include "core/task_step.h"

#include <string>
#include <utility>

// One step of a task on its way, and the rules that its verbs share. Only core/task_*.cc look
// in here.
namespace reeve::task {

struct Hand {
  Task task;
  Time now;
  Said said = {};
  Effects effects = {};

  Next finish() && { return {std::move(task), said, std::move(effects)}; }
  void emit(Event event);
  void start(Outer what, Part part);
};

const definition::Agent& agent_of(const Task& task);
bool is_done(const Task& task);
bool is_pending(const Task& task);
bool is_at_work(const Task& task);  // running or stuck
bool is_there(const Task& task);    // at work, and not known to be gone
bool is_stuck_by(const Task& task, Reason reason);

// There is a session, and what is said reaches it.
bool can_be_told(const Task& task);

// The verdict, unless there was one; and the end of its body begins.
void end(Hand& hand, Result result);
void end_body(Hand& hand);
void end_checkpoint(Hand& hand);

// Something of it cannot be seen dead, and somebody is asked about that.
bool is_unseen(const Task& task);

// A sign of life at `when`, which may lie in the past: the idle time starts again.
void live(Hand& hand, Time when);

// It moves again: running, and nobody needs to look. Activity from before the verdict does not
// overturn it.
void move(Hand& hand, Time when);

// The verdict that something is wrong, and what follows from it.
void judge(Hand& hand, Reason reason, const definition::Response& response);

// What somebody would be asked about.
decision::Cause cause_of(const Task& task, Reason reason);

// What follows: `what` is wrong, for people; `cause` is what somebody would be asked about.
void respond(Hand& hand,
             const definition::Response& response,
             const std::string& what,
             decision::Cause cause);

// The first response of `on_idle` with something left.
definition::Response next_response(const Task& task);

void ask(Hand& hand, decision::Cause cause);
void tell(Hand& hand, const std::string& text, bool by_hand);
void begin_again(Hand& hand, bool by_hand);

}  // namespace reeve::task
