#include "daemon/runbook_watch.h"

#include "base/check.h"
#include "daemon/look_times.h"
#include "daemon/runbook_folders.h"
#include "daemon/runbook_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <poll.h>
#include <set>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace reeve::daemon {
namespace {

using Moment = LookTimes::Moment;
using Shared = RunbookWatch::Shared;

// How often one is asked that cannot tell by itself that it is over.
constexpr std::chrono::milliseconds ask_looks_every{100};

Moment moment() { return std::chrono::steady_clock::now(); }

// All that the thread has to itself.
class Watcher {
 public:
  explicit Watcher(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  void run() {
    if (!folders_) say_no_room();
    while (folders_ && take_wanted()) {
      for (const ProjectNo project : folders_.take()) note_change(project);
      ask_for_lost();
      hear_looks();
      begin_looks();
      sleep();
    }
  }

 private:
  struct Project {
    RunbookWatch::Place place;
    LookTimes times;
  };

  // False: it is to stop.
  bool take_wanted() {
    std::optional<Shared::Wanted> wanted;
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->stop) return false;
      wanted = std::exchange(shared_->wanted, std::nullopt);
    }
    if (!wanted) return true;
    std::erase_if(projects_, [&](const auto& entry) {
      const auto found = wanted->places.find(entry.first);
      if (found != wanted->places.end() && found->second == entry.second.place) return false;
      folders_.forget(entry.first);
      lost_.erase(entry.first);
      due_.erase(entry.first);
      return true;
    });
    for (auto& [number, place] : wanted->places) {
      const auto [at, is_new] = projects_.try_emplace(number);
      if (!is_new) continue;
      at->second.place = place;
      // In this order: what changes from here on is heard, and what has changed is seen.
      watch(number);
      if (changed_since(place.root, wanted->since)) note_change(number);
    }
    return true;
  }

  void watch(ProjectNo number) {
    switch (folders_.watch(number, projects_.at(number).place.root)) {
      case RunbookFolders::Watched::Yes:
        lost_.erase(number);
        return;
      case RunbookFolders::Watched::NoRoom:
        say_no_room();
        [[fallthrough]];
      case RunbookFolders::Watched::Lost:
        if (lost_.empty()) ask_at_ = moment() + RunbookWatch::ask_again;
        lost_.insert(number);
        return;
    }
  }

  void note_change(ProjectNo number) {
    const auto found = projects_.find(number);
    if (found == projects_.end()) return;
    found->second.times.changed(moment());
    due_.insert(number);
  }

  // Those that have come back may be others.
  void ask_for_lost() {
    if (lost_.empty() || moment() < ask_at_) return;
    ask_at_ = moment() + RunbookWatch::ask_again;
    for (const ProjectNo number : std::set(lost_)) {
      watch(number);
      if (!lost_.contains(number)) note_change(number);
    }
  }

  void hear_looks() {
    for (auto at = looks_.begin(); at != looks_.end();) {
      if (moment() > at->second.until()) at->second.kill(moment());
      const std::optional<RunbookLook::Seen> seen = at->second.over();
      if (seen) tell(at->first, *seen);
      at = seen ? looks_.erase(at) : std::next(at);
    }
  }

  void tell(ProjectNo number, const RunbookLook::Seen& seen) {
    const auto found = projects_.find(number);
    if (found == projects_.end()) return;
    found->second.times.ended();
    say(fmt::format("the runbooks of {} changed{}: {}",
                    found->second.place.name,
                    seen.well ? "" : ", but what was loaded before stays in force",
                    seen.said));
  }

  void begin_looks() {
    for (const ProjectNo number : std::set(due_)) {
      if (looks_.size() >= RunbookWatch::most_looks) return;
      Project& project = projects_.at(number);
      const std::optional<Moment> due = project.times.due();
      if (!due || *due > moment() || looks_.contains(number)) continue;
      due_.erase(number);
      // Once more by what is there now: a folder above the root may have become another.
      watch(number);
      project.times.began(moment());
      if (lost_.contains(number) || !begin_look(number, project.place)) project.times.ended();
    }
  }

  bool begin_look(ProjectNo number, const RunbookWatch::Place& place) {
    Result<RunbookLook> look = RunbookLook::begin(shared_->home, word_for(place), moment());
    if (look) {
      looks_.emplace(number, *std::move(look));
    } else {
      say(fmt::format("the runbooks of {} changed: {}", place.name, look.error().message));
    }
    return looks_.contains(number);
  }

  // What has a `/` is taken for a folder.
  static const std::string& word_for(const RunbookWatch::Place& place) {
    return place.name.contains('/') ? place.root : place.name;
  }

  void sleep() {
    std::vector<pollfd> all{{shared_->news, POLLIN, 0}, {folders_.fd(), POLLIN, 0}};
    std::optional<Moment> until;
    const auto consider = [&](Moment time) { until = until ? std::min(*until, time) : time; };
    for (const auto& [number, look] : looks_) {
      if (look.fd() >= 0) all.push_back({look.fd(), POLLIN, 0});
      consider(look.fd() >= 0 ? look.until() : moment() + ask_looks_every);
    }
    if (looks_.size() < RunbookWatch::most_looks) {
      for (const ProjectNo number : due_) {
        if (const auto due = projects_.at(number).times.due()) consider(*due);
      }
    }
    if (!lost_.empty()) consider(ask_at_);
    int timeout = -1;
    if (until) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - moment());
      timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    poll(all.data(), all.size(), timeout);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t ignored = read(shared_->news, &count, sizeof count);
  }

  void say_no_room() {
    if (std::exchange(said_no_room_, true)) return;
    say("this machine has no more inotify watches to spare (fs.inotify.max_user_watches, "
        "max_user_instances): runbooks that change are read at `run`, `worker start`, `cron "
        "enable` and `runbook load`");
  }

  void say(std::string line) {
    const std::lock_guard lock(shared_->mutex);
    shared_->lines.push_back(std::move(line));
    shared_->has_lines = true;
    if (shared_->wake) shared_->wake();
  }

  std::shared_ptr<Shared> shared_;
  RunbookFolders folders_;
  std::map<ProjectNo, Project> projects_;
  std::set<ProjectNo> due_;   // something changed, and nobody has looked
  std::set<ProjectNo> lost_;  // the root is not there
  std::map<ProjectNo, RunbookLook> looks_;
  Moment ask_at_;
  bool said_no_room_ = false;
};

void run_watcher(const std::shared_ptr<Shared>& shared) {
  Watcher(shared).run();
  const std::lock_guard lock(shared->mutex);
  shared->over = true;
  shared->is_over.notify_all();
}

}  // namespace

RunbookWatch::Shared::Shared(std::string in, std::function<void()> how)
    : home(std::move(in)), wake(std::move(how)), news(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(news >= 0);
}

RunbookWatch::Shared::~Shared() { close(news); }

RunbookWatch::RunbookWatch(std::string home, std::function<void()> wake)
    : shared_(std::make_shared<Shared>(std::move(home), std::move(wake))) {}

RunbookWatch::~RunbookWatch() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->wake = {};
  eventfd_write(shared_->news, 1);
  if (began_) shared_->is_over.wait_for(lock, farewell, [&] { return shared_->over; });
}

// The thread begins with the first project: most homes have none, or no runbooks.
void RunbookWatch::watch(Places places, Wall since) {
  const bool none = places.empty();
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->wanted) since = std::min(since, shared_->wanted->since);
    shared_->wanted = Shared::Wanted{std::move(places), since};
  }
  if (!began_ && none) return;
  if (!std::exchange(began_, true)) std::thread(run_watcher, shared_).detach();
  eventfd_write(shared_->news, 1);
}

std::vector<std::string> RunbookWatch::take_lines() {
  if (!shared_->has_lines) return {};
  const std::lock_guard lock(shared_->mutex);
  shared_->has_lines = false;
  return std::exchange(shared_->lines, {});
}

}  // namespace reeve::daemon
