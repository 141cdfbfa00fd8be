#include "adapters/hold.h"

#include "adapters/bounded_log.h"
#include "adapters/hold_child.h"
#include "adapters/hold_log.h"
#include "adapters/nursery.h"
#include "adapters/process.h"
#include "adapters/redactor.h"
#include "adapters/run_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

using namespace std::chrono_literals;
using Millis = std::chrono::milliseconds;

// What a program leaves running has this long to come to an end by itself.
constexpr Millis linger = 5s;
constexpr Millis look_again = 50ms;
constexpr Millis stuck_after = 30s;
// How long room is waited for before an end is told without what was said.
constexpr Millis room_within = 5s;
constexpr std::uint64_t stdout_limit = std::uint64_t{4} << 20U;
constexpr std::size_t output_file_limit = std::size_t{4} << 20U;

Millis now() { return since_boot(); }

void pause_for(Millis time) {
  const timespec pause{time.count() / 1000, (time.count() % 1000) * 1'000'000};
  nanosleep(&pause, nullptr);
}

class Holding {
 public:
  Holding(RunDirectory folder, RunSpec spec)
      : folder_(std::move(folder)),
        spec_(std::move(spec)),
        log_(spec_.in_pane ? std::string() : spec_.log, spec_.log_bytes),
        out_words_(spec_.secrets),
        err_words_(spec_.secrets),
        stdout_(spec_.only_stdout ? folder_.file("stdout") : "", 2 * stdout_limit) {}

  int run();

 private:
  enum class Stage : std::uint8_t { Running, Lingering, Ending, Killing };

  bool start();
  void turn();
  void wait();
  void hear_signals();
  void hear_trouble();
  bool drain(Descriptor& pipe, bool is_stdout);
  void say(std::string_view words, bool is_stdout);
  void reap();
  void begin_ending(Duration grace);
  void say_who_is_stuck();
  void signal_all(int number) const;
  void wait_for_log() const;
  void collect();
  void write_exit();
  void shorten_log() const;

  RunDirectory folder_;
  RunSpec spec_;
  BoundedLog log_;
  Redactor out_words_;
  Redactor err_words_;
  BoundedLog stdout_;
  Descriptor signals_;
  Descriptor out_;
  Descriptor err_;
  Descriptor trouble_;  // as long as bash has not begun
  bool could_not_start_ = false;
  pid_t main_ = -1;
  bool main_ended_ = false;
  bool alone_ = false;  // there is no child left
  int alone_looks_ = 0;
  Stage stage_ = Stage::Running;
  Millis timeout_at_ = Millis::max();
  Millis next_ = Millis::max();  // of the stage
  Millis killing_since_{0};
  bool told_stuck_ = false;
  Outcome outcome_;
};

int Holding::run() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&ours, number);
  sigaddset(&ours, SIGTTOU);  // who gives the terminal away must not be stopped for it
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  sigdelset(&ours, SIGTTOU);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the user's: what is too much is an error
  signals_ = Descriptor(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  const std::optional<ProcessStatus> self = status_of(getpid());
  if (!self) return 1;
  const Process process{self->pid, self->start_time, boot_id()};
  if (!folder_.write_started(process, spec_.synced)) return 1;
  if (start()) {
    while (!main_ended_ || !(alone_ || spec_.leaves_others)) turn();
    drain(out_, true);
    drain(err_, false);
    say(out_words_.rest(), true);
    say(err_words_.rest(), false);
    hear_trouble();
    if (could_not_start_) {
      outcome_.exit_code.reset();  // of the process that should have become bash
      outcome_.signal.reset();
    } else {
      collect();
    }
  }
  log_.finish();
  stdout_.finish();
  write_exit();
  return 0;
}

bool Holding::start() {
  Result<Started> started = start_program(folder_, spec_);
  if (!started) {
    outcome_.ended = Ended::Failed;
    outcome_.error = started.error().message;
    log_.remark(outcome_.error);
    return false;
  }
  main_ = started->pid;
  out_ = std::move(started->out);
  err_ = std::move(started->err);
  trouble_ = std::move(started->trouble);
  constexpr Duration for_ever = std::chrono::hours(24 * 365 * 100);
  if (spec_.timeout) timeout_at_ = now() + std::clamp(*spec_.timeout, Duration{1}, for_ever);
  return true;
}

void Holding::turn() {
  wait();
  hear_signals();
  drain(out_, true);
  drain(err_, false);
  hear_trouble();
  reap();
  const Millis time = now();
  if (time >= timeout_at_) {
    timeout_at_ = Millis::max();
    if (!main_ended_) {
      outcome_.timed_out = true;
      log_.remark("its time is over: it is being ended");
      begin_ending(spec_.grace);
    }
  }
  if (main_ended_ && stage_ == Stage::Running) {
    stage_ = Stage::Lingering;
    next_ = time + linger;
  }
  if (time < next_ || alone_) return;
  switch (stage_) {
    case Stage::Running:
      break;
    case Stage::Lingering:
      log_.remark("something that it left running is being ended");
      begin_ending(spec_.grace);
      break;
    case Stage::Ending:
    case Stage::Killing:
      // Again and again: whoever is killed may have started another just before.
      if (stage_ != Stage::Killing) killing_since_ = time;
      stage_ = Stage::Killing;
      signal_all(SIGKILL);
      next_ = time + std::clamp<Millis>((time - killing_since_) / 8, look_again, 1s);
      if (time >= killing_since_ + stuck_after) say_who_is_stuck();
      break;
  }
}

// Of another user, or in the middle of a call that does not end.
void Holding::say_who_is_stuck() {
  if (std::exchange(told_stuck_, true)) return;
  const Result<std::vector<ProcessStatus>> all = descendants_of(getpid());
  if (!all) return;
  for (const ProcessStatus& status : *all) {
    if (!status.is_zombie) {
      log_.remark("process " + std::to_string(status.pid) + " cannot be ended, and is waited for");
    }
  }
}

void Holding::wait() {
  const Millis until = std::min({timeout_at_, next_, now() + (main_ended_ ? 100ms : 60s)});
  const auto most = static_cast<int>(std::max<std::int64_t>((until - now()).count(), 0));
  std::array<pollfd, 4> ready{pollfd{signals_.get(), POLLIN, 0},
                              pollfd{trouble_.get(), POLLIN, 0},
                              pollfd{out_.get(), POLLIN, 0},
                              pollfd{err_.get(), POLLIN, 0}};
  poll(ready.data(), ready.size(), most);
}

void Holding::hear_signals() {
  signalfd_siginfo signal{};
  while (read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGCHLD) continue;
    if (outcome_.error.empty()) outcome_.error = "ended on request";
    const bool has_grace = signal.ssi_code == SI_QUEUE && signal.ssi_int >= 0;
    if (stage_ != Stage::Killing) {
      begin_ending(has_grace ? Duration{signal.ssi_int} : spec_.grace);
    }
  }
}

void Holding::hear_trouble() {
  const std::string why = trouble_in(trouble_, spec_);
  if (why.empty()) return;
  could_not_start_ = true;
  outcome_.ended = Ended::Failed;
  outcome_.error = why;
  log_.remark(why);
}

// As much as there is, but not for ever: time goes on.
bool Holding::drain(Descriptor& pipe, bool is_stdout) {
  std::array<char, std::size_t{64} * 1024> block;
  for (int times = 0; pipe && times < 64; ++times) {
    const ssize_t size = read(pipe.get(), block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return true;
    if (size == 0) {
      pipe.reset();
      return false;
    }
    Redactor& words = is_stdout ? out_words_ : err_words_;
    say(words.pass({block.data(), static_cast<std::size_t>(size)}), is_stdout);
  }
  return false;
}

void Holding::say(std::string_view words, bool is_stdout) {
  log_.write(words);
  if (is_stdout && spec_.only_stdout) stdout_.write(words);
}

void Holding::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != main_) continue;
    main_ended_ = true;
    if (WIFEXITED(status)) outcome_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
  }
  alone_ = pid < 0 && errno == ECHILD;
  // A daemon that was started from in here is nobody's.
  if (main_ended_ && !alone_) {
    // Twice: who forks and ends while one looks is seen by neither name.
    const Result<std::vector<ProcessStatus>> left = descendants_of(getpid());
    alone_looks_ = left && left->empty() ? alone_looks_ + 1 : 0;
    alone_ = alone_looks_ >= 2;
  }
}

void Holding::begin_ending(Duration grace) {
  stage_ = Stage::Ending;
  next_ = now() + grace;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // who is stopped cannot listen
}

// What may stay has a session of its own.
void Holding::signal_all(int number) const {
  // What has not become bash yet looks like a hold.
  if (trouble_ && !main_ended_) kill(main_, number);
  const pid_t session = getsid(0);
  const Result<std::vector<ProcessStatus>> all = descendants_of(getpid());
  if (!all) {  // those that are surely its own
    if (main_ > 0 && !main_ended_) kill(-main_, number);
    return;
  }
  for (const ProcessStatus& status : *all) {
    if (spec_.leaves_others && status.session != session) continue;
    if (!status.is_zombie) send_signal(status.pid, status.start_time, number);
  }
}

// What it said last is still on its way through the terminal and the server to the log.
void Holding::wait_for_log() const {
  const Millis end = now() + 2s;
  Millis quiet_at = now() + 200ms;
  for (off_t size = -1; now() < end && now() < quiet_at;) {
    struct stat about{};
    if (stat(spec_.log.c_str(), &about) == 0 &&
        std::exchange(size, about.st_size) != about.st_size) {
      quiet_at = now() + 200ms;
    }
    pause_for(20ms);
  }
}

// With `***` in its place the next phase would go on with what nobody wrote.
static std::string leaked(const std::string& output) {
  return "output " + output + " has a secret in it, which cannot be handed on in an output";
}

void Holding::collect() {
  if (outcome_.timed_out || !outcome_.error.empty()) outcome_.ended = Ended::Failed;
  const bool has_failed = outcome_.ended != Ended::Done || outcome_.signal.has_value() ||
                          outcome_.exit_code.value_or(0) != 0;
  if (spec_.in_pane) {
    wait_for_log();
    outcome_.output = clean_text(without_escapes(tail_of_file(spec_.log, 2 * output_kept)));
  } else {
    // What it printed is what it was for; if it failed, what it said about that is.
    outcome_.output = clean_text((spec_.only_stdout && !has_failed ? stdout_ : log_).recent());
  }
  outcome_.output = last_of(outcome_.output, output_kept);
  const Result<std::string> published =
      try_read_whole(folder_.file("output"), output_file_limit + 1);
  Result<Variables> values = parse_output(published.value_or(""));
  if (!published && published.error().code != Error::Code::NotFound) {
    values = fail(Error::Code::BadRequest,
                  "what it put in the place of $REEVE_OUTPUT cannot be read: a link, or no file");
  } else if (published && published->size() > output_file_limit) {
    values = fail(Error::Code::BadRequest, "it wrote more than 4 MiB to $REEVE_OUTPUT");
  }
  if (out_words_.has_secrets()) {
    outcome_.output = out_words_.whole(outcome_.output);
    outcome_.error = out_words_.whole(outcome_.error);
    const std::string* leak = values ? out_words_.first_with_one(*values) : nullptr;
    if (leak) values = fail(Error::Code::BadRequest, leaked(*leak));
  }
  if (values) {
    outcome_.values = *std::move(values);
  } else if (!has_failed) {
    outcome_.ended = Ended::Failed;
    outcome_.error = out_words_.whole(values.error().message);
    outcome_.output.clear();  // it is not why
  }
}

// How it ended is worth more than what it said, after a while; and with a full disk it is told when
// there is room: until then the lock says that the run is not over.
void Holding::write_exit() {
  for (const Millis began = now();;) {
    const Result<void> written = folder_.write_exit(outcome_, spec_.synced);
    if (written) return;
    const bool is_full = written.error().code == Error::Code::Full;
    if (is_full) shorten_log();
    if (is_full && now() >= began + room_within && !std::exchange(outcome_.output, {}).empty() &&
        spec_.only_stdout && outcome_.ended == Ended::Done) {
      // What it said is what it was for.
      outcome_.ended = Ended::Failed;
      outcome_.error = "the disk was full, and what it said is lost";
    }
    pause_for(200ms);
    if (access(folder_.path().c_str(), F_OK) != 0) return;  // nobody wants to know any more
  }
}

void Holding::shorten_log() const {
  struct stat about{};
  const auto most = static_cast<off_t>(output_kept);
  if (spec_.log.empty() || stat(spec_.log.c_str(), &about) != 0 || about.st_size <= most) return;
  [[maybe_unused]] const int ignored = truncate(spec_.log.c_str(), most);
}

}  // namespace

int hold(std::span<const std::string_view> words) {
  if (words.size() == 2 && words[0] == "--log") return keep_log(words[1], {});
  if (words.size() == 3 && words[0] == "--log") return keep_log(words[1], words[2]);
  if (words.size() == 1 && words[0] == "--nursery") return serve_nursery(3);
  if (words.size() != 1 || words[0].empty() || words[0][0] != '/') return 2;
  close_range(3, ~0U, 0);
  const RunDirectory folder{std::string(words[0])};
  const Result<Descriptor> lock = folder.take_lock();
  if (!lock) return lock.error().code == Error::Code::Conflict ? 0 : 1;
  if (folder.has_started()) return 0;
  Result<RunSpec> spec = folder.read_spec();
  if (!spec) return spec.error().code == Error::Code::NotFound ? 0 : 1;
  if (!spec->in_pane) setsid();
  return Holding(folder, *std::move(spec)).run();
}

}  // namespace reeve::adapters
