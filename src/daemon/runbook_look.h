#pragma once

#include "adapters/descriptor.h"
#include "base/result.h"
#include "core/id.h"
#include "daemon/look_times.h"

#include <optional>
#include <string>
#include <sys/types.h>

// A look at the runbooks of a project: `reeve runbook load` by this very program, which reads them
// as every command does, and hands them over if they are others and have no mistake. It starts no
// daemon if this one is gone meanwhile.
namespace reeve::daemon {

class RunbookLook {
 public:
  // Reading and a `bash -n` for each program in them take much less.
  static constexpr std::chrono::seconds longest{60};

  // `project` by its name, so that nobody has to find it from a folder.
  static Result<RunbookLook> begin(const std::string& home,
                                   const std::string& project,
                                   LookTimes::Moment now);

  RunbookLook(RunbookLook&& other) noexcept;
  RunbookLook& operator=(RunbookLook&&) = delete;
  RunbookLook(const RunbookLook&) = delete;
  RunbookLook& operator=(const RunbookLook&) = delete;
  ~RunbookLook();  // one that is not over is killed, and not waited for

  // Readable when it is over; -1: nobody could say so, and one has to ask.
  int fd() const { return pidfd_.get(); }
  LookTimes::Moment until() const { return until_; }
  // With all that it has started. Then it has as long again to be seen dead.
  void kill(LookTimes::Moment now);

  struct Seen {
    bool well = false;
    std::string said;  // what it printed, in one line and not too long
  };
  // None: it goes on.
  std::optional<Seen> over();

 private:
  RunbookLook() = default;

  pid_t pid_ = -1;  // -1: it was seen to be over
  adapters::Descriptor pidfd_;
  adapters::Descriptor output_;
  LookTimes::Moment until_;
};

}  // namespace reeve::daemon
