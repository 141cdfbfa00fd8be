#pragma once

#include "base/result.h"
#include "journal/files.h"
#include "journal/journal.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

// A snapshot as a file: a header, chunks (compressed one by one, each with its checksum), and an
// end that counts them. Checksums cover journal, sequence and the chunk's number, so chunks neither
// change places nor come from another snapshot. A file without its end is no snapshot.
namespace reeve::journal {

inline constexpr std::uint32_t snapshot_version = 1;

// Larger chunks are refused: a reader knows how much memory it needs.
inline constexpr std::size_t largest_chunk = std::size_t{64} << 20U;

struct SnapshotHeader {
  JournalId journal;
  Moment moment;

  bool operator==(const SnapshotHeader&) const = default;
};

struct SnapshotEnd {
  std::uint64_t chunks = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t digest = 0;
  // What was durable when it was finished, and so must be found, beyond the snapshot, by recovery.
  Sequence durable_sequence = 0;
  Group durable_group = 0;

  bool operator==(const SnapshotEnd&) const = default;
};

// Writes one to a file that is empty. Never syncs.
class SnapshotEncoder {
 public:
  SnapshotEncoder(File& file, const SnapshotHeader& header, std::size_t chunk_size, bool compress);
  ~SnapshotEncoder();

  Result<void> append(std::string_view bytes);

  // The counts of `end` are filled in here.
  Result<SnapshotEnd> finish(SnapshotEnd end);

  std::uint64_t stored_bytes() const { return offset_; }

 private:
  Result<void> put(std::string_view bytes);
  Result<void> put_chunk();

  struct Compressor;
  File& file_;
  SnapshotHeader header_;
  std::size_t chunk_size_;
  std::unique_ptr<Compressor> compressor_;  // none: chunks stay as they are
  std::string raw_;
  std::string stored_;
  std::uint64_t offset_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t raw_bytes_ = 0;
};

// Reads one from its beginning. Errors are Corrupt, or Conflict for another version, and name file
// and offset.
class SnapshotDecoder {
 public:
  static Result<std::unique_ptr<SnapshotDecoder>> open(Files& files, const std::string& name);
  ~SnapshotDecoder();

  const SnapshotHeader& header() const { return header_; }

  // The next chunk; empty when the end was found and the counts were right. The view holds until
  // the next call.
  Result<std::string_view> next();

  // Like next(), but leaves the content compressed: true while there was one.
  Result<bool> skip();

  // After the end.
  const SnapshotEnd& end() const { return end_; }
  SnapshotInfo info() const;

 private:
  SnapshotDecoder(std::unique_ptr<File> file, std::string path);

  struct Chunk {
    std::string_view stored;  // empty: the end
    std::size_t raw_size = 0;
    bool compressed = false;
  };
  Result<Chunk> next_chunk();
  Result<std::string_view> bytes_at(std::uint64_t offset, std::size_t size);
  Result<void> read_header();
  Result<void> read_end(std::string_view stored);
  std::unexpected<Error> corrupt(std::string_view why) const;
  std::unexpected<Error> unknown(std::string_view what) const;

  struct Decompressor;
  std::unique_ptr<File> file_;
  std::string path_;
  std::uint64_t file_size_ = 0;
  SnapshotHeader header_;
  SnapshotEnd end_;
  std::unique_ptr<Decompressor> decompressor_;  // made for the first chunk that needs it
  std::string window_;                          // what of the file is in memory
  std::uint64_t window_begin_ = 0;
  std::size_t window_size_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::string raw_;
};

// Reads all of it without decompressing: whole, undamaged, of this journal's sequence `sequence`.
struct VerifiedSnapshot {
  SnapshotHeader header;
  SnapshotEnd end;
  SnapshotInfo info;
};
Result<VerifiedSnapshot> verify_snapshot(Files& files, const std::string& name);

}  // namespace reeve::journal
