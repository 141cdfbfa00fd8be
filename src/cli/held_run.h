#pragma once

#include "cli/child.h"
#include "cli/client.h"
#include "cli/context.h"

#include <cstdint>
#include <string>
#include <vector>

// A command that runs while something is held: `lock run` and `sem run`. The lease names the
// command's process group, is kept alive by heartbeats at a third of its timeout, and given back
// when the command has ended. If it is lost meanwhile, the whole tree is ended first (TERM, 5 s,
// KILL) and the exit code is 125.
namespace reeve::cli {

struct HeldThing {
  std::string name;
  std::uint64_t token = 0;
};

struct Held {
  std::string_view kind;  // "lock" or "sem"
  std::vector<HeldThing> things;
  std::string holder;
  std::int64_t timeout = 60'000;  // ms without a heartbeat
};

// `child` was prepared, and named in the request that gave what is held.
int run_while_held(Context& context, Client& client, Child child, const Held& held);

// What did not come, with advice for who wants to run something.
Failure not_held(Failure failure, std::string_view kind);

// The holders inside which this runs, the nearest first: $REEVE_HOLDER and all around that one.
// What a request says of them in its `meta`, and what a command that runs under this name is told
// of them, as $REEVE_WITHIN.
void set_within(Json& meta);
std::string around_with(const std::string& holder);

// `meta` of a request for such a lease: the process group, what is run, and inside which holders.
Json meta_of_run(const Child& child,
                 const std::vector<std::string>& words,
                 std::optional<std::string_view> label);

}  // namespace reeve::cli
