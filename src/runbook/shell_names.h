#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

// The variables that bash itself looks into.
namespace reeve::runbook::shell {

inline bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Bash expands or runs what these say, now or later.
inline bool runs_its_value(std::string_view name) {
  return is_one_of(name,
                   {"PS0",
                    "PS1",
                    "PS2",
                    "PS4",
                    "PROMPT_COMMAND",
                    "BASH_ENV",
                    "ENV",
                    "BASH_ALIASES",
                    "BASH_CMDS"});
}

// In the environment of a bash that begins these say what it runs, or how.
inline bool runs_its_value_at_start(std::string_view name) {
  return runs_its_value(name) || is_one_of(name, {"SHELLOPTS", "BASHOPTS"});
}

// An assignment to these is calculated.
inline bool is_number(std::string_view name) {
  return is_one_of(name,
                   {"RANDOM",
                    "SRANDOM",
                    "SECONDS",
                    "OPTIND",
                    "LINENO",
                    "HISTCMD",
                    "EPOCHSECONDS",
                    "BASHPID",
                    "COLUMNS",
                    "LINES"});
}

}  // namespace reeve::runbook::shell
