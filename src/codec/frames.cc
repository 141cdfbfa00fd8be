#include "codec/frames.h"

#include "base/check.h"

#include <cstdint>
#include <limits>

namespace reeve::codec {
namespace {

constexpr std::size_t length_bytes = 4;

}  // namespace

std::string frame(std::string_view chunk) {
  CHECK(chunk.size() <= std::numeric_limits<std::uint32_t>::max());
  std::string framed;
  framed.reserve(length_bytes + chunk.size());
  for (std::size_t i = 0; i < length_bytes; ++i) {
    framed.push_back(static_cast<char>((chunk.size() >> (8 * i)) & 0xffU));
  }
  framed.append(chunk);
  return framed;
}

// Whether so many unused bytes are there, or can be had.
Result<bool> Unframer::fill(std::size_t bytes) {
  if (buffer_.size() - used_ >= bytes) return true;
  buffer_.erase(0, used_);
  used_ = 0;
  while (buffer_.size() < bytes) {
    const Result<std::string_view> piece = source_();
    if (!piece) return fail(piece.error());
    if (piece->empty()) return false;
    buffer_.append(*piece);
  }
  return true;
}

Result<std::optional<std::string_view>> Unframer::next() {
  const Result<bool> has_length = fill(length_bytes);
  if (!has_length) return fail(has_length.error());
  if (!*has_length) {
    if (buffer_.size() == used_) return std::nullopt;
    return fail(Error::Code::Corrupt, "the snapshot ends inside the length of a chunk");
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::size_t{static_cast<unsigned char>(buffer_[used_ + i])} << (8 * i);
  }
  used_ += length_bytes;
  const Result<bool> has_chunk = fill(length);
  if (!has_chunk) return fail(has_chunk.error());
  if (!*has_chunk) return fail(Error::Code::Corrupt, "the snapshot ends inside a chunk");
  const std::string_view chunk(buffer_.data() + used_, length);
  used_ += length;
  return chunk;
}

}  // namespace reeve::codec
