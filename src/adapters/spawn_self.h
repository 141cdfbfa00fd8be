#pragma once

#include "adapters/descriptor.h"
#include "base/result.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace reeve::adapters {

struct Spawned {
  pid_t pid = -1;
  Descriptor pidfd;  // none if there are no descriptors left: it has to be looked at
};

// What it is given beside its words; unless told otherwise, nothing.
struct Belongings {
  std::vector<std::string> environment = {};  // NAME=value
  int output = -1;                            // what it prints goes there; -1: nowhere
  int third = -1;                             // it has this one as descriptor 3
};

// Starts this very program (/proc/self/exe, also if its file was replaced meanwhile) with these
// words, in a session of its own, with no signals blocked, nothing to read and no descriptors but
// those. It does not wait for it: a page table is not copied, so the size of the caller does not
// matter.
Result<Spawned> spawn_self(std::vector<std::string> words, Belongings belongings = {});

}  // namespace reeve::adapters
