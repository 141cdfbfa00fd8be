#pragma once

#include "core/event.h"
#include "core/event_name.h"
#include "engine/limits.h"
#include "engine/ports.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// The last events, in memory, for those who follow. A follower is a cursor: it has no buffer that
// could fill up, so it cannot hold the engine back, and a thousand of them cost nothing. One that
// is slower than the log is long has lost its place and is told which events it missed.
namespace reeve::engine {

struct Filter {
  std::optional<ProjectNo> project;  // whose events; none: everybody's. Shared ones always pass
  std::vector<Pattern> patterns;     // any of them; none: all events

  bool operator==(const Filter&) const = default;
};

bool passes(const Filter& filter, const Event& event);

struct Cursor {
  std::uint64_t position = 0;  // of the next event to be looked at
  Sequence sequence = 0;       // of the last event looked at

  bool operator==(const Cursor&) const = default;
};

// The events after `since` are no longer all there: `oldest` is the first sequence whose events
// are whole.
struct Gone {
  Sequence oldest = 0;

  bool operator==(const Gone&) const = default;
};

// These sequences, and maybe not the first of them whole, went by unseen.
struct Lagged {
  Sequence from = 0;
  Sequence to = 0;

  bool operator==(const Lagged&) const = default;
};

// The events come after the gap, if there is one.
struct Slice {
  std::optional<Lagged> lagged;
  std::vector<Event> events;
  bool more = false;  // there is more than was asked for
};

class EventLog {
 public:
  // Events of sequences up to `floor` are not there.
  explicit EventLog(Sequence floor = 0,
                    std::size_t events = limits::events_kept,
                    std::uint64_t bytes = limits::event_bytes_kept);

  void append(Event event);

  // From now on.
  Cursor end() const;

  // Everything of later sequences than `since`.
  std::variant<Cursor, Gone> since(Sequence since) const;

  // Moves the cursor over what it returns and over what the filter leaves out. Looks at no more
  // than 1,000 events at a time.
  Slice read(Cursor& cursor,
             const Filter& filter,
             std::size_t bytes = limits::follower_bytes) const;

  std::size_t size() const { return events_.size(); }

 private:
  struct Kept {
    Event event;
    std::size_t bytes = 0;
  };
  std::uint64_t first_position() const { return next_ - events_.size(); }

  std::size_t most_events_;
  std::uint64_t most_bytes_;
  Sequence floor_;          // of this and earlier sequences events are missing
  Sequence last_sequence_;  // of the last event, or the floor
  std::uint64_t next_ = 0;  // the position the next event will have
  std::uint64_t bytes_ = 0;
  std::deque<Kept> events_;
};

}  // namespace reeve::engine
