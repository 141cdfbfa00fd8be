#pragma once

#include "cli/context.h"
#include "cli/signals.h"

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the commands about runs share: asking for something with the runbooks as they are now, and
// watching it until it is over.
namespace reeve::cli {

// Asks `method` with `params`, the hash of the definitions and the environment that steps get. A
// daemon that has other definitions is handed these first.
Answer change_with_runbook(Context& context,
                           std::string_view method,
                           Json params,
                           const tools::Definitions& definitions);

// The definitions are the project's from here on: handed over, unless the daemon has the same.
// Whether they were.
std::expected<bool, Failure> load_runbooks(Client& client, const tools::Definitions& definitions);

// A run is a pipeline, or an agent (`work-…`), which is shown by another method in the same words.
bool is_agent(std::string_view id);

// The run with this id, or the beginning of one.
Answer show_run(Client& client, const std::string& word);

// What a wait is for.
enum class Until : std::uint8_t { Over, Success, Running };

struct WatchPlan {
  std::vector<std::string> ids;  // whole ones
  Until until = Until::Over;
  bool any = false;            // one is enough
  std::int64_t limit = -1;     // ms
  bool tells_changes = false;  // --follow: what happens, a line each, and what is said
  std::uint64_t since = 0;     // from this change on; 0: from now
};

struct Watched {
  Json::Array runs;  // as they were seen last, in the order of the ids
  bool interrupted = false;
  bool timed_out = false;
  std::optional<Failure> failure;
};

// Looks when something is announced about them, not by the clock. Ctrl-C only stops looking.
Watched watch(Context& context, const WatchPlan& plan);

// Whether it is what the wait is for, or never will be.
bool is_reached(const Json& run, Until until);

// done 0, failed 1, cancelled 4; still going on: 0.
Exit exit_of_run(const Json& run);

// `{"id","state",…}` of each as a line: its id, how it is, and why.
std::string run_line(const Output& output, const Json& run);

// The end of `run --wait`, `wait`, `cancel`: what became of them, and the exit code. `always_ok`:
// however they ended.
int tell_watched(Context& context, const WatchPlan& plan, const Watched& watched, bool always_ok);

// The things of this kind that only the runbooks know of, and where: none of `known`.
std::vector<std::pair<std::string, std::string>> defined_besides(
    Context& context, std::string_view kind, const std::vector<std::string>& known);

// One that nobody has started, or that was stopped and so forgotten, in the place of the answer
// that there is none: `{"name","state":"defined","where"}`.
Answer or_defined(Context& context, std::string_view kind, const std::string& name, Answer answer);

// $REEVE_PIPELINE, $REEVE_AGENT: whose step we are in. None: that was told.
std::optional<std::string> own_id(Context& context, const char* variable, std::string_view verb);

}  // namespace reeve::cli
