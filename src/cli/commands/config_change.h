#pragma once

#include "cli/context.h"

// `reeve config set` and `unset`: one key of one file, everything else in it as somebody wrote it.
namespace reeve::cli {

int config_set(Context& context, const Parsed& parsed);
int config_unset(Context& context, const Parsed& parsed);

}  // namespace reeve::cli
