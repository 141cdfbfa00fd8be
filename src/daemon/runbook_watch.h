#pragma once

#include "base/time.h"
#include "core/id.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

// Runbooks that change take effect without a command: whose they are is told to this, which watches
// their folders (runbook_folders.h) and, when something changed and has been quiet for a moment
// (look_times.h), has them read by `reeve runbook load` (runbook_look.h). So the daemon itself
// opens no file of a project, and with a mistake in one the last good set stays in force.
//
// A thread of its own does all of it. To ask the file system for a folder may take as long as a
// disk or another machine takes, for ever if that one is gone; to start a process waits for it. The
// loop waits for neither, and hears lines for its log.
//
// Nobody is hurt by a root that is not there or not ours: it is asked for again now and then. A
// kernel without watches to spare is told once, and everything is as it is without this: runbooks
// are read at `run`, `worker start` and `cron enable`.
namespace reeve::daemon {

class RunbookWatch {
 public:
  // How many runbooks are read at the same time: each is a process, and there are other things to
  // do.
  static constexpr std::size_t most_looks = 4;
  // How soon a root is asked for that was not there.
  static constexpr std::chrono::seconds ask_again{30};
  // The times of files are told in ticks of the kernel.
  static constexpr Duration tick{20};
  // What changed so shortly before the last that a daemon before this one has written may not have
  // been seen by it.
  static constexpr Duration unseen{10'000};
  // How long the end waits for the thread. One that waits for a file system is left.
  static constexpr std::chrono::milliseconds farewell{200};

  struct Place {
    std::string name;  // of the project
    std::string root;

    bool operator==(const Place&) const = default;
  };
  using Places = std::map<ProjectNo, Place>;

  // `wake` is called on the other thread whenever take_lines() has something to say.
  RunbookWatch(std::string home, std::function<void()> wake);
  RunbookWatch(const RunbookWatch&) = delete;
  RunbookWatch& operator=(const RunbookWatch&) = delete;
  ~RunbookWatch();  // looks that are going on are killed

  // These, and no others. Of those that are new here what changed since then is looked at, too.
  void watch(Places places, Wall since);

  std::vector<std::string> take_lines();

  // What both threads know. The watching one keeps it alive, so that it may be left behind.
  struct Shared {
    explicit Shared(std::string in, std::function<void()> how);

    const std::string home;
    std::mutex mutex;
    std::condition_variable is_over;
    std::function<void()> wake;  // empty: nobody listens any more
    bool stop = false;
    bool over = false;
    struct Wanted {
      Places places;
      Wall since;
    };
    std::optional<Wanted> wanted;
    std::vector<std::string> lines;
    std::atomic<bool> has_lines = false;
    const int news;  // an eventfd: there is something wanted, or it is to stop

    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared();
  };

 private:
  std::shared_ptr<Shared> shared_;
  bool began_ = false;
};

}  // namespace reeve::daemon
