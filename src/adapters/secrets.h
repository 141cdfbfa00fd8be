#pragma once

#include "core/effect.h"

// What `pass_env` and `secret` of a runbook name stays out of the journal: whoever started the run
// wrote the values into a file of the home that only its owner reads, and the environment says
// which one ($REEVE_SECRETS). An entry is `p` or (secret) `s`, then NAME=VALUE and a NUL.
namespace reeve::adapters {

// The values instead of the name of the file. A file that is gone leaves nothing.
void add_secrets(Variables& environment);

}  // namespace reeve::adapters
