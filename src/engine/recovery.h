#pragma once

#include "base/result.h"
#include "core/event.h"
#include "core/state.h"
#include "engine/event_log.h"
#include "engine/ports.h"
#include "journal/journal.h"

#include <cstdint>
#include <functional>
#include <vector>

// From what the journal remembers to the state the engine goes on from.
//
//     Result<Remembered> remembered = remember(*recovery);        reads, changes nothing
//     Result<std::unique_ptr<Journal>> journal = recovery->begin();
//     Clock clock(remembered->state.now, reading);
//     Engine engine(*std::move(remembered), ports);
//     engine.begin(clock.read(reading).stamp);
//
// Replay decides every input again and compares: a record that this version would decide
// differently stops the start (Error::Code::Conflict, naming the record and both ways on). It
// reaches no follower and starts no effect; only projectors are shown the events again, since they
// may have missed them. Those of the last group they are not shown before the engine delivers: that
// group may be in the page cache only, until Recovery::begin() has written it again, and what a
// projector has made durable nobody takes back.
namespace reeve::engine {

struct Unshown {
  Event event;
  Time now;  // of event.at
};

struct Remembered {
  State state;
  Stamp stamp = {};  // of the last record
  EventLog events = EventLog();
  std::vector<Unshown> unshown = {};  // of the last group, for the projectors: Engine shows them
  Sequence snapshot = 0;              // the sequence it began from
  std::uint64_t snapshot_bytes = 0;   // of the state, as it was written
  std::uint64_t replayed = 0;         // records
  std::uint64_t replayed_bytes = 0;
};

// Gets the events of all groups but the last, in order, as a Projector does.
using EventSink = std::function<void(const Event& event, Time now, const State& state)>;

Result<Remembered> remember(journal::Recovery& recovery, const EventSink& project = {});

// A state in which nothing has happened: every journal begins with it.
Remembered nothing_remembered();

}  // namespace reeve::engine
