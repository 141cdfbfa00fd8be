#pragma once

#include "api/beanstalk/line.h"
#include "base/time.h"
#include "core/id.h"
#include "core/queue.h"
#include "core/state.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// What all connections of one beanstalkd door share: how it was opened, and what it counts. The
// queues themselves are in the state; here is only what beanstalkd tells of besides, since the
// daemon's start as beanstalkd does: commands, connections, who uses and watches what, and the past
// of jobs.
namespace reeve::api::beanstalk {

inline constexpr std::uint32_t default_job_bytes = 65535;
inline constexpr std::string_view default_tube = "default";

struct Settings {
  ProjectNo project = default_project;
  std::uint32_t job_bytes = default_job_bytes;  // at most core's limits::item_bytes
};

// A tube is there while a connection uses or watches it or a job is in it; `default` always is.
struct Tube {
  std::uint32_t users = 0;
  std::uint32_t watchers = 0;
  std::uint64_t deletes = 0;
  std::uint64_t pauses = 0;
  Duration pause{0};                // the last one
  std::uint64_t pushed_before = 0;  // what the queue had seen when the tube came to be
};

// What the state does not keep of a job. Only jobs that something happened to have one: a job that
// is put, reserved and deleted costs nothing here.
struct Past {
  std::uint32_t reserves = 0;  // that the item no longer counts as attempts
  std::uint32_t timeouts = 0;  // alike
  std::uint32_t releases = 0;
  std::uint32_t buries = 0;
  std::uint32_t kicks = 0;
  std::uint32_t delay = 0;  // seconds, of the last put or release
};

// Attempts that ended without a word: the others are the one at work and the one that buried it.
std::uint32_t timeouts_of(const queue::Item& item);

class Ledger {
 public:
  explicit Ledger(Settings settings);

  const Settings settings;

  // No more jobs: put is answered DRAINING. (beanstalkd does so after SIGUSR1.)
  bool draining = false;

  std::array<std::uint64_t, op_count> commands{};
  std::uint64_t& count(Op op) { return commands[static_cast<std::size_t>(op)]; }
  std::uint64_t total_connections = 0;
  std::uint64_t total_jobs = 0;
  std::uint64_t timeouts = 0;
  std::uint32_t connections = 0;
  std::uint32_t producers = 0;
  std::uint32_t workers = 0;
  std::uint32_t waiting = 0;

  QueueName queue_of(std::string_view tube) const { return {settings.project, std::string(tube)}; }
  // None: there is no such queue (yet), and the tube is empty.
  const queue::Queue* find(const State& state, std::string_view tube) const;
  // Of this project, and not completed.
  const queue::Item* job(const State& state, ItemId id) const;

  // A connection is about to use or watch the tube, or has just ceased to.
  Tube& enter(const State& state, std::string_view tube);
  void left(const State& state, std::string_view tube);
  // A tube that ceases to be takes its pause along; its queue keeps it until somebody asks here.
  bool pause_outlived(const State& state, std::string_view tube) const;
  Tube* known(std::string_view tube);
  bool exists(const State& state, std::string_view tube) const;
  std::vector<std::string> tubes(const State& state) const;  // `default` first

  Past& past(const State& state, ItemId id);
  Past past_of(ItemId id) const;
  void forget(ItemId id) { pasts_.erase(id.value); }

  // Before an item is brought back from the dead, which takes its attempts from it.
  void remember_attempts(const State& state, ItemId id, const queue::Item& item);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::unordered_map<std::string, Tube, Hash, std::equal_to<>> tubes_;
  std::unordered_map<std::uint64_t, Past> pasts_;
  std::size_t sweep_at_;
};

}  // namespace reeve::api::beanstalk
