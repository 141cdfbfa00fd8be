#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace reeve::sim {

// The only chance in a run. Our own arithmetic from end to end, without the standard library's
// distributions, so that a seed means the same run on every machine and with every compiler.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t roll() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31U);
  }

  // From 0 up to but without `bound`, which is small beside 2^32.
  std::uint64_t below(std::uint64_t bound) {
    return bound == 0 ? 0 : ((roll() >> 32U) * bound) >> 32U;
  }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  bool one_in(std::uint64_t n) { return n != 0 && below(n) == 0; }
  bool percent(std::uint64_t n) { return below(100) < n; }

  template <class T>
  T pick(std::span<const T> from) {
    return from[below(from.size())];
  }
  template <class Container>
  const auto& any_of(const Container& from) {
    return from[below(from.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace reeve::sim
