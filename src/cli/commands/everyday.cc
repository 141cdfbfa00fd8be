#include "cli/commands/groups.h"

#include <array>

namespace reeve::cli {

namespace {

constexpr std::array<Option, 1> status_options{
    {{.name = "watch", .letter = 'w', .help = "every second anew, until Ctrl-C"}}};
constexpr std::array<Example, 2> status_examples{
    {{"reeve status", "one screen: what is held, who waits, what is stuck"},
     {"reeve status -w", "the same, kept up to date"}}};

constexpr std::array<Argument, 1> thing{{{.name = "NAME|ID", .completes = Completes::Lock}}};
constexpr std::array<Option, 1> why_options{{{.name = "kind",
                                              .takes = Takes::Text,
                                              .value = "K",
                                              .help = "if several things have the name",
                                              .choices = "lock|sem|queue|item"}}};
constexpr std::array<Example, 2> why_examples{
    {{"reeve why deploy", "who holds it, since when, in which process, who waits, what is next"},
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

constexpr std::array<Option, 4> beanstalkd_options{
    {{.letter = 'b',
      .takes = Takes::Text,
      .value = "DIR",
      .help = "the home; default: as for every command",
      .completes = Completes::File},
     {.letter = 'l',
      .takes = Takes::Text,
      .value = "ADDR",
      .help = "listen there, or on unix:PATH; default: 127.0.0.1"},
     {.letter = 'p', .takes = Takes::Number, .value = "PORT", .help = "default: 11300"},
     {.letter = 'z',
      .takes = Takes::Number,
      .value = "BYTES",
      .help = "the most a job may have; default: 65535"}}};
constexpr std::array<Example, 1> beanstalkd_examples{
    {{"reeve beanstalkd -l 127.0.0.1 -p 11300", "as beanstalkd; docs/beanstalkd.md tells more"}}};

constexpr std::array<Argument, 1> shell{{{.name = "SHELL"}}};
constexpr std::array<Example, 3> completion_examples{
    {{"reeve completion bash > ~/.local/share/bash-completion/completions/reeve", "for bash"},
     {"reeve completion zsh > ~/.zfunc/_reeve", "for zsh, with ~/.zfunc in $fpath"},
     {"reeve completion fish > ~/.config/fish/completions/reeve.fish", "for fish"}}};
constexpr std::array<Argument, 1> any_words{
    {{.name = "COMMAND", .count = Count::Any, .completes = Completes::Command}}};
constexpr std::array<Example, 1> help_examples{
    {{"reeve help lock run", "as `reeve lock run --help`"}}};

constexpr std::array<Command, 14> commands{{
    {.name = "status",
     .summary = "one screen: held, waiting, stuck, needing you",
     .options = status_options,
     .examples = status_examples,
     .run = status_command},
    {.name = "why",
     .summary = "why it does not move, down to the process",
     .arguments = thing,
     .options = why_options,
     .details =
         "For a lock, a semaphore, a queue or an item: what it waits for, the chain of holders, "
         "the line, and what will happen next and when.",
     .examples = why_examples,
     .run = why_command},
    {.name = "show",
     .summary = "show a thing by its id or name",
     .arguments = thing,
     .options = why_options,
     .examples = show_examples,
     .run = show_command},
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
     .run = emit_command},
    {.name = "top",
     .summary = "everything, live, full screen",
     .details = "q quits; needs a terminal.",
     .examples = top_examples,
     .run = top_command},
    {.name = "doctor",
     .summary = "check machine, home, daemon; say how to fix",
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
    {.name = "beanstalkd",
     .summary = "be a daemon for clients of beanstalkd",
     .options = beanstalkd_options,
     .details = "With the options of beanstalkd, which come behind it; those of its binlog are "
                "taken and change nothing, for everything that is answered is on disk.",
     .examples = beanstalkd_examples,
     .run = beanstalkd_command},
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
  static const std::array<Group, 7> groups{everyday_group,
                                           lock_group,
                                           sem_group,
                                           queue_group,
                                           project_group,
                                           daemon_group,
                                           journal_group};
  return groups;
}

}  // namespace reeve::cli
