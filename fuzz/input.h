#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

// What fuzz targets share: an input to take choices from, and a way to say that a law is broken.
namespace reeve::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }

  // Zero when there is nothing left.
  template <class T>
  T take() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest() { return take(rest_.size()); }

 private:
  std::string_view rest_;
};

inline void require(bool law, const char* what) {
  if (law) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace reeve::fuzz
