#include "base/bytes.h"

#include "base/check.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

namespace reeve {

// The bytes follow it in the same allocation.
struct Bytes::Block {
  std::atomic<std::uint32_t> refs;
  std::uint32_t size;

  char* content() { return reinterpret_cast<char*>(this + 1); }
};

Bytes::Bytes(std::string_view content) {
  if (content.empty()) return;
  CHECK(content.size() <= std::numeric_limits<std::uint32_t>::max());
  void* const memory = ::operator new(sizeof(Block) + content.size());
  block_ = new (memory) Block{1, static_cast<std::uint32_t>(content.size())};
  std::memcpy(block_->content(), content.data(), content.size());
}

Bytes::Bytes(const Bytes& other) noexcept : block_(other.block_) {
  if (block_) block_->refs.fetch_add(1, std::memory_order_relaxed);
}

Bytes::~Bytes() {
  if (block_ && block_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block_->~Block();
    ::operator delete(block_);
  }
}

std::string_view Bytes::view() const {
  return block_ ? std::string_view(block_->content(), block_->size) : std::string_view();
}

}  // namespace reeve
