#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

// A command that stands ready before it may run, and whose process group outlives it.
//
// prepare() forks a keeper, which leads a process group of its own and waits for go(): so what the
// command needs can be asked for in the name of that very group, and a lease never outlives the
// processes it was taken for. Then the keeper runs the command in its group, tells how it ended,
// and stays until dismiss(): nobody sees the group dead before what it held was given back. If we
// end first, whatever the way, the keeper ends the command (TERM, 5 s, KILL).
//
//     prepare ──▶ ready ── go ──▶ running ── the command ends ──▶ kept ── dismiss ──▶ gone
namespace reeve::cli {

class Child {
 public:
  struct Plan {
    std::vector<std::string> words = {};  // looked for in $PATH
    int in = -1;                          // -1: ours
    int err = -1;
  };

  static Result<Child> prepare(const Plan& plan);

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child() { dismiss(); }

  // Of the keeper, and of the group.
  pid_t pid() const { return pid_; }
  // Lets it run, with these variables beside ours.
  void go(const std::vector<std::pair<std::string, std::string>>& variables) const;
  // To the whole group; the keeper lets all pass but KILL.
  void signal(int signal) const;

  // Readable when there is news of the command.
  int news() const { return news_; }
  struct News {
    bool stopped = false;  // by Ctrl-Z, say; else it has ended
    int code = 0;          // as a shell says it: the exit code, or 128 + the signal
  };
  // Without waiting. A keeper that was killed counts as an end by KILL.
  std::optional<News> next_news() const;

  // Ends the keeper, and with it a command that is not let go or still runs.
  void dismiss();

 private:
  Child(pid_t pid, int gate, int news) : pid_(pid), gate_(gate), news_(news) {}

  pid_t pid_ = -1;
  int gate_ = -1;
  int news_ = -1;
};

// All that descends from this process, except `spared` (the daemon, if it was started below us) and
// what descends from it.
std::vector<pid_t> descendants(pid_t spared);

// Ends the group and every descendant: TERM, `grace` ms, KILL. Back when nothing of it is left.
void end_tree(pid_t group, pid_t spared, int grace);

// Takes note of the orphans that have ended, so that they do not stay as zombies.
void reap_orphans(pid_t keeper);

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
