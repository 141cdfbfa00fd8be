#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace reeve {

// A T kept elsewhere, or none, in the eight bytes of a pointer: for the rare and large parts
// of a small struct. A copy is O(1) and shares the T; whoever edits a shared one gets his own
// first. Copies may live on different threads.
//
// As a value it is an optional T: equal if both are empty or both hold equal values. T may be
// incomplete where the box is declared.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  explicit Boxed(T value) : node_(new Node(std::move(value))) {}
  Boxed(const Boxed& other) noexcept : node_(other.node_) {
    if (node_) node_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Boxed(Boxed&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Boxed& operator=(Boxed other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Boxed() {
    if (node_ && node_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node_;
  }

  // Null if there is none.
  const T* get() const { return node_ ? &node_->value : nullptr; }
  const T* operator->() const { return get(); }
  const T& operator*() const { return *get(); }
  explicit operator bool() const { return node_ != nullptr; }

  // The value, to be changed in place; one made by T{} if there was none. Good until this box
  // is next copied, assigned to or reset.
  T& edit() {
    if (!node_) {
      *this = Boxed(T{});
    } else if (node_->refs.load(std::memory_order_acquire) != 1) {
      // Acquire, so that what the last other owner still read is read before we write.
      *this = Boxed(T(node_->value));
    }
    return node_->value;
  }

  void reset() { *this = Boxed(); }

  friend bool operator==(const Boxed& a, const Boxed& b) {
    if (a.node_ == b.node_) return true;
    return a.node_ && b.node_ && a.node_->value == b.node_->value;
  }

 private:
  struct Node {
    explicit Node(T initial) : value(std::move(initial)) {}

    T value;
    std::atomic<std::uint32_t> refs = 1;
  };

  Node* node_ = nullptr;
};

}  // namespace reeve
