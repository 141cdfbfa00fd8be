#include "api/beanstalk/yaml.h"

#include "api/limits.h"
#include "base/check.h"
#include "core/lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace reeve::api::beanstalk {
namespace {

using std::chrono::seconds;

class Yaml {
 public:
  template <class Value>
  Yaml& add(std::string_view key, const Value& value) {
    fmt::format_to(std::back_inserter(text_), "{}: {}\n", key, value);
    return *this;
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_ = "---\n";
};

std::int64_t whole_seconds(Duration duration) {
  return std::chrono::duration_cast<seconds>(std::max(duration, Duration{0})).count();
}

struct Jobs {
  std::uint64_t urgent = 0;
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
};

void count(Jobs& jobs, const State& state, queue::QueueNo no, const queue::Counts& counts) {
  jobs.ready += counts.pending - counts.delayed;
  jobs.reserved += counts.processing;
  jobs.delayed += counts.delayed;
  jobs.buried += counts.dead;
  const auto& ready = state.queues.ready;
  // Counting goes only so far: the loop has others to serve.
  for (auto at = ready.lower_bound({no, 0, {}}); at != ready.end(); ++at) {
    if (at->queue != no || at->below_top >= urgent_below ||
        jobs.urgent >= limits::beanstalk_counted)
      break;
    ++jobs.urgent;
  }
}

void add(Yaml& yaml, const Jobs& jobs) {
  yaml.add("current-jobs-urgent", jobs.urgent)
      .add("current-jobs-ready", jobs.ready)
      .add("current-jobs-reserved", jobs.reserved)
      .add("current-jobs-delayed", jobs.delayed)
      .add("current-jobs-buried", jobs.buried);
}

constexpr std::pair<std::string_view, Op> counted[] = {
    {"cmd-put", Op::Put},
    {"cmd-peek", Op::Peek},
    {"cmd-peek-ready", Op::PeekReady},
    {"cmd-peek-delayed", Op::PeekDelayed},
    {"cmd-peek-buried", Op::PeekBuried},
    {"cmd-reserve", Op::Reserve},
    {"cmd-reserve-with-timeout", Op::ReserveWithTimeout},
    {"cmd-delete", Op::Delete},
    {"cmd-release", Op::Release},
    {"cmd-use", Op::Use},
    {"cmd-watch", Op::Watch},
    {"cmd-ignore", Op::Ignore},
    {"cmd-bury", Op::Bury},
    {"cmd-kick", Op::Kick},
    {"cmd-touch", Op::Touch},
    {"cmd-stats", Op::Stats},
    {"cmd-stats-job", Op::StatsJob},
    {"cmd-stats-tube", Op::StatsTube},
    {"cmd-list-tubes", Op::ListTubes},
    {"cmd-list-tube-used", Op::ListTubeUsed},
    {"cmd-list-tubes-watched", Op::ListTubesWatched},
    {"cmd-pause-tube", Op::PauseTube},
};

std::string cpu_time(const timeval& time) {
  return fmt::format("{}.{:06}", time.tv_sec, time.tv_usec);
}

std::string_view state_of(const queue::Item& item) {
  switch (item.state) {
    case queue::ItemState::Pending:
      return item.rest && item.rest->not_before ? "delayed" : "ready";
    case queue::ItemState::Processing:
      return "reserved";
    case queue::ItemState::Completed:
      return "invalid";
    case queue::ItemState::Dead:
      return "buried";
  }
  return "invalid";
}

// Until a delayed job is ready, or a reserved one is so again.
Duration time_left(const State& state, const queue::Item& item, Time now) {
  if (!item.rest) return Duration{0};
  if (item.rest->not_before) return *item.rest->not_before - now;
  if (item.state != queue::ItemState::Processing) return Duration{0};
  const std::optional<Time> limit = limit_of(lease_of(*item.rest->claim), state.leases_from);
  return limit ? *limit - now : Duration{0};
}

}  // namespace

Machine this_machine(const About& about) {
  utsname names{};
  uname(&names);  // what it does not say is empty
  const std::size_t id = std::hash<std::string>{}(
      fmt::format("{} {} {}", about.boot_id, about.pid, about.started.time_since_epoch().count()));
  return {fmt::format("{:016x}", id), names.version, names.machine};
}

std::string stats(const Ledger& ledger,
                  const State& state,
                  const About& about,
                  const Machine& machine,
                  Time now) {
  Jobs jobs;
  const auto& names = state.queues.names;
  for (auto at = names.lower_bound(ledger.queue_of("")); at != names.end(); ++at) {
    if (at->first.project != ledger.settings.project) break;
    const queue::Queue* queue = state.queues.queues.find(at->second);
    CHECK(queue);
    count(jobs, state, at->second, queue->counts);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);

  Yaml yaml;
  add(yaml, jobs);
  for (const auto& [key, op] : counted) {
    yaml.add(key, ledger.commands[static_cast<std::size_t>(op)]);
  }
  yaml.add("job-timeouts", ledger.timeouts)
      .add("total-jobs", ledger.total_jobs)
      .add("max-job-size", ledger.settings.job_bytes)
      .add("current-tubes", ledger.tubes(state).size())
      .add("current-connections", ledger.connections)
      .add("current-producers", ledger.producers)
      .add("current-workers", ledger.workers)
      .add("current-waiting", ledger.waiting)
      .add("total-connections", ledger.total_connections)
      .add("pid", about.pid)
      .add("version", "\"1.12\"")  // of the protocol: clients look at it
      .add("rusage-utime", cpu_time(usage.ru_utime))
      .add("rusage-stime", cpu_time(usage.ru_stime))
      .add("uptime", whole_seconds(now - about.started))
      .add("binlog-oldest-index", 0)
      .add("binlog-current-index", 0)
      .add("binlog-records-migrated", 0)
      .add("binlog-records-written", 0)
      .add("binlog-max-size", 0)
      .add("draining", ledger.draining)
      .add("id", machine.id)
      .add("hostname", about.host)
      .add("os", machine.os)
      .add("platform", machine.platform);
  return std::move(yaml).text();
}

std::string stats_tube(Ledger& ledger, const State& state, std::string_view name, Time now) {
  const queue::Queue* queue = ledger.find(state, name);
  const Tube* known = ledger.known(name);
  const Tube tube = known ? *known : Tube{};
  Jobs jobs;
  if (queue) count(jobs, state, *state.queues.names.find(ledger.queue_of(name)), queue->counts);
  const bool paused = queue && queue->paused;
  const Duration left = paused && queue->paused_until ? *queue->paused_until - now : Duration{0};
  const std::uint64_t pushed = queue ? queue->counts.pushed + queue->counts.moved_in : 0;

  Yaml yaml;
  yaml.add("name", name);
  add(yaml, jobs);
  yaml.add("total-jobs", pushed - std::min(pushed, tube.pushed_before))
      .add("current-using", tube.users)
      .add("current-watching", tube.watchers)
      .add("current-waiting", queue ? queue->takers : 0)
      .add("cmd-delete", tube.deletes)
      .add("cmd-pause-tube", tube.pauses)
      .add("pause", paused ? whole_seconds(tube.pause) : 0)
      .add("pause-time-left", whole_seconds(left));
  return std::move(yaml).text();
}

std::string stats_job(const Ledger& ledger, const State& state, ItemId id, Time now) {
  const queue::Item* item = ledger.job(state, id);
  CHECK(item);
  const queue::Queue* queue = state.queues.queues.find(item->queue);
  const Past past = ledger.past_of(id);
  const Duration visibility = item->rest && item->rest->visibility
                                  ? *item->rest->visibility
                                  : queue->config.visibility_timeout;
  Yaml yaml;
  yaml.add("id", id.value)
      .add("tube", queue->name.name)
      .add("state", state_of(*item))
      .add("pri", std::int64_t{2147483647} - item->priority)
      .add("age", whole_seconds(now - item->created_at))
      .add("delay", past.delay)
      .add("ttr", whole_seconds(visibility))
      .add("time-left", whole_seconds(time_left(state, *item, now)))
      .add("file", 0)
      .add("reserves", past.reserves + item->attempts)
      .add("timeouts", past.timeouts + timeouts_of(*item))
      .add("releases", past.releases)
      .add("buries", past.buries)
      .add("kicks", past.kicks);
  return std::move(yaml).text();
}

std::string list(const std::vector<std::string>& names) {
  std::string text = "---\n";
  for (const std::string& name : names) fmt::format_to(std::back_inserter(text), "- {}\n", name);
  return text;
}

}  // namespace reeve::api::beanstalk
