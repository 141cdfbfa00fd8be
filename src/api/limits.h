#pragma once

#include "base/time.h"

#include <chrono>
#include <cstddef>

// Every limit of the connections, once; those of the core are in core/limits.h, of the engine in
// engine/limits.h.
namespace reeve::api::limits {

using namespace std::chrono_literals;

inline constexpr std::size_t line_bytes = std::size_t{4} << 20U;
inline constexpr std::size_t json_depth = 64;

// Requests that wait, and follows, of one connection.
inline constexpr std::size_t waiting_requests = 1000;

// Requests of one connection that were read and have no answer yet, waiting ones apart: above it
// the connection is read no further.
inline constexpr std::size_t open_requests = 4096;

// Undelivered to one connection: then it is read no further until it has read. One that has taken
// nothing for so long is closed.
inline constexpr std::size_t undelivered_bytes = std::size_t{4} << 20U;
inline constexpr Duration stalled_reader = 30s;

inline constexpr std::size_t connections = 10'000;

// Of a list, and of the waiters shown of a line.
inline constexpr std::size_t list_entries = 1000;
inline constexpr std::size_t list_default = 100;
inline constexpr std::size_t waiters_shown = 100;
inline constexpr std::size_t list_data_bytes = std::size_t{64} << 10U;

// A list that has grown to so many bytes is continued on the next page.
inline constexpr std::size_t list_bytes = std::size_t{2} << 20U;

// Items among which the beginning of an id is looked for.
inline constexpr std::size_t prefix_search = 100'000;

// Lines that are not whole yet, of all connections together; whoever adds to more is closed.
inline constexpr std::size_t buffered_bytes = std::size_t{256} << 20U;

}  // namespace reeve::api::limits
