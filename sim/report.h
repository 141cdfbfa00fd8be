#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

// What a run says of itself. Nothing is written down while all goes well: a seed that failed is
// simply run again with somebody listening.
namespace reeve::sim {

class Report {
 public:
  // Whoever wants to read along.
  std::function<void(const std::string& line)> listener;

  bool is_heard() const { return static_cast<bool>(listener); }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    if (listener) listener(fmt::format(format, std::forward<Args>(args)...));
  }

  // The first violation is what counts: what comes after it may be its consequence.
  void violated(std::string what) {
    if (!violation_) {
      violation_ = std::move(what);
      if (listener) listener("VIOLATION: " + *violation_);
    }
  }
  bool failed() const { return violation_.has_value(); }
  const std::optional<std::string>& violation() const { return violation_; }

  // A number that stands for everything that happened: two runs of a seed must agree in it.
  void mark(std::uint64_t what) {
    hash_ = (hash_ ^ what) * 0x9e3779b97f4a7c15U;
    hash_ ^= hash_ >> 29U;
  }
  std::uint64_t hash() const { return hash_; }

 private:
  std::optional<std::string> violation_;
  std::uint64_t hash_ = 0;
};

}  // namespace reeve::sim
