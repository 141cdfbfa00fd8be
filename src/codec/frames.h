#pragma once

#include "base/result.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// A snapshot is written in chunks that must come back as they were, and the journal gives bytes
// back in pieces of its own. So a chunk is stored as its length, four bytes, the lowest first,
// followed by its bytes; the end of the stream is the end of the chunks.
namespace reeve::codec {

std::string frame(std::string_view chunk);

class Unframer {
 public:
  // Pieces of the stream; an empty one is its end.
  using Source = std::function<Result<std::string_view>()>;
  explicit Unframer(Source source) : source_(std::move(source)) {}

  // The next chunk, good until the next call; none at the end. A stream that ends inside a chunk is
  // corrupt.
  Result<std::optional<std::string_view>> next();

 private:
  Result<bool> fill(std::size_t bytes);

  Source source_;
  std::string buffer_;
  std::size_t used_ = 0;
};

}  // namespace reeve::codec
