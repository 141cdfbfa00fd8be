#pragma once

#include "base/result.h"

#include <cstdint>
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
// and stays until dismiss(): nobody sees the group dead before what it held was given back. What
// leaves the group stays below the keeper, which becomes the parent of its orphans. If we end
// first, whatever the way, the keeper ends all that is below it (TERM, 5 s, KILL), and stays until
// nothing is left.
//
//     prepare ──▶ ready ── go ──▶ running ── the command ends ──▶ kept ── dismiss ──▶ gone
//
// The keeper itself may be killed while the command runs. Then somebody of ours takes its place in
// the group (stand_in), so that the group does not look dead before its tree was ended.
namespace reeve::cli {

class Child {
 public:
  struct Plan {
    std::vector<std::string> words = {};  // looked for in $PATH
    int in = -1;                          // -1: ours
    int err = -1;
    std::string home = {};  // whose daemon is nobody's to end, should it run below the keeper
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
    bool stopped = false;   // by Ctrl-Z, say; else it has ended
    int code = 0;           // as a shell says it: the exit code, or 128 + the signal
    bool orphaned = false;  // it is the keeper that was killed: the command may run on
  };
  // Without waiting.
  std::optional<News> next_news() const;

  // Puts a process into the group that stays until dismiss(), for a keeper that was killed.
  void stand_in();
  // The keeper, and who stands in for it: of the group, and not of the command.
  std::vector<pid_t> ours() const;

  // Ends the keeper, and with it a command that is not let go or still runs.
  void dismiss();

 private:
  Child(pid_t pid, int gate, int news) : pid_(pid), gate_(gate), news_(news) {}

  pid_t pid_ = -1;
  int gate_ = -1;
  int news_ = -1;
  pid_t stand_in_ = -1;
  int stand_in_gate_ = -1;
};

// Ends every descendant of this process: TERM, `grace` ms, KILL. A daemon of the home that was
// started below us, and what descends from it, is left alone; so is who is `kept`.
class TreeEnd {
 public:
  TreeEnd(std::vector<pid_t> kept, std::string home, int grace)
      : kept_(std::move(kept)), home_(std::move(home)), grace_(grace) {}

  // To be called every now and then; true when nothing is left.
  bool step();

 private:
  std::vector<pid_t> kept_;
  std::string home_;
  int grace_;
  std::optional<std::int64_t> began_;
};

// Kills all of the group but who is `kept`; back when nothing of it is left.
void kill_group(pid_t group, const std::vector<pid_t>& kept);

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
