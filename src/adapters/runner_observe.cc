#include "adapters/runner.h"
#include "base/match.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

// What became of a run: of one that was there before us, and of one whose hold has ended.
namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

constexpr auto first_look = 50ms;
constexpr std::chrono::milliseconds rarest_look = 1s;

}  // namespace

// A kill that was asked for is asked for again.
void Runner::observe(const Start& start) {
  const auto tell = [&](engine::Observation seen) {
    const bool is_over = std::holds_alternative<engine::Finished>(seen) ||
                         std::holds_alternative<engine::CannotKnow>(seen);
    if (is_over && !finished_.contains(start.id)) {
      finished_[start.id] = {run_path(around_, start.id)};
    }
    reports_.emplace_back(EffectObserved{start.id, std::move(seen)});
  };
  if (std::holds_alternative<Kill>(start.effect.what)) return tell(engine::NeverStarted{});
  const Spawn* spawn = std::get_if<Spawn>(&start.effect.what);
  std::optional<engine::Observation> seen;
  if (spawn && spawn->session) {
    seen = observe_session(start, *spawn);
  } else {
    Run run = run_for(start, run_path(around_, start.id));
    const RunDirectory::Seen state = run.folder.look();
    seen = adopt(std::move(run), state);
  }
  if (seen) {
    tell(*std::move(seen));
  } else {
    later_.push_back(start);
  }
  arm();
}

void Runner::look_again() {
  for (const Start& start : std::exchange(later_, {})) {
    if (const Kill* it = std::get_if<Kill>(&start.effect.what)) {
      kill(start, *it);
    } else {
      observe(start);
    }
  }
}

bool Runner::is_for_later(const Kill& kill) const {
  const EffectId* effect = std::get_if<EffectId>(&kill.target);
  const WorkId* work = std::get_if<WorkId>(&kill.target);
  return std::ranges::any_of(later_, [&](const Start& start) {
    const Spawn* spawn = std::get_if<Spawn>(&start.effect.what);
    return (effect && start.id == *effect) || (work && spawn && spawn->work == *work);
  });
}

// What runs is ours from now on. None: it cannot be told now.
std::optional<engine::Observation> Runner::adopt(Run run, const RunDirectory::Seen& seen) {
  using Answer = std::optional<engine::Observation>;
  return match(
      seen,
      [&](const RunDirectory::Running& running) -> Answer {
        run.hold = running.hold;
        if (const Result<RunSpec> spec = run.folder.read_spec()) run.log = spec->log;
        watch_hold(add(std::move(run)));
        return engine::StillRunning{};
      },
      [&](const RunDirectory::Ended& ended) -> Answer {
        return engine::Finished{
            outcome_for(run.what.what, run.folder, ended.outcome, around_.state())};
      },
      [&](const RunDirectory::Lost& lost) -> Answer {
        if (lost.hold.boot_id != boot_id_) {
          return engine::CannotKnow{"the machine was started anew while it ran"};
        }
        const Result<std::vector<ProcessStatus>> left = left_of(run);
        if (left && left->empty()) return engine::CannotKnow{"its hold was killed"};
        run.hold = lost.hold;
        orphan(run);
        add(std::move(run));
        return engine::StillRunning{};
      },
      [](const RunDirectory::Never&) -> Answer { return engine::NeverStarted{}; },
      [](const RunDirectory::Unreadable& it) -> Answer {
        if (it.may_pass) return std::nullopt;
        return engine::CannotKnow{it.why};
      });
}

// One that has only just begun is looked at again; one that is gone has ended meanwhile.
void Runner::watch_hold(RunNo number) {
  Run& run = runs_.at(number);
  if (!run.hold || run.pidfd) return;
  Descriptor pidfd(pidfd_open(run.hold->pid));
  const Life life = life_of(*run.hold, boot_id_);
  if (life == Life::Gone) return hold_ended(number);
  if (!pidfd || life == Life::CannotTell) return;
  listen_to(pidfd.get(), number);
  run.pidfd = std::move(pidfd);
  if (run.grace) signal_hold(run);
}

void Runner::hold_ended(RunNo number) {
  Run& run = runs_.at(number);
  // Of ours, if there was no nursery.
  if (run.hold && run.hold->pid > 0) waitpid(static_cast<pid_t>(run.hold->pid), nullptr, WNOHANG);
  run.pidfd.reset();
  match(
      run.folder.look(),
      [&](const RunDirectory::Running& running) {
        // Another one was faster, or it takes a moment yet: it is looked at again.
        run.hold = running.hold;
      },
      [&](const RunDirectory::Ended& end) {
        ended(number, outcome_for(run.what.what, run.folder, end.outcome, around_.state()));
      },
      [&](const RunDirectory::Lost& lost) {
        run.hold = lost.hold;
        const Result<std::vector<ProcessStatus>> left = left_of(run);
        if (!left || !left->empty()) return orphan(run);
        Outcome outcome{.ended = Ended::Unknown, .error = "its hold was killed"};
        outcome.timed_out = run.timed_out;
        ended(number, std::move(outcome));
      },
      [&](const RunDirectory::Never&) {
        // It was there when the hold was started.
        const bool is_gone = access(run.folder.path().c_str(), F_OK) != 0 && errno == ENOENT;
        if (!is_gone) return ended(number, failed("it could not be started"));
        const Result<std::vector<ProcessStatus>> left = left_of(run);
        if (!left || !left->empty()) return orphan(run);
        ended(number, {.ended = Ended::Unknown, .error = "the folder of its run is gone"});
      },
      [&](const RunDirectory::Unreadable& it) {
        if (!it.may_pass) ended(number, {.ended = Ended::Unknown, .error = it.why});
      });
}

// ── Without a hold ──

// Nobody else keeps its limit now.
void Runner::orphan(Run& run) {
  if (std::exchange(run.is_orphaned, true)) return;
  orphans_at_ = Clock::now() + first_look;
  orphans_pause_ = first_look;
  const Result<RunSpec> spec = run.folder.read_spec();
  if (!spec || !spec->timeout || !run.hold || run.hold->pid <= 0) return;
  constexpr Duration for_ever = std::chrono::hours(24 * 365 * 100);
  run.limit_at = began_at(*run.hold) + std::clamp(*spec->timeout, Duration{1}, for_ever);
  run.limit_grace = spec->grace;
}

Result<std::vector<ProcessStatus>> Runner::left_of(const Run& run) const {
  return marked_with("REEVE_RUN=" + run.folder.path());
}

void Runner::look_at_orphans(Clock::time_point now) {
  const bool are_any =
      std::ranges::any_of(runs_, [](const auto& entry) { return entry.second.is_orphaned; });
  if (!are_any || now < orphans_at_) return;
  const Result<Marked> marked = marked_by("REEVE_RUN");
  std::vector<RunNo> gone;
  bool are_ending = false;
  for (auto& [number, run] : runs_) {
    if (!run.is_orphaned || !marked) continue;
    const auto found = marked->find(run.folder.path());
    if (found == marked->end()) {
      gone.push_back(number);
      continue;
    }
    if (run.limit_at && since_boot() >= *run.limit_at && !run.grace) {
      run.timed_out = true;
      begin_kill(run, run.limit_grace);
    }
    if (now >= run.kill_at) {
      for (const ProcessStatus& status : found->second) {
        send_signal(status.pid, status.start_time, SIGKILL);
      }
    }
    are_ending = are_ending || run.give_up_at != Clock::time_point::max();
  }
  orphans_pause_ = are_ending ? first_look : std::min(2 * orphans_pause_, rarest_look);
  orphans_at_ = now + orphans_pause_;
  for (const RunNo number : gone) hold_ended(number);
}

}  // namespace reeve::adapters
