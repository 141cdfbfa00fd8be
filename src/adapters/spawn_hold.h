#pragma once

#include "adapters/descriptor.h"
#include "adapters/run_directory.h"
#include "base/result.h"

#include <sys/types.h>

namespace reeve::adapters {

struct SpawnedHold {
  pid_t pid = -1;
  Descriptor pidfd;  // none if there are no descriptors left: it has to be looked at
};

// Starts `reeve hold` for a prepared run: this very program (/proc/self/exe, also if its file was
// replaced meanwhile), in a session of its own, with no signals blocked, nothing to read or to say,
// no descriptors, and an empty environment. It does not wait for it: a page table is not copied, so
// the size of the caller does not matter.
Result<SpawnedHold> spawn_hold(const RunDirectory& folder);

}  // namespace reeve::adapters
