#pragma once

#include <compare>
#include <cstddef>
#include <string_view>
#include <utility>

namespace reeve {

// A string of bytes that never changes and is copied in O(1): one pointer to one block that
// holds the reference count, the size and the bytes. Empty bytes have no block. Copies may
// live on different threads. At most 4 GiB - 1.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string_view content);
  Bytes(const Bytes& other) noexcept;
  Bytes(Bytes&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Bytes& operator=(Bytes other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Bytes();

  std::string_view view() const;
  std::size_t size() const { return view().size(); }
  bool empty() const { return block_ == nullptr; }

  friend bool operator==(const Bytes& a, const Bytes& b) {
    return a.block_ == b.block_ || a.view() == b.view();
  }
  friend std::strong_ordering operator<=>(const Bytes& a, const Bytes& b) {
    return a.view() <=> b.view();
  }

 private:
  struct Block;
  Block* block_ = nullptr;
};

}  // namespace reeve
