#pragma once

#include "adapters/plan.h"

#include <string>

// Agents of kind `generic`: any program.
//
// In mode `print` it is run to completion like a step, with the prompt on its stdin. In mode
// `session` it runs in a session of a private tmux server, whose socket is `tmux.sock` in the home:
// a hold of its own is the pane's program, so that its end is known like that of any other run, and
// the prompt is typed when it is there. In both $REEVE_AGENT names the attempt, and $REEVE_PROMPT
// has the prompt if it is short enough for an environment.
//
//     tmux -S ~/.local/state/reeve/tmux.sock attach -t work-81hd2k
//
// The session has the name of the attempt. What the pane shows is logged, and that the log grows
// is the sign of life. A nudge without a text types `continue`.
namespace reeve::adapters {

struct SessionPlan {
  Plan pane;   // what runs in the session: in the folder of the effect
  Plan start;  // makes the session, and types the prompt: in the folder beside it, `.start`
};

Result<SessionPlan> session_plan(EffectId id, const Spawn& spawn, const Surroundings& around);

// Of the hold that starts a session.
std::string start_path(const Surroundings& around, EffectId id);

}  // namespace reeve::adapters
