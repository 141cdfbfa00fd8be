#pragma once

#include "base/boxed.h"
#include "base/bytes.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "core/id.h"
#include "core/reply.h"

#include <boost/pfr/core.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// Any value of any type of the core, made from a seed: for tests that say "whatever comes in".
// Values are drawn from small pools so that they meet (the same three names, the same thirty
// ids), with the edges of their types thrown in. New inputs are covered the day they are
// written: what a type consists of is read off the type.
namespace reeve::testing {

// What there is for an input to meet. Without it ids, projects and texts are drawn as evenly as all
// else, and next to nothing that is asked for exists.
using Known = std::tuple<std::vector<ItemId>,
                         std::vector<PipelineId>,
                         std::vector<WorkId>,
                         std::vector<BoardTaskId>,
                         std::vector<DecisionId>,
                         std::vector<DispatchId>,
                         std::vector<SessionId>,
                         std::vector<WaiterId>,
                         std::vector<Token>,
                         std::vector<EffectId>>;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::optional<Known> known;

  std::uint64_t roll() {  // splitmix64
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return roll() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>)
void fill(Dice& dice, T& value) {
  if (dice.one_in(12)) {
    constexpr std::array edges{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}};
    value = edges[dice.below(edges.size())];
  } else {
    value = static_cast<T>(dice.below(30));
  }
}

inline void fill(Dice& dice, bool& value) { value = dice.one_in(2); }

// How many enumerators an enumeration has, if they count up from 0: both compilers print a value
// without a name as a cast.
template <auto value>
constexpr bool has_name() {
  return std::string_view(__PRETTY_FUNCTION__).find("= (") == std::string_view::npos;
}

template <class T, int from = 0>
constexpr std::uint64_t count_enumerators() {
  if constexpr (from < 64 && has_name<static_cast<T>(from)>()) {
    return count_enumerators<T, from + 1>();
  } else {
    return from;
  }
}

template <class T>
  requires std::is_enum_v<T>
void fill(Dice& dice, T& value) {
  static_assert(count_enumerators<T>() > 0);
  value = static_cast<T>(dice.below(count_enumerators<T>()));
}

// Whether what is drawn is to be something that makes sense where there is something to meet.
inline bool aims(Dice& dice) { return dice.known && !dice.one_in(10); }

inline void fill(Dice& dice, std::string& value) {
  static const std::array<std::string, 12> pool{
      "a", "b", "c", "main", "", "-x", "..", "pipe-000000", "{a}", "ci:green", "*", "a\nb"};
  if (aims(dice)) {
    value = pool[dice.below(dice.one_in(3) ? 3 : 1)];
    return;
  }
  value = dice.one_in(40) ? std::string(300, 'x') : pool[dice.below(pool.size())];
  // Longer than any text may be: it is cut, or refused.
  if (dice.one_in(4000)) value = std::string(110'000, 'y');
}

inline void fill(Dice& dice, Bytes& value) {
  std::string text;
  fill(dice, text);
  value = Bytes(text);
}

template <class Rep, class Period>
void fill(Dice& dice, std::chrono::duration<Rep, Period>& value) {
  using D = std::chrono::duration<Rep, Period>;
  switch (dice.below(dice.known ? 24 : 6)) {
    case 0:
      value = D{0};
      break;
    case 1:
      value = dice.one_in(2) ? D::max() : D::min();
      break;
    case 2:
      value = D{-5};
      break;
    default:
      value = std::chrono::duration_cast<D>(std::chrono::milliseconds{dice.below(100'000)});
  }
}

template <class Clock, class D>
void fill(Dice& dice, std::chrono::time_point<Clock, D>& value) {
  D since;
  fill(dice, since);
  value = std::chrono::time_point<Clock, D>(since);
}

template <class A, class B>
void fill(Dice& dice, std::pair<A, B>& value);
template <class T>
void fill(Dice& dice, std::optional<T>& value);
template <class T>
void fill(Dice& dice, Boxed<T>& value);
template <class T>
void fill(Dice& dice, std::vector<T>& value);
template <class... Ts>
void fill(Dice& dice, std::variant<Ts...>& value);
template <class Key, class Value>
void fill(Dice& dice, PersistentMap<Key, Value>& value);

inline void fill(Dice& dice, Reply& reply);

template <class T>
  requires std::is_aggregate_v<T>
void fill(Dice& dice, T& value) {
  boost::pfr::for_each_field(value, [&](auto& field) { fill(dice, field); });
}

inline void fill(Dice& dice, Reply& reply) { fill(dice, reply.value); }

inline void fill(Dice& dice, ProjectNo& value) {
  if (aims(dice)) {
    value = default_project;
  } else {
    fill(dice, value.value);
  }
}

// Of those there are, if there are any.
template <class Id>
bool meet(Dice& dice, Id& value) {
  if (!aims(dice)) return false;
  const std::vector<Id>& ids = std::get<std::vector<Id>>(*dice.known);
  if (!ids.empty()) value = ids[dice.below(ids.size())];
  return !ids.empty();
}

template <class Kind>
void fill(Dice& dice, Number<Kind>& value) {
  if (!meet(dice, value)) fill(dice, value.value);
}

inline void fill(Dice& dice, EffectId& value) {
  if (meet(dice, value)) return;
  fill(dice, value.sequence);
  fill(dice, value.index);
}

template <class A, class B>
void fill(Dice& dice, std::pair<A, B>& value) {
  fill(dice, value.first);
  fill(dice, value.second);
}

template <class T>
void fill(Dice& dice, std::optional<T>& value) {
  value.reset();
  if (dice.one_in(2)) fill(dice, value.emplace());
}

template <class T>
void fill(Dice& dice, Boxed<T>& value) {
  value.reset();
  if (dice.one_in(2)) fill(dice, value.edit());
}

template <class T>
void fill(Dice& dice, std::vector<T>& value) {
  value.clear();
  for (std::uint64_t count = dice.below(4); count > 0; --count) {
    T element{};
    fill(dice, element);
    value.push_back(std::move(element));
  }
}

template <class... Ts>
void fill(Dice& dice, std::variant<Ts...>& value) {
  using Fill = void (*)(Dice&, std::variant<Ts...>&);
  static constexpr std::array<Fill, sizeof...(Ts)> fills{
      [](Dice& with, std::variant<Ts...>& into) { fill(with, into.template emplace<Ts>()); }...};
  fills[dice.below(fills.size())](dice, value);
}

template <class Key, class Value>
void fill(Dice& dice, PersistentMap<Key, Value>& value) {
  value = {};
  for (std::uint64_t count = dice.below(3); count > 0; --count) {
    Key key{};
    fill(dice, key);
    Value element{};
    fill(dice, element);
    value.set(key, std::move(element));
  }
}

}  // namespace reeve::testing
