#pragma once

#include "cli/args.h"
#include "cli/commands/groups.h"

#include <array>

// `reeve beanstalkd`: another program in this one's file. Its own flags have letters only and are
// handed over as they were typed; what every command understands (--home, --project, --json) may
// stand anywhere, as everywhere.
namespace reeve::cli {

inline constexpr std::array<Option, 5> beanstalkd_options{
    {{.letter = 'b',
      .takes = Takes::Text,
      .value = "DIR",
      .help = "the home, as --home; default: as for every command",
      .completes = Completes::File},
     {.letter = 'l',
      .takes = Takes::Text,
      .value = "ADDR",
      .help = "listen there, or on unix:PATH; default: 127.0.0.1"},
     {.letter = 'p', .takes = Takes::Number, .value = "PORT", .help = "default: 11300"},
     {.letter = 'z',
      .takes = Takes::Number,
      .value = "BYTES",
      .help = "the most a job may have; default: 65535"},
     {.name = "project",
      .takes = Takes::Text,
      .value = "P",
      .help = "whose queues are served; default: $REEVE_PROJECT, else default",
      .completes = Completes::Project}}};

inline constexpr std::array<Example, 2> beanstalkd_examples{
    {{"reeve beanstalkd -l 127.0.0.1 -p 11300", "as beanstalkd; docs/beanstalkd.md tells more"},
     {"reeve beanstalkd -l unix:/run/user/1000/jobs.sock --project shop",
      "the queues of a project"}}};

inline constexpr Command beanstalkd_entry{
    .name = "beanstalkd",
    .summary = "be a daemon for clients of beanstalkd",
    .options = beanstalkd_options,
    .details =
        "With the flags of beanstalkd; -v tells the version, and -V and those of its binlog "
        "(-f MS, -F, -s BYTES, -n, -c) are taken and change nothing, for everything that is "
        "answered is on disk. -u USER is refused. The log is on stderr.",
    .examples = beanstalkd_examples,
    .run = beanstalkd_command,
    .passes_options = true};

}  // namespace reeve::cli
