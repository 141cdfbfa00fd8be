#pragma once

#include "api/beanstalk/ledger.h"
#include "api/desk.h"
#include "base/time.h"
#include "core/state.h"

#include <string>
#include <string_view>
#include <vector>

// What the stats and list commands answer, word by word as beanstalkd 1.12 writes it: the same keys
// in the same order. Only the YAML; the `OK <bytes>` before it is the connection's.
namespace reeve::api::beanstalk {

// The daemon's, for `stats`.
struct Machine {
  std::string id;  // of this life of the daemon
  std::string os;
  std::string platform;
};
Machine this_machine(const About& about);

// Ready jobs more urgent than this are called so.
inline constexpr std::uint32_t urgent_below = 1024;

std::string stats(
    const Ledger& ledger, const State& state, const About& about, const Machine& machine, Time now);
std::string stats_tube(Ledger& ledger, const State& state, std::string_view tube, Time now);
std::string stats_job(const Ledger& ledger, const State& state, ItemId id, Time now);
std::string list(const std::vector<std::string>& names);

}  // namespace reeve::api::beanstalk
