#pragma once

#include "base/reflect_names.h"

#include <cstddef>
#include <utility>

// The members of an aggregate, without a list of them: as many as it can be made from, bound to
// names, and taken of an object that does not exist and is never asked for more than addresses.
namespace reeve::reflect {

// Becomes whatever a member wants to be made from. Only ever asked whether it could.
struct Anything {
  template <class T>
  constexpr operator T() const {
    for (;;) {
    }
  }
};

template <class T, std::size_t... index>
constexpr bool takes(std::index_sequence<index...>) {
  return requires { T{(static_cast<void>(index), Anything{})...}; };
}

inline constexpr std::size_t most_fields = 32;

// An aggregate takes every number of values from those without which it cannot be up to all.
template <class T, std::size_t n = 0, bool taken_before = false>
constexpr std::size_t count_fields() {
  static_assert(n <= most_fields + 1, "too many fields, or not an aggregate");
  constexpr bool taken = takes<T>(std::make_index_sequence<n>());
  if constexpr (taken_before && !taken) {
    return n - 1;
  } else {
    return count_fields<T, n + 1, taken>();
  }
}

template <class T>
struct Outside {
  T value;
};

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif

template <class T>
extern const Outside<T> external;

// Never called: the answer is the type it would give back.
template <class T>
constexpr auto members() {
  constexpr std::size_t n = count_fields<T>();
  // clang-format off
#define REEVE_BIND(count, ...)                           \
  if constexpr (n == (count)) {                          \
    const auto& [__VA_ARGS__] = external<T>.value;       \
    return Members<__VA_ARGS__>{};                       \
  } else
#define REEVE_8(x) x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7
  if constexpr (n == 0) { return Members<>{}; } else
  REEVE_BIND(1, a0)
  REEVE_BIND(2, a0, a1)
  REEVE_BIND(3, a0, a1, a2)
  REEVE_BIND(4, a0, a1, a2, a3)
  REEVE_BIND(5, a0, a1, a2, a3, a4)
  REEVE_BIND(6, a0, a1, a2, a3, a4, a5)
  REEVE_BIND(7, a0, a1, a2, a3, a4, a5, a6)
  REEVE_BIND(8, REEVE_8(a))
  REEVE_BIND(9, REEVE_8(a), b0)
  REEVE_BIND(10, REEVE_8(a), b0, b1)
  REEVE_BIND(11, REEVE_8(a), b0, b1, b2)
  REEVE_BIND(12, REEVE_8(a), b0, b1, b2, b3)
  REEVE_BIND(13, REEVE_8(a), b0, b1, b2, b3, b4)
  REEVE_BIND(14, REEVE_8(a), b0, b1, b2, b3, b4, b5)
  REEVE_BIND(15, REEVE_8(a), b0, b1, b2, b3, b4, b5, b6)
  REEVE_BIND(16, REEVE_8(a), REEVE_8(b))
  REEVE_BIND(17, REEVE_8(a), REEVE_8(b), c0)
  REEVE_BIND(18, REEVE_8(a), REEVE_8(b), c0, c1)
  REEVE_BIND(19, REEVE_8(a), REEVE_8(b), c0, c1, c2)
  REEVE_BIND(20, REEVE_8(a), REEVE_8(b), c0, c1, c2, c3)
  REEVE_BIND(21, REEVE_8(a), REEVE_8(b), c0, c1, c2, c3, c4)
  REEVE_BIND(22, REEVE_8(a), REEVE_8(b), c0, c1, c2, c3, c4, c5)
  REEVE_BIND(23, REEVE_8(a), REEVE_8(b), c0, c1, c2, c3, c4, c5, c6)
  REEVE_BIND(24, REEVE_8(a), REEVE_8(b), REEVE_8(c))
  REEVE_BIND(25, REEVE_8(a), REEVE_8(b), REEVE_8(c), d0)
  REEVE_BIND(26, REEVE_8(a), REEVE_8(b), REEVE_8(c), d0, d1)
  REEVE_BIND(27, REEVE_8(a), REEVE_8(b), REEVE_8(c), d0, d1, d2)
  REEVE_BIND(28, REEVE_8(a), REEVE_8(b), REEVE_8(c), d0, d1, d2, d3)
  REEVE_BIND(29, REEVE_8(a), REEVE_8(b), REEVE_8(c), d0, d1, d2, d3, d4)
  REEVE_BIND(30, REEVE_8(a), REEVE_8(b), REEVE_8(c), d0, d1, d2, d3, d4, d5)
  REEVE_BIND(31, REEVE_8(a), REEVE_8(b), REEVE_8(c), d0, d1, d2, d3, d4, d5, d6)
  REEVE_BIND(32, REEVE_8(a), REEVE_8(b), REEVE_8(c), REEVE_8(d)) {}
#undef REEVE_8
#undef REEVE_BIND
  // clang-format on
}

#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <class T>
using MembersOf = decltype(members<T>());

}  // namespace reeve::reflect
