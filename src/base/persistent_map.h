#pragma once

#include "base/check.h"
#include "base/persistent_node.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

namespace reeve {

// An ordered map that is copied in O(1).
//
// Copies share their nodes. A change walks from the root to the key; a node that this map
// alone can reach is changed where it stands, any other is cloned first. So a map nobody has
// copied is updated in place, and after a copy only the touched path is paid for, once.
//
// Each map object belongs to one thread at a time, as with std::map. Two maps that share
// nodes need no lock between them: shared nodes are never written to.
//
// Ordered, not hashed, so that equal maps iterate equally: snapshots of equal states are
// equal bytes. The tree is a B+ tree; entries live in the leaves, and an inner node has for
// each child a key that is not above any key of that child, and above all keys of the child
// before:
//
//                       ┌─────────────┐
//                       │ 10 │ 40     │                inner, level 1
//                       └─┬────┬──────┘
//            ┌────────────┘    └────────┐
//     ┌──────┴──────────┐        ┌──────┴──────────┐
//     │ 10 20 30 │ a b c│        │ 41 50    │ d e  │   leaves, level 0: keys, then values
//     └─────────────────┘        └─────────────────┘
//
// Keys inserted in ascending order, be it at the end of the map or within it, fill their
// leaves; in random order they leave them two thirds full. What erasing leaves less than a
// third full is joined with a neighbour, once the two fit into one node. A map of few entries
// is one small leaf.
//
// Keys and values are moved about freely: a pointer or iterator into a map is good until that
// map is next changed, and an edit pointer also only until the map is copied. Moving a Key or
// Value must not throw, and if memory runs out the process ends.
template <class Key, class Value, persistent::Layout layout = {}>
class PersistentMap {
  using Head = persistent::Head;
  using Leaf = persistent::Node<Key, Value>;
  using Inner = persistent::Node<Key, Head*>;

  static constexpr unsigned leaf_capacity = Leaf::fitting(layout.leaf_bytes, layout.fewest_in_leaf);
  static constexpr unsigned inner_capacity =
      Inner::fitting(layout.inner_bytes, layout.fewest_in_inner);
  // Ten million leaves even if a node in two has one child and the others a third of 16.
  static constexpr unsigned max_levels = 14;

  // The nodes from the root down to a leaf by their level, and the index chosen in each.
  struct Step {
    Head* node = nullptr;
    unsigned index = 0;

    bool operator==(const Step&) const = default;
  };
  using Path = std::array<Step, max_levels>;

 public:
  class Iterator;
  class Appender;

  // What an iterator points at; `const auto& [key, value] = *it` and it->first both work.
  struct Entry {
    const Key& first;
    const Value& second;

    const Entry* operator->() const { return this; }
    friend bool operator==(const Entry& a, const Entry& b) {
      return a.first == b.first && a.second == b.second;
    }
  };

  PersistentMap() = default;
  PersistentMap(const PersistentMap& other) noexcept : root_(other.root_), size_(other.size_) {
    if (root_) root_->share();
  }
  PersistentMap(PersistentMap&& other) noexcept
      : root_(std::exchange(other.root_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PersistentMap& operator=(PersistentMap other) noexcept {
    std::swap(root_, other.root_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PersistentMap() { release(root_); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator begin() const { return Iterator(first_in(root_)); }
  Iterator end() const { return Iterator(); }

  // The first entry whose key is not less than `key`; the first whose key is greater.
  Iterator lower_bound(const Key& key) const { return root_ ? Iterator(way_to(key)) : end(); }
  Iterator upper_bound(const Key& key) const {
    Iterator at = lower_bound(key);
    if (at != end() && !(key < at->first)) ++at;
    return at;
  }

  // The entries with the least and the greatest key.
  std::optional<Entry> first() const { return outermost(false); }
  std::optional<Entry> last() const { return outermost(true); }

  bool contains(const Key& key) const { return find(key) != nullptr; }
  const Value* find(const Key& key) const {
    if (!root_) return nullptr;
    Head* node = root_;
    while (node->level > 0) node = child(node, child_index(node, key));
    const unsigned index = leaf_index(node, key);
    return is_at(node, index, key) ? &leaf(node)->item(index) : nullptr;
  }

  // Inserts or replaces.
  void set(const Key& key, Value value) noexcept {
    const auto [place, inserted] = obtain(key, value);
    if (!inserted) *place = std::move(value);
  }

  // The value at `key`, to be changed in place, or null.
  Value* edit(const Key& key) noexcept {
    if (!root_) return nullptr;
    Path path = way_to(key);
    const auto [node, index] = path[0];
    if (!is_at(node, index, key)) return nullptr;
    own(path);
    return &leaf(path[0].node)->item(index);
  }

  // The value at `key`, to be changed in place, made by Value{} if there was none.
  Value& edit_or_insert(const Key& key) noexcept {
    Value fresh{};
    return *obtain(key, fresh).first;
  }

  // Whether there was such an entry.
  bool erase(const Key& key) noexcept {
    if (!root_) return false;
    Path path = way_to(key);
    const auto [node, index] = path[0];
    if (!is_at(node, index, key)) return false;
    own(path);
    leaf(path[0].node)->erase(index);
    --size_;
    mend(path);
    return true;
  }

  friend bool operator==(const PersistentMap& a, const PersistentMap& b) {
    if (a.root_ == b.root_) return true;
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  friend class PersistentMapInspector;  // lets a test look at the shape of the tree

  static Leaf* leaf(Head* node) { return static_cast<Leaf*>(node); }
  static Inner* inner(Head* node) { return static_cast<Inner*>(node); }

  // Looking.

  // The child where `key` is if it is anywhere.
  static unsigned child_index(Head* node, const Key& key) {
    const unsigned starting_by_key = persistent::count_before(
        inner(node)->keys(), node->count, [&](const Key& start) { return !(key < start); });
    return starting_by_key == 0 ? 0 : starting_by_key - 1;
  }
  static Head* child(Head* node, unsigned index) {
    Head* const below = inner(node)->item(index);
    Leaf::prefetch(below, leaf_capacity);
    return below;
  }
  static unsigned leaf_index(Head* node, const Key& key) {
    return persistent::count_before(
        leaf(node)->keys(), node->count, [&](const Key& other) { return other < key; });
  }
  static bool is_at(Head* node, unsigned index, const Key& key) {
    return index < node->count && !(key < leaf(node)->keys()[index]);
  }

  // To where `key` is or belongs; in the leaf that may be behind the last entry.
  Path way_to(const Key& key) const {
    Path path;
    Head* node = root_;
    while (node->level > 0) {
      const unsigned index = child_index(node, key);
      path[node->level] = {node, index};
      node = child(node, index);
    }
    path[0] = {node, leaf_index(node, key)};
    return path;
  }

  static Path first_in(Head* node) {
    Path path;
    if (node) descend(path, node);
    return path;
  }
  static void descend(Path& path, Head* node) {
    for (; node->level > 0; node = inner(node)->item(0)) path[node->level] = {node, 0};
    path[0] = {node, 0};
  }

  std::optional<Entry> outermost(bool last) const {
    Head* node = root_;
    if (!node) return std::nullopt;
    while (node->level > 0) node = inner(node)->item(last ? node->count - 1U : 0U);
    const unsigned index = last ? node->count - 1U : 0U;
    return Entry{leaf(node)->keys()[index], leaf(node)->item(index)};
  }

  // Owning.

  static void release(Head* node) {
    if (!node || !node->unshare()) return;
    if (node->level == 0) return Leaf::destroy(leaf(node));
    for (unsigned i = 0; i < node->count; ++i) release(inner(node)->item(i));
    Inner::destroy(inner(node));
  }

  static void own(Head*& node) {
    if (node->unshared()) return;
    Head* copy = nullptr;
    if (node->level == 0) {
      copy = leaf(node)->clone();
    } else {
      Inner* const children = inner(node)->clone();
      for (unsigned i = 0; i < children->count; ++i) __builtin_prefetch(children->item(i), 1);
      for (unsigned i = 0; i < children->count; ++i) children->item(i)->share();
      copy = children;
    }
    release(node);
    node = copy;
  }

  // From the root downwards: a clone shares its children, so what was unshared below a shared
  // node is shared once that is cloned.
  void own(Path& path) {
    Head** at = &root_;
    for (unsigned level = root_->level;; --level) {
      own(*at);
      path[level].node = *at;
      if (level == 0) return;
      at = &inner(*at)->item(path[level].index);
    }
  }

  // Inserting.

  // The value at `key`, and whether it was made from `fresh` just now.
  std::pair<Value*, bool> obtain(const Key& key, Value& fresh) {
    if (!root_) root_ = Leaf::make(0, 1);
    Path path = way_to(key);
    if (is_at(path[0].node, path[0].index, key)) {
      own(path);
      return {&leaf(path[0].node)->item(path[0].index), false};
    }
    return {&insert(path, key, std::move(fresh)), true};
  }

  // The key comes by value: the caller's may live in a value of this map, about to move.
  Value& insert(Path& path, Key key, Value value) {
    own(path);
    ++size_;
    for (unsigned level = 1; level <= root_->level; ++level) {
      Key& least = inner(path[level].node)->keys()[0];
      if (path[level].index == 0 && key < least) least = key;
    }
    if (root_->count == root_->capacity && root_->capacity < leaf_capacity && !root_->level) {
      path[0].node = root_ = grown(leaf(root_));
    }
    Value* place = nullptr;
    Leaf* const beside =
        leaf(path[0].node)->add(path[0].index, std::move(key), std::move(value), &place);
    if (beside) add_child(path, beside->keys()[0], beside);
    return *place;
  }

  // A leaf for the same few entries with room for more.
  static Head* grown(Leaf* small) {
    Leaf* const large = Leaf::make(0, std::min(small->capacity * 2U, leaf_capacity));
    small->move_to(*large, 0);
    Leaf::destroy(small);
    return large;
  }

  // Puts a new leaf to the right of the one the path leads to, and so on upwards.
  void add_child(const Path& path, Key key, Head* child) {
    unsigned level = 1;
    for (; level <= root_->level; ++level) {
      const auto [node, index] = path[level];
      Inner* const beside = inner(node)->add(index + 1, std::move(key), child);
      if (!beside) return;
      key = beside->keys()[0];
      child = beside;
    }
    CHECK(level < max_levels);
    Inner* const top = Inner::make(level, inner_capacity);
    top->insert(0, root_->level == 0 ? leaf(root_)->keys()[0] : inner(root_)->keys()[0], root_);
    top->insert(1, std::move(key), child);
    root_ = top;
  }

  // Erasing.

  // Sees to the nodes of the path, whose leaf has just lost an entry, from there upwards.
  void mend(const Path& path) {
    for (unsigned level = 0; level < root_->level; ++level) {
      Inner& parent = *inner(path[level + 1].node);
      const unsigned index = path[level + 1].index;
      if (!(level == 0 ? mend_child<Leaf>(parent, index) : mend_child<Inner>(parent, index))) break;
    }
    while (root_->level > 0 && root_->count == 1) {
      Head* const only = inner(root_)->item(0);
      only->share();
      release(root_);
      root_ = only;
    }
    if (root_->count == 0) release(std::exchange(root_, nullptr));
  }

  // Drops a child that is empty, or joins one that is less than a third full with a neighbour
  // if the two fit into one node. Beside a full neighbour it is left alone: a run that has just
  // begun a node must not empty half of the full one before it. Says whether a child is gone.
  template <class Node>
  static bool mend_child(Inner& parent, unsigned index) {
    const Head* const node = parent.item(index);
    const auto fits_with = [&](unsigned other) {
      return other < parent.count && node->count + parent.item(other)->count <= node->capacity;
    };
    if (node->count == 0) {
      release(parent.item(index));
      parent.erase(index);
      return true;
    }
    if (node->count * 3U >= node->capacity) return false;
    if (index > 0 && fits_with(index - 1)) {
      join<Node>(parent, index - 1);
      return true;
    }
    if (!fits_with(index + 1)) return false;
    join<Node>(parent, index);
    return true;
  }

  // Moves all that is in the child behind the one at `index` into that one.
  template <class Node>
  static void join(Inner& parent, unsigned index) {
    own(parent.item(index));
    own(parent.item(index + 1));
    auto* const left = static_cast<Node*>(parent.item(index));
    auto* const right = static_cast<Node*>(parent.item(index + 1));
    right->move_to(*left, 0);
    Node::destroy(right);
    parent.erase(index + 1);
  }

  Head* root_ = nullptr;
  std::size_t size_ = 0;
};

// In key order. Holds its path in itself and allocates nothing.
template <class Key, class Value, persistent::Layout layout>
class PersistentMap<Key, Value, layout>::Iterator {
 public:
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::input_iterator_tag;  // an Entry is not a reference
  using value_type = Entry;
  using difference_type = std::ptrdiff_t;
  using pointer = Entry;
  using reference = Entry;

  Iterator() = default;

  Entry operator*() const {
    const auto [node, index] = path_[0];
    return Entry{leaf(node)->keys()[index], leaf(node)->item(index)};
  }
  Entry operator->() const { return **this; }
  Iterator& operator++() {
    ++path_[0].index;
    settle();
    return *this;
  }
  Iterator operator++(int) {
    Iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Iterator& other) const { return path_[0] == other.path_[0]; }

 private:
  friend PersistentMap;
  explicit Iterator(const Path& path) : path_(path) { settle(); }

  // From behind the last entry of a leaf to the first of the next leaf, or to the end.
  void settle() {
    if (!path_[0].node || path_[0].index < path_[0].node->count) return;
    for (unsigned level = 1; level < max_levels && path_[level].node; ++level) {
      auto& [node, index] = path_[level];
      if (++index < node->count) return descend(path_, inner(node)->item(index));
    }
    path_[0] = {};
  }

  Path path_ = {};  // at the end, the leaf is null
};

// Makes a map of entries that come in ascending order, as a snapshot has them: nothing has to be
// looked for, so it takes between a sixth of the time that `set` takes (small keys without values:
// 12 and 70 ns) and a good half (strings: 88 and 155 ns; bench/persistent_map_bench). The map is
// the one that `set` would have made of them.
template <class Key, class Value, persistent::Layout layout>
class PersistentMap<Key, Value, layout>::Appender {
 public:
  // False: the key is not above the last one. Then nothing was appended.
  bool append(Key key, Value value) noexcept {
    Head*& last = edge_[0].node;
    if (!last) {
      last = map_.root_ = Leaf::make(0, 1);
    } else if (!(leaf(last)->keys()[last->count - 1U] < key)) {
      return false;
    }
    ++map_.size_;
    if (last->count == last->capacity && last->capacity < leaf_capacity) {
      last = map_.root_ = grown(leaf(last));
    }
    if (last->count < last->capacity) {
      leaf(last)->insert(last->count, std::move(key), std::move(value));
    } else {
      begin_leaf(std::move(key), std::move(value));
    }
    return true;
  }

  PersistentMap take() && {
    edge_ = {};
    return std::move(map_);
  }

 private:
  void begin_leaf(Key key, Value value) {
    Leaf* const beside = Leaf::make(0, leaf_capacity);
    beside->insert(0, std::move(key), std::move(value));
    map_.add_child(edge_, beside->keys()[0], beside);
    Head* node = map_.root_;
    for (; node->level > 0; node = inner(node)->item(node->count - 1U)) {
      edge_[node->level] = {node, node->count - 1U};
    }
    edge_[0].node = node;
  }

  PersistentMap map_;
  Path edge_ = {};  // the last node of each level, and in it the last child
};

// An ordered set that is copied in O(1): the keys of a PersistentMap, and not a byte more.
template <class Key>
class PersistentSet {
  struct Nothing {
    bool operator==(const Nothing&) const = default;
  };
  using Map = PersistentMap<Key, Nothing>;

 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Key;
    using difference_type = std::ptrdiff_t;
    using pointer = const Key*;
    using reference = const Key&;

    Iterator() = default;
    const Key& operator*() const { return (*at_).first; }
    const Key* operator->() const { return &(*at_).first; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    friend PersistentSet;
    explicit Iterator(const typename Map::Iterator& at) : at_(at) {}

    typename Map::Iterator at_;
  };

  // As PersistentMap::Appender.
  class Appender {
   public:
    bool append(Key key) { return to_.append(std::move(key), Nothing{}); }
    PersistentSet take() && {
      PersistentSet set;
      set.map_ = std::move(to_).take();
      return set;
    }

   private:
    typename Map::Appender to_;
  };

  std::size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }
  Iterator begin() const { return Iterator(map_.begin()); }
  Iterator end() const { return Iterator(map_.end()); }
  Iterator lower_bound(const Key& key) const { return Iterator(map_.lower_bound(key)); }
  Iterator upper_bound(const Key& key) const { return Iterator(map_.upper_bound(key)); }
  bool contains(const Key& key) const { return map_.contains(key); }

  // The least and the greatest key; null if the set is empty.
  const Key* first() const { return key_of(map_.first()); }
  const Key* last() const { return key_of(map_.last()); }

  // Whether the key was not there before.
  bool insert(const Key& key) {
    const std::size_t before = size();
    map_.set(key, Nothing{});
    return size() != before;
  }
  // Whether the key was there.
  bool erase(const Key& key) { return map_.erase(key); }

  bool operator==(const PersistentSet&) const = default;

 private:
  static const Key* key_of(const std::optional<typename Map::Entry>& entry) {
    return entry ? &entry->first : nullptr;
  }

  Map map_;
};

}  // namespace reeve
