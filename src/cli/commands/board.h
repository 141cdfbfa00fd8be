#pragma once

#include "cli/context.h"

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

// What the commands of the board have in common: `reeve task`, `section`, `runner`, `locks`. What
// they say about locks is said in the words of the seed that the board comes from.
namespace reeve::cli::board {

// Tells the daemon how long locks are to be good, before something is locked or waited for: what
// the settings say, else the defaults, as board.configure. With what it knows already nothing is
// written down there. A failure (a setting that is wrong) ends the command. Every command that
// takes or extends locks calls this first.
std::expected<void, Failure> send_locking(Context& context);
// The same for who only says that it lives: a mistake in a file costs nobody its locks. It is
// noted, and what the daemon knows stays in force.
void try_send_locking(Context& context);

// `--runner`, else $REEVE_RUNNER.
std::optional<std::string> runner_of(const Parsed& parsed);

// The same, else a fresh one, which is said to whoever asked: with it the lock is kept and given
// back.
struct Who {
  std::string runner;
  bool is_fresh = false;
};
Who runner_or_fresh(const Parsed& parsed);
void tell_fresh(Context& context, const Who& who);

// `ana`; of a runner of another project `ana of shop`. The project is in the field that begins as
// the runner's does: `runner` and `runner_project`, `lockedBy` and `lockedByProject`.
std::string runner_in_words(const Json& thing, std::string_view field = "runner");

// Somebody else has the task or its section. In text two lines, with who that is and until when;
// the exit code.
int fail(Context& context, const Failure& failure);
bool is_locked(const Failure& failure);

// `[=====>                    ] 45s elapsed`: the arrow moves on every nine seconds.
std::string elapsed_bar(std::int64_t milliseconds);

// The same, and who has what is waited for: `…] 45s elapsed  held by ana, expires in 59m`. It takes
// at most `width` cells (0: any); a long name is cut before the moment is. No holder: only the bar.
std::string waiting_line(std::int64_t milliseconds,
                         const std::string& holder,
                         const std::string& expires,
                         std::size_t width);

// Asks once; if somebody else has it and there is a wait (in ms, null: none), stands in line in
// sight of the user. Ctrl-C leaves the line: INTERRUPTED, and what came all the same is given back.
Answer start(Context& context, std::string_view method, Json params, const Json& wait);

// `--wait [D]` as wait_ms, `--no-wait` as none; without both `otherwise`.
Json wait_of(const Parsed& parsed, const Json& otherwise);

// "2024-01-15T11:30:00Z": to the second.
std::string to_the_second(const std::string& moment);

// The lines of a lock that both `locks show` and `runner show` have.
Table locks_table(const Output& output, const Json::Array& locks);

inline constexpr Option runner_option{.name = "runner",
                                      .takes = Takes::Text,
                                      .value = "R",
                                      .help = "who; default: $REEVE_RUNNER",
                                      .completes = Completes::Runner};
inline constexpr Option section_option{.name = "section",
                                       .takes = Takes::Text,
                                       .value = "S",
                                       .help = "of this section",
                                       .completes = Completes::Section};
inline constexpr Option token_option{.name = "token",
                                     .takes = Takes::Number,
                                     .value = "N",
                                     .help = "as the start said: refused if it is an older one"};

}  // namespace reeve::cli::board
