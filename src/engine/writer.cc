#include "engine/writer.h"

#include "base/check.h"

#include <utility>

namespace reeve::engine {

Writer::Writer(journal::Journal& journal, std::function<void()> wake)
    : journal_(journal), wake_(std::move(wake)), thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

Result<Sequence> Writer::write(Batch& batch) {
  const auto began = std::chrono::steady_clock::now();
  Result<Sequence> last = journal_.commit(batch.entries());
  pace_ += (std::chrono::steady_clock::now() - began - pace_) / 8;
  return last;
}

// Without a batch on its way the thread sleeps: all that it has is the caller's.
void Writer::commit(Batch batch) {
  if (pace_ > limits::quick_commit) return begin(std::move(batch));
  CHECK(!finished_);
  finished_ = write(batch);
}

void Writer::begin(Batch batch) {
  {
    const std::scoped_lock lock(mutex_);
    CHECK(!batch_ && !finished_);
    batch_ = std::move(batch);
  }
  work_.notify_one();
}

std::optional<Result<Sequence>> Writer::finished() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(finished_, std::nullopt);
}

// The batch stays where it is while it is being written: `batch_` says that one is on its way.
void Writer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return batch_ || stop_; });
    if (!batch_) return;
    Batch& batch = *batch_;
    lock.unlock();
    Result<Sequence> last = write(batch);
    lock.lock();
    batch_.reset();
    finished_ = std::move(last);
    lock.unlock();
    wake_();
    lock.lock();
  }
}

}  // namespace reeve::engine
