#pragma once

#include "adapters/descriptor.h"
#include "engine/clock.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/epoll.h>

// What the loop sleeps on.
//
// While things come in quick succession it looks again for at most 50 µs before it sleeps: to wake
// a sleeping core takes longer than most gaps then are. After a longer gap it sleeps at once.
namespace reeve::daemon {

using adapters::Descriptor;

// Whose descriptor it was: a kind, and which of them.
struct Mark {
  enum class Kind : std::uint8_t { Peer, Listener, Wake, Signal, Timer, ClockSet, Hands };
  Kind kind = Kind::Peer;
  std::uint64_t number = 0;
};

struct Ready {
  Mark mark;
  std::uint32_t events = 0;
};

class Poller {
 public:
  Poller();

  // `inner`: also heard by wait_inside().
  void add(int descriptor, Mark mark, std::uint32_t events, bool inner = false);
  void change(int descriptor, Mark mark, std::uint32_t events);
  void remove(int descriptor);

  // From any thread: wait() returns.
  void wake() const;

  // When to return at the latest, by the boot clock, which counts while the machine sleeps; none:
  // when something comes. Never early.
  void wake_at(std::optional<std::chrono::milliseconds> boot);

  // What is ready. `idle` false: looks, and does not wait.
  std::span<const Ready> wait(bool idle);
  // The same, with nothing from clients.
  std::span<const Ready> wait_inside(bool idle);

 private:
  std::span<const Ready> wait_on(int poll, bool idle);
  int look(int poll, int timeout);

  Descriptor all_;
  Descriptor inner_;
  Descriptor wake_;
  Descriptor timer_;
  Descriptor clock_set_;
  std::optional<std::chrono::milliseconds> armed_;
  std::array<epoll_event, 512> events_{};
  std::array<Ready, 512> ready_{};
  unsigned short_gaps_ = 0;
};

// All three clocks, now.
engine::Reading read_clocks();

}  // namespace reeve::daemon
