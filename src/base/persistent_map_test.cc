#include "base/persistent_map.h"

#include "base/boxed.h"
#include "base/die_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <compare>
#include <cstdint>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace reeve {

// Looks at the shape of the tree and says what is wrong with it.
class PersistentMapInspector {
 public:
  template <class Map>
  static std::string problem(const Map& map) {
    if (!map.root_) return map.size_ == 0 ? "" : "entries without a root";
    if (map.root_->level > 0 && map.root_->count < 2) return "a root with fewer than two children";
    const Part whole = look<Map>(map.root_, true);
    if (!whole.problem.empty()) return whole.problem;
    return whole.entries == map.size_ ? "" : "the size is not the number of entries";
  }

  template <class Map>
  static std::size_t leaves(const Map& map) {
    return map.root_ ? look<Map>(map.root_, true).leaves : 0;
  }
  template <class Map>
  static unsigned levels(const Map& map) {
    return map.root_ ? map.root_->level + 1U : 0U;
  }
  template <class Map>
  static constexpr unsigned leaf_capacity() {
    return Map::leaf_capacity;
  }
  template <class Map>
  static unsigned root_capacity(const Map& map) {
    return map.root_->capacity;
  }

 private:
  struct Part {
    std::string problem;
    std::size_t entries = 0;
    std::size_t leaves = 0;
  };

  // Compares neighbouring keys only, which is enough for all of them: the greatest key of a
  // child is found by going down to it.
  template <class Map>
  static Part look(typename Map::Head* node, bool is_root) {
    if (node->refs == 0) return {"a node that nobody holds"};
    if (node->count == 0) return {"an empty node"};
    if (node->count > node->capacity) return {"more entries than there is room for"};
    if (node->level == 0) {
      const auto* keys = Map::leaf(node)->keys();
      if (!is_root && node->capacity != Map::leaf_capacity) return {"a small leaf inside"};
      for (unsigned i = 1; i < node->count; ++i) {
        if (!(keys[i - 1] < keys[i])) return {"keys out of order in a leaf"};
      }
      return {"", node->count, 1};
    }

    Part sum;
    auto* inner = Map::inner(node);
    for (unsigned i = 0; i < node->count; ++i) {
      auto* child = inner->item(i);
      if (child->level + 1 != node->level) return {"a child on the wrong level"};
      Part part = look<Map>(child, false);
      if (!part.problem.empty()) return part;
      sum.entries += part.entries;
      sum.leaves += part.leaves;
      if (outermost<Map>(child, false) < inner->keys()[i]) return {"a key above its child"};
      if (i > 0 && !(outermost<Map>(inner->item(i - 1), true) < inner->keys()[i])) {
        return {"a key not above the child before"};
      }
    }
    return sum;
  }

  template <class Map>
  static const auto& outermost(typename Map::Head* node, bool last) {
    while (node->level > 0) node = Map::inner(node)->item(last ? node->count - 1U : 0U);
    return Map::leaf(node)->keys()[last ? node->count - 1U : 0U];
  }
};

namespace {

using reeve::testing::die;

// Nodes so small that a few hundred entries make a high tree.
constexpr persistent::Layout tiny = {
    .leaf_bytes = 0, .inner_bytes = 0, .fewest_in_leaf = 4, .fewest_in_inner = 6};

template <class Map>
void expect_sound(const Map& map) {
  EXPECT_EQ(PersistentMapInspector::problem(map), "");
}

template <class Map>
double fill(const Map& map) {
  return static_cast<double>(map.size()) /
         static_cast<double>(PersistentMapInspector::leaves(map) *
                             PersistentMapInspector::leaf_capacity<Map>());
}

template <class Map, class Model>
bool same(const Map& map, const Model& model) {
  return map.size() == model.size() &&
         std::ranges::equal(map, model, [](const auto& a, const auto& b) {
           return a.first == b.first && a.second == b.second;
         });
}

// A permutation of 0..n-1 that looks random and is the same everywhere.
std::vector<int> shuffled(int n) {
  std::vector<int> numbers(static_cast<std::size_t>(n));
  std::uint64_t state = 1;
  for (int i = 0; i < n; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::size_t j = (state >> 33) % (static_cast<std::size_t>(i) + 1);
    numbers[static_cast<std::size_t>(i)] = numbers[j];
    numbers[j] = i;
  }
  return numbers;
}

// Counts its copies, to see who clones and who writes in place, and its moves.
struct Counted {
  explicit Counted(int n) : number(n) {}
  Counted(const Counted& other) : number(other.number) { ++copies; }
  Counted(Counted&& other) noexcept : number(other.number) { ++moves; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() = default;

  int number;
  static inline int copies = 0;
  static inline int moves = 0;
};

PersistentMap<int, Counted> a_thousand() {
  PersistentMap<int, Counted> map;
  for (int i = 0; i < 1000; ++i) map.set(i, Counted(i));
  return map;
}

// The key and value kinds that states are made of.
struct Place {
  std::uint32_t queue;
  std::uint32_t priority;
  std::uint64_t number;

  auto operator<=>(const Place&) const = default;
};
struct Slot {
  std::string name;
  int number;

  auto operator<=>(const Slot&) const = default;
};
using Anything = std::variant<int, std::string, Boxed<std::string>>;

template <class Key>
Key make_key(int n);
template <>
int make_key(int n) {
  return n;
}
template <>
Place make_key(int n) {
  const auto bits = static_cast<std::uint32_t>(n);
  return {bits % 3, bits / 3 % 3, bits / 9};
}
template <>
Slot make_key(int n) {
  return {n % 2 == 0 ? "short" : "a name too long for the small string buffer", n / 2};
}

template <class Value>
Value make_value(int n);
template <>
int make_value(int n) {
  return n;
}
template <>
std::string make_value(int n) {
  return std::string(static_cast<std::size_t>(n % 40), 'x') + std::to_string(n);
}
template <>
Anything make_value(int n) {
  if (n % 3 == 0) return n;
  if (n % 3 == 1) return make_value<std::string>(n);
  return Boxed<std::string>(make_value<std::string>(n));
}

// Random operations on a map and on a std::map at once. Copies are kept, and looked at again
// at the end, when everything that shared nodes with them has been changed.
template <class Key, class Value, persistent::Layout layout>
void agrees_with_a_model() {
  using Map = PersistentMap<Key, Value, layout>;
  using Model = std::map<Key, Value>;
  Map map;
  Model model;
  std::vector<std::pair<Map, Model>> copies;

  // Ranges of keys, so that runs of neighbours come and go and the tree grows and shrinks.
  const int turns = *rc::gen::inRange(0, 60);
  for (int turn = 0; turn < turns; ++turn) {
    const int from = *die(400);
    const int length = *rc::gen::weightedElement<int>({{4, 1}, {2, 15}, {1, 100}});
    const bool backwards = *rc::gen::arbitrary<bool>();
    const int operation = *die(8);
    for (int i = 0; i < length; ++i) {
      const int n = backwards ? from + length - i : from + i;
      const Key key = make_key<Key>(n);
      const Value value = make_value<Value>(n * 7 + turn);
      switch (operation) {
        case 0:
        case 1:
          map.set(key, value);
          model.insert_or_assign(key, value);
          break;
        case 2:
          map.edit_or_insert(key) = value;
          model[key] = value;
          break;
        case 3: {
          Value* const place = map.edit(key);
          RC_ASSERT((place != nullptr) == model.contains(key));
          if (place) *place = model[key] = value;
          break;
        }
        case 4:
        case 5:
          RC_ASSERT(map.erase(key) == (model.erase(key) == 1));
          break;
        case 6: {
          const auto expected = model.lower_bound(key);
          const auto at = map.lower_bound(key);
          RC_ASSERT((at == map.end()) == (expected == model.end()));
          if (at != map.end()) RC_ASSERT(at->first == expected->first);
          const auto expected_after = model.upper_bound(key);
          const auto after = map.upper_bound(key);
          RC_ASSERT((after == map.end()) == (expected_after == model.end()));
          if (after != map.end()) RC_ASSERT(after->second == expected_after->second);
          break;
        }
        default: {
          const auto expected = model.find(key);
          const Value* const found = map.find(key);
          RC_ASSERT((found != nullptr) == (expected != model.end()));
          if (found) RC_ASSERT(*found == expected->second);
        }
      }
    }
    RC_ASSERT(PersistentMapInspector::problem(map) == "");
    if (*die(4) == 0) copies.emplace_back(map, model);
    if (*die(12) == 0 && !copies.empty()) {
      std::tie(map, model) = copies.front();  // the past goes on beside what came after it
      copies.erase(copies.begin());
    }
  }

  copies.emplace_back(map, model);
  for (const auto& [copy, expected] : copies) {
    RC_ASSERT(PersistentMapInspector::problem(copy) == "");
    RC_ASSERT(same(copy, expected));
    RC_ASSERT(copy.first().has_value() == !expected.empty());
    if (!expected.empty()) RC_ASSERT(copy.first()->first == expected.begin()->first);
    if (!expected.empty()) RC_ASSERT(copy.last()->first == expected.rbegin()->first);
    RC_ASSERT((copy == map) == (expected == model));
  }
}

RC_GTEST_PROP(PersistentMap, AgreesWithStdMapAndSoDoesEveryCopyOfIt, ()) {
  agrees_with_a_model<int, int, tiny>();
}
RC_GTEST_PROP(PersistentMap, AgreesWithStdMapWhenItsNodesAreOfTheUsualSize, ()) {
  agrees_with_a_model<Place, int, persistent::Layout{}>();
}
RC_GTEST_PROP(PersistentMap, AgreesWithStdMapWhenKeysOwnMemory, ()) {
  agrees_with_a_model<Slot, std::string, tiny>();
}
RC_GTEST_PROP(PersistentMap, AgreesWithStdMapWhenValuesAreVariants, ()) {
  agrees_with_a_model<Slot, Anything, tiny>();
}

TEST(PersistentMap, ACopyStaysAsItWasWhateverTheOriginalDoes) {
  PersistentMap<int, std::string, tiny> map;
  for (int i = 0; i < 300; ++i) map.set(i, "old");
  const PersistentMap<int, std::string, tiny> copy = map;

  for (int i = 0; i < 300; i += 2) map.set(i, "new");
  for (int i = 0; i < 300; i += 3) map.erase(i);
  for (int i = 300; i < 600; ++i) map.set(i, "more");
  map = {};

  EXPECT_EQ(copy.size(), 300U);
  for (const auto& [key, value] : copy) EXPECT_EQ(value, "old") << key;
  expect_sound(copy);
}

TEST(PersistentMap, AMapNobodyHasCopiedIsChangedInPlace) {
  PersistentMap<int, Counted> map = a_thousand();
  Counted::copies = 0;

  for (int i = 0; i < 1000; ++i) map.edit(i)->number += 1;
  for (int i = 1000; i < 2000; ++i) map.set(i, Counted(i));
  for (int i = 0; i < 2000; ++i) map.erase(i);

  EXPECT_EQ(Counted::copies, 0);
}

TEST(PersistentMap, ACopyCostsNothingAndTheNextChangeOneLeaf) {
  PersistentMap<int, Counted> map = a_thousand();
  const int one_leaf = PersistentMapInspector::leaf_capacity<PersistentMap<int, Counted>>();
  Counted::copies = 0;

  const PersistentMap<int, Counted> copy = map;
  EXPECT_EQ(Counted::copies, 0);

  map.edit(500)->number = -1;
  EXPECT_GT(Counted::copies, 0);
  EXPECT_LE(Counted::copies, one_leaf);
  EXPECT_EQ(copy.find(500)->number, 500);

  Counted::copies = 0;
  map.edit(500)->number = -2;
  EXPECT_EQ(Counted::copies, 0);  // the path is ours now
}

TEST(PersistentMap, AskingForWhatIsNotThereCopiesNothing) {
  PersistentMap<int, Counted> map = a_thousand();
  const PersistentMap<int, Counted> copy = map;
  Counted::copies = 0;

  EXPECT_EQ(map.edit(1000), nullptr);
  EXPECT_FALSE(map.erase(-1));

  EXPECT_EQ(Counted::copies, 0);
  EXPECT_EQ(map.find(7), copy.find(7));  // the very same object
}

TEST(PersistentMap, IsEmptyAtFirstAndAgainWhenAllIsErased) {
  PersistentMap<int, int> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.begin(), map.end());
  EXPECT_EQ(map.lower_bound(1), map.end());
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(map.edit(1), nullptr);
  EXPECT_FALSE(map.erase(1));
  EXPECT_FALSE(map.first());
  EXPECT_FALSE(map.last());

  map.set(1, 10);
  EXPECT_TRUE(map.contains(1));
  EXPECT_TRUE(map.erase(1));
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map, (PersistentMap<int, int>()));
}

TEST(PersistentMap, AMovedFromMapIsEmpty) {
  PersistentMap<int, int> map;
  map.set(1, 1);
  const PersistentMap<int, int> taken = std::move(map);

  EXPECT_EQ(taken.size(), 1U);
  EXPECT_TRUE(map.empty());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
}

TEST(PersistentMap, IsEqualToAnotherWithTheSameEntriesHoweverTheyCameAbout) {
  PersistentMap<int, int, tiny> ascending;
  PersistentMap<int, int, tiny> random;
  for (int i = 0; i < 500; ++i) ascending.set(i, i);
  for (const int i : shuffled(1000)) random.set(i, i);
  for (int i = 500; i < 1000; ++i) random.erase(i);

  EXPECT_EQ(ascending, random);
  random.set(250, -1);
  EXPECT_NE(ascending, random);
}

TEST(PersistentMap, AKeyMayBeTakenFromAValueThatMovesWhenItIsInserted) {
  PersistentMap<std::string, std::string, tiny> map;
  const std::string tail = " and more than a small string holds";
  map.set("0" + tail, "1" + tail);
  for (int i = 0; i < 50; ++i) {
    const std::string last(map.last()->first);
    map.set(*map.find(last), std::to_string(i + 2) + tail);
    if (i == 7) break;  // "10" would sort before "2"
  }

  EXPECT_EQ(map.size(), 9U);
  EXPECT_EQ(map.last()->first, "8" + tail);
}

TEST(PersistentMap, AnIteratorWalksTheRestOfTheMapFromAnyKey) {
  PersistentMap<int, int, tiny> map;
  for (int i = 0; i < 1000; i += 2) map.set(i, i);

  for (int start = -1; start <= 1000; ++start) {
    int expected = start <= 0 ? 0 : start + start % 2;
    for (auto at = map.lower_bound(start); at != map.end(); at++, expected += 2) {
      ASSERT_EQ(at->first, expected);
    }
    ASSERT_EQ(expected, 1000);
  }
  static_assert(std::ranges::forward_range<PersistentMap<int, int>>);
  static_assert(std::ranges::forward_range<PersistentSet<int>>);
}

TEST(PersistentMap, AscendingKeysFillTheirLeaves) {
  PersistentMap<Place, int> map;
  for (std::uint64_t i = 0; i < 20'000; ++i) map.set({1, 1, i}, 0);

  expect_sound(map);
  EXPECT_GT(fill(map), 0.98);
}

TEST(PersistentMap, AnAppenderMakesTheMapThatSetWouldHaveMade) {
  using Map = PersistentMap<int, std::string>;
  for (const int size : {0, 1, 2, 7, 8, 9, 100, 5000, 30000}) {
    Map by_set;
    Map::Appender appender;
    for (int i = 0; i < size; ++i) {
      by_set.set(3 * i, std::to_string(i));
      EXPECT_TRUE(appender.append(3 * i, std::to_string(i)));
    }
    Map appended = std::move(appender).take();
    ASSERT_EQ(PersistentMapInspector::problem(appended), "");
    EXPECT_EQ(appended, by_set);
    EXPECT_EQ(PersistentMapInspector::leaves(appended), PersistentMapInspector::leaves(by_set));
    EXPECT_EQ(PersistentMapInspector::levels(appended), PersistentMapInspector::levels(by_set));

    const Map copy = appended;
    for (int i = 0; i < size; ++i) appended.set(3 * i + 1, "between");
    for (int i = 0; i < size; ++i) appended.erase(3 * i);
    ASSERT_EQ(PersistentMapInspector::problem(appended), "");
    EXPECT_EQ(copy, by_set);
  }
}

TEST(PersistentMap, AnAppenderRefusesWhatIsNotAbove) {
  PersistentMap<int, int>::Appender appender;
  EXPECT_TRUE(appender.append(5, 1));
  EXPECT_FALSE(appender.append(5, 2));
  EXPECT_FALSE(appender.append(4, 3));
  EXPECT_TRUE(appender.append(6, 4));
  PersistentMap<int, int> expected;
  expected.set(5, 1);
  expected.set(6, 4);
  EXPECT_EQ(std::move(appender).take(), expected);
}

TEST(PersistentMap, SeveralAscendingRunsInOneMapFillTheirLeavesToo) {
  PersistentMap<Place, int> map;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    for (std::uint32_t queue = 0; queue < 10; ++queue) map.set({queue, 1, i}, 0);
  }

  expect_sound(map);
  EXPECT_GT(fill(map), 0.95);
}

TEST(PersistentMap, ARunFillsItsLeavesAlsoWhenSomeOfItIsErasedOnTheWay) {
  PersistentMap<Place, int> map;
  map.set({2, 0, 0}, 0);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    map.set({1, 1, i}, 0);
    if (i % 4 == 3) map.erase({1, 1, i - 2});
  }

  expect_sound(map);
  EXPECT_GT(fill(map), 0.9);
}

TEST(PersistentMap, ARunFillsItsLeavesAlsoWhenCopiesAreTakenOnTheWay) {
  PersistentMap<Place, int> map;
  PersistentMap<Place, int> copy;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    copy = map;
    map.set({1, 1, i}, 0);
  }

  expect_sound(map);
  EXPECT_GT(fill(map), 0.98);
}

TEST(PersistentMap, DescendingAndRandomKeysLeaveNoLeafWasted) {
  PersistentMap<int, int> descending;
  for (int i = 20'000; i > 0; --i) descending.set(i, i);
  EXPECT_GE(fill(descending), 0.5);

  PersistentMap<int, int> random;
  for (const int i : shuffled(20'000)) random.set(i, i);
  EXPECT_GE(fill(random), 0.6);

  // From above, into the gaps between the leaves of a full map.
  PersistentMap<int, int, tiny> gaps;
  const int one_leaf = tiny.fewest_in_leaf;
  for (int i = 0; i < 500; ++i) gaps.set(i * 100, i);
  for (int gap = one_leaf - 1; gap < 500; gap += one_leaf) {
    for (int i = 90; i > 0; i -= 3) gaps.set(gap * 100 + i, i);
  }
  expect_sound(gaps);
  EXPECT_GE(fill(gaps), 0.5);
}

TEST(PersistentMap, NeighboursAreJoinedFromEitherSideOnceTheyFitIntoOneLeaf) {
  for (const bool left_first : {true, false}) {
    PersistentMap<int, int, tiny> map;
    for (int i = 0; i < 8; ++i) map.set(i, i);
    for (const int key : {left_first ? 1 : 5, left_first ? 2 : 6, left_first ? 3 : 7}) {
      map.erase(key);
    }
    EXPECT_EQ(PersistentMapInspector::leaves(map), 2U);  // one entry beside a full leaf
    for (const int key : {left_first ? 5 : 1, left_first ? 6 : 2, left_first ? 7 : 3}) {
      map.erase(key);
    }
    EXPECT_EQ(PersistentMapInspector::leaves(map), 1U);
    EXPECT_EQ(map.size(), 2U);
  }
}

TEST(PersistentMap, RandomErasingLeavesNodesAThirdFull) {
  PersistentMap<int, int> map;
  for (int i = 0; i < 50'000; ++i) map.set(i, i);
  for (const int i : shuffled(50'000)) {
    map.erase(i);
    if (map.size() % 10'000 == 100) {
      expect_sound(map);
      EXPECT_GE(fill(map), 0.3) << map.size();
    }
  }
  EXPECT_EQ(PersistentMapInspector::leaves(map), 0U);
}

TEST(PersistentMap, ErasingAtTheEndsMovesFewOfTheOthers) {
  using Map = PersistentMap<int, Counted>;
  const int one_leaf = PersistentMapInspector::leaf_capacity<Map>();
  Map map = a_thousand();

  Counted::moves = 0;
  for (int i = 0; i < 500; ++i) map.erase(i);
  EXPECT_LT(Counted::moves / 500, one_leaf * 3 / 4);

  Counted::moves = 0;
  for (int i = 999; i >= 500; --i) map.erase(i);
  EXPECT_LT(Counted::moves / 500, 2);
}

TEST(PersistentMap, AQueueMovesThroughKeysWithoutGrowing) {
  PersistentMap<int, int, tiny> map;
  for (int i = 0; i < 100; ++i) map.set(i, i);
  for (int i = 100; i < 20'000; ++i) {
    ASSERT_EQ(map.first()->first, i - 100);
    map.erase(i - 100);
    map.set(i, i);
    ASSERT_LE(PersistentMapInspector::leaves(map), 40U);
  }
  expect_sound(map);
  EXPECT_LE(PersistentMapInspector::levels(map), 4U);
}

TEST(PersistentMap, AFewEntriesAreOneSmallLeaf) {
  using Map = PersistentMap<Place, int>;
  Map map;
  map.set({0, 0, 0}, 1);
  EXPECT_EQ(PersistentMapInspector::root_capacity(map), 1U);

  for (std::uint64_t i = 1; i < 5; ++i) map.set({0, 0, i}, 1);
  EXPECT_EQ(PersistentMapInspector::root_capacity(map), 8U);
  EXPECT_LT(8U, PersistentMapInspector::leaf_capacity<Map>());
  expect_sound(map);
}

TEST(PersistentMap, ACopyIsReadByAnotherThreadWhileTheMapGoesOn) {
  PersistentMap<int, std::string, tiny> map;
  for (int i = 0; i < 1000; ++i) map.set(i, "0");

  for (int round = 1; round <= 20; ++round) {
    const std::jthread reader([snapshot = map, round] {
      std::size_t seen = 0;
      for (const auto& [key, value] : snapshot) {
        EXPECT_EQ(value, std::to_string(round - 1)) << key;
        ++seen;
      }
      EXPECT_EQ(seen, snapshot.size());
    });
    for (int i = round; i < 1000; ++i) *map.edit(i) = std::to_string(round);
    map.erase(round - 1);
  }
}

TEST(PersistentMap, CopiesAreMadeChangedAndDroppedOnSeveralThreads) {
  PersistentMap<int, int, tiny> origin;
  for (int i = 0; i < 500; ++i) origin.set(i, i);

  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([mine = origin, t]() mutable {
      for (int round = 0; round < 50; ++round) {
        const PersistentMap<int, int, tiny> kept = mine;
        for (int i = t; i < 500; i += 7) mine.set(i, -round);
        mine.erase(round);
        EXPECT_TRUE(kept.contains(round));
      }
    });
  }
  for (int i = 0; i < 500; ++i) origin.erase(i);
  EXPECT_TRUE(origin.empty());
}

TEST(PersistentSet, TakesNoRoomBesideItsKeys) {
  struct Nothing {};
  using Set = PersistentMap<Place, Nothing>;
  constexpr unsigned in_a_kilobyte = (1024 - 16) / sizeof(Place);
  EXPECT_EQ(PersistentMapInspector::leaf_capacity<Set>(), in_a_kilobyte);
}

TEST(PersistentSet, IsAnOrderedSetThatKeepsItsCopies) {
  PersistentSet<Slot> set;
  std::set<Slot> model;
  for (const int i : shuffled(500)) {
    EXPECT_TRUE(set.insert(make_key<Slot>(i)));
    model.insert(make_key<Slot>(i));
  }
  EXPECT_FALSE(set.insert(make_key<Slot>(3)));
  const PersistentSet<Slot> copy = set;
  EXPECT_TRUE(set.erase(make_key<Slot>(3)));
  EXPECT_FALSE(set.erase(make_key<Slot>(3)));

  EXPECT_TRUE(std::ranges::equal(copy, model));
  EXPECT_TRUE(copy.contains(make_key<Slot>(3)));
  EXPECT_FALSE(set.contains(make_key<Slot>(3)));
  EXPECT_NE(copy, set);
  EXPECT_EQ(*set.first(), *model.begin());
  EXPECT_EQ(*set.last(), *model.rbegin());
  EXPECT_EQ(*set.lower_bound({"short", 0}), (Slot{"short", 0}));
  EXPECT_EQ(set.upper_bound({"short", 0})->number, 1);
  EXPECT_EQ(PersistentSet<int>().first(), nullptr);
  EXPECT_EQ(PersistentSet<int>().last(), nullptr);
}

}  // namespace
}  // namespace reeve
