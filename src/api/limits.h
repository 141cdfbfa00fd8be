#pragma once

#include "base/time.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

// Every limit of the connections, once; those of the core are in core/limits.h, of the engine in
// engine/limits.h.
namespace reeve::api::limits {

using namespace std::chrono_literals;

inline constexpr std::size_t line_bytes = std::size_t{4} << 20U;
inline constexpr std::size_t json_depth = 64;
// A whole request: what somebody wrote stands in an item, in the items, in the params.
inline constexpr std::size_t request_depth = json_depth + 3;
inline constexpr std::size_t object_fields = 32;

// How deep a value of somebody's may stand in an answer, at most.
inline constexpr std::size_t answer_depth = 8;

// Requests that wait, and follows, of one connection.
inline constexpr std::size_t waiting_requests = 1000;

// Requests of one connection that were read and have no answer yet, waiting ones apart: above it
// the connection is read no further.
inline constexpr std::size_t open_requests = 4096;

// Undelivered to one connection: then it is read no further until it has read. One that has taken
// nothing for so long is closed.
inline constexpr std::size_t undelivered_bytes = std::size_t{4} << 20U;
inline constexpr Duration stalled_reader = 30s;
// Undelivered to all connections together: from then on whoever is behind with anything has to
// read before it is told more, and one that has taken nothing for this long is closed.
inline constexpr std::size_t undelivered_together = std::size_t{256} << 20U;
inline constexpr Duration stalled_in_a_crowd = 2s;

inline constexpr std::size_t connections = 10'000;
// Descriptors that are no connections': there are never so many connections that none are left.
inline constexpr std::size_t other_descriptors = 64;
// How many may wait to be let in, and how many are let in before others are served.
inline constexpr int waiting_to_connect = 4096;
inline constexpr int accepted_a_turn = 64;
// What is read of a connection before others are served.
inline constexpr std::size_t read_bytes = std::size_t{64} << 10U;

// Of a list, and of the waiters shown of a line.
inline constexpr std::size_t list_entries = 1000;
inline constexpr std::size_t list_default = 100;
inline constexpr std::size_t waiters_shown = 100;
inline constexpr std::size_t list_data_bytes = std::size_t{64} << 10U;

// A list that has grown to so many bytes is continued on the next page.
inline constexpr std::size_t list_bytes = std::size_t{2} << 20U;

// Priorities of a queue, the most urgent ones first, among which its oldest item is looked for.
inline constexpr std::size_t priorities_searched = 100;

// Items among which the beginning of an id is looked for.
inline constexpr std::size_t prefix_search = 100'000;

// Decisions among which those of one run are looked for. Open ones are few; of more than this,
// nobody has answered any for a long time.
inline constexpr std::size_t decision_search = 10'000;

// A chain of who waits for whom is shown this far; whoever reads more of it has another problem.
inline constexpr std::size_t chain_entries = 32;

// An agent that has shown no sign of life for this long is shown as idle. What is done about it is
// another matter, and the runbook's: `idle_timeout`.
inline constexpr Duration shown_idle = 10s;

inline constexpr std::size_t label_bytes = 1000;
inline constexpr std::size_t follow_patterns = 64;  // of one follow

// Of a connection that speaks beanstalkd's protocol: commands that were carried out and are not
// answered yet; of those, such as may be answered with a whole job, which has up to 1 MiB; and what
// is read ahead of a reserve that waits.
inline constexpr std::size_t beanstalk_open = 1000;
inline constexpr std::size_t beanstalk_tubes = 256;  // watched; a take names no more queues
inline constexpr std::uint32_t beanstalk_bodies = 64;
inline constexpr std::size_t beanstalk_read_ahead = std::size_t{64} << 10U;
// What a kick remembers of the past of the jobs it brings back, and how far urgent ones are
// counted.
inline constexpr std::uint64_t beanstalk_remembered = 10'000;
inline constexpr std::uint64_t beanstalk_counted = 100'000;

// Lines that are not whole yet, of all connections together; whoever adds to more is closed.
inline constexpr std::size_t buffered_bytes = std::size_t{256} << 20U;

}  // namespace reeve::api::limits
