#include "cli/commands/groups.h"
#include "cli/commands/queue_push.h"
#include "cli/commands/queue_verbs.h"
#include "cli/commands/queue_work.h"
#include "cli/commands/said_in_step.h"

#include <array>

namespace reeve::cli {

namespace {

constexpr std::array<Argument, 1> one_queue{{{.name = "NAME", .completes = Completes::Queue}}};
constexpr std::array<Argument, 1> some_queues{
    {{.name = "NAME", .count = Count::Some, .completes = Completes::Queue}}};
constexpr std::array<Argument, 1> maybe_queue{
    {{.name = "NAME", .count = Count::Maybe, .completes = Completes::Queue}}};
constexpr std::array<Argument, 2> queue_and_id{
    {{.name = "NAME", .completes = Completes::Queue}, {.name = "ID"}}};
constexpr std::array<Argument, 2> queue_and_ids{
    {{.name = "NAME", .completes = Completes::Queue}, {.name = "ID", .count = Count::Any}}};
constexpr std::array<Argument, 2> queue_and_data{
    {{.name = "NAME", .completes = Completes::Queue}, {.name = "DATA|-", .count = Count::Maybe}}};

constexpr Option claim_option{.name = "claim",
                              .takes = Takes::Number,
                              .value = "C",
                              .help = "the claim that take gave",
                              .required = true};
constexpr std::array<Option, 1> claim_only{{claim_option}};
constexpr std::array<Option, 8> create_options{
    {{.name = "visibility",
      .takes = Takes::Duration,
      .value = "D",
      .help = "how long a taken item may go unanswered; default: 5m"},
     {.name = "max-attempts",
      .takes = Takes::Number,
      .value = "N",
      .help = "takes before an item is dead, 0: no limit; default: 3"},
     {.name = "dead-letter",
      .takes = Takes::Text,
      .value = "Q",
      .help = "the queue that dead items move to",
      .completes = Completes::Queue},
     {.name = "backoff",
      .takes = Takes::Text,
      .value = "D..D",
      .help = "pauses between attempts, first and longest; default: 1s..5m"},
     {.name = "keep-completed",
      .takes = Takes::Number,
      .value = "N",
      .help = "how many completed items stay; default: 1000"},
     {.name = "keep-completed-for", .takes = Takes::Duration, .value = "D", .help = "default: 24h"},
     {.name = "keep-dead-for",
      .takes = Takes::Duration,
      .value = "D",
      .help = "default: until redriven or dropped"},
     {.name = "on-exhaust",
      .takes = Takes::Text,
      .value = "HOW",
      .help = "what becomes of an item without attempts left",
      .choices = "dead|escalate|pause"}}};
constexpr std::array<Option, 5> push_options{
    {{.name = "lines", .help = "one item a line of stdin, in batches"},
     {.name = "priority", .takes = Takes::Number, .value = "N", .help = "higher first; default: 0"},
     {.name = "delay", .takes = Takes::Duration, .value = "D", .help = "not before so long"},
     {.name = "dedupe",
      .takes = Takes::Text,
      .value = "KEY",
      .help = "adds nothing if an open item has this key"},
     {.name = "visibility",
      .takes = Takes::Duration,
      .value = "D",
      .help = "for this item, instead of the queue's"}}};
constexpr std::array<Option, 3> take_options{
    {{.name = "holder",
      .takes = Takes::Text,
      .value = "H",
      .help = "who takes it; default: $REEVE_HOLDER, else a fresh name"},
     {.name = "max", .takes = Takes::Number, .value = "N", .help = "so many at most; default: 1"},
     {.name = "wait",
      .takes = Takes::MaybeDuration,
      .value = "D",
      .help = "until there is something, D at most"}}};
constexpr std::array<Option, 3> fail_options{
    {claim_option,
     {.name = "error", .takes = Takes::Text, .value = "TEXT", .help = "why", .required = true},
     {.name = "retry-after",
      .takes = Takes::Duration,
      .value = "D",
      .help = "instead of the queue's backoff"}}};
constexpr std::array<Option, 2> extend_options{
    {claim_option,
     {.name = "by",
      .takes = Takes::Duration,
      .value = "D",
      .help = "from now; default: the queue's visibility"}}};
constexpr std::array<Option, 3> release_options{
    {claim_option,
     {.name = "delay", .takes = Takes::Duration, .value = "D", .help = "not before so long"},
     {.name = "priority", .takes = Takes::Number, .value = "N", .help = "a new one"}}};
constexpr std::array<Option, 2> list_options{
    {{.name = "state",
      .takes = Takes::Text,
      .value = "S",
      .help = "only those",
      .choices = "pending|delayed|processing|completed|dead"},
     {.name = "limit",
      .letter = 'n',
      .takes = Takes::Number,
      .value = "N",
      .help = "so many at most; default: 100"}}};
constexpr std::array<Option, 1> pause_options{
    {{.name = "for", .takes = Takes::Duration, .value = "D", .help = "resumes by itself"}}};
constexpr std::array<Option, 1> redrive_options{{{.name = "all", .help = "every dead item"}}};
constexpr std::array<Option, 2> purge_options{
    {{.name = "state",
      .takes = Takes::Text,
      .value = "S",
      .help = "which ones; with those that are pending the delayed ones",
      .choices = "pending|completed|dead",
      .required = true},
     {.name = "yes", .letter = 'y', .help = "do not ask"}}};
constexpr std::array<Option, 4> work_options{
    {{.name = "exec",
      .takes = Takes::Text,
      .value = "CMD",
      .help = "run by sh -c for every item, its data on stdin",
      .required = true},
     {.name = "concurrency",
      .takes = Takes::Number,
      .value = "N",
      .help = "so many at once; default: 1"},
     {.name = "once", .help = "one item and no more; exit 1 if it failed"},
     {.name = "drain",
      .help = "until nothing can be taken (what is delayed stays); exit 1 if one failed"}}};

constexpr std::array<Example, 1> create_examples{
    {{"reeve queue create mail --max-attempts 5 --dead-letter mail-dead",
      "instead of the defaults"}}};
constexpr std::array<Example, 3> push_examples{
    {{"reeve queue push mail '{\"to\":\"ana\"}'", "prints the id"},
     {"reeve queue push mail --dedupe ana --delay 10m hello", "text is pushed as a JSON string"},
     {"find . -name '*.png' | reeve queue push images - --lines", "one item a line"}}};
constexpr std::array<Example, 2> take_examples{
    {{"reeve queue take mail --wait 1m --json", "the item and its claim, for a script"},
     {"read -r id claim < <(reeve queue take mail -q)", "the same with a shell"}}};
constexpr std::array<Example, 1> complete_examples{
    {{"reeve queue complete mail item-4f7kq2 --claim 12", "done"}}};
constexpr std::array<Example, 1> fail_examples{
    {{"reeve queue fail mail item-4f7kq2 --claim 12 --error 'no route'",
      "again after the backoff"}}};
constexpr std::array<Example, 1> extend_examples{
    {{"reeve queue extend mail item-4f7kq2 --claim 12", "it takes longer"}}};
constexpr std::array<Example, 1> release_examples{
    {{"reeve queue release mail item-4f7kq2 --claim 12", "as if it had not been taken"}}};
constexpr std::array<Example, 1> list_examples{
    {{"reeve queue list mail --state dead", "what went wrong, and why"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve queue show mail item-4f", "by any unique prefix"}}};
constexpr std::array<Example, 1> stats_examples{
    {{"reeve queue stats", "every queue of the project"}}};
constexpr std::array<Example, 1> peek_examples{
    {{"reeve queue peek mail", "what would be taken next"}}};
constexpr std::array<Example, 1> pause_examples{
    {{"reeve queue pause mail --for 1h", "pushing goes on"}}};
constexpr std::array<Example, 1> resume_examples{{{"reeve queue resume mail", "taking goes on"}}};
constexpr std::array<Example, 1> remove_examples{{{"reeve queue remove mail", "it must be empty"}}};
constexpr std::array<Example, 1> drop_examples{
    {{"reeve queue drop mail item-4f7kq2", "gone for good"}}};
constexpr std::array<Example, 1> redrive_examples{
    {{"reeve queue redrive mail --all", "the dead ones are tried again"}}};
constexpr std::array<Example, 1> purge_examples{
    {{"reeve queue purge mail --state completed --yes", "without being asked"}}};
constexpr std::array<Example, 2> work_examples{
    {{"reeve queue work images --exec 'convert \"$(cat)\" out.png' --concurrency 4",
      "four at once"},
     {"reeve queue work mail --exec ./send --drain", "until nothing can be taken"}}};

constexpr std::array<Command, 18> commands{{
    {.name = "queue create",
     .summary = "make a queue with settings of its own",
     .arguments = one_queue,
     .options = create_options,
     .details = "A queue that is pushed to and does not exist is made with the defaults.",
     .examples = create_examples,
     .run = queue_verbs::create},
    {.name = "queue push",
     .summary = "add an item, or one a line of stdin",
     .arguments = queue_and_data,
     .options = push_options,
     .details =
         "DATA is JSON; what does not parse is pushed as a JSON string. - reads it from stdin. "
         "When the command returns, the item is on disk.",
     .examples = push_examples,
     .run = queue_push},
    {.name = "queue take",
     .summary = "take the next item",
     .arguments = some_queues,
     .options = take_options,
     .details =
         "Highest priority first, then the oldest. Nothing there is exit 0 and no line. What is "
         "neither completed, failed, extended nor released in time goes back. -q prints the id "
         "and the claim.",
     .examples = take_examples,
     .run = queue_verbs::take},
    {.name = "queue complete",
     .summary = "say that an item is done",
     .arguments = queue_and_id,
     .options = claim_only,
     .details = "Exit 6 if the claim is no longer the item's.",
     .examples = complete_examples,
     .run = queue_verbs::complete},
    {.name = "queue fail",
     .summary = "say that an attempt failed",
     .arguments = queue_and_id,
     .options = fail_options,
     .examples = fail_examples,
     .run = said_in_step<queue_verbs::fail_item>},
    {.name = "queue extend",
     .summary = "keep a taken item for longer",
     .arguments = queue_and_id,
     .options = extend_options,
     .examples = extend_examples,
     .run = queue_verbs::extend},
    {.name = "queue release",
     .summary = "give a taken item back untried",
     .arguments = queue_and_id,
     .options = release_options,
     .examples = release_examples,
     .run = queue_verbs::release},
    {.name = "queue list",
     .summary = "list the items of a queue",
     .arguments = one_queue,
     .options = list_options,
     .examples = list_examples,
     .run = queue_verbs::list},
    {.name = "queue show",
     .summary = "show one item",
     .arguments = queue_and_id,
     .examples = show_examples,
     .run = queue_verbs::show},
    {.name = "queue stats",
     .summary = "count the items of every queue",
     .arguments = maybe_queue,
     .examples = stats_examples,
     .run = queue_verbs::stats},
    {.name = "queue peek",
     .summary = "look at the next item without taking it",
     .arguments = one_queue,
     .examples = peek_examples,
     .run = queue_verbs::peek},
    {.name = "queue pause",
     .summary = "hand out nothing for a while",
     .arguments = one_queue,
     .options = pause_options,
     .examples = pause_examples,
     .run = queue_verbs::pause},
    {.name = "queue resume",
     .summary = "hand out items again",
     .arguments = one_queue,
     .examples = resume_examples,
     .run = queue_verbs::resume},
    {.name = "queue drop",
     .summary = "delete one item",
     .arguments = queue_and_id,
     .examples = drop_examples,
     .run = queue_verbs::drop},
    {.name = "queue redrive",
     .summary = "give dead items another chance",
     .arguments = queue_and_ids,
     .options = redrive_options,
     .examples = redrive_examples,
     .run = queue_verbs::redrive},
    {.name = "queue purge",
     .summary = "delete all items of a state",
     .arguments = one_queue,
     .options = purge_options,
     .details = "Asks first; without a terminal it wants --yes.",
     .examples = purge_examples,
     .run = queue_verbs::purge},
    {.name = "queue remove",
     .summary = "remove a queue",
     .arguments = one_queue,
     .examples = remove_examples,
     .run = queue_verbs::remove},
    {.name = "queue work",
     .summary = "take items and run a command for each",
     .arguments = some_queues,
     .options = work_options,
     .details =
         "The data is on stdin: a JSON string as its text, all else as JSON. $REEVE_QUEUE, "
         "$REEVE_ITEM, $REEVE_ATTEMPT and $REEVE_CLAIM tell which. Exit 0 completes the item, "
         "anything else fails it with the end of stderr; while it runs the item is extended. "
         "Ctrl-C or TERM: takes no more and finishes what runs; once more: ends it and gives "
         "it back.",
     .examples = work_examples,
     .run = queue_work},
}};

}  // namespace

const Group queue_group{.word = "queue",
                        .summary = "work to be done, each item by one taker, with retries",
                        .commands = commands};

}  // namespace reeve::cli
