#include "cli/commands/groups.h"

#include <array>

namespace reeve::cli {

int runbook_words(Context& context, const Parsed& parsed);

namespace {

constexpr std::array<Argument, 1> any_files{
    {{.name = "FILE", .count = Count::Any, .completes = Completes::File}}};
constexpr std::array<Argument, 1> one_file{{{.name = "FILE", .completes = Completes::File}}};
constexpr std::array<Argument, 1> one_name{{{.name = "NAME", .completes = Completes::Definition}}};
constexpr std::array<Argument, 1> maybe_name{{{.name = "NAME", .count = Count::Maybe}}};
constexpr std::array<Option, 1> here{
    {{.name = "here", .help = "the runbooks of this git worktree, not of the main repository"}}};

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

constexpr std::array<Command, 5> commands{{
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
