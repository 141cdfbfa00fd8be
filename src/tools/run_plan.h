#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What `reeve run NAME ARGS`, `worker start`, `cron enable`, `pipeline start` and `runbook load`
// are to ask of the daemon, worked out from the project's runbooks. The files are read anew every
// time; nothing is changed, and no daemon is needed for it.
//
// Only plain types, so that whoever asks needs to know nothing of runbooks.
namespace reeve::tools {

// The project whose runbooks are meant. What they start runs in its folder, also when they are read
// from a worktree of it.
struct RunbookPlace {
  std::string root;           // its folder
  std::string project;        // its name
  std::string checkout = {};  // the folder that the runbooks are read from; empty: the root
  // How often an outside source is asked that does not say.
  std::int64_t poll_interval_ms = 30'000;

  const std::string& files() const { return checkout.empty() ? root : checkout; }
};

// It cannot be run, and why: `lines` are what a person wants to see besides.
struct CannotRun {
  int exit = 1;
  std::string code;
  std::string message;
  std::string details = "{}";  // JSON
  std::vector<std::string> lines = {};
};

using Words = std::vector<std::pair<std::string, std::string>>;

// The definitions that what is asked relies on.
struct Definitions {
  std::string hash;
  std::size_t count = 0;  // of what the files define
  // As runbook.load takes them: large, so made only for a daemon that has not got them.
  std::function<std::string()> set;
  // Names of the environment whose values a step gets although they are not on the list of those
  // that every step gets; those of `secret` are hidden in logs.
  std::vector<std::string> pass_env;
  std::vector<std::string> secret;
};

struct RunPlan {
  enum class What : std::uint8_t { Pipeline, Item, Agent, Here };

  What what = What::Pipeline;
  std::string name;                      // of the pipeline, the queue, the agent
  Words inputs;                          // of a pipeline; the variables of an agent
  std::string data;                      // Item: its JSON
  std::optional<std::int64_t> priority;  // Item
  std::string program;                   // Here: for bash -c
  Words variables;                       // Here: environment that carries the values
  Definitions definitions;
};

// `words`: NAME and its arguments.
std::expected<RunPlan, CannotRun> plan_run(std::span<const std::string> words,
                                           const RunbookPlace& place);

// A pipeline by its own name, with these inputs.
std::expected<RunPlan, CannotRun> plan_pipeline(const std::string& name,
                                                const Words& inputs,
                                                const RunbookPlace& place);

// A worker (`kind` "worker") or a cron ("cron") of the runbooks.
std::expected<Definitions, CannotRun> plan_start(std::string_view kind,
                                                 const std::string& name,
                                                 const RunbookPlace& place);

// All of the runbooks, for nothing but to be in force. None is fine, but a folder that cannot be
// looked into is refused: to the daemon it would be one without runbooks.
std::expected<Definitions, CannotRun> plan_load(const RunbookPlace& place);

// A monitor of the runbooks: what prints the items, what tells whether one is to be looked after,
// and what is done about it, in order, each so often.
struct MonitorPlan {
  struct Response {
    std::string name;
    std::uint32_t times = 1;
    std::string program;           // empty: Reeve's own nudge, restart or escalate
    std::int64_t cooldown_ms = 0;  // after each time, also the last
  };

  std::string source;
  std::string condition;  // empty: every item
  std::vector<Response> responses;
};
std::expected<MonitorPlan, CannotRun> plan_monitor(const std::string& name,
                                                   const RunbookPlace& place);

// When a cron of the runbooks fires if it is enabled now: ms since 1970, the first `count`.
std::expected<std::vector<std::int64_t>, CannotRun> next_fires(const std::string& name,
                                                               const RunbookPlace& place,
                                                               std::int64_t now_ms,
                                                               std::size_t count);

// The environment variable that carries the value of {name}.
std::string variable_of(std::string_view name);

// Of what a step says: `***` stands where it has one of the secrets of its run, whose folder is
// its $REEVE_RUN.
std::string without_secrets(const std::string& folder, std::string_view text);

// Commands, workers, crons or pipelines by name, with what they take: for completions. Nothing if
// the runbooks have a mistake.
std::vector<std::pair<std::string, std::string>> names_in_runbooks(std::string_view kind,
                                                                   const RunbookPlace& place);

// What is wrong with the runbooks, a line for each, but for programs that bash cannot read:
// quickly, for who looks every second.
std::vector<std::string> mistakes_in(const RunbookPlace& place);

// `reeve run NAME --help`.
std::expected<std::string, CannotRun> usage_of_command(const std::string& name,
                                                       const RunbookPlace& place);

}  // namespace reeve::tools
