#pragma once

#include "cli/args.h"
#include "cli/context.h"

// What is said from inside a step is kept: in the journal, in history, in what is shown. The
// secrets of the run have no place there, so `***` stands in theirs before the daemon hears of it.
namespace reeve::cli {

Parsed without_secrets(const Context& context, const Parsed& parsed);

// The same command, for what may be said in a step.
template <int (*command)(Context&, const Parsed&)>
int said_in_step(Context& context, const Parsed& parsed) {
  return command(context, without_secrets(context, parsed));
}

}  // namespace reeve::cli
