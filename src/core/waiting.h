#pragma once

#include "core/answer.h"
#include "core/id.h"

namespace reeve {
class Turn;
}

// A request whose answer comes later waits in a line of locks and slots, for an item of a
// queue, for a task of the board, for a decision, or for a chore to end. Whoever ends a wait
// from outside (its client, the end of its session) need not know which.
namespace reeve::waiting {

void leave(Turn& turn, WaiterId waiter, Left left);

// The same request came again over another connection: its place goes with it.
void move_to_session(Turn& turn, WaiterId waiter, SessionId session);

// Whoever waits there is here again: the lines that stood still for it are served.
void came_back(Turn& turn, WaiterId waiter);

}  // namespace reeve::waiting
