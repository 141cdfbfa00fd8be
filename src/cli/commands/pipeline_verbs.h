#pragma once

#include "cli/context.h"

// What the commands of `reeve pipeline` do, and those of one word about runs; their words are in
// pipeline.cc and everyday.cc.
namespace reeve::cli::pipeline_verbs {

int list(Context& context, const Parsed& parsed);
int show(Context& context, const Parsed& parsed);
int start(Context& context, const Parsed& parsed);
int retry(Context& context, const Parsed& parsed);
int transition(Context& context, const Parsed& parsed);
int unblock(Context& context, const Parsed& parsed);
int checkpoint(Context& context, const Parsed& parsed);

// What `show` tells of a run, for people.
void tell(Context& context, const Json& pipeline);

// The table of runs; empty: there are none.
std::string table(const Output& output, const Json::Array& pipelines, std::size_t width);

}  // namespace reeve::cli::pipeline_verbs
