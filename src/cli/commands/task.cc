#include "cli/commands/board.h"
#include "cli/commands/groups.h"
#include "cli/commands/said_in_step.h"
#include "cli/commands/task_verbs.h"

#include <array>

namespace reeve::cli {

namespace {

constexpr std::string_view statuses = "pending|in_progress|review|completed|failed|skipped";

constexpr std::array<Argument, 1> title{{{.name = "TITLE"}}};
constexpr std::array<Argument, 1> one_task{{{.name = "ID|TITLE", .completes = Completes::Task}}};
constexpr std::array<Argument, 1> some_tasks{
    {{.name = "ID|TITLE", .count = Count::Some, .completes = Completes::Task}}};
constexpr std::array<Argument, 2> task_and_text{
    {{.name = "ID|TITLE", .completes = Completes::Task}, {.name = "TEXT"}}};

constexpr Option note_option{
    .name = "note", .takes = Takes::Text, .value = "TEXT", .help = "kept with the task"};
constexpr Option wait_option{.name = "wait",
                             .takes = Takes::MaybeDuration,
                             .value = "D",
                             .help = "stand in line, D at most; default: the board's, 30m"};
constexpr Option no_wait_option{.name = "no-wait",
                                .help = "exit 6 at once if somebody else has it"};

constexpr std::array<Option, 3> add_options{{board::section_option,
                                             {.name = "priority",
                                              .takes = Takes::Number,
                                              .value = "N",
                                              .help = "the higher, the sooner; default: 0"},
                                             note_option}};
constexpr std::array<Option, 3> list_options{{board::section_option,
                                              {.name = "status",
                                               .takes = Takes::Text,
                                               .value = "S",
                                               .help = "only those",
                                               .choices = statuses},
                                              {.name = "all", .help = "also those that ended"}}};
constexpr std::array<Option, 6> update_options{{{.name = "status",
                                                 .takes = Takes::Text,
                                                 .value = "S",
                                                 .help = "what it is from now on",
                                                 .choices = statuses,
                                                 .required = true},
                                                board::runner_option,
                                                wait_option,
                                                no_wait_option,
                                                board::token_option,
                                                note_option}};
constexpr std::array<Option, 6> next_options{
    {board::section_option,
     board::runner_option,
     {.name = "start", .help = "and start it, in the same step"},
     {.name = "in-order", .help = "wait for the earliest section that has open tasks"},
     wait_option,
     no_wait_option}};
constexpr std::array<Option, 1> note_options{{board::runner_option}};
constexpr std::array<Option, 2> heartbeat_options{{board::runner_option, board::token_option}};

constexpr std::array<Example, 2> add_examples{
    {{"reeve task add 'Fix bug' --section backend --priority 5", "a section is made if need be"},
     {"id=$(reeve task add 'Fix bug' -q)", "keep its id"}}};
constexpr std::array<Example, 2> list_examples{
    {{"reeve task list --section backend", "what is open there, and who has it"},
     {"reeve task list --status failed", "what went wrong"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve task show 'Fix bug'", "its lock, its notes and who waits"}}};
constexpr std::array<Example, 3> update_examples{
    {{"reeve task update 'Fix bug' --status in_progress", "start it, or wait until you can"},
     {"reeve task update task-4f7kq2 --status in_progress --no-wait", "or exit 6"},
     {"reeve task update task-4f7kq2 --status completed --runner ana", "its lock is free again"}}};
constexpr std::array<Example, 2> next_examples{
    {{"id=$(reeve task next --start -q --runner ana)", "the first that ana may start; maybe none"},
     {"reeve task next --section backend --runner ana", "only say which"}}};
constexpr std::array<Example, 1> note_examples{
    {{"reeve task note 'Fix bug' 'see issue 12'", "for whoever does it"}}};
constexpr std::array<Example, 1> remove_examples{
    {{"reeve task remove 'Fix bug'", "not while somebody works on it"}}};
constexpr std::array<Example, 1> heartbeat_examples{
    {{"reeve task heartbeat 'Fix bug' --runner ana", "another 60m; exit 6 if it was lost"}}};

constexpr std::array<Command, 8> commands{{
    {.name = "task add",
     .summary = "put a task on the board",
     .arguments = title,
     .options = add_options,
     .examples = add_examples,
     .run = said_in_step<task_verbs::add>},
    {.name = "task list",
     .summary = "list the open tasks",
     .options = list_options,
     .examples = list_examples,
     .run = task_verbs::list},
    {.name = "task show",
     .summary = "show a task, its lock and its notes",
     .arguments = one_task,
     .examples = show_examples,
     .run = task_verbs::show},
    {.name = "task update",
     .summary = "start a task, end it, or put it back",
     .arguments = one_task,
     .options = update_options,
     .details =
         "in_progress takes the lock of the task and of its section in one step, and waits for "
         "whoever has them; without a runner's name a fresh one is made and said. Every other "
         "status gives the task's lock back; the section stays with its runner until no open task "
         "is left in it, or `reeve section release`. Exit 6 if another runner has it, the task "
         "has ended, or (with --token) the lock was lost.",
     .examples = update_examples,
     .run = said_in_step<task_verbs::update>},
    {.name = "task next",
     .summary = "the first task that a runner may start",
     .options = next_options,
     .details = "Of a section it has, then of the sections in their order, passing over those that "
                "another has, then of none. Nothing to start: exit 0, and no id.",
     .examples = next_examples,
     .run = task_verbs::next},
    {.name = "task note",
     .summary = "add a note to a task",
     .arguments = task_and_text,
     .options = note_options,
     .examples = note_examples,
     .run = said_in_step<task_verbs::note>},
    {.name = "task remove",
     .summary = "take tasks off the board",
     .arguments = some_tasks,
     .details = "Exit 6 if a runner has it.",
     .examples = remove_examples,
     .run = task_verbs::remove},
    {.name = "task heartbeat",
     .summary = "say that its runner still works on it",
     .arguments = one_task,
     .options = heartbeat_options,
     .details = "Extends the lock of the task and of its section. Exit 6 if the lock was lost.",
     .examples = heartbeat_examples,
     .run = task_verbs::heartbeat},
}};

}  // namespace

const Group task_group{
    .word = "task", .summary = "the board: tasks that many runners share", .commands = commands};

}  // namespace reeve::cli
