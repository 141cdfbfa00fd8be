#pragma once

#include "core/input.h"

// When disk or state are nearly full, new work is refused and what finishes work goes on: whoever
// completes, releases, cancels, gives up or keeps a lease alive makes room or stops a loss.
//
// Every command has a place here: a new one does not compile until somebody decided about it.
namespace reeve::engine {

// True: may make the state larger for longer than a lease, and can be asked again later.
bool is_new_work(const Command& command);

}  // namespace reeve::engine
