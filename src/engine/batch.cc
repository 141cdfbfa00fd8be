#include "engine/batch.h"

#include "engine/limits.h"

namespace reeve::engine {

void Batch::add(Stamp stamp, std::string_view payload, std::uint64_t digest) {
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
  ends_.push_back(bytes_.size());
  stored_bytes_ += journal::encoded_size(payload.size());
  entries_.push_back({.stamp = stamp, .payload = {}, .digest = digest});
}

bool Batch::has_room_for(std::string_view payload) const {
  return empty() || stored_bytes_ + journal::encoded_size(payload.size()) <= limits::batch_bytes;
}

std::span<const journal::Entry> Batch::entries() {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].payload = std::string_view(bytes_.data() + begin, ends_[i] - begin);
    begin = ends_[i];
  }
  return entries_;
}

}  // namespace reeve::engine
