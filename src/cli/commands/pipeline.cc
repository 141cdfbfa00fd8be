#include "cli/commands/groups.h"
#include "cli/commands/pipeline_verbs.h"
#include "cli/commands/said_in_step.h"

#include <array>

namespace reeve::cli {

namespace {

constexpr std::array<Argument, 1> one_id{{{.name = "ID", .completes = Completes::Pipeline}}};
constexpr std::array<Argument, 2> id_and_phase{
    {{.name = "ID", .completes = Completes::Pipeline}, {.name = "PHASE"}}};
constexpr std::array<Argument, 2> id_and_text{
    {{.name = "ID", .completes = Completes::Pipeline}, {.name = "TEXT"}}};
constexpr std::array<Argument, 2> name_and_inputs{
    {{.name = "NAME", .completes = Completes::Definition},
     {.name = "key=value", .count = Count::Any}}};

constexpr std::array<Option, 5> list_options{
    {{.name = "state",
      .takes = Takes::Text,
      .value = "S",
      .help = "only those",
      .choices = "init|blocked|running|done|failed|cancelled"},
     {.name = "phase", .takes = Takes::Text, .value = "P,…", .help = "only those in these phases"},
     {.name = "active", .help = "only those that are not over"},
     {.name = "name",
      .takes = Takes::Text,
      .value = "NAME",
      .help = "only runs of this pipeline",
      .completes = Completes::Definition},
     {.name = "limit",
      .letter = 'n',
      .takes = Takes::Number,
      .value = "N",
      .help = "the last so many; default: all"}}};
constexpr std::array<Option, 4> start_options{
    {{.name = "wait", .help = "until it is over; exit 1 if it failed, 4 if it was cancelled"},
     {.name = "follow", .help = "the same, and tell what happens and what is said"},
     {.name = "timeout",
      .takes = Takes::Duration,
      .value = "D",
      .help = "wait no longer; exit 124"},
     {.name = "here", .help = "the runbooks of this git worktree"}}};
constexpr std::array<Option, 1> force_option{
    {{.name = "force", .help = "also what cannot be recovered by itself"}}};

constexpr std::array<Example, 2> list_examples{
    {{"reeve pipeline list --active", "what runs and what waits, and on what"},
     {"reeve pipeline list --state failed --json", "for a script"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve pipeline show pipe-4f7kq2", "inputs, outputs, phases, checkpoints"}}};
constexpr std::array<Example, 1> start_examples{
    {{"reeve pipeline start fix bug=42 --wait", "without a command for it"}}};
constexpr std::array<Example, 1> retry_examples{
    {{"reeve pipeline retry pipe-4f7kq2", "the phase that failed, once more"}}};
constexpr std::array<Example, 1> transition_examples{
    {{"reeve pipeline transition pipe-4f7kq2 cleanup", "what runs is ended first"}}};
constexpr std::array<Example, 1> unblock_examples{
    {{"reeve pipeline unblock pipe-4f7kq2", "without its dependency; its guard is checked now"}}};
constexpr std::array<Example, 1> checkpoint_examples{
    {{"reeve pipeline checkpoint pipe-4f7kq2 'half of it'", "kept, and shown by `show`"}}};

constexpr std::array<Command, 7> commands{{
    {.name = "pipeline list",
     .summary = "runs of the project's pipelines",
     .options = list_options,
     .examples = list_examples,
     .run = pipeline_verbs::list},
    {.name = "pipeline show",
     .summary = "show one run",
     .arguments = one_id,
     .examples = show_examples,
     .run = pipeline_verbs::show},
    {.name = "pipeline start",
     .summary = "start a pipeline by its own name",
     .arguments = name_and_inputs,
     .options = start_options,
     .examples = start_examples,
     .run = pipeline_verbs::start},
    {.name = "pipeline retry",
     .summary = "try the phase that failed once more",
     .arguments = one_id,
     .options = force_option,
     .examples = retry_examples,
     .run = pipeline_verbs::retry},
    {.name = "pipeline transition",
     .summary = "leave what it does and go to a phase",
     .arguments = id_and_phase,
     .examples = transition_examples,
     .run = pipeline_verbs::transition},
    {.name = "pipeline unblock",
     .summary = "do not wait any longer",
     .arguments = one_id,
     .details =
         "For a dependency, a backoff or a pause. A guard is checked at once. A lock must be had "
         "and a question answered: those are refused.",
     .examples = unblock_examples,
     .run = pipeline_verbs::unblock},
    {.name = "pipeline checkpoint",
     .summary = "note how far it is",
     .arguments = id_and_text,
     .examples = checkpoint_examples,
     .run = said_in_step<pipeline_verbs::checkpoint>},
}};

}  // namespace

const Group pipeline_group{
    .word = "pipeline", .summary = "runs of pipelines, one by one", .commands = commands};

}  // namespace reeve::cli
