#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

// The nodes of a PersistentMap: how entries lie in memory, and how they are moved about in
// one node or between two. Nothing here knows the shape of the tree.
namespace reeve::persistent {

// What every node begins with.
struct Head {
  std::atomic<std::uint32_t> refs = 1;
  std::uint8_t level = 0;     // 0 is a leaf; a child of a node is one level below it
  std::uint8_t capacity = 0;  // entries there is room for
  std::uint8_t count = 0;     // entries there are
  std::uint8_t next = 0;      // just behind the entry inserted last; a hint, see split()

  // Whether whoever holds the only known reference may write. Acquire, so that all that the
  // last other owner read has been read by then; shared_ptr::use_count() would not see to it.
  bool unshared() const { return refs.load(std::memory_order_acquire) == 1; }
  void share() { refs.fetch_add(1, std::memory_order_relaxed); }
  // Whether that was the last reference.
  bool unshare() { return unshared() || refs.fetch_sub(1, std::memory_order_acq_rel) == 1; }
};

// How large nodes are made: as many entries as fit into so many bytes, but not fewer than so
// many. The defaults were chosen by measuring: docs/decisions/0001-persistent-map-layout.md.
struct Layout {
  std::size_t leaf_bytes = 1024;
  std::size_t inner_bytes = 512;
  unsigned fewest_in_leaf = 8;
  unsigned fewest_in_inner = 16;
};

// Moves objects to raw memory, which may overlap with theirs, and leaves theirs raw.
template <class T>
void relocate(T* from, std::size_t count, T* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (count > 0) std::memmove(to, from, count * sizeof(T));
  } else if (to < from) {
    for (std::size_t i = 0; i < count; ++i) {
      std::construct_at(to + i, std::move(from[i]));
      std::destroy_at(from + i);
    }
  } else {
    for (std::size_t i = count; i-- > 0;) {
      std::construct_at(to + i, std::move(from[i]));
      std::destroy_at(from + i);
    }
  }
}

// One block of memory: the head, room for `capacity` keys, room for as many items.
//
//     refs level capacity count next │ key key key ····· │ item item item ·····
//
// Keys lie side by side, so that a search touches few cache lines. Items of an empty type
// take no room. A new node has no entries; the caller keeps count <= capacity.
template <class Key, class Item>
class Node : public Head {
  static constexpr bool has_items = !std::is_empty_v<Item>;
  static constexpr std::size_t item_size = has_items ? sizeof(Item) : 0;
  static_assert(alignof(Key) <= alignof(std::max_align_t));
  static_assert(alignof(Item) <= alignof(std::max_align_t));

 public:
  // As many entries as fit into a piece of memory of `bytes`, of which malloc takes eight.
  static constexpr unsigned fitting(std::size_t bytes, unsigned fewest) {
    unsigned entries = fewest;
    while (entries < 255 && size_of(entries + 1) + 8 <= bytes) ++entries;
    return entries;
  }

  static Node* make(unsigned level, unsigned capacity) {
    void* const memory = ::operator new(size_of(capacity));
    Node* const node = new (memory) Node;
    node->level = static_cast<std::uint8_t>(level);
    node->capacity = static_cast<std::uint8_t>(capacity);
    return node;
  }

  Node* clone() const {
    Node* const copy = make(level, capacity);
    std::uninitialized_copy_n(keys(), count, copy->keys());
    if constexpr (has_items) std::uninitialized_copy_n(items(), count, copy->items());
    copy->count = count;
    copy->next = next;
    return copy;
  }

  static void destroy(Node* node) {
    std::destroy_n(node->keys(), node->count);
    if constexpr (has_items) std::destroy_n(node->items(), node->count);
    node->~Node();
    ::operator delete(node);
  }

  // Asks for the keys of a node about to be searched, all of them at once rather than one
  // cache line after the other as the search gets there.
  static void prefetch(const Head* node, unsigned capacity) {
    const std::size_t end = std::min<std::size_t>(keys_at() + capacity * sizeof(Key), 512);
    const auto* const bytes = reinterpret_cast<const std::byte*>(node);
    for (std::size_t line = 0; line < end; line += 64) __builtin_prefetch(bytes + line);
  }

  Key* keys() { return reinterpret_cast<Key*>(bytes() + keys_at()); }
  const Key* keys() const { return reinterpret_cast<const Key*>(bytes() + keys_at()); }
  Item& item(unsigned index) {
    if constexpr (has_items) {
      return items()[index];
    } else {
      static Item nothing;
      return nothing;
    }
  }

  void insert(unsigned index, Key key, Item item_value) {
    relocate(keys() + index, count - index, keys() + index + 1);
    std::construct_at(keys() + index, std::move(key));
    if constexpr (has_items) {
      relocate(items() + index, count - index, items() + index + 1);
      std::construct_at(items() + index, std::move(item_value));
    }
    ++count;
    next = static_cast<std::uint8_t>(index + 1);
  }

  // Inserts where there may be no room. Then the node is split, and its new right neighbour
  // given back. If `place` is given, it is told where the item went.
  Node* add(unsigned index, Key key, Item item_value, Item** place = nullptr) {
    Node* target = this;
    Node* beside = nullptr;
    if (count == capacity) {
      beside = split(index);
      if (index > count || count == capacity) {
        target = beside;
        index -= count;
      }
    }
    target->insert(index, std::move(key), std::move(item_value));
    if (place) *place = &target->item(index);
    return beside;
  }

  void erase(unsigned index) {
    std::destroy_at(keys() + index);
    relocate(keys() + index + 1, count - index - 1U, keys() + index);
    if constexpr (has_items) {
      std::destroy_at(items() + index);
      relocate(items() + index + 1, count - index - 1U, items() + index);
    }
    --count;
    if (index < next) --next;
  }

  static void even_out(Node& left, Node& right) {
    const unsigned half = (left.count + right.count) / 2U;
    if (left.count < half) {
      right.move_first_to(left, half - left.count);
    } else {
      left.move_last_to(right, left.count - half);
    }
  }

  // Moves the last `n` entries of this node to the beginning of `right`.
  void move_last_to(Node& right, unsigned n) {
    relocate(right.keys(), right.count, right.keys() + n);
    relocate(keys() + count - n, n, right.keys());
    if constexpr (has_items) {
      relocate(right.items(), right.count, right.items() + n);
      relocate(items() + count - n, n, right.items());
    }
    count = static_cast<std::uint8_t>(count - n);
    right.count = static_cast<std::uint8_t>(right.count + n);
  }

  // Moves the first `n` entries of this node to the end of `left`.
  void move_first_to(Node& left, unsigned n) {
    relocate(keys(), n, left.keys() + left.count);
    relocate(keys() + n, count - n, keys());
    if constexpr (has_items) {
      relocate(items(), n, left.items() + left.count);
      relocate(items() + n, count - n, items());
    }
    count = static_cast<std::uint8_t>(count - n);
    left.count = static_cast<std::uint8_t>(left.count + n);
  }

 private:
  Node() = default;
  ~Node() = default;

  // Moves the second half of a full node to a new one. But if the entry to come, at `index`,
  // continues a run, moves only what is behind it: so a run fills its nodes, whether it is at
  // the end of the map or between other entries. That uses the hint up: were it used again
  // before the next insertion, descending keys could get a node each.
  Node* split(unsigned index) {
    const unsigned kept = index == next ? index : count / 2U;
    Node* const beside = make(level, capacity);
    move_last_to(*beside, count - kept);
    next = 0;
    return beside;
  }

  static constexpr std::size_t aligned(std::size_t offset, std::size_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
  }
  static constexpr std::size_t keys_at() { return aligned(sizeof(Head), alignof(Key)); }
  static constexpr std::size_t items_at(unsigned capacity) {
    return aligned(keys_at() + capacity * sizeof(Key), has_items ? alignof(Item) : 1);
  }

  static constexpr std::size_t size_of(unsigned capacity) {
    return items_at(capacity) + capacity * item_size;
  }

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(this); }
  Item* items() { return reinterpret_cast<Item*>(bytes() + items_at(capacity)); }
  const Item* items() const { return reinterpret_cast<const Item*>(bytes() + items_at(capacity)); }
};

// How many of the sorted keys satisfy `before`; those that do come first. Branching, so that the
// processor guesses on while the next key is still on its way: measured against a search
// without branches, a tenth faster on numbers and a quarter on larger keys.
template <class Key, class Before>
unsigned count_before(const Key* keys, unsigned count, Before before) {
  return static_cast<unsigned>(std::partition_point(keys, keys + count, before) - keys);
}

}  // namespace reeve::persistent
