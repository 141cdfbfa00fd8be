#include "codec/snapshot.h"

#include "base/value_bytes.h"
#include "codec/binary.h"
#include "codec/value_reader.h"
#include "core/digest.h"
#include "core/shapes.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace reeve::codec {
namespace {

// The first byte of a chunk says what it is.
enum class Piece : std::uint8_t { Header, Part, End };

constexpr std::string_view magic = "reeve state";

char tag(Piece piece) { return static_cast<char>(piece); }

Error corrupt(std::string message) { return {Error::Code::Corrupt, std::move(message)}; }

// Chunks of a part: the tag, the number of the part, its bytes.
class PartWriter final : public ByteSink {
 public:
  explicit PartWriter(const ChunkSink& sink) : sink_(sink) {}

  void begin(ByteBuffer& buffer, std::size_t part) {
    part_ = part;
    buffer.clear();
    buffer.byte(tag(Piece::Part));
    buffer.varint(part_);
    before_ = buffer.size();
  }

  bool take(ByteBuffer& buffer) override {
    if (buffer.size() > before_) {
      digest_.add(buffer.view().substr(before_));
      result_ = sink_(buffer.view());
    }
    begin(buffer, part_);
    return result_.has_value();
  }

  const Result<void>& result() const { return result_; }
  std::uint64_t digest() const { return digest_.value(); }

 private:
  const ChunkSink& sink_;
  std::size_t part_ = 0;
  std::size_t before_ = 0;
  StateDigest digest_;
  Result<void> result_;
};

// Chunks as they come from the source, taken apart.
class Chunks {
 public:
  explicit Chunks(const ChunkSource& source) : source_(source) {}

  Result<void> advance() {
    Result<std::optional<std::string_view>> chunk = source_();
    if (!chunk) return fail(chunk.error());
    if (!*chunk) return fail(corrupt("the snapshot ends before its last chunk"));
    bytes_ = **chunk;
    std::uint64_t kind = 0;
    if (!take_number(kind) || kind > static_cast<std::uint64_t>(Piece::End)) {
      return fail(corrupt("a chunk of an unknown kind"));
    }
    piece_ = static_cast<Piece>(kind);
    if (piece_ != Piece::Part) return {};
    if (!take_number(part_)) return fail(corrupt("a chunk that does not say of which part it is"));
    digest_.add(bytes_);
    return {};
  }

  bool is_of(std::uint64_t part) const { return piece_ == Piece::Part && part_ == part; }
  Piece piece() const { return piece_; }
  std::uint64_t part() const { return part_; }
  std::string_view bytes() const { return bytes_; }  // behind the tag and the number
  std::uint64_t digest() const { return digest_.value(); }

  bool take_number(std::uint64_t& number) {
    ValueReader reader(bytes_);
    if (!reader.read_varint(number)) return false;
    bytes_.remove_prefix(reader.bytes_read());
    return true;
  }

 private:
  const ChunkSource& source_;
  Piece piece_ = Piece::Header;
  std::uint64_t part_ = 0;
  std::string_view bytes_;
  StateDigest digest_;
};

// The bytes of the part of which the current chunk is the first one. When there are no more, the
// current chunk is the first of what follows.
class PartBytes final : public MoreBytes {
 public:
  explicit PartBytes(Chunks& chunks) : chunks_(chunks), part_(chunks.part()) {}

  bool next(std::string_view& bytes) override {
    if (is_over_) return false;
    if (!is_first_) result_ = chunks_.advance();
    is_first_ = false;
    is_over_ = !result_ || !chunks_.is_of(part_);
    if (!is_over_) bytes = chunks_.bytes();
    return !is_over_;
  }
  const Result<void>& result() const { return result_; }

 private:
  Chunks& chunks_;
  std::uint64_t part_;
  bool is_first_ = true;
  bool is_over_ = false;
  Result<void> result_;
};

Result<void> read_header(Chunks& chunks) {
  if (auto header = chunks.advance(); !header) return header;
  std::uint64_t version = 0;
  if (chunks.piece() != Piece::Header || !chunks.take_number(version) || chunks.bytes() != magic) {
    return fail(corrupt("not the beginning of a snapshot"));
  }
  if (version != format_version) {
    return fail(corrupt(fmt::format(
        "a snapshot in format {}; this program reads format {}", version, format_version)));
  }
  return {};
}

// Leaves `chunks` at what follows the part. One that a later version appended is passed over.
Result<void> read_part(Chunks& chunks, Snapshot& snapshot) {
  const std::span<const Field> parts = shape_of<State>().fields;
  const std::uint64_t number = chunks.part();
  PartBytes bytes(chunks);
  if (number < parts.size()) {
    const Field& part = parts[number];
    ValueReader reader(bytes);
    const bool good =
        reader.read_rest(*part.shape, reinterpret_cast<std::byte*>(&snapshot.state) + part.offset);
    if (!bytes.result()) return bytes.result();
    if (!good) return fail(reader.error(part.name));
    snapshot.passed_over |= reader.has_passed_over() || !reader.is_at_end();
  }
  std::string_view skipped;
  while (bytes.next(skipped)) snapshot.passed_over |= !skipped.empty();
  return bytes.result();
}

}  // namespace

Result<std::uint64_t> write_snapshot(const State& state, const ChunkSink& sink, std::size_t chunk) {
  ByteBuffer buffer;
  buffer.byte(tag(Piece::Header));
  buffer.varint(format_version);
  buffer.raw(magic);
  if (auto header = sink(buffer.view()); !header) return fail(header.error());

  PartWriter writer(sink);
  const std::span<const Field> parts = shape_of<State>().fields;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto* const value = reinterpret_cast<const std::byte*>(&state) + parts[i].offset;
    writer.begin(buffer, i);
    if (!stream_value(buffer, *parts[i].shape, value, chunk, writer)) {
      return fail(writer.result().error());
    }
  }

  buffer.clear();
  buffer.byte(tag(Piece::End));
  buffer.varint(writer.digest());
  if (auto end = sink(buffer.view()); !end) return fail(end.error());
  return writer.digest();
}

Result<Snapshot> read_snapshot(const ChunkSource& source) {
  Chunks chunks(source);
  Snapshot snapshot;
  if (auto header = read_header(chunks); !header) return fail(header.error());
  if (auto first = chunks.advance(); !first) return fail(first.error());
  std::optional<std::uint64_t> before;
  while (chunks.piece() == Piece::Part) {
    if (before && chunks.part() <= *before) return fail(corrupt("chunks in the wrong order"));
    before = chunks.part();
    if (auto part = read_part(chunks, snapshot); !part) return fail(part.error());
  }
  std::uint64_t digest = 0;
  if (chunks.piece() != Piece::End || !chunks.take_number(digest)) {
    return fail(corrupt("chunks in the wrong order"));
  }
  snapshot.digest = chunks.digest();
  if (digest != snapshot.digest) {
    return fail(corrupt(
        fmt::format("the bytes of the snapshot have the digest {:016x}; its end says {:016x}",
                    snapshot.digest,
                    digest)));
  }
  return snapshot;
}

}  // namespace reeve::codec
