#include "cli/commands/beanstalkd.h"
#include "cli/commands/groups.h"
#include "cli/commands/said_in_step.h"

#include <array>

namespace reeve::cli {

namespace {

constexpr std::array<Option, 2> status_options{
    {{.name = "watch", .letter = 'w', .help = "every second anew, until Ctrl-C"},
     {.name = "all", .help = "all of it, also if that is more than the screen holds"}}};
constexpr std::array<Example, 2> status_examples{
    {{"reeve status", "one screen: what runs, what waits, what is stuck"},
     {"reeve status -w", "the same, kept up to date"}}};

constexpr std::array<Argument, 1> thing{{{.name = "NAME|ID", .completes = Completes::Lock}}};
constexpr std::array<Option, 1> why_options{
    {{.name = "kind",
      .takes = Takes::Text,
      .value = "K",
      .help = "if several things have the name",
      .choices = "lock|sem|queue|worker|cron|item|pipeline|decision|agent|task|section"}}};
constexpr std::array<Example, 3> why_examples{
    {{"reeve why pipe-4f7kq2", "its guard's last output, its lock's holder, the open question"},
     {"reeve why deploy", "who holds it, since when, in which process, who waits, what is next"},
     {"reeve why item-4f7kq2", "where an item is and when it will move"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve show item-4f7kq2", "whatever has this id"}}};

constexpr std::array<Option, 4> events_options{
    {{.name = "follow", .letter = 'f', .help = "go on with what happens"},
     {.name = "since", .takes = Takes::Duration, .value = "D", .help = "of the last so long"},
     {.name = "match",
      .takes = Takes::Text,
      .value = "PATTERN",
      .help = "noun:verb or noun:subject:verb; * is one part, ** the rest"},
     {.name = "lines",
      .letter = 'n',
      .takes = Takes::Number,
      .value = "N",
      .help = "the last so many; default: 20, with -f 10"}}};
constexpr std::array<Example, 3> events_examples{
    {{"reeve events -f", "everything, as it happens"},
     {"reeve events -f --match 'lock:**' --json", "one JSON object a line"},
     {"reeve events --since 1h --match 'queue:mail:*'", "of one queue, in the last hour"}}};

constexpr std::array<Argument, 1> sql_arguments{{{.name = "QUERY", .count = Count::Maybe}}};
constexpr std::array<Option, 2> sql_options{
    {{.name = "csv", .help = "comma-separated values, with a heading"},
     {.name = "schema", .help = "the tables and their columns"}}};
constexpr std::array<Example, 4> sql_examples{
    {{"reeve sql \"SELECT at, kind, subject FROM events ORDER BY seq DESC LIMIT 10\"",
      "the last ten events"},
     {"reeve sql \"SELECT holder, count(*) AS times FROM lock_holds GROUP BY holder\"",
      "who held locks how often"},
     {"reeve sql --csv \"SELECT * FROM item_attempts\" > attempts.csv", "for a spreadsheet"},
     {"reeve sql --schema", "what can be asked for; docs/history.md says what it means"}}};
constexpr std::array<Argument, 1> history_arguments{
    {{.name = "ID|NAME|rebuild", .count = Count::Maybe, .completes = Completes::Lock}}};
constexpr std::array<Option, 3> history_options{
    {{.name = "force", .help = "rebuild: though what is there reaches further back"},
     {.name = "since", .takes = Takes::Duration, .value = "D", .help = "of the last so long"},
     {.name = "lines",
      .letter = 'n',
      .takes = Takes::Number,
      .value = "N",
      .help = "the last so many; default: 100"}}};
constexpr std::array<Example, 4> history_examples{
    {{"reeve history item-4f7kq2", "from the push to the end, also when it is long gone"},
     {"reeve history deploy", "who held the lock deploy, and who waited for it"},
     {"reeve history -n 20", "the latest of the project"},
     {"reeve history rebuild", "make history.db anew, as far as the journal reaches"}}};
constexpr std::array<Option, 2> stats_options{{{.name = "since",
                                                .takes = Takes::Duration,
                                                .value = "D",
                                                .help = "of the last so long; default: 24h"},
                                               {.name = "plot",
                                                .takes = Takes::Text,
                                                .value = "FILE.svg",
                                                .help = "draw it as well",
                                                .completes = Completes::File}}};
constexpr std::array<Example, 2> stats_examples{
    {{"reeve stats --since 1h", "of the last hour"},
     {"reeve stats --since 7d --plot week.svg", "and a picture of it"}}};

constexpr std::array<Argument, 2> emit_arguments{
    {{.name = "category:action"}, {.name = "k=v", .count = Count::Any}}};
constexpr std::array<Example, 1> emit_examples{
    {{"reeve emit ci:green branch=main", "who follows ci:green hears it"}}};
constexpr std::array<Example, 1> top_examples{{{"reeve top", "q quits"}}};
constexpr std::array<Example, 1> doctor_examples{
    {{"reeve doctor", "what is wrong with this machine, and how to fix it"}}};

constexpr std::array<Argument, 1> backup_file{{{.name = "FILE", .completes = Completes::File}}};
constexpr std::array<Example, 2> backup_examples{
    {{"reeve backup ~/reeve.backup", "while the daemon serves; safe on disk when it returns"},
     {"reeve backup /mnt/backup/reeve-$(date +%F)", "one a day"}}};
constexpr std::array<Example, 2> restore_examples{
    {{"reeve --home ~/new restore ~/reeve.backup", "into a new home"},
     {"reeve restore ~/reeve.backup",
      "after `reeve daemon stop`, and with HOME/journal moved elsewhere"}}};

constexpr std::array<Argument, 2> run_arguments{
    {{.name = "NAME", .completes = Completes::RunCommand},
     {.name = "ARGS", .count = Count::Any, .completes = Completes::File}}};
constexpr std::array<Option, 5> run_options{
    {{.name = "wait", .help = "until it is over; exit 1 if it failed, 4 if it was cancelled"},
     {.name = "follow", .help = "the same, and tell what happens and what is said"},
     {.name = "timeout",
      .takes = Takes::Duration,
      .value = "D",
      .help = "wait no longer; exit 124"},
     {.name = "dry-run", .help = "print what would happen, every value filled in; touch nothing"},
     {.name = "here", .help = "the runbooks of this git worktree, not of the main repository"}}};
constexpr std::array<Example, 3> run_examples{
    {{"reeve run release 1.2 --follow", "start it and watch"},
     {"reeve run release 1.2 --dry-run", "only look"},
     {"id=$(reeve run release 1.2 -q); reeve wait $id", "for a script"}}};
constexpr std::array<Example, 1> init_examples{
    {{"reeve init", "then: reeve run hello world --follow"}}};

constexpr std::array<Argument, 1> one_run{{{.name = "ID", .completes = Completes::Pipeline}}};
constexpr std::array<Argument, 1> some_runs{
    {{.name = "ID", .count = Count::Some, .completes = Completes::Pipeline}}};
constexpr std::array<Option, 3> wait_options{
    {{.name = "any", .help = "one of them is enough"},
     {.name = "for",
      .takes = Takes::Text,
      .value = "WHAT",
      .help = "success (the default): over, and exit 1 if it failed, 4 if it was cancelled; done: "
              "over, however; running: it is at work",
      .choices = "done|success|running"},
     {.name = "timeout", .takes = Takes::Duration, .value = "D", .help = "no longer; exit 124"}}};
constexpr std::array<Example, 2> wait_examples{
    {{"reeve wait pipe-4f7kq2 --timeout 10m", "exit 0 if it succeeded"},
     {"reeve wait pipe-4f7kq2 work-81hd2k --any", "the first of them"}}};
constexpr std::array<Option, 4> logs_options{
    {{.name = "follow", .letter = 'f', .help = "go on until the run is over"},
     {.name = "attempt", .takes = Takes::Number, .value = "N", .help = "only this attempt"},
     {.name = "phase", .takes = Takes::Text, .value = "P", .help = "only this phase"},
     {.name = "guards", .help = "also what its guards said last"}}};
constexpr std::array<Example, 2> logs_examples{
    {{"reeve logs pipe-4f7kq2 -f", "as it is written"},
     {"reeve logs pipe-4f7kq2 --phase build --attempt 2", "one attempt"}}};
constexpr std::array<Option, 1> cancel_options{
    {{.name = "no-wait", .help = "do not wait until it has ended"}}};
constexpr std::array<Example, 1> cancel_examples{
    {{"reeve cancel pipe-4f7kq2", "what runs is ended, on_cancel is run, locks are given back"}}};
constexpr std::array<Option, 2> resume_options{
    {{.name = "from", .takes = Takes::Text, .value = "PHASE", .help = "go on from this phase"},
     {.name = "force", .help = "also what cannot be recovered by itself"}}};
constexpr std::array<Example, 2> resume_examples{
    {{"reeve resume pipe-4f7kq2", "what failed is tried again, what is paused goes on"},
     {"reeve resume pipe-4f7kq2 --from build", "from an earlier phase"}}};
constexpr std::array<Example, 1> pause_examples{
    {{"reeve pause pipe-4f7kq2", "the step that runs is finished; `reeve resume` goes on"}}};

constexpr std::array<Option, 1> done_options{
    {{.name = "error", .takes = Takes::Text, .value = "TEXT", .help = "it failed, and why"}}};
constexpr std::array<Example, 2> done_examples{
    {{"reeve done", "in a step: it went well, whatever its exit code"},
     {"reeve done --error 'no such branch'", "it failed"}}};
constexpr std::array<Argument, 1> one_text{{{.name = "TEXT"}}};
constexpr std::array<Example, 1> checkpoint_examples{
    {{"reeve checkpoint 'half of the files'", "in a step: kept, and a sign of progress"}}};
constexpr std::array<Example, 1> heartbeat_examples{
    {{"reeve heartbeat || exit",
      "it is alive; exit 4 if its work is cancelled, or over otherwise"}}};
constexpr std::array<Argument, 1> question{{{.name = "QUESTION"}}};
constexpr std::array<Option, 1> init_options{
    {{.name = "here", .help = "in this git worktree, instead of the repository it is of"}}};
constexpr std::array<Option, 4> ask_options{
    {{.name = "option",
      .takes = Takes::Text,
      .value = "A",
      .help = "what can be answered; repeat it"},
     {.name = "timeout", .takes = Takes::Duration, .value = "D", .help = "no longer; exit 124"},
     {.name = "default",
      .takes = Takes::Text,
      .value = "A",
      .help = "the answer if nobody has one in time"},
     {.name = "no-wait", .help = "print the decision's id and go on; the question stays"}}};
constexpr std::array<Example, 2> ask_examples{
    {{"answer=$(reeve ask 'Publish?' --option yes --option no)", "waits; prints the answer"},
     {"reeve ask 'The mirror is down' --option seen --no-wait", "for somebody, some time"}}};

constexpr std::array<Argument, 1> shell{{{.name = "SHELL"}}};
constexpr std::array<Example, 3> completion_examples{
    {{"reeve completion bash > ~/.local/share/bash-completion/completions/reeve", "for bash"},
     {"reeve completion zsh > ~/.zfunc/_reeve", "for zsh, with ~/.zfunc in $fpath"},
     {"reeve completion fish > ~/.config/fish/completions/reeve.fish", "for fish"}}};
constexpr std::array<Argument, 1> any_words{
    {{.name = "COMMAND", .count = Count::Any, .completes = Completes::Command}}};
constexpr std::array<Example, 1> help_examples{
    {{"reeve help lock run", "as `reeve lock run --help`"}}};

constexpr std::array<Command, 28> commands{{
    {.name = "run",
     .summary = "run a command of the project's runbooks",
     .arguments = run_arguments,
     .options = run_options,
     .details = "What it takes its runbook says: `reeve run NAME --help`, `reeve runbook list`. It "
                "goes on "
                "whatever becomes of this terminal; Ctrl-C only stops watching.",
     .examples = run_examples,
     .run = run_command,
     .passes_options = true},
    {.name = "init",
     .summary = "write a small runbook that runs",
     .options = init_options,
     .details = "Into .reeve/runbooks of the project, or of this folder. Nothing is overwritten.",
     .examples = init_examples,
     .run = init_command},
    {.name = "status",
     .summary = "one screen: running, waiting, needing you",
     .options = status_options,
     .details = "On a terminal no more than its screen holds: what needs you, then what is stale, "
                "waited for, dead, paused or full, then the rest, and how many more there are.",
     .examples = status_examples,
     .run = status_command},
    {.name = "why",
     .summary = "why it does not move, down to the process",
     .arguments = thing,
     .options = why_options,
     .details = "For a run, a lock, a semaphore, a queue, an item, a worker, a cron or a question: "
                "what it "
                "waits for, the chain behind that, the line, and what will happen next and when.",
     .examples = why_examples,
     .run = why_command},
    {.name = "show",
     .summary = "show a thing by its id or name",
     .arguments = thing,
     .options = why_options,
     .examples = show_examples,
     .run = show_command},
    {.name = "wait",
     .summary = "until a run or an agent is over",
     .arguments = some_runs,
     .options = wait_options,
     .details = "Ctrl-C stops waiting, nothing else.",
     .examples = wait_examples,
     .run = wait_command},
    {.name = "logs",
     .summary = "what the programs of a run said",
     .arguments = one_run,
     .options = logs_options,
     .details = "What they said is on stdout, which phase and attempt said it on stderr.",
     .examples = logs_examples,
     .run = logs_command},
    {.name = "cancel",
     .summary = "end runs and agents",
     .arguments = some_runs,
     .options = cancel_options,
     .details = "Returns when they have ended. One that is over stays as it is.",
     .examples = cancel_examples,
     .run = cancel_command},
    {.name = "resume",
     .summary = "let a run go on",
     .arguments = one_run,
     .options = resume_options,
     .examples = resume_examples,
     .run = resume_command},
    {.name = "pause",
     .summary = "let a run rest before its next step",
     .arguments = one_run,
     .examples = pause_examples,
     .run = pause_command},
    {.name = "done",
     .summary = "in a step: say how it went",
     .options = done_options,
     .details = "It counts when the step has ended. The owner is found from the environment.",
     .examples = done_examples,
     .run = said_in_step<done_command>},
    {.name = "checkpoint",
     .summary = "in a step: note how far it is",
     .arguments = one_text,
     .examples = checkpoint_examples,
     .run = said_in_step<checkpoint_command>},
    {.name = "heartbeat",
     .summary = "in an agent or step: it is alive; is it wanted?",
     .details =
         "Says whether the work is over (exit 4) or paused. A step is alive while its process "
         "is, and is only told so.",
     .examples = heartbeat_examples,
     .run = heartbeat_command},
    {.name = "ask",
     .summary = "ask a person, and wait for the answer",
     .arguments = question,
     .options = ask_options,
     .details =
         "Opens a decision: `reeve decision resolve` answers it. Inside a step its pipeline is "
         "blocked meanwhile.",
     .examples = ask_examples,
     .run = said_in_step<ask_command>},
    {.name = "events",
     .summary = "what happened, or happens",
     .options = events_options,
     .details = "With --json one object a line.",
     .examples = events_examples,
     .run = events_command},
    {.name = "emit",
     .summary = "announce an event of your own",
     .arguments = emit_arguments,
     .examples = emit_examples,
     .run = said_in_step<emit_command>},
    {.name = "top",
     .summary = "everything, live, full screen",
     .details = "q quits; needs a terminal.",
     .examples = top_examples,
     .run = top_command},
    {.name = "sql",
     .summary = "ask history, in SQL",
     .arguments = sql_arguments,
     .options = sql_options,
     .details =
         "Everything that happened, in a SQLite file that is only read. QUERY is one SELECT; "
         "`-` reads it from stdin. All that was done before is in it. Times are UTC.",
     .examples = sql_examples,
     .run = sql_command},
    {.name = "history",
     .summary = "the story of one thing",
     .arguments = history_arguments,
     .options = history_options,
     .details =
         "Of a lock, a semaphore, a queue, an item, a run, a task (also by its title), a section, "
         "a decision or a runner; without one, the latest of the project. `reeve history "
         "rebuild` makes the file anew from the journal; exit 5 if that has less of it, unless "
         "--force is said.",
     .examples = history_examples,
     .run = history_command},
    {.name = "stats",
     .summary = "how much, how long, what failed",
     .options = stats_options,
     .details =
         "Of queues, locks, semaphores, pipelines and the board: how much was done, waiting and "
         "holding times (half of them took at most P50, all but one in a hundred P99), failures "
         "by cause, the longest waits.",
     .examples = stats_examples,
     .run = stats_command},
    {.name = "doctor",
     .summary = "check machine, home, daemon; say how to fix",
     .details = "Of the journal every byte, or, while a daemon writes there, the files that are "
                "finished. Changes nothing; exit 1 if anything is bad.",
     .examples = doctor_examples,
     .run = doctor_command},
    {.name = "backup",
     .summary = "copy everything to a file, while it is in use",
     .arguments = backup_file,
     .details = "Everything that was acknowledged before is in it. An older backup of that name is "
                "replaced when the new one is safe on disk; no other file is.",
     .examples = backup_examples,
     .run = backup_command},
    {.name = "restore",
     .summary = "make a home of a backup",
     .arguments = backup_file,
     .details = "Only into a home without a journal, and while no daemon runs there. What happened "
                "after the backup is not in it: fencing tokens begin again from there.",
     .examples = restore_examples,
     .run = restore_command},
    beanstalkd_entry,
    {.name = "completion",
     .summary = "completions for bash, zsh or fish",
     .arguments = shell,
     .examples = completion_examples,
     .run = completion_command},
    {.name = "help",
     .summary = "what a command does",
     .arguments = any_words,
     .examples = help_examples,
     .run = help_command},
    {.name = "__complete", .arguments = any_words, .run = complete_command, .hidden = true},
    {.name = "__man", .run = man_command, .hidden = true},
}};

}  // namespace

const Group everyday_group{.word = "", .summary = "Everyday", .commands = commands};

std::span<const Group> all_groups() {
  static const std::array<Group, 20> groups{
      everyday_group, runbook_group, pipeline_group, worker_group,    cron_group,
      decision_group, agent_group,   monitor_group,  workspace_group, lock_group,
      sem_group,      queue_group,   task_group,     section_group,   runner_group,
      locks_group,    project_group, config_group,   daemon_group,    journal_group};
  return groups;
}

}  // namespace reeve::cli
