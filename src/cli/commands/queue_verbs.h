#pragma once

#include "cli/context.h"

// What the commands of `reeve queue` do; their words are in queue.cc.
namespace reeve::cli::queue_verbs {

int create(Context& context, const Parsed& parsed);
int take(Context& context, const Parsed& parsed);
int complete(Context& context, const Parsed& parsed);
int fail_item(Context& context, const Parsed& parsed);
int extend(Context& context, const Parsed& parsed);
int release(Context& context, const Parsed& parsed);
int list(Context& context, const Parsed& parsed);
int show(Context& context, const Parsed& parsed);
int peek(Context& context, const Parsed& parsed);
int stats(Context& context, const Parsed& parsed);
int pause(Context& context, const Parsed& parsed);
int resume(Context& context, const Parsed& parsed);
int remove(Context& context, const Parsed& parsed);
int drop(Context& context, const Parsed& parsed);
int redrive(Context& context, const Parsed& parsed);
int purge(Context& context, const Parsed& parsed);

}  // namespace reeve::cli::queue_verbs
