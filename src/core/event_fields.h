#pragma once

#include "core/effect.h"
#include "core/event.h"
#include "core/event_name.h"

#include <string>
#include <vector>

// What an event says, field by field: for hooks. The names are those of its JSON.
namespace reeve {

// Those of its fields that are one word, number or text each; ids and names as people write them,
// durations in milliseconds, and what has no value empty. Not moments and lists: the JSON that a
// notification gets has them. Of a user's own event, all it was emitted with.
Variables fields_of(const Event& event);

// The names of all fields that an event of the core can have which this pattern matches, in order.
std::vector<std::string> field_names(const Pattern& pattern);

}  // namespace reeve
