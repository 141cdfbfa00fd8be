#pragma once

#include "base/result.h"
#include "engine/batch.h"
#include "engine/limits.h"
#include "engine/ports.h"
#include "journal/journal.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

// The thread that does nothing but commit: the engine decides the next batch while this one waits
// for the disk. It owns Journal::commit(); nobody else may call that while it lives.
//
// A disk that has been quicker than it takes to wake a thread is written on the caller's own.
namespace reeve::engine {

class Writer {
 public:
  // `wake` is called on the writer's thread whenever a commit has ended: it lets the loop know.
  Writer(journal::Journal& journal, std::function<void()> wake);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // waits for the commit at hand

  // Only when the one before was taken by finished(): here while commits are quick
  // (limits::quick_commit), and then finished() knows at once and nobody is woken; else by begin().
  void commit(Batch batch);

  // On the thread. Only when the one before was taken by finished().
  void begin(Batch batch);

  // The last sequence of the batch, or why it failed; none while it is on its way. Once a batch.
  std::optional<Result<Sequence>> finished();

 private:
  void run();
  Result<Sequence> write(Batch& batch);

  journal::Journal& journal_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::optional<Batch> batch_;
  std::optional<Result<Sequence>> finished_;
  bool stop_ = false;
  // How long a commit takes: the last ones count for more. Whoever commits has it.
  std::chrono::nanoseconds pace_{0};
  std::thread thread_;
};

}  // namespace reeve::engine
