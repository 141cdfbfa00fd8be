#pragma once

#include "base/time.h"
#include "engine/limits.h"
#include "engine/ports.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

// How far those are who project events into a form of their own (history). A snapshot becomes the
// base of recovery, and segments are deleted, only when every projector has passed it: until then
// recovery can make the same events again. A projector more than 60 s or 1 GiB behind is left: it
// holds nobody back any more, and what it missed is a gap that is recorded and shown.
namespace reeve::engine {

struct Gap {
  std::string projector;
  Sequence from = 0;
  Sequence to = 0;

  bool operator==(const Gap&) const = default;
};

class Projectors {
 public:
  static constexpr Sequence nobody = std::numeric_limits<Sequence>::max();

  // `passed`: what it has made durable, as it says itself. One that was left is there again.
  void add(const std::string& name, Sequence passed);
  void passed(const std::string& name, Sequence sequence);

  // Everything up to `last` is durable since `now`, in so many bytes.
  void committed(Sequence last, std::uint64_t bytes, Time now);

  // Leaves those that are too far behind.
  std::vector<Gap> leave_laggards(Time now);

  // What all that count have passed; `nobody` if there is none.
  Sequence all_passed() const;

  // When somebody may have to be left; none while all are up to date.
  std::optional<Time> next_look() const;

  // Whether events still go to it.
  bool counts(const std::string& name) const;

 private:
  struct Committed {
    Sequence last = 0;
    std::uint64_t bytes_before = 0;
    Time at;
  };
  struct Place {
    Sequence passed = 0;
    bool left = false;
  };
  void forget_passed();

  std::map<std::string, Place> places_;
  std::deque<Committed> committed_;  // what somebody has yet to pass; at most one a second
  Sequence last_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace reeve::engine
