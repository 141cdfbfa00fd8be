#include "adapters/runner.h"

#include "adapters/agent_plan.h"
#include "adapters/secrets.h"
#include "adapters/spawn_self.h"
#include "base/match.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

// What an epoll event belongs to, beside the runs.
constexpr std::uint64_t the_timer = 0;
constexpr std::uint64_t the_processes = ~std::uint64_t{0};
constexpr std::uint64_t the_nursery = the_processes - 1;

constexpr auto logs_again = 10min;

// Whether what the logs are of is not over.
bool is_open(const State& state, std::string_view name) {
  if (const std::optional<PipelineId> id = parse_id<PipelineId>(name)) {
    const pipeline::Pipeline* pipeline = state.pipelines.pipelines.find(*id);
    return pipeline && !pipeline->ended_at;
  }
  const std::optional<WorkId> work = parse_id<WorkId>(name);
  const task::Attempt* attempt = work ? state.tasks.attempts.find(*work) : nullptr;
  const task::Task* task = attempt ? state.tasks.tasks.find(attempt->work) : nullptr;
  return task && !task->over_at;
}

}  // namespace

Runner::Runner(Surroundings around, std::string boot_id)
    : around_(std::move(around)),
      boot_id_(std::move(boot_id)),
      processes_(boot_id_),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      logs_(
          around_.home + "/logs",
          {.bytes = keeping_.all},
          [this](std::string_view name) { return is_open(around_.state(), name); },
          [this](const std::string& folder) { remove(folder); }) {
  listen_to(timer_.get(), the_timer);
  listen_to(processes_.fd(), the_processes);
  if (nursery_) listen_to(nursery_.fd(), the_nursery);
}

Runner::~Runner() = default;

void Runner::listen_to(int descriptor, std::uint64_t number) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = number;
  epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void Runner::begin() {
  adopt_sessions();
  // That the folder of all runs exists is part of what must be known of one.
  if (make_folders(around_.home + "/runs")) sync_folder(around_.home);
  find_leftovers();
  logs_.begin();
  sweep_secrets(around_.home, around_.state());
  arm();
}

void Runner::keep(const Keeping& keeping) {
  keeping_ = keeping;
  logs_.allow(keeping.all);
  logs_.begin();
  arm();
}

std::vector<Report> Runner::take() {
  std::vector<Report> reports = std::exchange(reports_, {});
  for (Report& report : processes_.take()) reports.push_back(std::move(report));
  return reports;
}

void Runner::done(EffectId effect, Outcome outcome, std::vector<std::string> folders) {
  if (!folders.empty()) finished_[effect] = std::move(folders);
  reports_.emplace_back(EffectDone{effect, std::move(outcome)});
}

// ── Starting ──

Runner::Run Runner::run_for(const Start& start, const std::string& path) const {
  return Run{.effect = start.id, .what = start.effect, .folder = RunDirectory(path)};
}

void Runner::start(const Start& start) {
  if (const Kill* effect = std::get_if<Kill>(&start.effect.what)) return kill(start, *effect);
  if (is_ending_) return;
  if (never_.erase(start.id) > 0) return done(start.id, failed("it was ended before it began"));
  const Spawn* spawn = std::get_if<Spawn>(&start.effect.what);
  if (spawn && spawn->session) return begin_session(start, *spawn);
  // Only who runs something says something.
  if (const Clock::time_point now = Clock::now(); now >= logs_at_ + logs_again) {
    logs_at_ = now;
    logs_.begin();
    sweep_secrets(around_.home, around_.state());
  }
  const Result<Plan> plan = plan_for(start, around_);
  if (!plan) return done(start.id, failed(plan.error().message));
  const std::string path = run_path(around_, start.id);
  if (auto launched = launch(run_for(start, path), *plan); !launched) {
    done(start.id, failed(launched.error().message), {path});
  }
  arm();
}

Result<void> Runner::launch(Run run, const Plan& plan) {
  const std::string& log = plan.spec.log;
  if (!log.empty()) {
    if (auto made = make_folders(log.substr(0, log.rfind('/'))); !made) return made;
  }
  if (auto made = prepare(run.folder, plan); !made) return made;
  run.log = log;
  run.is_fresh = true;
  run.is_unborn = true;
  run.asked_at = Clock::now();
  const std::string path = run.folder.path();
  const RunNo number = add(std::move(run));
  if (nursery_) {
    nursery_.start(number, path);
  } else {
    start_by_ourselves(number);
  }
  return {};
}

Result<void> Runner::prepare(const RunDirectory& folder, const Plan& plan) const {
  RunSpec spec = plan.spec;
  spec.mask = around_.for_runs.mask;
  spec.descriptors = around_.for_runs.descriptors;
  spec.log_bytes = keeping_.run;
  return folder.prepare(spec, plan.stdin_text);
}

void Runner::hear_nursery() {
  while (std::optional<Nursery::Born> news = nursery_.next()) born(*std::move(news));
  if (nursery_) return;
  // Those it was asked for may be on their way or not: of two holds for one run the second leaves.
  std::vector<RunNo> unborn;
  for (const auto& [number, run] : runs_) {
    if (run.is_unborn) unborn.push_back(number);
  }
  for (const RunNo number : unborn) start_by_ourselves(number);
}

void Runner::start_by_ourselves(RunNo number) {
  Nursery::Born news{.number = number};
  Result<Spawned> hold = spawn_self({"hold", runs_.at(number).folder.path()});
  if (hold) {
    news.pid = hold->pid;
    news.pidfd = std::move(hold->pidfd);
    const std::optional<ProcessStatus> status = status_of(hold->pid);
    if (status) news.start_time = status->start_time;
  } else {
    news.error = hold.error().message;
  }
  born(std::move(news));
}

void Runner::born(Nursery::Born news) {
  const auto found = runs_.find(news.number);
  if (found == runs_.end()) return;
  Run& run = found->second;
  run.is_unborn = false;
  if (!news.error.empty()) return ended(news.number, failed(news.error));
  run.hold = Process{news.pid, news.start_time, boot_id_};
  run.pidfd = std::move(news.pidfd);
  if (run.pidfd) {  // else it is looked at
    listen_to(run.pidfd.get(), news.number);
    if (run.grace) signal_hold(run);
  }
  if (const auto* to = std::get_if<dispatch::Address>(&run.what.to)) {
    reports_.emplace_back(ChildStarted{to->dispatch, *run.hold});
  }
}

void Runner::remove(const std::string& folder) {
  if (nursery_) {
    nursery_.remove(folder);
  } else {
    RunDirectory(folder).remove();
  }
}

Runner::RunNo Runner::add(Run run) {
  const RunNo number = ++last_run_;
  if (run.pidfd) listen_to(run.pidfd.get(), number);
  runs_.emplace(number, std::move(run));
  return number;
}

// ── Ending ──

void Runner::ended(RunNo number, Outcome outcome) {
  Run run = std::move(runs_.at(number));
  runs_.erase(number);
  if (run.starts) return session_started(std::move(run), std::move(outcome));
  if (run.session) {
    session_ended(run, outcome);
  } else {
    done(run.effect, outcome, {run.folder.path()});
  }
  // Observed dead; and what it said last is worth knowing.
  Outcome end{.output = outcome.output, .values = outcome.values};
  for (const EffectId killer : run.killers) done(killer, end);
}

// ── After the report ──

void Runner::decided(const Report& report, engine::Sequence sequence) {
  const auto clear = [&](EffectId effect) {
    const auto found = finished_.find(effect);
    if (found == finished_.end()) return;
    cleared_.push_back({sequence, std::move(found->second), {}});
    finished_.erase(found);
  };
  match(
      report,
      [&](const EffectDone& done) { clear(done.effect); },
      [&](const EffectObserved& seen) { clear(seen.effect); },
      [&](const AgentGone& agent) {
        const auto found = gone_.find(agent.work);
        if (found == gone_.end()) return;
        cleared_.push_back({sequence, {found->second}, link_of(agent.work)});
        gone_.erase(found);
      },
      [](const ProcessEnded&) {},
      [](const AgentActive&) {},
      [](const ChildStarted&) {},
      [](const ChildAlive&) {});
}

void Runner::durable(engine::Sequence sequence) {
  while (!cleared_.empty() && cleared_.front().after <= sequence) {
    const Cleared cleared = std::move(cleared_.front());
    cleared_.pop_front();
    // The link first: whoever follows it finds a folder.
    if (!cleared.link.empty()) unlink(cleared.link.c_str());
    for (const std::string& folder : cleared.folders) remove(folder);
  }
}

// ── Looking ──

void Runner::look() {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool time = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
    if (number == the_timer) {
      time = true;
    } else if (number == the_processes) {
      processes_.look();
    } else if (number == the_nursery) {
      hear_nursery();
    } else if (runs_.contains(number)) {
      hold_ended(number);
    }
  }
  if (time) {
    std::uint64_t times = 0;
    if (read(timer_.get(), &times, sizeof times) < 0 && errno != EAGAIN) return;
    timer_at_.reset();
    const Clock::time_point now = Clock::now();
    look_again();
    std::vector<RunNo> numbers;
    numbers.reserve(runs_.size());
    for (const auto& [number, run] : runs_) numbers.push_back(number);
    for (const RunNo number : numbers) look_at(number, now);
    look_at_orphans(now);
    clear_leftovers();
    for (int i = 0; i < 4 && logs_.is_busy(); ++i) logs_.step();
  }
  arm();
}

// Soon, if there is something that has no descriptor; now and then, if something may grow.
void Runner::arm() {
  const Clock::time_point now = Clock::now();
  std::optional<Clock::time_point> next;
  const auto consider = [&](Clock::time_point at) { next = next ? std::min(*next, at) : at; };
  if (!leftovers_.empty() || logs_.is_busy() || nursery_.flush()) consider(now + 10ms);
  if (!later_.empty()) consider(now + 50ms);
  for (const auto& [number, run] : runs_) {
    if (run.is_unborn) {
      consider(run.asked_at + unborn_for);
    } else if (run.is_orphaned) {
      consider(orphans_at_);
    } else if (!run.pidfd) {
      consider(now + 50ms);
    } else if (std::holds_alternative<Spawn>(run.what.what) || !run.killers.empty()) {
      consider(now + 500ms);
    }
  }
  if (!next || (timer_at_ && *timer_at_ <= *next)) return;
  timer_at_ = next;
  const auto left = std::max<std::chrono::nanoseconds>(*next - now, 1ns);
  itimerspec when{};
  when.it_value.tv_sec = std::chrono::floor<std::chrono::seconds>(left).count();
  when.it_value.tv_nsec = (left % 1s).count();
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace reeve::adapters
