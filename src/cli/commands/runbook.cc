#include "cli/commands/groups.h"
#include "cli/commands/runs.h"

#include <fmt/format.h>

#include <array>

namespace reeve::cli {

int runbook_words(Context& context, const Parsed& parsed);

namespace {

// The daemon starts this one, too, when it sees that a runbook changed (daemon/runbook_watch.h):
// what it prints then is a line of the daemon's log.
int load(Context& context, const Parsed& parsed) {
  if (parsed.has("no-start")) context.client_without_start();
  const auto place = context.place(parsed.has("here"));
  if (!place) return context.fail(place.error());
  const auto definitions = context.runbooks->plan_load(*place);
  if (!definitions) return context.cannot_run(definitions.error());
  const auto loaded = load_runbooks(context.client(), *definitions);
  if (!loaded) return context.fail(loaded.error());
  if (context.json()) {
    return context.output.succeed(
        json_of({{"hash", definitions->hash},
                 {"definitions", static_cast<std::int64_t>(definitions->count)},
                 {"loaded", *loaded}}));
  }
  const std::string count =
      definitions->count == 1 ? "1 definition" : fmt::format("{} definitions", definitions->count);
  context.output.line(context.quiet() ? definitions->hash
                      : *loaded       ? fmt::format("{} loaded", count)
                                      : fmt::format("nothing new: {}, loaded before", count));
  return context.output.done();
}

constexpr std::array<Argument, 1> any_files{
    {{.name = "FILE", .count = Count::Any, .completes = Completes::File}}};
constexpr std::array<Argument, 1> one_file{{{.name = "FILE", .completes = Completes::File}}};
constexpr std::array<Argument, 1> one_name{{{.name = "NAME", .completes = Completes::Definition}}};
constexpr std::array<Argument, 1> maybe_name{{{.name = "NAME", .count = Count::Maybe}}};
constexpr std::array<Option, 1> here{
    {{.name = "here", .help = "the runbooks of this git worktree, not of the main repository"}}};
constexpr std::array<Option, 2> load_options{
    {here[0], {.name = "no-start", .help = "only if a daemon is running; without one: exit 7"}}};

constexpr std::array<Example, 2> check_examples{
    {{"reeve runbook check", "those of the project: every mistake, with its line"},
     {"reeve runbook check release.toml", "one file, wherever it is"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve runbook list", "commands with their arguments, pipelines, queues, ..."}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve runbook show pipeline.release", "as it is written, and where"}}};
constexpr std::array<Example, 1> test_examples{
    {{"reeve runbook test release_test.toml", "scripted results, no program is run"}}};
constexpr std::array<Example, 2> example_examples{
    {{"reeve runbook example", "which there are"},
     {"reeve runbook example pipeline > .reeve/runbooks/release.toml", "one to begin with"}}};

constexpr std::array<Example, 2> load_examples{
    {{"reeve runbook load", "hooks and settings of queues as they are written now"},
     {"reeve runbook load --here", "those of the git worktree you are in"}}};

constexpr std::array<Command, 6> commands{{
    {.name = "runbook check",
     .summary = "find every mistake, change nothing",
     .arguments = any_files,
     .options = here,
     .details =
         "Without FILE: .reeve/runbooks/*.toml of the project. Exit 1 if there is a mistake.",
     .examples = check_examples,
     .run = runbook_words},
    {.name = "runbook list",
     .summary = "what the runbooks define",
     .options = here,
     .examples = list_examples,
     .run = runbook_words},
    {.name = "runbook show",
     .summary = "one definition as it is written",
     .arguments = one_name,
     .options = here,
     .details = "NAME, or KIND.NAME where several have the name.",
     .examples = show_examples,
     .run = runbook_words},
    {.name = "runbook load",
     .summary = "hand the project's runbooks to the daemon now",
     .options = load_options,
     .details =
         "`run`, `worker start` and `cron enable` do so by themselves, and so does the "
         "daemon when a runbook that it has changes. With a mistake (exit 1) what was loaded "
         "before stays in force. What runs keeps the text it began with.",
     .examples = load_examples,
     .run = load},
    {.name = "runbook test",
     .summary = "play a scenario without running anything",
     .arguments = one_file,
     .options = here,
     .details = "A scenario says how each step ends and which way the pipeline is to take; "
                "docs/runbooks.md "
                "tells how. Exit 1 if it takes another.",
     .examples = test_examples,
     .run = runbook_words},
    {.name = "runbook example",
     .summary = "a runbook to begin with",
     .arguments = maybe_name,
     .examples = example_examples,
     .run = runbook_words},
}};

}  // namespace

const Group runbook_group{.word = "runbook",
                          .summary = "what the project's runbooks say, and what is wrong with them",
                          .commands = commands};

}  // namespace reeve::cli
