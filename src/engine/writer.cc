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
    Result<Sequence> last = journal_.commit(batch.entries());
    lock.lock();
    batch_.reset();
    finished_ = std::move(last);
    lock.unlock();
    wake_();
    lock.lock();
  }
}

}  // namespace reeve::engine
