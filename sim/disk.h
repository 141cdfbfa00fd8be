#pragma once

#include "journal/files.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A disk that does its worst, within what journal/files.h allows, from a seed.
//
//   - After a loss of power every 512-byte sector that was not synced holds its old or its new
//     bytes, independently of the others; a size that was not synced is the old or the new one.
//   - Files created, renamed or removed and not synced with the directory: each of these steps
//     survives or not, independently. A rename is one step.
//   - A sync that fails has written any of the sectors. The others stay in the page cache, where
//     reads find them, and count as clean: a later sync succeeds and does not write them. (A
//     directory has a log: after a failed sync_directory a later one does what both should have.)
//   - A claim keeps others out until it is given up or its process has ended, however that was.
//   - When a process is killed the page cache stays. A write it was in may have been done in part.
//   - Disk full, failing operations, flipped bits and the end of the machine, or of the process,
//     at the n-th operation: on request.
//
// Nothing is copied but the pages that are written; a crash costs what was not synced. One thread.
namespace reeve::sim {

class Disk final : public journal::Files {
 public:
  explicit Disk(std::uint64_t seed);
  ~Disk() override;

  enum class Fault {
    PowerLoss,  // the operation and all after it fail, until restart()
    Kill,       // likewise, but the page cache stays
    Eio,        // this one operation fails
    Enospc,     // likewise, if it is one that takes room; else the same as Eio
  };

  // The fault strikes at the n-th operation from now on (1 is the next one). Every call through
  // the door counts, reading too. A second call replaces the first.
  void strike(std::uint64_t nth, Fault fault);
  void spare_us();  // takes a strike back that has not happened

  // Whether the machine or the process has ended since the last restart.
  bool is_down() const { return down_.has_value(); }

  // Ends what is going on, now if no strike has done so, and begins anew: files that were open stay
  // useless, and the next operation finds what survived.
  void restart(Fault how = Fault::PowerLoss);

  // Bytes that may still be taken; 1 TiB if nobody said.
  void set_free_space(std::uint64_t bytes);

  // Turns one bit around, on the disk and in the page cache.
  void flip(const std::string& name, std::uint64_t offset, unsigned bit);

  // How often the door was used.
  std::uint64_t operations() const { return operations_; }

  // Everything as a reader sees it now, for comparing.
  std::map<std::string, std::string> contents() const;

  Result<std::unique_ptr<journal::Claim>> claim() override;
  Result<std::unique_ptr<journal::File>> create(const std::string& name,
                                                journal::Access access) override;
  Result<std::unique_ptr<journal::File>> open(const std::string& name,
                                              journal::Access access) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& name) override;
  Result<std::vector<std::string>> list() override;
  Result<void> sync_directory() override;
  Result<std::uint64_t> free_space() override;
  std::string path_of(const std::string& name) const override { return name; }

 private:
  struct Page;
  struct Inode;
  class Handle;
  class Claimed;
  using Directory = std::map<std::string, std::shared_ptr<Inode>>;

  // One step in the directory that is not synced yet. `to` gets the inode, or nobody does.
  struct Step {
    std::optional<std::string> from;
    std::optional<std::string> to;
    std::shared_ptr<Inode> inode;
  };

  // What becomes of the operation that begins now.
  struct Turn {
    std::optional<Fault> fault;
    std::optional<Error> error;  // set with a fault, and when everything is over already
  };
  Turn next(std::string_view what, const std::string& name, bool takes_room = false);
  void take(Step step);
  static void apply(const Step& step, Directory& directory);
  void lose_power();
  void recount();
  bool coin() { return (random() & 1U) != 0; }
  std::uint64_t random();

  std::uint64_t seed_;
  Directory cached_;
  Directory durable_;
  std::vector<Step> unsynced_;
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t generation_ = 0;
  const Claimed* claimed_ = nullptr;
  std::uint64_t strike_at_ = 0;  // the operation's number; 0 for none
  Fault strike_ = Fault::Eio;
  std::optional<Fault> down_;
};

}  // namespace reeve::sim
