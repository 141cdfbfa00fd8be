#pragma once

#include "cli/context.h"

// What the commands of `reeve task` do; their words are in task.cc.
namespace reeve::cli::task_verbs {

int add(Context& context, const Parsed& parsed);
int list(Context& context, const Parsed& parsed);
int show(Context& context, const Parsed& parsed);
int update(Context& context, const Parsed& parsed);
int next(Context& context, const Parsed& parsed);
int note(Context& context, const Parsed& parsed);
int remove(Context& context, const Parsed& parsed);
int heartbeat(Context& context, const Parsed& parsed);

}  // namespace reeve::cli::task_verbs
