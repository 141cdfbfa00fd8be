#pragma once

#include "cli/context.h"
#include "cli/json.h"
#include "cli/output.h"
#include "config/settings.h"

#include <string>
#include <string_view>

// How settings are told.
namespace reeve::cli {

// NOT_FOUND, with the key that may have been meant.
Failure no_such_key(std::string_view typed);

// In its own kind: a number, true or false, a list; durations and sizes as they are written.
Json json_of_value(const config::InForce& in_force);

// "default", ".reeve/config.toml:3", "~/.config/reeve/config.toml:7".
std::string where_of(const config::InForce& in_force);

// A path as people write it: below the home of the user with a `~`.
std::string short_path(const std::string& path);

}  // namespace reeve::cli
