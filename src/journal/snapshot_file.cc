#include "journal/snapshot_file.h"

#include "base/check.h"
#include "journal/crc32c.h"
#include "journal/little_endian.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace reeve::journal {

namespace {

constexpr std::string_view snapshot_magic = "ReeveSnp";
constexpr std::size_t header_size = 64;
constexpr std::size_t chunk_header_size = 24;
constexpr std::size_t end_size = 40;
constexpr std::size_t window_read = std::size_t{1} << 20U;

constexpr std::uint8_t encoding_raw = 1;
constexpr std::uint8_t encoding_zstd = 2;
constexpr std::uint8_t encoding_end = 3;

// Fast rather than small: the disk is not the bottleneck, the second core is.
constexpr int compression_level = 1;

bool is_zero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == 0; });
}

std::uint32_t header_crc(std::string_view header) {
  return crc32c(header.substr(16, header_size - 16), crc32c(header.substr(0, 12)));
}

std::string encode_header(const SnapshotHeader& header) {
  std::string bytes(header_size, '\0');
  std::ranges::copy(snapshot_magic, bytes.begin());
  store(bytes.data() + 8, snapshot_version);
  std::ranges::copy(header.journal.bytes, bytes.data() + 16);
  store(bytes.data() + 32, header.moment.sequence);
  store(bytes.data() + 40, header.moment.stamp.now.time_since_epoch().count());
  store(bytes.data() + 48, header.moment.stamp.wall.time_since_epoch().count());
  store(bytes.data() + 12, header_crc(bytes));
  return bytes;
}

std::uint32_t chunk_crc(const SnapshotHeader& header,
                        std::string_view chunk_header,
                        std::string_view stored) {
  std::array<char, 24> of;
  std::ranges::copy(header.journal.bytes, of.begin());
  store(of.data() + 16, header.moment.sequence);
  std::uint32_t crc = crc32c({of.data(), of.size()});
  crc = crc32c(chunk_header.substr(0, 8), crc);
  crc = crc32c(chunk_header.substr(12, chunk_header_size - 12), crc);
  return crc32c(stored, crc);
}

// The header of chunk number `index` with its checksum, to stand before `stored`.
std::string encode_chunk_header(const SnapshotHeader& header,
                                std::string_view stored,
                                std::size_t raw_size,
                                std::uint8_t encoding,
                                std::uint64_t index) {
  std::string bytes(chunk_header_size, '\0');
  store(bytes.data(), static_cast<std::uint32_t>(stored.size()));
  store(bytes.data() + 4, static_cast<std::uint32_t>(raw_size));
  store(bytes.data() + 12, encoding);
  store(bytes.data() + 16, index);
  store(bytes.data() + 8, chunk_crc(header, bytes, stored));
  return bytes;
}

}  // namespace

// --- writing
// ---------------------------------------------------------------------------------------

struct SnapshotEncoder::Compressor {
  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(context); }

  ZSTD_CCtx* context = ZSTD_createCCtx();
};

SnapshotEncoder::SnapshotEncoder(File& file,
                                 const SnapshotHeader& header,
                                 std::size_t chunk_size,
                                 bool compress)
    : file_(file),
      header_(header),
      chunk_size_(chunk_size),
      compressor_(compress ? std::make_unique<Compressor>() : nullptr) {
  CHECK(chunk_size > 0 && chunk_size <= largest_chunk);
  raw_.reserve(chunk_size);
}

SnapshotEncoder::~SnapshotEncoder() = default;

Result<void> SnapshotEncoder::put(std::string_view bytes) {
  Result<void> written = file_.write(offset_, bytes);
  if (written) offset_ += bytes.size();
  return written;
}

Result<void> SnapshotEncoder::put_chunk() {
  std::string_view stored = raw_;
  std::uint8_t encoding = encoding_raw;
  if (compressor_) {
    stored_.resize(ZSTD_compressBound(raw_.size()));
    const std::size_t size = ZSTD_compressCCtx(compressor_->context,
                                               stored_.data(),
                                               stored_.size(),
                                               raw_.data(),
                                               raw_.size(),
                                               compression_level);
    if (ZSTD_isError(size) == 0 && size < raw_.size()) {
      stored = std::string_view(stored_).substr(0, size);
      encoding = encoding_zstd;
    }
  }
  const std::string header = encode_chunk_header(header_, stored, raw_.size(), encoding, chunks_);
  if (Result<void> written = put(header); !written) return written;
  if (Result<void> written = put(stored); !written) return written;
  ++chunks_;
  raw_bytes_ += raw_.size();
  raw_.clear();
  return {};
}

Result<void> SnapshotEncoder::append(std::string_view bytes) {
  if (offset_ == 0) {
    if (Result<void> written = put(encode_header(header_)); !written) return written;
  }
  while (!bytes.empty()) {
    const std::size_t take = std::min(bytes.size(), chunk_size_ - raw_.size());
    raw_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (raw_.size() < chunk_size_) break;
    if (Result<void> written = put_chunk(); !written) return written;
  }
  return {};
}

Result<SnapshotEnd> SnapshotEncoder::finish(SnapshotEnd end) {
  if (Result<void> begun = append({}); !begun) return fail(begun.error());
  if (!raw_.empty()) {
    if (Result<void> written = put_chunk(); !written) return fail(written.error());
  }
  end.chunks = chunks_;
  end.raw_bytes = raw_bytes_;
  std::string stored(end_size, '\0');
  store(stored.data(), end.chunks);
  store(stored.data() + 8, end.raw_bytes);
  store(stored.data() + 16, end.digest);
  store(stored.data() + 24, end.durable_sequence);
  store(stored.data() + 32, end.durable_group);
  const std::string header = encode_chunk_header(header_, stored, 0, encoding_end, chunks_);
  if (Result<void> written = put(header + stored); !written) return fail(written.error());
  return end;
}

// --- reading
// ---------------------------------------------------------------------------------------

struct SnapshotDecoder::Decompressor {
  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { ZSTD_freeDCtx(context); }

  ZSTD_DCtx* context = ZSTD_createDCtx();
};

SnapshotDecoder::SnapshotDecoder(std::unique_ptr<File> file, std::string path)
    : file_(std::move(file)), path_(std::move(path)) {}

SnapshotDecoder::~SnapshotDecoder() = default;

std::unexpected<Error> SnapshotDecoder::corrupt(std::string_view why) const {
  return fail(Error::Code::Corrupt, fmt::format("{} at offset {}: {}", path_, offset_, why));
}

// Its checksum is right, so somebody meant something by it.
std::unexpected<Error> SnapshotDecoder::unknown(std::string_view what) const {
  return fail(Error::Code::Conflict,
              fmt::format("{} at offset {}: {}, which this program does not know; use the version "
                          "of Reeve that wrote it",
                          path_,
                          offset_,
                          what));
}

// Reads ahead, so that small chunks do not cost a system call each. Short only at the file's end.
Result<std::string_view> SnapshotDecoder::bytes_at(std::uint64_t offset, std::size_t size) {
  if (offset < window_begin_ || offset + size > window_begin_ + window_size_) {
    const std::size_t wanted = std::max(size, std::min<std::size_t>(window_read, file_size_));
    if (window_.size() < wanted) window_.resize(wanted);
    const Result<std::size_t> got = file_->read(offset, window_);
    if (!got) return fail(got.error());
    window_begin_ = offset;
    window_size_ = *got;
  }
  return std::string_view(window_).substr(
      offset - window_begin_, std::min<std::uint64_t>(size, window_begin_ + window_size_ - offset));
}

Result<std::unique_ptr<SnapshotDecoder>> SnapshotDecoder::open(Files& files,
                                                               const std::string& name) {
  Result<std::unique_ptr<File>> file = files.open(name, Access::Read);
  if (!file) return fail(file.error());
  std::unique_ptr<SnapshotDecoder> decoder(
      new SnapshotDecoder(std::move(*file), files.path_of(name)));
  if (Result<void> read = decoder->read_header(); !read) return fail(read.error());
  return decoder;
}

Result<void> SnapshotDecoder::read_header() {
  const Result<std::uint64_t> size = file_->size();
  if (!size) return fail(size.error());
  file_size_ = *size;
  const Result<std::string_view> bytes = bytes_at(0, header_size);
  if (!bytes) return fail(bytes.error());
  if (bytes->size() < header_size) return corrupt("is too short for a snapshot's header");
  if (!bytes->starts_with(snapshot_magic)) return corrupt("does not begin like a snapshot");
  if (load<std::uint32_t>(bytes->data() + 12) != header_crc(*bytes)) {
    return corrupt("the checksum of the snapshot's header is wrong");
  }
  const auto version = load<std::uint32_t>(bytes->data() + 8);
  if (version != snapshot_version) {
    return fail(Error::Code::Conflict,
                fmt::format("{}: has version {} and this program reads {}; use the version of "
                            "Reeve that wrote it",
                            path_,
                            version,
                            snapshot_version));
  }
  if (!is_zero(bytes->substr(56, header_size - 56))) return unknown("the header says more");
  std::ranges::copy(bytes->substr(16, 16), header_.journal.bytes.begin());
  header_.moment.sequence = load<std::uint64_t>(bytes->data() + 32);
  header_.moment.stamp.now = Time{Duration{load<std::int64_t>(bytes->data() + 40)}};
  header_.moment.stamp.wall = Wall{Duration{load<std::int64_t>(bytes->data() + 48)}};
  offset_ = header_size;
  return {};
}

Result<SnapshotDecoder::Chunk> SnapshotDecoder::next_chunk() {
  const Result<std::string_view> head = bytes_at(offset_, chunk_header_size);
  if (!head) return fail(head.error());
  if (head->size() < chunk_header_size) return corrupt("the snapshot has no end");
  const std::string header(*head);
  const std::size_t stored_size = load<std::uint32_t>(header.data());
  const std::size_t raw_size = load<std::uint32_t>(header.data() + 4);
  const auto encoding = load<std::uint8_t>(header.data() + 12);
  if (stored_size > ZSTD_compressBound(largest_chunk) || raw_size > largest_chunk) {
    return corrupt("a chunk is larger than chunks are");
  }
  const Result<std::string_view> stored = bytes_at(offset_ + chunk_header_size, stored_size);
  if (!stored) return fail(stored.error());
  if (stored->size() < stored_size) return corrupt("the file ends in the middle of a chunk");
  if (load<std::uint32_t>(header.data() + 8) != chunk_crc(header_, header, *stored)) {
    return corrupt("the checksum of a chunk is wrong");
  }
  if (load<std::uint64_t>(header.data() + 16) != chunks_) return corrupt("a chunk is missing");
  if (!is_zero(std::string_view(header).substr(13, 3))) return unknown("a chunk says more");
  if (encoding == encoding_end) {
    if (raw_size != 0) return unknown("the end says more");
    if (Result<void> read = read_end(*stored); !read) return fail(read.error());
    offset_ += chunk_header_size + stored_size;
    const Result<std::string_view> more = bytes_at(offset_, 1);
    if (!more) return fail(more.error());
    if (!more->empty()) return corrupt("something follows the end of the snapshot");
    return Chunk{};
  }
  if (encoding != encoding_raw && encoding != encoding_zstd) {
    return unknown(fmt::format("a chunk is of kind {}", encoding));
  }
  if (raw_size == 0 || stored_size == 0 || (encoding == encoding_raw && raw_size != stored_size)) {
    return corrupt("a chunk has an impossible size");
  }
  offset_ += chunk_header_size + stored_size;
  ++chunks_;
  raw_bytes_ += raw_size;
  return Chunk{.stored = *stored, .raw_size = raw_size, .compressed = encoding == encoding_zstd};
}

Result<void> SnapshotDecoder::read_end(std::string_view stored) {
  if (stored.size() != end_size) return corrupt("the end of the snapshot has another size");
  const char* const from = stored.data();
  end_.chunks = load<std::uint64_t>(from);
  end_.raw_bytes = load<std::uint64_t>(from + 8);
  end_.digest = load<std::uint64_t>(from + 16);
  end_.durable_sequence = load<std::uint64_t>(from + 24);
  end_.durable_group = load<std::uint64_t>(from + 32);
  if (end_.chunks != chunks_ || end_.raw_bytes != raw_bytes_) {
    return corrupt("the end of the snapshot counts otherwise");
  }
  return {};
}

Result<std::string_view> SnapshotDecoder::next() {
  const Result<Chunk> chunk = next_chunk();
  if (!chunk) return fail(chunk.error());
  if (!chunk->compressed) return chunk->stored;
  if (!decompressor_) decompressor_ = std::make_unique<Decompressor>();
  if (raw_.size() < chunk->raw_size) raw_.resize(chunk->raw_size);
  const std::size_t size = ZSTD_decompressDCtx(decompressor_->context,
                                               raw_.data(),
                                               chunk->raw_size,
                                               chunk->stored.data(),
                                               chunk->stored.size());
  if (ZSTD_isError(size) != 0 || size != chunk->raw_size) {
    return corrupt("the chunk before it does not decompress");
  }
  return std::string_view(raw_).substr(0, size);
}

Result<bool> SnapshotDecoder::skip() {
  const Result<Chunk> chunk = next_chunk();
  if (!chunk) return fail(chunk.error());
  return !chunk->stored.empty();
}

SnapshotInfo SnapshotDecoder::info() const {
  return {.moment = header_.moment,
          .digest = end_.digest,
          .raw_bytes = raw_bytes_,
          .stored_bytes = offset_,
          .chunks = chunks_};
}

Result<VerifiedSnapshot> verify_snapshot(Files& files, const std::string& name) {
  const Result<std::unique_ptr<SnapshotDecoder>> decoder = SnapshotDecoder::open(files, name);
  if (!decoder) return fail(decoder.error());
  for (;;) {
    const Result<bool> more = (*decoder)->skip();
    if (!more) return fail(more.error());
    if (!*more) break;
  }
  return VerifiedSnapshot{
      .header = (*decoder)->header(), .end = (*decoder)->end(), .info = (*decoder)->info()};
}

}  // namespace reeve::journal
