#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>
#include <poll.h>

// Signals as something to wait for beside the socket. They are blocked while this lives; a child
// gets the mask of before.
namespace reeve::cli {

class Signals {
 public:
  Signals(std::initializer_list<int> signals);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  pollfd readable() const { return pollfd{.fd = descriptor_, .events = POLLIN, .revents = 0}; }
  // One that came, without waiting.
  std::optional<int> next() const;

 private:
  int descriptor_ = -1;
  sigset_t before_{};
};

}  // namespace reeve::cli
