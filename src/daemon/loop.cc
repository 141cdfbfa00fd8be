#include "daemon/loop.h"

#include "adapters/process.h"
#include "base/match.h"
#include "daemon/hearing.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

namespace reeve::daemon {
namespace {

using namespace std::chrono_literals;

// How long those who do not read may hold up the end.
constexpr Duration last_words = 2s;
// How long what runs has when all of it is to end: the grace, and time to be seen dead.
constexpr Duration ending = 8s;
// A signal that comes sooner after the first is the same one.
constexpr Duration second_signal_after = 500ms;

// How long a batch looks for the next of those who may join it.
constexpr auto gathering = 15us;

// Sessions count from here: another place at every start.
SessionId random_session() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) std::abort();
  return SessionId{number >> 2U};
}

Descriptor open_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGUSR1);
  return Descriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

Loop::Loop(api::About about,
           Log& log,
           std::unique_ptr<journal::Journal> journal,
           engine::Remembered remembered,
           history::History& history,
           const adapters::Inherited& for_runs,
           Settings settings)
    : about_(std::move(about)),
      log_(log),
      journal_(std::move(journal)),
      history_(history),
      signals_(open_signals()),
      hands_(surroundings(for_runs), about_.boot_id),
      desk_(*this),
      clock_(remembered.state.now, read_clocks()),
      last_checkpoint_(remembered.snapshot),
      last_life_(remembered.stamp.wall),
      engine_(std::move(remembered),
              engine::Ports{hands_, desk_, {{"history", {&history_, history_.had()}}}}),
      peers_(poller_, desk_, log_, random_session()),
      settings_(std::move(settings)) {
  desk_.serve(engine_);
  poller_.add(signals_.get(), {Mark::Kind::Signal}, EPOLLIN, true);
  poller_.add(hands_.fd(), {Mark::Kind::Hands}, EPOLLIN, true);
  writer_ = std::make_unique<engine::Writer>(*journal_, [this] { poller_.wake(); });
  keeper_ = std::make_unique<engine::Keeper>(*journal_, [this] { poller_.wake(); });
  runbook_watch_ = std::make_unique<RunbookWatch>(about_.home, [this] { poller_.wake(); });
  history_.wake_with([this] { poller_.wake(); });
}

Loop::~Loop() { history_.wake_with({}); }

void Loop::listen(Descriptor listener, const Listen& how) {
  peers_.listen(std::move(listener), how);
}

// ── The loop ──

Result<void> Loop::run(const std::function<void()>& ready) {
  reading_ = read_clocks();
  now_ = clock_.read(reading_).stamp;
  about_.started = now_.now;
  desk_.at(now_);
  hands_.begin();
  engine_.begin(now_);
  engine_.submit({}, Request{.command = dispatch::SawBoot{about_.boot_id}}, now_);
  live_by(settings_);
  watch_runbooks(last_life_ - RunbookWatch::unseen);
  ready();
  more_ = true;
  while (stage_ != Stage::Over && !engine_.wants_stop()) turn();
  if (engine_.wants_stop()) {
    give_up();
    return fail(*engine_.wants_stop());
  }
  return finish();
}

// The order is the durability argument: what came in is decided here and written by another
// thread, and nothing leaves, neither an effect nor a reply, before the records that caused it are
// on disk: deliver() is the one door out, and committed() the one key.
void Loop::turn() {
  wait();
  reading_ = read_clocks();
  const engine::Moment moment = clock_.read(reading_);
  now_ = moment.stamp;
  desk_.at(now_);

  collect();                     // what is durable now
  more_ = engine_.look(moment);  // what is due comes before what is new
  hear_hands();
  if (engine_.wants_input()) gather();

  while (std::optional<engine::Batch> batch = engine_.take_batch()) {
    writer_->commit(*std::move(batch));
    collect();  // a quick disk has it already; else there is none while it is on its way
  }
  watch_runbooks(
      now_.wall -
      RunbookWatch::tick);  // before anybody knows that they are in force, and changes them
  engine_.deliver();
  keep();
  if (desk_.catch_up(now_)) more_ = true;
  if (peers_.flush(now_)) more_ = true;
  answered_ += peers_.take_written();
  if (stage_ != Stage::Serving) advance();
}

void Loop::wait() {
  const bool idle = !more_ && !hands_.has_reports();
  if (const std::optional<Time> next = next_wake()) {
    // Engine time runs with the boot clock; a deadline far away is not worth a larger number.
    const Duration until = std::min<Duration>(std::max(*next - now_.now, Duration{0}), 24h);
    poller_.wake_at(reading_.boot + until);
  }
  hear(engine_.wants_input() ? poller_.wait(idle) : poller_.wait_inside(idle));
}

void Loop::hear(std::span<const Ready> all) {
  for (const Ready& ready : all) {
    switch (ready.mark.kind) {
      case Mark::Kind::Peer:
      case Mark::Kind::Listener:
        peers_.is_ready(ready);
        break;
      case Mark::Kind::Signal:
        handle_signal();
        break;
      case Mark::Kind::Hands:
        hands_.look();
        break;
      case Mark::Kind::Wake:
      case Mark::Kind::Timer:
      case Mark::Kind::ClockSet:
        break;
    }
  }
}

// Whoever was answered a moment ago is likely to ask again: a batch that has them all costs no more
// than one of half of them. So for a moment, much shorter than a commit, it looks for those who are
// missing; who asks alone is not kept waiting.
void Loop::gather() {
  std::size_t heard = peers_.serve(now_);
  const std::size_t expected = std::exchange(answered_, 0);
  auto until = std::chrono::steady_clock::now() + gathering;
  while (heard > 0 && heard < expected && engine_.wants_input()) {
    const std::span<const Ready> all = poller_.wait(false);
    const auto now = std::chrono::steady_clock::now();
    if (all.empty()) {
      if (now > until) return;
      continue;
    }
    hear(all);
    // Whatever it was besides is for the next turn, which must not sleep over it.
    more_ = more_ || !std::ranges::all_of(all, [](const Ready& ready) {
              return ready.mark.kind == Mark::Kind::Peer;
            });
    heard += peers_.serve(now_);
    until = now + gathering;
  }
}

std::optional<Time> Loop::next_wake() const {
  std::optional<Time> next = peers_.next_wake();
  const auto consider = [&](Time time) { next = next ? std::min(*next, time) : time; };
  const std::optional<Duration> until = engine::Clock::until(engine_.next_wake(), now_);
  if (until) consider(saturating_add(now_.now, *until));
  if (stage_ != Stage::Serving) consider(stage_until_);
  if (was_full_) consider(next_prepare_);
  return next;
}

// What the journal's threads have done.
void Loop::collect() {
  if (std::optional<Result<engine::Sequence>> finished = writer_->finished()) {
    if (*finished) {
      engine_.committed(**finished);
    } else {
      engine_.commit_failed(finished->error());
    }
  }
  while (std::optional<engine::Keeper::Finished> finished = keeper_->finished()) {
    match(
        *finished,
        [&](const engine::Keeper::Prepared& prepared) {
          const bool bad = !prepared.result && prepared.result.error().code != Error::Code::Full;
          if (bad) engine_.commit_failed(prepared.result.error());
        },
        [&](const engine::Keeper::Written& written) {
          Result<engine::Sequence> told = last_checkpoint_;
          if (written.result) {
            engine_.checkpoint_written(*written.result);
            last_checkpoint_ = written.result->moment.sequence;
            told = last_checkpoint_;
          } else {
            log_.say("a checkpoint could not be written: {}", written.result.error().message);
            engine_.checkpoint_failed(written.result.error());
            told = fail(written.result.error());
          }
          tell_checkpoint(told);
        },
        [&](const engine::Keeper::Truncated& truncated) {
          if (!truncated.result) engine_.commit_failed(truncated.result.error());
        });
  }
}

void Loop::hear_hands() {
  hands_.durable(engine_.durable());
  for (const adapters::Report& report : hands_.take()) {
    if (const std::optional<EffectId> effect = unwanted(engine_.state(), report)) {
      log_.say("the outcome of effect {}-{} came, for which nobody waits: it is dropped",
               effect->sequence,
               effect->index);
    }
    tell(engine_, report, now_);
    hands_.decided(report, engine_.state().sequence);
  }
}

// On its own: inlined, g++ 12 takes the move of its text for one beyond the Result.
[[gnu::noinline]] static Result<engine::Sequence> no_room_for_a_checkpoint() {
  return fail(Error{Error::Code::Full, "there is no room for a checkpoint; try again later"});
}

// What the journal needs beside commits: room, checkpoints, less of the past.
void Loop::keep() {
  keep_history();
  const journal::Room room = journal_->room();
  engine_.room(room);
  const bool full = room != journal::Room::Plenty;
  if (full != was_full_) {
    log_.line(full ? "the disk is nearly full: no new work is taken, finishing goes on"
                   : "there is room on the disk again");
    was_full_ = full;
  }
  if (engine_.wants_prepare(*journal_)) {
    next_prepare_ = now_.now + engine::limits::prepare_again;
    keeper_->prepare();
  }
  if (checkpoint_wanted_ || journal_->wants_snapshot()) {
    checkpoint_wanted_ = false;
    engine_.checkpoint();
    engine_.deliver();
    // There is one of this very state, or there was no room for one a moment ago.
    if (!engine_.is_checkpointing()) {
      tell_checkpoint(last_checkpoint_);
      if (!checkpoint_waiters_.empty()) tell_checkpoint(no_room_for_a_checkpoint());
      checkpoint_wanted_ = false;
    }
  }
  if (std::optional<engine::Snapshot> snapshot = engine_.take_snapshot()) {
    keeper_->write(*std::move(snapshot));
  }
  if (rebuilding_) engine_.projected("history", engine_.durable(), now_);
  if (rebuilding_ || keep_journal_until_ > 0) return;
  if (const std::optional<engine::Sequence> passed = engine_.take_truncation()) {
    keeper_->truncate(*passed);
  }
}

// ── The end ──

void Loop::handle_signal() {
  signalfd_siginfo signal{};
  if (read(signals_.get(), &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo == SIGUSR1) {
    log_.say("draining: no more jobs are taken from beanstalkd's clients");
    if (drain_) drain_();
    return;
  }
  if (stage_ != Stage::Serving) {
    // Who signals a process and its group, as timeout does, means it once.
    if (read_clocks().boot < stopped_at_ + second_signal_after) return;
    log_.say("a second signal: leaving at once; the journal is whole");
    _exit(1);
  }
  log_.say("signal {}: stopping", signal.ssi_signo);
  stop(false);
}

void Loop::stop(bool kill) {
  if (stage_ != Stage::Serving) return;
  if (kill) hands_.end_all();
  stage_ = kill ? Stage::Ending : Stage::Finishing;
  stage_until_ = now_.now + (kill ? ending : last_words);
  stopped_at_ = read_clocks().boot;
  runbook_watch_.reset();
  peers_.stop_listening();
  peers_.stop_reading();
  more_ = true;
}

// Ending: what runs is being ended. Finishing: what was decided becomes durable and is told.
// Saving: the checkpoint is being written.
void Loop::advance() {
  switch (stage_) {
    case Stage::Serving:
    case Stage::Over:
      return;
    case Stage::Ending:
      if (hands_.running() > 0 && now_.now < stage_until_) return;
      stage_ = Stage::Finishing;
      stage_until_ = now_.now + last_words;
      more_ = true;
      return;
    case Stage::Finishing:
      if (!engine_.is_idle()) return;
      if (peers_.has_output() && now_.now < stage_until_) return;
      stage_ = Stage::Saving;
      checkpoint([this](const Result<engine::Sequence>&) { saved_ = true; });
      return;
    case Stage::Saving:
      if (!saved_ || engine_.is_checkpointing()) return;
      stage_ = Stage::Over;
      return;
  }
}

Result<void> Loop::finish() {
  history_.stop(last_words);
  keeper_.reset();
  writer_.reset();
  return journal_->close();
}

// Nobody knows what the disk holds. Everybody who can be told is told.
void Loop::give_up() {
  const Error error = *engine_.wants_stop();
  log_.say("the journal failed: {}", error.message);
  peers_.stop_listening();
  engine_.deliver();
  desk_.give_up(error);
  peers_.flush(now_);
}

// ── api::Steward ──

void Loop::checkpoint(std::function<void(Result<engine::Sequence>)> done) {
  checkpoint_waiters_.push_back({engine_.durable(), std::move(done)});
  checkpoint_wanted_ = true;
  more_ = true;
}

// Those for whom the last one was begun too early wait for the next.
void Loop::tell_checkpoint(const Result<engine::Sequence>& last) {
  for (CheckpointWaiter& waiter : std::exchange(checkpoint_waiters_, {})) {
    if (last && *last < waiter.least) {
      checkpoint_waiters_.push_back(std::move(waiter));
      checkpoint_wanted_ = true;
      more_ = true;
    } else {
      waiter.done(last);
    }
  }
}

// Whom to tell is part of the state, so that a notification is exactly as durable as its event: it
// is said to the core, and only if it is not so already.
void Loop::live_by(const Settings& settings) {
  engine_.allow_running(settings.running_effects);
  hands_.keep(settings.keeping);
  const definition::Set* const told =
      definition::current(engine_.state().definitions, shared_project);
  const std::string hash = told ? told->hash : Settings::notify_nobody().hash;
  if (hash == settings.notifications.hash) return;
  engine_.submit(
      {},
      Request{.command =
                  definition::Load{shared_project, Boxed<definition::Set>(settings.notifications)}},
      now_);
}

Result<void> Loop::reload() {
  if (!read_settings_) return {};
  const Result<Settings> read = read_settings_();
  if (!read) {
    log_.say("the settings stay as they were: {}", read.error().message);
    return fail(read.error());
  }
  settings_ = *read;
  live_by(settings_);
  more_ = true;
  log_.say("the settings were read again");
  return {};
}

std::optional<Process> Loop::process(std::int64_t pid, bool group) const {
  return adapters::own_process(pid, group, about_.boot_id);
}

api::Steward::JournalUse Loop::journal_use() const {
  JournalUse use;
  use.checkpoint = last_checkpoint_;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(about_.home + "/journal", ignored)) {
    const std::uintmax_t size = file.file_size(ignored);
    if (ignored) continue;  // it was deleted just now
    const std::string name = file.path().filename().string();
    // What is put by for the next segment holds nothing.
    if (!name.starts_with("spare")) use.bytes += size;
    if (name.starts_with("segment-")) ++use.segments;
  }
  return use;
}

}  // namespace reeve::daemon
