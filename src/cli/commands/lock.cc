#include "cli/commands/groups.h"
#include "cli/commands/lock_verbs.h"

#include <array>

namespace reeve::cli {

namespace {

constexpr std::array<Argument, 1> one_lock{{{.name = "NAME", .completes = Completes::Lock}}};
constexpr std::array<Argument, 1> some_locks{
    {{.name = "NAME", .count = Count::Some, .completes = Completes::Lock}}};

constexpr Option holder_option{.name = "holder",
                               .takes = Takes::Text,
                               .value = "H",
                               .help = "who holds it; default: $REEVE_HOLDER, else a fresh name"};
constexpr Option timeout_option{.name = "timeout",
                                .takes = Takes::Duration,
                                .value = "D",
                                .help = "how long it stays without a heartbeat; default: 60s"};
constexpr Option acquire_timeout_option{
    .name = "timeout",
    .takes = Takes::Duration,
    .value = "D",
    .help = "how long it stays without a heartbeat; default: 60s, with --pid no limit"};
constexpr Option max_hold_option{.name = "max-hold",
                                 .takes = Takes::Duration,
                                 .value = "D",
                                 .help = "how long it may be held at all; default: no limit"};
constexpr Option wait_option{.name = "wait",
                             .takes = Takes::MaybeDuration,
                             .value = "D",
                             .help = "stand in line until it is free, D at most"};
constexpr Option label_option{.name = "label",
                              .takes = Takes::Text,
                              .value = "TEXT",
                              .help = "what it is for; others see it"};
constexpr Option token_option{.name = "token",
                              .takes = Takes::Number,
                              .value = "N",
                              .help = "the fencing token that acquire gave"};

constexpr Option required(Option option) {
  option.required = true;
  return option;
}

constexpr std::array<Option, 6> acquire_options{
    {holder_option,
     acquire_timeout_option,
     max_hold_option,
     wait_option,
     {.name = "pid",
      .takes = Takes::Number,
      .value = "P",
      .help = "a process that keeps it for as long as it lives, without heartbeats; with "
              "--timeout it must send them, or it is ended; in a script: --pid $$"},
     label_option}};
// Always said: what runs inside `lock run` has that run's name in $REEVE_HOLDER, and would give
// back what keeps it safe.
constexpr Option owner_option{.name = "holder",
                              .takes = Takes::Text,
                              .value = "H",
                              .help = "who holds it, as acquire said",
                              .required = true};
constexpr Option released_option{.name = "holder",
                                 .takes = Takes::Text,
                                 .value = "H",
                                 .help = "who holds it, as acquire said; with --token not needed"};
constexpr std::array<Option, 2> release_options{{released_option, token_option}};
constexpr std::array<Option, 2> heartbeat_options{{owner_option, required(token_option)}};
constexpr std::array<Option, 1> check_options{{required(token_option)}};
constexpr std::array<Option, 3> force_options{
    {{.name = "reason",
      .takes = Takes::Text,
      .value = "TEXT",
      .help = "why; it is kept and shown",
      .required = true},
     {.name = "now", .help = "do not end the holder's process first"},
     {.name = "no-wait", .help = "do not wait until it has ended"}}};
constexpr std::array<Option, 4> run_options{
    {wait_option, timeout_option, max_hold_option, label_option}};
constexpr std::array<Argument, 1> prefix{
    {{.name = "PREFIX", .count = Count::Maybe, .completes = Completes::Lock}}};

constexpr std::array<Example, 3> acquire_examples{
    {{"reeve lock acquire deploy --wait 5m", "stand in line for five minutes at most"},
     {"reeve lock acquire db cache --pid $$", "both or none, for as long as this script lives"},
     {"holder=$(reeve lock acquire deploy -q)", "keep the name to release it by"}}};
constexpr std::array<Example, 2> release_examples{
    {{"reeve lock release deploy --holder \"$holder\"", "free again: the next in line has it"},
     {"reeve lock release deploy --token 7", "the same, by the token that acquire gave"}}};
constexpr std::array<Example, 1> heartbeat_examples{
    {{"reeve lock heartbeat deploy --holder ana --token 7", "another 60s (or its --timeout)"}}};
constexpr std::array<Example, 1> check_examples{
    {{"reeve lock check deploy --token 7 && write", "refuse a writer whose lock has moved on"}}};
constexpr std::array<Example, 2> list_examples{
    {{"reeve lock list", "who holds what, since when, and how many wait"},
     {"reeve lock list -q", "only the names"}}};
constexpr std::array<Example, 1> show_examples{
    {{"reeve lock show deploy", "its holder and the line"}}};
constexpr std::array<Example, 1> force_examples{
    {{"reeve lock force-release deploy --reason 'host is gone'",
      "the holder hears that it lost it"}}};
constexpr std::array<Example, 1> stale_examples{
    {{"if reeve lock is-stale deploy -q; then ...", "0 stale, 6 not"}}};
constexpr std::array<Example, 2> run_examples{
    {{"reeve lock run deploy --wait -- make deploy", "one at a time, whoever calls it"},
     {"reeve lock run db -- sh -c 'migrate --fence $REEVE_FENCE'",
      "the token, for the other side"}}};

constexpr std::array<Command, 9> commands{{
    {.name = "lock acquire",
     .summary = "take one lock, or several at once",
     .arguments = some_locks,
     .options = acquire_options,
     .details =
         "Exit 6 if somebody else has it. Several names are taken together or not at all. Taking "
         "what one holds already is a heartbeat. Prints the fencing token, which grows with "
         "every grant: what the lock protects should refuse an older one.",
     .examples = acquire_examples,
     .run = lock_verbs::acquire},
    {.name = "lock release",
     .summary = "give a lock back",
     .arguments = one_lock,
     .options = release_options,
     .details =
         "By its holder's name, its token or both. Exit 5 if somebody else has it; releasing "
         "what is free is fine.",
     .examples = release_examples,
     .run = lock_verbs::release},
    {.name = "lock heartbeat",
     .summary = "say that the holder still lives",
     .arguments = one_lock,
     .options = heartbeat_options,
     .details = "Exit 6 if the lock was lost.",
     .examples = heartbeat_examples,
     .run = lock_verbs::heartbeat},
    {.name = "lock check",
     .summary = "ask whether a token still counts",
     .arguments = one_lock,
     .options = check_options,
     .details = "Exit 0 valid, 6 superseded.",
     .examples = check_examples,
     .run = lock_verbs::check},
    {.name = "lock list",
     .summary = "list the locks",
     .arguments = prefix,
     .examples = list_examples,
     .run = lock_verbs::list},
    {.name = "lock show",
     .summary = "show a lock, its holder and its line",
     .arguments = one_lock,
     .examples = show_examples,
     .run = lock_verbs::show},
    {.name = "lock force-release",
     .summary = "take a lock away from its holder",
     .arguments = one_lock,
     .options = force_options,
     .details =
         "A holder that named a process is ended first, and the lock given on only when that was "
         "seen; --now skips this. Returns when it has happened; exit 1 if the end cannot be seen "
         "and somebody is asked.",
     .examples = force_examples,
     .run = lock_verbs::force_release},
    {.name = "lock is-stale",
     .summary = "ask whether the holder has been silent too long",
     .arguments = one_lock,
     .details = "Exit 0 if it is stale, 6 if it is not.",
     .examples = stale_examples,
     .run = lock_verbs::is_stale},
    {.name = "lock run",
     .summary = "run a command while holding locks",
     .arguments = some_locks,
     .options = run_options,
     .details =
         "Heartbeats while it runs and gives the locks back when it ends; passes on signals and "
         "the exit code. $REEVE_FENCE has the token (several names: the tokens in their order, "
         "with spaces between), $REEVE_HOLDER the name it holds under. 6: not obtained; 125: "
         "the lock was lost and the command's whole tree was ended first; 126, 127 as in a "
         "shell.",
     .examples = run_examples,
     .run = lock_verbs::run,
     .takes_command = true},
}};

}  // namespace

const Group lock_group{.word = "lock",
                       .summary = "one holder at a time, with a fair line and fencing tokens",
                       .commands = commands};

}  // namespace reeve::cli
