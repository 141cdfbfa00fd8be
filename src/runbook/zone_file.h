#pragma once

#include "base/result.h"
#include "core/time_zone.h"

#include <string>
#include <string_view>
#include <vector>

// Time zones as the system keeps them (tzdata, RFC 8536), read into the core's plain values.
namespace reeve::runbook {

// From the bytes of one file: its transitions and the rule that goes on after them.
Result<time_zone::Zone> parse_zone(const std::string& name, std::string_view bytes);

// The rule at the end of such a file: CET-1CEST,M3.5.0,M10.5.0/3.
Result<time_zone::Rule> parse_rule(std::string_view text);

// Of the system: $TZDIR, else /usr/share/zoneinfo. An unknown name is told with the nearest one.
Result<time_zone::Zone> read_zone(const std::string& name);

}  // namespace reeve::runbook
