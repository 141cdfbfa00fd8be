#pragma once

#include "adapters/descriptor.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <vector>

// Whose a journal is just now. A daemon holds the lock on `daemon.lock` in its home for as long as
// it lives; a tool that changes a journal holds it meanwhile, so that neither meets the other.
namespace reeve::tools {

class HomeLock {
 public:
  // Conflict, naming the process, if somebody has it. `does` is what those are told who find it
  // held by us: "journal accept". A journal that lies in no home is nobody's: there is nothing to
  // hold.
  static Result<HomeLock> hold(const std::string& journal, const std::string& does);

 private:
  std::vector<adapters::Descriptor> files_;
};

// The process that has the journal in use, as its lock file says; none: nobody has.
std::optional<std::string> user_of(const std::string& journal);

}  // namespace reeve::tools
