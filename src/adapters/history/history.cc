#include "adapters/history/history.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <limits>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace reeve::history {
namespace {

using namespace std::chrono_literals;

// How long something waits for more of its kind: a transaction costs a sync.
constexpr auto window = 500ms;
// After so long the helper takes over from one that does not get on; the engine leaves us at 60 s.
constexpr auto patience = 15s;
constexpr auto try_again = 1s;
constexpr auto longest_wait = 30s;
constexpr auto trim_first = 5s;
constexpr auto trim_every = 60s;
constexpr auto trim_on = 20ms;
constexpr std::size_t transaction_bytes = std::size_t{16} << 20U;
constexpr int lowest_priority = 19;

bool is_missing_or_empty(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return errno == ENOENT;
  return S_ISREG(status.st_mode) && status.st_size == 0;
}

}  // namespace

History::History(std::string path, const Settings& settings)
    : path_(std::move(path)), settings_(settings), buffer_(settings.buffer_bytes) {
  if (!settings_.enabled) {
    problem_ = "history is turned off";
    return;
  }
  // There is nothing yet that could be read, and to make it takes more syncs than all the rest of a
  // first start: whoever waits for that start does not wait for it.
  if (is_missing_or_empty(path_)) {
    state_ = State::On;
    has_work_ = true;
    since_ = Clock::now();
    return;
  }
  Result<std::unique_ptr<File>> file = File::open(path_);
  if (!file) {
    problem_ = file.error().message;
    problem_told_ = false;
    return;
  }
  file_ = *std::move(file);
  is_made_ = true;
  had_ = passed_ = file_->place().reached;
  events_ = file_->place().events;
  buffer_.clear(passed_);
  state_ = State::On;
}

History::~History() { stop(Duration{0}); }

Sequence History::passed() const {
  const std::scoped_lock lock(mutex_);
  return state_ == State::Off ? std::numeric_limits<Sequence>::max() : passed_;
}

void History::turn_off(std::string why) {
  const std::scoped_lock writing(writing_);
  const std::scoped_lock lock(mutex_);
  file_.reset();
  state_ = State::Off;
  problem_ = std::move(why);
  problem_told_ = false;
}

bool History::is_off() const { return state_ == State::Off; }

bool History::is_in_trouble() const {
  const std::scoped_lock lock(mutex_);
  return !problem_.empty();
}

History::Status History::status() const {
  const std::scoped_lock lock(mutex_);
  return {state_, is_made_, passed_, events_, buffer_.bytes(), problem_};
}

std::optional<std::string> History::take_problem() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(problem_told_, true)) return std::nullopt;
  return problem_;
}

// ── The loop ──

void History::project(const Event& event, Time now, const reeve::State& state) {
  if (state_ != State::Off) buffer_.put(event, now, state);
}

// Who sleeps is woken once, not with every turn of the loop.
void History::reached(Sequence sequence) {
  if (state_ == State::Off) return;
  buffer_.reached(sequence);
  if (has_work_.exchange(true)) return;
  {
    const std::scoped_lock lock(mutex_);
    since_ = Clock::now();
  }
  work_.notify_all();
}

std::optional<Sequence> History::take_passed() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(told_, true)) return std::nullopt;
  return passed_;
}

std::optional<Sequence> History::wants_to_go_on(bool was_left) const {
  if (state_ != State::On) return std::nullopt;
  const std::optional<Sequence> missed = buffer_.missed();
  if ((!missed && !was_left) || buffer_.bytes() > 0) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  if (!problem_.empty() || passed_ < buffer_.reached()) return std::nullopt;
  return missed.value_or(passed_ + 1);
}

void History::go_on(Sequence durable) { buffer_.go_on(durable); }

void History::hurry() {
  if (state_ != State::On) return;
  hurry_ = true;
  {
    const std::scoped_lock lock(mutex_);
    if (!has_work_.exchange(true)) since_ = Clock::now();
  }
  work_.notify_all();
}

bool History::rebuild(Sequence durable, Replay replay) {
  const std::scoped_lock lock(mutex_);
  if (!settings_.enabled || state_ == State::Rebuilding) return false;
  state_ = State::Rebuilding;
  buffer_.clear(durable);
  job_ = Job{durable, std::move(replay)};
  work_.notify_all();
  return true;
}

std::optional<Result<History::Rebuilt>> History::take_rebuilt() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(rebuilt_, std::nullopt);
}

void History::wake_with(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
}

void History::wake() const {
  const std::scoped_lock lock(mutex_);
  if (wake_) wake_();
}

void History::wait_for_room() {
  const Clock::time_point until = Clock::now() + longest_wait;
  while (buffer_.bytes() > settings_.buffer_bytes / 2 && state_ == State::On && !is_in_trouble() &&
         Clock::now() < until) {
    hurry();
    std::this_thread::sleep_for(5ms);
  }
}

// ── The threads ──

void History::begin() {
  trim_at_ = Clock::now() + trim_first;
  patient_ = std::thread([this] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), lowest_priority);
    run(true);
  });
  helper_ = std::thread([this] { run(false); });
}

void History::stop(Duration at_most) {
  if (!patient_.joinable()) return;
  if (at_most > Duration{0} && state_ == State::On) {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    has_work_ = true;
    work_.notify_all();
    done_.wait_for(lock, at_most, [&] {
      return state_ != State::On || (!has_work_ && passed_ >= buffer_.reached());
    });
  }
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  patient_.join();
  helper_.join();
  // Nobody reads it through us any more: the last to leave folds the log into the file.
  file_.reset();
}

bool History::may_write(bool patient, Clock::time_point now) const {
  if (state_ != State::On || !has_work_ || now < not_before_) return false;
  // What failed is tried again by one of them.
  if (!problem_.empty()) return patient;
  if (patient) return !hurry_ && now >= since_ + window;
  return hurry_ || now >= since_ + patience || buffer_.bytes() > settings_.buffer_bytes / 4;
}

History::Clock::time_point History::next_look(bool patient) const {
  const Clock::time_point now = Clock::now();
  if (!has_work_) return patient && state_ == State::On ? trim_at_ : now + 1h;
  if (!patient || hurry_) return now + 1s;
  return std::max({not_before_, since_ + window, now + 1ms});
}

void History::run(bool patient) {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (patient && job_) {
      const Job job = *std::exchange(job_, std::nullopt);
      lock.unlock();
      carry_out(job);
      lock.lock();
    } else if (may_write(patient, Clock::now())) {
      lock.unlock();
      write(patient);
      lock.lock();
    } else if (patient && state_ == State::On && !has_work_ && Clock::now() >= trim_at_) {
      lock.unlock();
      trim();
      lock.lock();
    } else {
      work_.wait_until(lock, next_look(patient));
    }
  }
}

// All that is there, unless the patient one is asked to let the other pass.
void History::write(bool patient) {
  const std::scoped_lock writing(writing_);
  if (state_ != State::On) return;
  has_work_ = false;
  const Result<bool> whole = write_taken(patient && !is_in_trouble());
  if (!whole) return failed(whole.error());
  if (!*whole) {
    has_work_ = true;
    return;
  }
  settled();
}

Result<void> History::commit(Sequence reached) {
  if (auto committed = file_->commit(reached); !committed) return committed;
  std::size_t bytes = 0;
  for (; chunk_ > 0; --chunk_) {
    bytes += taken_.chunks.front().size() - std::exchange(committed_, 0);
    taken_.chunks.pop_front();
  }
  bytes += offset_ - std::exchange(committed_, offset_);
  buffer_.wrote(bytes);
  bool is_news = bytes > 0;
  {
    const std::scoped_lock lock(mutex_);
    events_ = file_->place().events;
    if (file_->place().reached > passed_) {
      passed_ = file_->place().reached;
      told_ = false;
      is_news = true;
    }
    if (!std::exchange(problem_, "").empty()) {
      problem_told_ = false;
      is_news = true;
    }
  }
  if (is_news) wake();
  return {};
}

Result<bool> History::write_taken(bool yields) {
  if (!file_) {
    Result<std::unique_ptr<File>> file = File::open(path_);
    if (!file) return fail(file.error());
    file_ = *std::move(file);
    {
      const std::scoped_lock lock(mutex_);
      is_made_ = true;
    }
    wake();
  }
  if (taken_.chunks.empty()) {
    taken_ = buffer_.take();
    committed_ = chunk_ = offset_ = 0;
  }
  std::optional<ProjectNamed> named;
  std::optional<Put> put;
  std::size_t bytes = 0;
  for (; chunk_ < taken_.chunks.size(); ++chunk_, offset_ = 0) {
    const std::string& chunk = taken_.chunks[chunk_];
    const std::size_t before = offset_;
    while (read_record(chunk, offset_, named, put)) {
      if (named) file_->name(*named);
      if (put) {
        if (auto added = file_->add(*put); !added) return fail(added.error());
      }
      if (stop_) return fail(Error::Code::Timeout, "the daemon stops");
      const bool lets_pass = yields && hurry_;
      if (!lets_pass && bytes + offset_ - before < transaction_bytes) continue;
      if (auto committed = commit(0); !committed) return fail(committed.error());
      if (lets_pass) return false;
      return write_taken(yields);
    }
    bytes += offset_ - before;
  }
  if (auto committed = commit(taken_.reached); !committed) return fail(committed.error());
  return true;
}

void History::settled() {
  const std::scoped_lock lock(mutex_);
  if (!has_work_) hurry_ = false;
  // What came meanwhile waits since now.
  since_ = Clock::now();
  done_.notify_all();
}

// From the last commit on, all of it once more.
void History::failed(const Error& error) {
  if (file_) file_->roll_back();
  chunk_ = 0;
  offset_ = committed_;
  has_work_ = true;
  hurry_ = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool is_lost = error.code == Error::Code::Corrupt;
    if (problem_ != error.message) problem_told_ = stop_;
    problem_ = error.message;
    not_before_ = Clock::now() + try_again;
    if (is_lost) {
      state_ = State::Off;
      file_.reset();
      taken_ = {};
      chunk_ = offset_ = committed_ = 0;
    }
    done_.notify_all();
  }
  wake();
}

void History::trim() {
  const std::scoped_lock writing(writing_);
  if (!file_ || state_ != State::On) {
    const std::scoped_lock lock(mutex_);
    trim_at_ = Clock::now() + trim_every;
    return;
  }
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const Result<bool> more = file_->trim(settings_, now);
  if (!more) file_->roll_back();
  if (!more && more.error().code == Error::Code::Corrupt) return failed(more.error());
  const std::scoped_lock lock(mutex_);
  events_ = file_->place().events;
  trim_at_ =
      Clock::now() + (more && *more ? Clock::duration(trim_on) : Clock::duration(trim_every));
}

// ── Made anew ──

void History::carry_out(const Job& job) {
  const std::scoped_lock writing(writing_);
  file_.reset();
  taken_ = {};
  chunk_ = offset_ = committed_ = 0;
  Result<Rebuilt> rebuilt = make_anew(job);
  Result<std::unique_ptr<File>> file = rebuilt ? File::open(path_) : fail(rebuilt.error());
  if (!file) rebuilt = fail(file.error());
  {
    const std::scoped_lock lock(mutex_);
    problem_.clear();
    problem_told_ = false;
    if (file) {
      file_ = *std::move(file);
      is_made_ = true;
      passed_ = job.durable;
      told_ = false;
      events_ = file_->place().events;
      state_ = State::On;
      has_work_ = true;
      since_ = Clock::now();
    } else {
      problem_ = "the rebuild failed: " + rebuilt.error().message;
      state_ = State::Off;
    }
    rebuilt_ = std::move(rebuilt);
  }
  wake();
}

Result<History::Rebuilt> History::make_anew(const Job& job) {
  constexpr std::uint64_t events_at_once = 50'000;
  const std::string made = path_ + ".new";
  std::unique_ptr<File> file;
  std::optional<Error> failure;
  std::uint64_t since_commit = 0;
  const auto anew = [&] {
    file.reset();
    failure.reset();
    if (auto removed = remove_database(made); !removed) failure = removed.error();
    Result<std::unique_ptr<File>> opened = File::open(made);
    if (opened) {
      file = *std::move(opened);
    } else if (!failure) {
      failure = opened.error();
    }
  };
  const Sink sink = [&](const Event& event, Time now, const reeve::State& state) {
    if (failure || event.sequence > job.durable) return;
    if (stop_) {
      failure.emplace(Error::Code::Timeout, "the daemon stops");
      return;
    }
    const project::Project* project = state.projects.projects.find(event.project);
    file->name({event.project, project ? project->name : std::string_view()});
    Result<void> added = file->add(Put{event, {now, event.at}});
    if (added && ++since_commit >= events_at_once) {
      since_commit = 0;
      added = file->commit(0);
    }
    if (!added) failure = added.error();
  };
  const Result<Sequence> from = job.replay(sink, anew);
  if (failure) return fail(*failure);
  if (!from) return fail(from.error());
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  if (*from > 1) {
    if (auto added = file->add_gap(1, *from - 1, now); !added) return fail(added.error());
  }
  if (auto committed = file->commit(job.durable); !committed) return fail(committed.error());
  if (auto folded = file->fold(); !folded) return fail(folded.error());
  const Rebuilt rebuilt{*from, job.durable, file->place().events};
  file.reset();
  if (auto placed = put_in_place(made, path_); !placed) return fail(placed.error());
  return rebuilt;
}

}  // namespace reeve::history
