#pragma once

#include "base/result.h"
#include "engine/checkpoint.h"
#include "engine/ports.h"
#include "journal/journal.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

// The thread that looks after the journal while the writer commits: it makes what the next commits
// need, writes checkpoints and deletes what is no longer needed, one after the other, in the order
// it was asked. It owns the part of the journal that belongs to "one other thread" (journal.h).
namespace reeve::engine {

class Keeper {
 public:
  // `wake` is called on the keeper's thread whenever finished() has something to say.
  Keeper(journal::Journal& journal, std::function<void()> wake);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();  // finishes what it is at; what was only asked for is left

  void prepare();  // once is enough until it is done
  void write(Snapshot snapshot);
  void truncate(Sequence passed);

  struct Prepared {
    Result<void> result;
  };
  struct Written {
    Result<journal::SnapshotInfo> result;  // for Engine::checkpoint_written(), checkpoint_failed()
  };
  struct Truncated {
    Result<void> result;
  };
  using Finished = std::variant<Prepared, Written, Truncated>;

  // What was done since the last time, in order; none: nothing more.
  std::optional<Finished> finished();

 private:
  struct Prepare {};
  struct Truncate {
    Sequence passed = 0;
  };
  using Job = std::variant<Prepare, Snapshot, Truncate>;

  void add(Job job);
  Finished work(const Job& job);
  void run();

  journal::Journal& journal_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Job> jobs_;
  std::deque<Finished> finished_;
  bool preparing_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace reeve::engine
