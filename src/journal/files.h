#pragma once

#include "base/result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The only door from the journal to the disk: one flat directory of files. `RealFiles` is the
// machine's file system, `sim::Disk` one that forgets, tears and fails on demand. What is on
// stable storage, and so survives a loss of power, is exactly this:
//
//   - bytes written before a sync() of their file that succeeded,
//   - files created, renamed or removed before a sync_directory() that succeeded.
//
// Everything else may or may not survive, in any combination. After a sync that failed the bytes
// written before it may be lost though reads go on showing them, and a second sync may succeed
// without writing them: nobody may call it again and believe the answer. Of a directory this much
// is believed, and no process but the next one has to: when a sync_directory() fails, a later one
// fails too or does what both should have done. (File systems with a log of their own, ext4, xfs
// and btrfs among them, stop taking changes when they cannot write it.)
//
// Errors name the file, the offset where there is one, and what the system said. No room left is
// Error::Code::Full, and so is an open() or create() that finds no descriptor or no memory: nothing
// has happened, and it may be tried again later. A missing file is NotFound, everything else Io; a
// sync that fails, for whatever reason, is Io.
namespace reeve::journal {

// Writes to a file opened for Commit begin and end at multiples of this, and come from memory
// aligned to it: a disk that bypasses the page cache wants that.
inline constexpr std::size_t block_size = 4096;

enum class Access {
  Read,
  Write,   // through the page cache: for what is written once and synced at the end
  Commit,  // whole blocks, each write soon followed by a sync; past the page cache where possible
};

class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  virtual Result<void> write(std::uint64_t offset, std::string_view bytes) = 0;

  // What was written is on stable storage.
  virtual Result<void> sync() = 0;

  // As many bytes as the buffer holds, fewer only where the file ends.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) = 0;

  virtual Result<std::uint64_t> size() = 0;

  // The file becomes `size` zeroes, in blocks that later writes need not allocate. Not yet synced.
  virtual Result<void> fill_with_zeroes(std::uint64_t size) = 0;

  // False: somebody has removed it, and what is written to it nobody will find again.
  virtual Result<bool> has_name() { return true; }

  // It has another name now; errors tell that one.
  virtual void renamed(const std::string& /*path*/) {}
};

// That nobody else writes here, until it is destroyed or its process has ended, however it ended.
class Claim {
 public:
  Claim() = default;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  virtual ~Claim() = default;
};

class Files {
 public:
  Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  virtual ~Files() = default;

  // Never waits: what another has claimed is Error::Code::Conflict. It changes nothing on the disk.
  virtual Result<std::unique_ptr<Claim>> claim() = 0;

  // A new, empty file; what had the name before is gone.
  virtual Result<std::unique_ptr<File>> create(const std::string& name, Access access) = 0;
  virtual Result<std::unique_ptr<File>> open(const std::string& name, Access access) = 0;

  // Replaces `to` if it exists. An open file stays open.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& name) = 0;

  // The names of the regular files, sorted.
  virtual Result<std::vector<std::string>> list() = 0;
  virtual Result<void> sync_directory() = 0;

  // Bytes that we may still take.
  virtual Result<std::uint64_t> free_space() = 0;

  // The name as a person finds the file: with its directory.
  virtual std::string path_of(const std::string& name) const = 0;
};

}  // namespace reeve::journal
