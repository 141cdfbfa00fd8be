#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

// A command that stands ready before it may run. It is forked, leads a process group of its own and
// waits for go(): so what it needs can be asked for in the name of that very group, and a lease
// never outlives the processes it was taken for. If we end before, it ends without having run; if
// we end while it runs, it is sent TERM.
namespace reeve::cli {

class Child {
 public:
  struct Plan {
    std::vector<std::string> words = {};  // looked for in $PATH
    int in = -1;                     // -1: ours
    int err = -1;
  };

  static Result<Child> prepare(const Plan& plan);

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // one that was not let go is ended

  pid_t pid() const { return pid_; }
  // Lets it run, with these variables beside ours.
  void go(const std::vector<std::pair<std::string, std::string>>& variables);
  // To the whole group.
  void signal(int signal) const;

 private:
  Child(pid_t pid, int gate) : pid_(pid), gate_(gate) {}
  void abandon();

  pid_t pid_ = -1;
  int gate_ = -1;
};

// As a shell says it: the exit code, or 128 + the signal.
int code_of(int status);

// All that descends from this process, except `spared` (the daemon, if it was started below us) and
// what descends from it.
std::vector<pid_t> descendants(pid_t spared);

// Ends the group and every descendant: TERM, `grace` ms, KILL. Back when nothing of it is left. The
// status of `child` if that was reaped on the way.
std::optional<int> end_tree(pid_t child, pid_t spared, int grace);

// While this lives, orphans of our children become our children.
class Gatherer {
 public:
  Gatherer();
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;
  ~Gatherer();
};

// The terminal belongs to the command while it runs, as a shell would do it. Nothing happens where
// there is no terminal, or we are in its background.
class Foreground {
 public:
  Foreground() = default;
  Foreground(const Foreground&) = delete;
  Foreground& operator=(const Foreground&) = delete;
  ~Foreground() { take_back(); }

  void give(pid_t group);
  void take_back();
  bool is_given() const { return given_; }

 private:
  int terminal_ = -1;
  bool given_ = false;
};

}  // namespace reeve::cli
