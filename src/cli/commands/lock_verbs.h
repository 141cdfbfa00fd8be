#pragma once

#include "cli/context.h"

// What the commands of `reeve lock` do; their words are in lock.cc.
namespace reeve::cli::lock_verbs {

int acquire(Context& context, const Parsed& parsed);
int release(Context& context, const Parsed& parsed);
int heartbeat(Context& context, const Parsed& parsed);
int check(Context& context, const Parsed& parsed);
int list(Context& context, const Parsed& parsed);
int show(Context& context, const Parsed& parsed);
int force_release(Context& context, const Parsed& parsed);
int is_stale(Context& context, const Parsed& parsed);
int run(Context& context, const Parsed& parsed);

}  // namespace reeve::cli::lock_verbs
