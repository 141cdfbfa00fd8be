#pragma once

#include "base/result.h"
#include "journal/files.h"
#include "journal/record.h"
#include "journal/segment.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

// Writing segments, block by block.
namespace reeve::journal {

// The bytes that a group of these entries takes.
std::uint64_t group_size(std::span<const Entry> entries);

// The size of a segment for a group of this many bytes, and no smaller than `wish`.
std::uint64_t segment_size_for(std::uint64_t wish, std::uint64_t group);

// A file of zeroes under this name, its content on stable storage, its name not yet.
Result<void> make_zeroes(Files& files, const std::string& name, std::uint64_t size);

// Likewise, but where there is no room for `wish` bytes only `least`. Says which.
Result<std::uint64_t> make_zeroes(Files& files,
                                  const std::string& name,
                                  std::uint64_t wish,
                                  std::uint64_t least);

// Memory that begins at a multiple of a block, and grows by whole ones.
class BlockBuffer {
 public:
  // What was in the first `keep` bytes stays.
  char* grow_to(std::size_t size, std::size_t keep);
  char* data() { return memory_.get(); }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  std::size_t size_ = 0;
};

// Appends groups to a segment. A group begins where the last one ended: the block they share is
// written again with the acknowledged bytes unchanged, so that whatever becomes of the write, each
// sector holds them.
class SegmentWriter {
 public:
  // `file` is open for Commit and holds zeroes; the header goes to its first block. Synced.
  static Result<SegmentWriter> begin(std::unique_ptr<File> file, const SegmentHeader& header);

  void renamed(const std::string& path) { file_->renamed(path); }
  Result<bool> has_name() { return file_->has_name(); }

  bool fits(std::uint64_t group) const { return end_ + group <= header_.size; }

  // Writes one group and syncs it. After a failure nothing more may be written.
  Result<void> append(Sequence first, Group group, std::span<const Entry> entries);

  const SegmentHeader& header() const { return header_; }
  std::uint64_t end() const { return end_; }

 private:
  SegmentWriter(std::unique_ptr<File> file, const SegmentHeader& header)
      : file_(std::move(file)), header_(header) {}

  std::unique_ptr<File> file_;
  SegmentHeader header_;
  std::uint64_t end_ = block_size;
  BlockBuffer buffer_;  // begins with what the block at end_ already holds
};

}  // namespace reeve::journal
