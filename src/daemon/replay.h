#pragma once

#include "adapters/history/history.h"

#include <string>

namespace reeve::daemon {

// Shows everything that the journal in this directory still has, from its oldest checkpoint on, by
// deciding it once more: for a history that is made anew. Reads only, and may do so while the
// daemon writes there, as long as nothing is deleted. Where an older version decided otherwise, or
// something is damaged, it begins from the next checkpoint.
history::History::Replay replay_of(std::string journal_directory);

}  // namespace reeve::daemon
