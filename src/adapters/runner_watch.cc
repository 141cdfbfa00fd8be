#include "adapters/progress.h"
#include "adapters/runner.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// What has to be looked at now and then: runs without a hold, logs that grow, kills, leftovers.
namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;

constexpr auto after_kill = 25s;
constexpr auto tell_again = 1s;
constexpr std::size_t leftovers_a_look = 16;

// Another number whenever the log has grown, however it is kept.
std::uint64_t growth_of(const std::string& log) {
  return change_of(log) * 31 + change_of(log + ".tail");
}

}  // namespace

void Runner::look_at(RunNo number, Clock::time_point now) {
  const auto found = runs_.find(number);
  if (found == runs_.end()) return;
  Run& run = found->second;
  watch_growth(run, now);
  if (now >= run.give_up_at) {
    run.give_up_at = Clock::time_point::max();
    for (const EffectId killer : std::exchange(run.killers, {})) {
      done(killer, {.ended = Ended::Failed, .error = "it does not end"});
    }
  }
  if (run.is_unborn && now >= run.asked_at + unborn_for) run.is_unborn = false;
  if (run.is_orphaned || run.pidfd || run.is_unborn) return;
  if (!run.hold) return hold_ended(number);  // looks again
  watch_hold(number);
}

void Runner::watch_growth(Run& run, Clock::time_point now) {
  const Spawn* spawn = std::get_if<Spawn>(&run.what.what);
  if (!spawn || run.starts || run.log.empty()) return;
  if (now < run.told_at + tell_again) return;
  const std::uint64_t said = growth_of(run.log);
  const std::uint64_t got = progress_of(run.folder.path() + "/output", spawn->workspace);
  // What was there when we first looked is not its doing, or was told by the daemon before us.
  const bool progress = got != std::exchange(run.got, got).value_or(got);
  if (said == run.said && !progress) return;
  const bool is_first = std::exchange(run.said, said) == 0;
  run.told_at = now;
  // What one said before we adopted it is not news, and an empty log is no word.
  const bool is_new =
      run.is_fresh || (run.session && !std::holds_alternative<ToNobody>(run.what.to));
  struct stat about{};
  const bool is_silent = stat(run.log.c_str(), &about) != 0 || about.st_size == 0;
  if (!progress && is_first && (!is_new || is_silent)) return;
  if (const auto* to = std::get_if<dispatch::Address>(&run.what.to)) {
    if (!std::exchange(run.was_alive, true)) reports_.emplace_back(ChildAlive{to->dispatch});
    return;
  }
  const agent::Source source = spawn->session ? agent::Source::Screen : agent::Source::Log;
  reports_.emplace_back(AgentActive{spawn->work, source, progress});
}

// ── Kills ──

void Runner::kill(const Start& start, const Kill& kill) {
  if (std::holds_alternative<Process>(kill.target)) return processes_.start(start);
  if (is_for_later(kill)) {
    later_.push_back(start);
    return arm();
  }
  const EffectId* effect = std::get_if<EffectId>(&kill.target);
  const WorkId* work = std::get_if<WorkId>(&kill.target);
  for (auto& [number, run] : runs_) {
    const Spawn* spawn = std::get_if<Spawn>(&run.what.what);
    const bool is_meant =
        effect ? run.effect == *effect && !run.session : spawn != nullptr && spawn->work == *work;
    if (!is_meant) continue;
    run.killers.push_back(start.id);
    begin_kill(run, kill.grace);
    return arm();
  }
  // What still waits for its turn will never have it.
  if (effect && around_.state().outbox.contains(*effect) && !finished_.contains(*effect)) {
    never_.insert(*effect);
  }
  done(start.id, {});
}

void Runner::begin_kill(Run& run, Duration grace) {
  run.grace = grace;
  run.kill_at = Clock::now() + grace;
  run.give_up_at = run.kill_at + after_kill;
  if (run.is_orphaned) {
    orphans_at_ = std::min(orphans_at_, Clock::now() + 50ms);
    orphans_pause_ = 50ms;
    const Result<std::vector<ProcessStatus>> left = left_of(run);
    if (!left) return;  // they are killed later, unheard
    for (const ProcessStatus& status : *left) {
      send_signal(status.pid, status.start_time, SIGTERM);
      send_signal(status.pid, status.start_time, SIGCONT);
    }
  } else if (run.pidfd) {
    signal_hold(run);
  }
}

// With the grace, in milliseconds.
void Runner::signal_hold(const Run& run) const {
  siginfo_t info{};
  info.si_signo = SIGTERM;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = static_cast<int>(std::min<std::int64_t>(run.grace->count(), 1 << 30));
  syscall(SYS_pidfd_send_signal, run.pidfd.get(), SIGTERM, &info, 0);
  // Who is stopped cannot listen.
  syscall(SYS_pidfd_send_signal, run.pidfd.get(), SIGCONT, nullptr, 0);
}

void Runner::end_all() {
  is_ending_ = true;
  for (auto& [number, run] : runs_) begin_kill(run, Duration{5000});
  arm();
}

// ── What was left by those before us ──

void Runner::find_leftovers() {
  DIR* const folder = opendir((around_.home + "/runs").c_str());
  if (!folder) return;
  // The stream is this call's own.
  while (const dirent* entry = readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    const std::optional<EffectId> effect = parse_effect_id(name.substr(0, name.find('.')));
    if (!effect || around_.state().outbox.contains(*effect)) continue;
    leftovers_.push_back(around_.home + "/runs/" + std::string(name));
  }
  closedir(folder);
}

// An outcome that is durable was told before the folder could be removed. What still runs is
// nobody's business here: its limit is kept by its hold.
void Runner::clear_leftovers() {
  for (std::size_t i = 0; i < leftovers_a_look && !leftovers_.empty(); ++i) {
    const RunDirectory run(leftovers_.back());
    leftovers_.pop_back();
    const bool is_known =
        std::ranges::any_of(
            runs_, [&](const auto& it) { return it.second.folder.path() == run.path(); }) ||
        std::ranges::any_of(gone_, [&](const auto& it) { return it.second == run.path(); });
    if (is_known) continue;
    if (!std::holds_alternative<RunDirectory::Running>(run.look())) remove(run.path());
  }
}

}  // namespace reeve::adapters
