#include "engine/keeper.h"

#include "base/match.h"

#include <utility>

namespace reeve::engine {

Keeper::Keeper(journal::Journal& journal, std::function<void()> wake)
    : journal_(journal), wake_(std::move(wake)), thread_([this] { run(); }) {}

Keeper::~Keeper() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void Keeper::add(Job job) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::holds_alternative<Prepare>(job) && std::exchange(preparing_, true)) return;
    jobs_.push_back(std::move(job));
  }
  work_.notify_one();
}

void Keeper::prepare() { add(Prepare{}); }
void Keeper::write(Snapshot snapshot) { add(std::move(snapshot)); }
void Keeper::truncate(Sequence passed) { add(Truncate{passed}); }

std::optional<Keeper::Finished> Keeper::finished() {
  const std::scoped_lock lock(mutex_);
  if (finished_.empty()) return std::nullopt;
  Finished first = std::move(finished_.front());
  finished_.pop_front();
  return first;
}

Keeper::Finished Keeper::work(const Job& job) {
  return match(
      job,
      [&](const Prepare&) -> Finished { return Prepared{journal_.prepare()}; },
      [&](const Snapshot& snapshot) -> Finished {
        return Written{write_checkpoint(journal_, snapshot)};
      },
      [&](const Truncate& truncate) -> Finished {
        return Truncated{journal_.truncate(truncate.passed)};
      });
}

void Keeper::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return !jobs_.empty() || stop_; });
    if (stop_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    Finished finished = work(job);
    lock.lock();
    if (std::holds_alternative<Prepared>(finished)) preparing_ = false;
    finished_.push_back(std::move(finished));
    lock.unlock();
    wake_();
    lock.lock();
  }
}

}  // namespace reeve::engine
