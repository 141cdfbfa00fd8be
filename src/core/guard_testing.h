#pragma once

#include "core/guard.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What the tests of guards share: how checks end, and a few guards.
namespace reeve::guard::testing {

using definition::OnTimeout;
using Facts = std::vector<Fact>;

inline Time at(Duration since) { return Time{} + 1h + since; }

inline Outcome exits(int code, std::string output = {}) {
  return {.ended = code == 0 ? Ended::Done : Ended::Failed,
          .exit_code = code,
          .output = std::move(output)};
}

inline const Outcome passes = exits(0);
inline const Outcome not_yet = exits(1);
inline const Outcome breaks = exits(127);
inline const Outcome unknown{.ended = Ended::Unknown};

// Polled without limit, every 10 s.
inline const definition::Guard patient{.condition = "true"};

inline definition::Guard polled(std::uint32_t max, Duration interval = 5s) {
  return {.condition = "true", .retry = definition::Poll{max, interval}};
}

inline definition::Guard limited(OnTimeout on_timeout) {
  return {.condition = "true", .timeout = 25s, .on_timeout = on_timeout};
}

inline Guard checking(Time now) { return start(now).guard; }

inline Guard waiting(const definition::Guard& definition, Time now) {
  return checked(checking(now), definition, not_yet, now).guard;
}

inline bool is_checking(const Guard& guard) {
  return std::holds_alternative<Checking>(guard.state);
}

}  // namespace reeve::guard::testing
