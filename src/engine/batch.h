#pragma once

#include "base/time.h"
#include "engine/ports.h"
#include "journal/record.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace reeve::engine {

// What is committed at once: the inputs decided while the last batch was on its way to the disk.
// Owns its bytes, which stay where they are when it is moved.
class Batch {
 public:
  void add(Stamp stamp, std::string_view payload, std::uint64_t digest);

  bool empty() const { return ends_.empty(); }
  std::uint64_t bytes() const { return bytes_.size(); }
  std::uint64_t stored_bytes() const { return stored_bytes_; }  // as the journal counts them

  // Whether limits::batch_bytes leaves room for this one too. For the first there always is.
  bool has_room_for(std::string_view payload) const;

  Sequence first = 0;
  Sequence last = 0;

  // For Journal::commit(). Views that the next add(), and the end of the batch, invalidate.
  std::span<const journal::Entry> entries();

 private:
  std::vector<char> bytes_;
  std::vector<std::size_t> ends_;  // where each payload ends
  std::vector<journal::Entry> entries_;
  std::uint64_t stored_bytes_ = 0;
};

}  // namespace reeve::engine
