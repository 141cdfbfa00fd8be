#pragma once

#include <bit>
#include <concepts>
#include <cstring>

// Integers as they stand in files: little-endian, at any address.
namespace reeve::journal {

static_assert(std::endian::native == std::endian::little, "write the swaps when you need them");

template <std::integral T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <std::integral T>
void store(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace reeve::journal
