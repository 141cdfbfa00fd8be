#include "adapters/process_hands.h"

#include "adapters/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

// How often what has no descriptor of its own is looked at: groups, and what is being ended.
constexpr auto look_again = 50ms;
constexpr auto after_kill = 25s;

Outcome failed(std::string error) { return {.ended = Ended::Failed, .error = std::move(error)}; }

}  // namespace

ProcessHands::ProcessHands(std::string boot_id)
    : boot_id_(std::move(boot_id)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = timer_.get();
  epoll_ctl(poll_.get(), EPOLL_CTL_ADD, timer_.get(), &event);
}

ProcessHands::~ProcessHands() = default;

void ProcessHands::done(EffectId effect, Outcome outcome) {
  reports_.emplace_back(EffectDone{effect, std::move(outcome)});
}

std::vector<Report> ProcessHands::take() { return std::exchange(reports_, {}); }

// ── Effects ──

void ProcessHands::start(const Start& effect) {
  const Kill* kill = std::get_if<Kill>(&effect.effect.what);
  const Process* process = kill ? std::get_if<Process>(&kill->target) : nullptr;
  if (!process) return done(effect.id, failed("that is no process to end"));
  if (process->pid == getpid() && is_alive(*process, boot_id_)) {
    return done(effect.id, failed("that is the daemon itself: it is not ended"));
  }
  begin_ending(effect.id, *process, kill->grace);
}

// An end that was asked for is asked for again. Nothing else was ever started.
void ProcessHands::observe(const Start& effect) {
  reports_.emplace_back(EffectObserved{effect.id, engine::NeverStarted{}});
}

// ── Watching ──

// Of a group the leader is watched; only when that is gone the others have to be looked for.
void ProcessHands::watch(const Process& process) {
  if (watched_.contains(process)) return;
  Watched watched;
  if (process.boot_id == boot_id_) {
    // Open first, compare then: what is open cannot become another.
    watched.pidfd = Descriptor(pidfd_open(process.pid));
    Process leader = process;
    leader.group = false;
    if (watched.pidfd && life_of(leader, boot_id_) == Life::There) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = watched.pidfd.get();
      epoll_ctl(poll_.get(), EPOLL_CTL_ADD, watched.pidfd.get(), &event);
      by_pidfd_.emplace(watched.pidfd.get(), process);
      watched_.emplace(process, std::move(watched));
      return;
    }
    // Also without a descriptor, if there are none left: only who is seen gone is gone.
    watched.pidfd.reset();
    if (is_alive(process, boot_id_)) {
      watched_.emplace(process, std::move(watched));
      return arm();
    }
  }
  reports_.emplace_back(ProcessEnded{process});
}

void ProcessHands::forget(const Process& process) {
  const auto found = watched_.find(process);
  if (found == watched_.end()) return;
  by_pidfd_.erase(found->second.pidfd.get());
  watched_.erase(found);  // closing the descriptor takes it out of the poll
}

void ProcessHands::look_at(const Process& process) {
  if (!is_alive(process, boot_id_)) {
    forget(process);
    reports_.emplace_back(ProcessEnded{process});
  } else if (!process.group) {
    forget(process);  // there may be a descriptor for it now
    watch(process);
  }
}

// ── Ending ──

void ProcessHands::begin_ending(EffectId effect,
                                const Process& process,
                                std::chrono::milliseconds grace) {
  Ending ending;
  ending.effect = effect;
  ending.process = process;
  ending.kill_at = Clock::now() + grace;
  ending.give_up_at = ending.kill_at + after_kill;
  gather(ending);
  for (const auto& [pid, start_time] : ending.tree) send_signal(pid, start_time, SIGTERM);
  endings_.push_back(std::move(ending));
  arm();
}

// All of the process or group, and whatever they have started. Those who were found before stay,
// for a child whose parent has ended is no longer found through it. We ourselves are never of it,
// nor what descends from us, should we have been started below what is to be ended; nor another
// daemon, a hold, or a server of sessions.
// False: it cannot be told.
bool ProcessHands::gather(Ending& ending) const {
  if (ending.process.boot_id != boot_id_) return true;
  const Result<std::vector<ProcessStatus>> all = all_processes();
  if (!all) return false;
  const auto is_root = [&](const ProcessStatus& status) {
    const bool in_group = ending.process.group && status.group == ending.process.pid &&
                          status.start_time >= ending.process.start_time;
    const bool itself =
        status.pid == ending.process.pid && status.start_time == ending.process.start_time;
    return in_group || itself;
  };
  // By number and start: a number may have come to somebody else since.
  std::map<std::int64_t, std::uint64_t> started;
  for (const ProcessStatus& status : *all) started.emplace(status.pid, status.start_time);
  const auto has = [&](std::int64_t pid) {
    const auto found = started.find(pid);
    return found != started.end() && ending.tree.contains({pid, found->second});
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (const ProcessStatus& status : *all) {
      if (status.is_zombie || status.pid == getpid() || status.pid == 1) continue;
      if (ending.tree.contains({status.pid, status.start_time})) continue;
      if (!is_root(status) && (!has(status.parent) || is_of_reeve(status))) continue;
      ending.tree.insert({status.pid, status.start_time});
      grown = true;
    }
  }
  return true;
}

// True: it has its outcome.
bool ProcessHands::go_on(Ending& ending) {
  const bool is_all = gather(ending);
  std::erase_if(ending.tree, [](const std::pair<std::int64_t, std::uint64_t>& member) {
    const Result<std::optional<ProcessStatus>> seen = look_up(member.first);
    if (!seen) return false;
    return !*seen || (*seen)->is_zombie || (*seen)->start_time != member.second;
  });
  if (is_all && ending.tree.empty()) {
    look_at(ending.process);
    done(ending.effect, {});
    return true;
  }
  const Clock::time_point now = Clock::now();
  if (now >= ending.kill_at) {
    // Again and again: whoever is killed may have started another just before.
    ending.killed = true;
    for (const auto& [pid, start_time] : ending.tree) send_signal(pid, start_time, SIGKILL);
  }
  if (now < ending.give_up_at) return false;
  const std::int64_t who = ending.tree.empty() ? ending.process.pid : ending.tree.begin()->first;
  done(ending.effect, failed("process " + std::to_string(who) + " does not end"));
  return true;
}

// ── Time ──

void ProcessHands::arm() {
  if (armed_) return;
  armed_ = true;
  itimerspec when{};
  when.it_value.tv_nsec = std::chrono::nanoseconds(look_again).count();
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void ProcessHands::look() {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool time = false;
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == timer_.get()) {
      time = true;
    } else if (const auto found = by_pidfd_.find(descriptor); found != by_pidfd_.end()) {
      const Process process = found->second;
      if (process.group) {
        by_pidfd_.erase(found);
        watched_.find(process)->second.pidfd.reset();
        arm();
      } else {
        forget(process);
        reports_.emplace_back(ProcessEnded{process});
      }
    }
  }
  if (!time) return;
  std::uint64_t times = 0;
  if (read(timer_.get(), &times, sizeof times) < 0 && errno != EAGAIN) return;
  armed_ = false;
  std::erase_if(endings_, [&](Ending& ending) { return go_on(ending); });
  std::vector<Process> groups;
  for (const auto& [process, watched] : watched_) {
    if (!watched.pidfd) groups.push_back(process);
  }
  for (const Process& process : groups) look_at(process);
  if (!endings_.empty() || !groups.empty()) arm();
}

}  // namespace reeve::adapters
