#pragma once

#include "base/time.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

// Every limit the engine knows, once; those of the core are in core/limits.h.
namespace reeve::engine::limits {

using namespace std::chrono_literals;

// Decided and not yet durable; above it nothing more is read from clients.
inline constexpr std::uint64_t unsynced_bytes = std::uint64_t{64} << 20U;

// What waits to leave: a request that changes nothing takes no bytes of the above, but its reply
// waits for the disk like all others. Above it nothing more is read from clients.
inline constexpr std::size_t unsynced_replies = 100'000;

// What is committed at once, as the journal counts it; more only if a single input is larger. So it
// always finds its place in what the journal has put by for a full disk (Options::largest_group).
inline constexpr std::uint64_t batch_bytes = std::uint64_t{1} << 20U;

// A commit that takes no longer is made by whoever decided it: to hand it to another thread, and to
// hear of its end, takes about as long, and everybody who could be decided about waits for it.
inline constexpr std::chrono::nanoseconds quick_commit = 500us;

// Effects that run at the same time, and as many brief ones (engine/outbox.h); the others wait in
// the outbox. Kills never wait.
inline constexpr std::size_t running_effects = 64;

// Events kept in memory for followers.
inline constexpr std::size_t events_kept = 10'000;
inline constexpr std::uint64_t event_bytes_kept = std::uint64_t{64} << 20U;
// What a follower is handed at a time.
inline constexpr std::size_t follower_bytes = std::size_t{4} << 20U;

// A deadline that nobody looked at for longer than this means that nobody listened either.
inline constexpr Duration late = 1s;
// Boot time and monotonic time are read one after the other: less than this is no suspend.
inline constexpr Duration suspended = 500ms;
// The wall clock drifts against the boot clock and is slewed; this much at once is a step.
inline constexpr Duration stepped = 500ms;

// How long deadlines and clients wait, after a start, for the effects of the outbox to be observed.
// Less than what a connection has to come back (10 s), more than what an adapter may take to look
// (5 s). An effect not observed by then is not started: it waits for its observation alone.
inline constexpr Duration observing = 6s;

// A checkpoint that found no room is tried again after this long.
inline constexpr Duration checkpoint_again = 10s;

// How often, while the disk is short of space, it is asked whether it still is.
inline constexpr Duration prepare_again = 1s;

// A projector further behind is left, and its gap recorded.
inline constexpr Duration projector_behind = 60s;
inline constexpr std::uint64_t projector_bytes = std::uint64_t{1} << 30U;

}  // namespace reeve::engine::limits
