#pragma once

#include "journal/file_journal.h"
#include "journal/journal.h"
#include "sim/disk.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A game against the journal alone, from a seed: commits, snapshots, truncations, clean stops, and
// a disk that strikes at any operation, also in the middle of a recovery. A small model remembers
// what was submitted and what was acknowledged, and after every recovery the two are compared:
//
//   - everything acknowledged is there, once, in order, with the bytes it was given;
//   - beyond it there is all of the one group that was being committed, or nothing;
//   - a clean stop is found clean, and nothing is rewritten that nobody asked about;
//   - a bit turned around in a group that a valid one follows is refused and changes nothing;
//   - after an error every call fails with that error.
namespace reeve::sim {

struct GameReport {
  std::string violation;  // empty: none
  std::uint64_t steps = 0;
  std::uint64_t commits = 0;
  std::uint64_t crashes = 0;  // power losses and kills
  std::uint64_t crashes_in_recovery = 0;
  std::uint64_t errors = 0;  // EIO and ENOSPC that ended a journal
  std::uint64_t snapshots = 0;
  std::uint64_t torn_tails = 0;
  std::uint64_t flips_refused = 0;
  std::uint64_t clean_stops = 0;
};

class JournalGame {
 public:
  explicit JournalGame(std::uint64_t seed);

  // Plays until so many steps are done or something is wrong.
  const GameReport& play(std::uint64_t steps);

 private:
  using Call = std::function<std::optional<Error>()>;

  void step();
  void commit();
  void prepare();
  void begin_snapshot();
  void go_on_with_snapshot();
  void truncate();
  void read();
  void stop_cleanly();
  void crash();
  void recover();
  void recover_once();
  void flip_a_bit();
  void strike_soon(std::uint64_t within);

  // After a call has failed: whether that was to be expected, and the end of this journal if so.
  void failed(const Error& error, bool may_be_full);
  void violate(std::string what);

  std::uint64_t random(std::uint64_t below);
  std::string some_bytes(std::uint64_t most);
  std::string state_at(journal::Sequence sequence) const;

  std::uint64_t seed_;
  std::uint64_t random_;
  Disk disk_;
  journal::Options options_;
  std::unique_ptr<journal::Journal> journal_;
  GameReport report_;

  // The model. The record of sequence n is submitted_[n - 1]; the first acknowledged_ are promised.
  struct Submitted {
    std::string payload;
    std::uint64_t digest = 0;
    std::uint64_t state = 0;  // a digest of everything up to here

    bool operator==(const Submitted&) const = default;
  };
  std::vector<Submitted> submitted_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t group_ = 0;  // of the last commit that was acknowledged
  bool clean_ = false;       // stopped so, and nothing happened since

  // A snapshot in the making, and those known to be finished.
  std::unique_ptr<journal::SnapshotWriter> writer_;
  journal::Sequence writer_sequence_ = 0;
  std::string writer_rest_;
  std::uint64_t newest_snapshot_ = 0;
};

}  // namespace reeve::sim
