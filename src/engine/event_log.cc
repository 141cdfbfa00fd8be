#include "engine/event_log.h"

#include "codec/binary.h"

#include <algorithm>
#include <utility>

namespace reeve::engine {
namespace {

// A follower of a busy house with a narrow filter does not hold up the loop either.
constexpr std::size_t looked_at_once = 1000;

}  // namespace

bool passes(const Filter& filter, const Event& event) {
  const bool ours =
      !filter.project || event.project == *filter.project || event.project == shared_project;
  if (!ours) return false;
  if (filter.patterns.empty()) return true;
  const EventName name = name_of(event.body);
  return std::ranges::any_of(filter.patterns,
                             [&](const Pattern& pattern) { return matches(pattern, name); });
}

EventLog::EventLog(Sequence floor, std::size_t events, std::uint64_t bytes)
    : most_events_(events), most_bytes_(bytes), floor_(floor), last_sequence_(floor) {}

void EventLog::append(Event event) {
  const std::size_t bytes = codec::to_bytes(event).size();
  last_sequence_ = event.sequence;
  bytes_ += bytes;
  ++next_;
  events_.push_back({std::move(event), bytes});
  while (events_.size() > most_events_ || (bytes_ > most_bytes_ && events_.size() > 1)) {
    floor_ = events_.front().event.sequence;
    bytes_ -= events_.front().bytes;
    events_.pop_front();
  }
}

Cursor EventLog::end() const { return {next_, last_sequence_}; }

std::variant<Cursor, Gone> EventLog::since(Sequence since) const {
  if (since < floor_) return Gone{floor_ + 1};
  const auto first = std::ranges::upper_bound(
      events_, since, {}, [](const Kept& kept) { return kept.event.sequence; });
  const auto position = first_position() + static_cast<std::uint64_t>(first - events_.begin());
  return Cursor{position, std::min(since, last_sequence_)};
}

Slice EventLog::read(Cursor& cursor, const Filter& filter, std::size_t bytes) const {
  Slice slice;
  if (cursor.position < first_position()) {
    slice.lagged = Lagged{cursor.sequence + 1, floor_};
    // The sequence the cursor stood in may have been cut in two.
    if (slice.lagged->from > slice.lagged->to) slice.lagged->from = slice.lagged->to;
    cursor = {first_position(), floor_};
  }
  std::size_t taken = 0;
  std::size_t looked_at = 0;
  while (cursor.position < next_) {
    const Kept& kept = events_[cursor.position - first_position()];
    if (++looked_at > looked_at_once) break;
    if (passes(filter, kept.event)) {
      // One that alone is too large still goes, alone.
      if (taken != 0 && taken + kept.bytes > bytes) break;
      taken += kept.bytes;
      slice.events.push_back(kept.event);
    }
    ++cursor.position;
    cursor.sequence = kept.event.sequence;
  }
  slice.more = cursor.position < next_;
  return slice;
}

}  // namespace reeve::engine
