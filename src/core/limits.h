#pragma once

#include "base/time.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

// The limits of the core, but for those that only one noun knows of and that stand with it (as in
// board_detail.h, guard.h, pattern.h). Over a limit: a clear refusal, nothing lost.
namespace reeve::limits {

using namespace std::chrono_literals;

inline constexpr std::size_t name_bytes = 200;
inline constexpr std::size_t title_bytes = 1000;  // of a task on the board
inline constexpr std::size_t path_bytes = 4096;   // of a project's folder: PATH_MAX
inline constexpr std::size_t item_bytes = std::size_t{1} << 20;
inline constexpr std::size_t batch_items = 1000;
inline constexpr std::size_t batch_bytes = std::size_t{4} << 20;
inline constexpr std::size_t projects = 1000;
inline constexpr std::size_t names_a_project = 100'000;  // of each kind
inline constexpr std::size_t names_a_request = 64;
inline constexpr std::size_t queues_a_chain = 32;  // of dead letters: behind one another
inline constexpr std::size_t waiters_a_line = 10'000;
inline constexpr std::size_t open_pipelines = 100'000;
inline constexpr std::size_t open_decisions = 100'000;
inline constexpr std::uint32_t pipelines_within = 32;                // a child of a child of ...
inline constexpr std::size_t value_bytes = std::size_t{100} * 1024;  // of an input or an output
inline constexpr std::size_t checkpoints_kept = 1000;                // a pipeline
inline constexpr std::size_t sessions = 10'000;
inline constexpr std::size_t mail_a_box = 10'000;  // messages that nobody has acknowledged yet
// Labels, notes, errors and what somebody said last are cut to it. What is to reach somebody is
// not: messages, prompts and what is typed into a session are refused over it.
inline constexpr std::size_t text_bytes = std::size_t{64} * 1024;

// What one `apply` may touch; the rest goes on with the next tick.
inline constexpr std::size_t touched_a_step = 256;
// How many inner effects one step carries out before it leaves the rest to the next tick.
inline constexpr std::size_t routed_a_step = 1000;

// The state is full at nine tenths of this: new work is refused, finishing work goes on.
inline constexpr std::uint64_t state_bytes = std::uint64_t{4} << 30;

inline constexpr std::size_t keys_a_project = 100'000;
inline constexpr Duration keys_kept = 24h;
inline constexpr std::size_t kept_reply_bytes = 4096;

// However little a queue keeps: so long, and of the last batch, who did not hear that an item is
// completed may say it again.
inline constexpr Duration completed_kept = 10s;

inline constexpr std::size_t finished_kept = 1000;  // a kind and project
inline constexpr Duration finished_kept_for = 24h;
inline constexpr Duration free_lock_kept = 24h;

inline constexpr Duration heartbeat_timeout = 60s;  // where nothing else is said
inline constexpr Duration session_return = 10s;     // how long a place is kept after a restart
inline constexpr Duration kill_grace = 5s;          // between TERM and KILL
inline constexpr Duration observe_end = 30s;        // then somebody is asked

// An agent that seems idle is looked at once more after this long before it counts as stuck.
inline constexpr Duration second_look = 5s;
// How long a rate-limited agent is left alone if nobody knows when its limit resets.
inline constexpr Duration rate_limit_pause = 5min;

}  // namespace reeve::limits
