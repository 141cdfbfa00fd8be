#pragma once

#include "base/time.h"
#include "core/event.h"

#include <optional>
#include <string>

// What an event says, for those who follow and for history: the fields of the struct that says what
// happened, under the names they have in the code, and what people have words for shown by them. A
// name is "main" or "//main", a holder its name, a process its pid, an id "item-4f7kq2", a moment a
// moment, a duration its milliseconds.
namespace reeve::codec {

// The one object {"name":"main","holder":"ana","token":7}. Names are written as in the project
// `viewer`, engine times as far from the wall of `stamp` as they are from its engine time.
void append_event_data(std::string& to, const Event& event, ProjectNo viewer, Stamp stamp);

// "lock:acquired"; a noun alone if there is no verb.
std::string event_kind(const EventName& name);

// An engine time by the wall clock of a moment told by both; none if no calendar has it.
std::optional<std::int64_t> wall_of(Time time, Stamp stamp);

}  // namespace reeve::codec
