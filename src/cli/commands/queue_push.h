#pragma once

#include "cli/context.h"

namespace reeve::cli {

// `queue push`: one item from the command line or stdin, or with --lines one a line of stdin, in
// batches of 1,000.
int queue_push(Context& context, const Parsed& parsed);

// The text as JSON; what is none is a JSON string of it, or bytes if it is not even UTF-8.
// None: it is JSON that is nested deeper than is allowed.
std::optional<Json> item_of(std::string_view text);

}  // namespace reeve::cli
